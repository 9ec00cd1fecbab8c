/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run of a program in a rehearsal: its environment, its start, its end, what it left. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "tools/written.h"

enum { TIC_TRIAL_VARIABLES = 16, TIC_TRIAL_MESSAGE = 2048 };

/* How a program is run: the same for all runs. */
struct tic_trial_place {
    char **command;
    char folder[PATH_MAX]; /* of all files; the standard input is the file `input` in it */
    const char *filter;    /* sed script for the standard output; NULL: none */
    double limit;          /* seconds; 0: none */
};

enum tic_trial_end {
    TIC_TRIAL_EXITED,
    TIC_TRIAL_KILLED,      /* by SIGKILL, that is by a failpoint */
    TIC_TRIAL_CRASHED,     /* by another signal */
    TIC_TRIAL_HUNG,        /* killed at the limit */
    TIC_TRIAL_STOPPED,     /* by the terminal, which is not its own; and killed: so is the status */
    TIC_TRIAL_INTERRUPTED, /* a signal for this process: its number is the status */
    TIC_TRIAL_NOT_RUN,     /* the system gave no process */
};

struct tic_trial {
    char name[32];                        /* its files are NAME.out, .err, .stats, .digests */
    char *variables[TIC_TRIAL_VARIABLES]; /* "NAME=value", owned */
    unsigned variable_count;
    enum tic_trial_end end;
    int status; /* exit status, or the signal */
    double seconds;
    bool resumes;                   /* a killed run, whose files stay */
    struct tic_written_file *other; /* a file that it has left not as expected, or NULL */
    struct tic_output found;        /* what that holds */
};

/* To be called once, before the first run: the signals that tic_trial_run waits for are blocked. */
void tic_trial_prepare(void);

__attribute__((format(printf, 1, 2))) struct tic_trial tic_trial_create(const char *name, ...);
__attribute__((format(printf, 2, 3))) void tic_trial_set(struct tic_trial *trial,
                                                         const char *assignment, ...);
void tic_trial_destroy(struct tic_trial *trial);

/* Runs the program, and waits until nothing of it is left. The settings of starpu-tic that a
 * rehearsal decides are those of the trial or the default; all other variables are the user's. */
void tic_trial_run(struct tic_trial *trial, const struct tic_trial_place *place);
/* The path of one of its files. */
void tic_trial_path(const struct tic_trial *trial, const struct tic_trial_place *place,
                    const char *kind, char path[PATH_MAX]);
/* The last line of its standard error that begins with `start`, without "starpu-tic: "; "" if
 * there is none. */
void tic_trial_message(const struct tic_trial *trial, const struct tic_trial_place *place,
                       const char *start, char message[TIC_TRIAL_MESSAGE]);
