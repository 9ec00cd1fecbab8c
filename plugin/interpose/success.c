/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/success.h"

#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "session/context.h"

static struct tic_session *succeeded; /* its recovery lines are to go */

void tic_success_note(struct tic_session *session)
{
    succeeded = session;
}

static void remove_all(void *store)
{
    tic_store_remove(store);
}

/* Last of all, after exit handlers that the program registered before it started StarPU: what kills
 * it in one of them finds the lines. What it printed goes out first, if that is easy. */
__attribute__((destructor)) static void remove_lines(void)
{
    if (!succeeded || getpid() != succeeded->process)
        return;
    if (ftrylockfile(stdout) == 0) {
        fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    tic_io_start(succeeded->snapshot.options.patience); /* else it may hang */
    if (tic_snapshot_is_abandoned(&succeeded->snapshot) ||
        tic_io_call(remove_all, &succeeded->store) != 0)
        tic_log(TIC_LOG_WARN,
                "%s does not answer: recovery lines may be left there, which a new start would "
                "continue. Remove them",
                succeeded->store.path);
    tic_io_stop();
}
