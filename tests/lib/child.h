/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a function in a forked child: for what ends the process, and for locks between processes. */
#ifndef TIC_LIB_CHILD_H
#define TIC_LIB_CHILD_H

#include <stddef.h>

enum { TIC_CHILD_SECONDS = 60, TIC_CHILD_KILLED = 1000 };

/* The child's exit status: what `run` returned or what the process exited with, or
 * TIC_CHILD_KILLED + signal. A child that hangs dies of SIGALRM. What it wrote to standard error
 * goes to `text` (size bytes, ended by '\0'); NULL: it goes to ours. */
int tic_child_run(int (*run)(void *arg), void *arg, char *text, size_t size);

#endif
