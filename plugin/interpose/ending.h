/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of protection while the program runs. */
#pragma once

#include <stdbool.h>

struct tic_session;

/* What ends with it. The functions use those that end protection; session.c names them. */
struct tic_ending {
    bool (*is_replayed)(struct tic_session *session); /* tic_session_is_replayed */
    void (*fold_all)(void);                           /* tic_redux_fold_all */
};
/* Before calls matter. */
void tic_session_end_by(const struct tic_ending *steps);

/* Ends protection: the program runs on unprotected. Any thread. On another than the owner's in a
 * recovered run no more lines are taken, but the replay goes on, which main() may be in the middle
 * of: who calls sees to the values that it uses itself. The start stops if a callback or a kernel
 * does this again by the cut. */
void tic_session_unprotect(const char *what, const char *why);
/* The same, and the replay ends, too: after restoring all that a recovered run still needs; which
 * stops when its replay is not complete. */
void tic_session_unprotect_now(const char *what, const char *why);
/* Ends protection by a call after which `starpu-tic check`, which goes on otherwise, would change
 * what the program computes: our own accesses take it that data is in main memory only. */
void tic_session_stop_watching(const char *what, const char *why);

/* The call, and the task in whose kernel or callback this thread makes it; valid until the next one
 * of the thread. */
const char *tic_session_place(const char *call);
