/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the explorer and the process that runs under it share: choices to make, and choices made. */
#ifndef TIC_REPLAY_BOARD_H
#define TIC_REPLAY_BOARD_H

#include "explore.h"

enum { TIC_BOARD_CHOICES = 1000 };

enum tic_phase { TIC_PLAIN, TIC_RECORD, TIC_RESTART };

struct tic_choice {
    uint8_t made, count; /* which of how many moves */
    uint8_t threads;     /* the first ones are threads that go on, the others a cut or a kill */
    bool preempts;       /* if not the first thread goes on */
};

struct tic_board {
    enum tic_phase phase;
    bool kill_anywhere, traces;
    unsigned lines;                                 /* to be cut */
    char directory[128];                            /* of recovery lines */
    unsigned given[TIC_BOARD_CHOICES], given_count; /* choices at the begin; later ones are 0 */
    struct tic_choice choices[TIC_BOARD_CHOICES];
    unsigned count;
    bool killed;   /* by a choice */
    bool finished; /* the program has returned */
    uint64_t result[TIC_RESULT_WORDS];
    unsigned executed; /* tasks of the program */
};

/* Exit status of a run: no thread can go on; and the choices do not fit, or are too many. */
enum { TIC_EXIT_STUCK = 91, TIC_EXIT_MISFIT = 92 };

/* In a process of its own: runs the program under these choices, and ends the process. */
_Noreturn void tic_board_run(struct tic_board *board, const struct tic_program *program);

#endif
