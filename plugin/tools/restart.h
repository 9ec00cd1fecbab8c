/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a program that has ended is started again, and when: rules without processes and clocks.
 */
#pragma once

#include <stdbool.h>

#include "tools/progress.h"

enum { TIC_RESTART_IDLE = 3 };

struct tic_restart_rules {
    unsigned long most; /* restarts; 0: the program is not supervised */
    bool on_exit;       /* also after an exit status other than 0 */
    double backoff;     /* seconds before the first restart */
    unsigned long idle; /* restarts in a row without progress; 0: TIC_RESTART_IDLE after SIGKILL,
                           which says nothing about the program, and one after other ends */
    const char *ranks_from; /* a file or command that tells the ranks of each start, or NULL */
    char *ranks;            /* words of the command: that number */
    bool quiet;             /* nobody wants to read of the progress */
};

/* How a run ended. */
struct tic_restart_end {
    int status;     /* as in the shell: 128 and the signal, where it died by one */
    bool by_signal; /* or by one of a program that it was, as the shell around that one tells */
    bool asked;     /* somebody has asked the supervisor to end it */
    double seconds; /* that it took */
    struct tic_progress progress; /* if another run may follow */
};

enum tic_restart_verdict {
    TIC_RESTART_AGAIN,
    TIC_RESTART_ENDED, /* the program has ended by itself */
    TIC_RESTART_ASKED, /* it was ended */
    TIC_RESTART_FINAL, /* a restart would end with the same status */
    TIC_RESTART_STUCK, /* it comes no further, by all that is known */
    TIC_RESTART_SPENT, /* no more restarts are allowed */
};

/* All zero before the first run. */
struct tic_restart {
    unsigned long restarts;
    bool crashed;                 /* some run has */
    unsigned long idle;           /* the last restarts that brought no progress */
    struct tic_progress furthest; /* by the time of the crashes */
    double wait;                  /* seconds before the last restart */
};

/* May another run follow? It does not, whatever the progress, after a run that has ended by itself,
 * was asked to end, or would end as it did. */
bool tic_restart_may_follow(const struct tic_restart_rules *rules,
                            const struct tic_restart_end *end);

/* Takes note of how a run ended. After TIC_RESTART_AGAIN the next one is to begin in
 * `restart->wait` seconds. */
enum tic_restart_verdict tic_restart_decide(struct tic_restart *restart,
                                            const struct tic_restart_rules *rules,
                                            const struct tic_restart_end *end);

/* Fills status and by_signal from what waitpid() gave. */
struct tic_restart_end tic_restart_end_of(int status);
