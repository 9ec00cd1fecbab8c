/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What graph.c needs to load a line. Errors: negative errno. */
#pragma once

#include "graph/graph.h"

/* A copy, also of nothing; NULL: out of memory. */
void *tic_graph_duplicate(const void *array, size_t count, size_t item);
/* Inputs, accesses of main(), reads, looks, and the history. */
int tic_graph_load_tables(struct tic_graph *graph, struct tic_line *line);
int tic_graph_load_events(struct tic_graph *graph, struct tic_line *line);
