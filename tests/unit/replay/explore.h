/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a small program in all orders of events, up to a number of preemptions: cuts a recovery line
 * anywhere, kills the process, restarts it in all orders, and compares the result with that of an
 * unprotected run. Each run is a process of its own. */
#ifndef TIC_REPLAY_EXPLORE_H
#define TIC_REPLAY_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

enum { TIC_RESULT_WORDS = 16 };

struct tic_program {
    const char *name;
    /* The program, from starpu_init to starpu_shutdown. What it computes goes to `result`. */
    void (*run)(uint64_t *result);
    const char *const
        *settings; /* name, value, ..., NULL: environment beside the usual one; or NULL */
    /* True: the process may be killed at each event; lines are those of the protocol. False: a line
     * is cut at any event, and the process is killed when it is committed, as nothing is written
     * later. */
    bool kill_anywhere;
    /* Failpoint, "name[:n]", at which the recorded run puts a thread of the plug-in off; or NULL.
     */
    const char *late_at;
    /* How often a thread that could go on may be put off: in the recorded run, in the restart. */
    unsigned record_preemptions, restart_preemptions;
    unsigned lines; /* recovery lines that are cut in a run, one after the other */
    unsigned kills; /* in a row: the restart after the last one is not killed */
    bool deep;      /* takes more than a few seconds: left out unless it is asked for */
};

struct tic_explored {
    unsigned long runs;     /* that may be killed */
    unsigned long stores;   /* different ones that killed runs left */
    unsigned long restarts; /* of these, after the last kill */
    unsigned long executed; /* tasks by restarts, in all */
    unsigned long tasks;    /* that they would have executed without a line */
};

/* more: preemptions beyond those of the program, in each run. True when all restarts gave the right
 * result. Else the first that did not is described on
 * standard output, with the value of TIC_REPLAY that repeats it. */
bool tic_explore(const struct tic_program *program, unsigned more, struct tic_explored *explored);
/* Repeats one run and its restarts, with a trace of their events. `schedule`: what TIC_REPLAY has
 * after the name. */
bool tic_explore_one(const struct tic_program *program, const char *schedule);

/* For programs: StarPU with so many workers, in an order that the explorer chooses. */
void tic_program_start(unsigned workers);
/* Shuts it down. */
void tic_program_stop(void);

#endif
