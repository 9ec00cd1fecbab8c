/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pictures. The Python module starpu_tic.drawing (bindings/python) draws them, in a process of its
 * own, from JSON. */
#pragma once

#include <stdio.h>

/* Writes the data of a picture. */
typedef void (*tic_draw_write)(FILE *out, const void *data);

/* What the module draws of the data, in memory: "report" a page, "interval" SVG, "graph" the
 * language of graphviz. NULL after a message. */
FILE *tic_draw(const char *what, tic_draw_write write, const void *data);
/* Writes it to a file that is whole, or as it was; "-" is standard output. `drawn` is closed, and
 * may be NULL. An exit status, after a message. */
int tic_draw_put(FILE *drawn, const char *file);
/* As tic_draw_put(), by graphviz's command dot, in this format ("-Tsvg"). */
int tic_draw_put_by_dot(FILE *drawn, const char *file, const char *format);
