/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A standard input that is a pipe or a socket: what a run has read of it is gone for the next one.
 * What is in a pipe that nobody writes to any more is known without reading it, and can be given
 * again. */
#ifndef TIC_TOOLS_PIPED_H
#define TIC_TOOLS_PIPED_H

#include <stdbool.h>

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

#endif
