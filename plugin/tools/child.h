/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that `starpu-tic run` supervises, as a child: its start, the signals that it gets
 * through its supervisor, its end, and what it leaves running. One at a time. */
#pragma once

#include <stdbool.h>

#include "base/beacon.h"

/* Blocks the signals that are passed on, for the rest of this process. The beacon, or NULL, shows
 * which process protects, where the command is not it. */
void tic_child_prepare(const struct tic_beacon *shown);

/* Executes the command in the place of this process; else a message and the exit status. */
int tic_child_execute(char **command);

/* Starts the command. The descriptor `inherited` is open there, too; -1: none. False after a
 * message. */
bool tic_child_start(char **command, int inherited);

/* Until it has ended, and the process that protects, which a script may have left: what waitpid()
 * gives. Calls look() once in a second. */
int tic_child_await(void (*look)(void *arg), void *arg);

/* Between two runs. False when somebody asks to end meanwhile. */
bool tic_child_pause(double seconds);

/* The signal by which somebody has asked to end, or 0. */
int tic_child_asked(void);

/* Ends, by this signal, what the program has started and left behind. SIGKILL is waited for: a
 * program that a dead shell has left would use the recovery lines. */
void tic_child_end_rest(int signal);

/* Before the first run: looks for a moment whether all of the input is there. */
void tic_piped_begin(void);

/* While a run goes on: has something come in? */
void tic_piped_look(void);

enum tic_piped {
    TIC_PIPED_THERE,   /* the next run finds what the first one has found */
    TIC_PIPED_UNKNOWN, /* nothing was seen to come in */
    TIC_PIPED_GONE,    /* something came in, and may have been read */
};
/* After a run. */
enum tic_piped tic_piped_end(void);

/* For a further run, when it is there: the descriptor that is to be its standard input, to be
 * closed here; -1: the one that there is. False: it cannot be made. */
bool tic_piped_again(int *input);
