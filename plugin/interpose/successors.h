/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Successors of tasks, as the application may list them. */
#ifndef TIC_INTERPOSE_SUCCESSORS_H
#define TIC_INTERPOSE_SUCCESSORS_H

#include <stdbool.h>

struct tic_graph;

/* Did main() ask for successors of tasks in the recorded run? */
bool tic_successors_were_asked(const struct tic_graph *graph);

#endif
