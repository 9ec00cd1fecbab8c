/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing without signals: a file that may not become as large, and a pipe that nobody reads, would
 * end the program, which may not even know that we write. */
#pragma once

#include <signal.h>
#include <stdbool.h>

enum { TIC_QUIET_SIGNALS = 2 };

struct tic_quiet {
    sigset_t old;
    bool pending[TIC_QUIET_SIGNALS]; /* before, so not ours */
};

/* Between these the thread gets neither signal, and none is left behind. */
void tic_quiet_begin(struct tic_quiet *quiet);
void tic_quiet_end(const struct tic_quiet *quiet);
