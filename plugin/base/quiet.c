/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing without signals. */
#include "base/quiet.h"

#include <time.h>

static const int signals[TIC_QUIET_SIGNALS] = {SIGXFSZ, SIGPIPE};

void tic_quiet_begin(struct tic_quiet *quiet)
{
    sigset_t pending, set;

    sigpending(&pending);
    sigemptyset(&set);
    for (unsigned i = 0; i < TIC_QUIET_SIGNALS; i++) {
        quiet->pending[i] = sigismember(&pending, signals[i]) == 1;
        sigaddset(&set, signals[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, &quiet->old);
}

void tic_quiet_end(const struct tic_quiet *quiet)
{
    const struct timespec now = {0, 0};
    sigset_t pending, set;

    sigpending(&pending);
    for (unsigned i = 0; i < TIC_QUIET_SIGNALS; i++) {
        if (quiet->pending[i] || sigismember(&pending, signals[i]) != 1)
            continue;
        sigemptyset(&set);
        sigaddset(&set, signals[i]);
        sigtimedwait(&set, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &quiet->old, NULL);
}
