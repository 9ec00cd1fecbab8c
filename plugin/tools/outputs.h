/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard outputs of runs, as lines, and whether they say the same. */
#pragma once

#include <stddef.h>

struct tic_output_line {
    const char *text; /* not terminated */
    size_t length;
};

struct tic_output {
    char *bytes;
    struct tic_output_line *lines; /* the last one may lack its end */
    size_t count;
};

/* 0 or -errno. */
int tic_output_read(struct tic_output *output, const char *path);
void tic_output_free(struct tic_output *output);

enum tic_match {
    TIC_MATCH_EXACT,
    TIC_MATCH_ORDER, /* the same lines in another order */
    TIC_MATCH_UNION, /* lines are missing that killed runs have printed before */
    TIC_MATCH_NONE,
};

enum { TIC_OUTPUT_KILLED = 7 };
/* How a resumed run's output matches the expected one, given what the runs before it printed, up to
 * TIC_OUTPUT_KILLED. */
enum tic_match tic_output_match(const struct tic_output *expected, const struct tic_output *output,
                                const struct tic_output *killed, unsigned killed_count);

/* Index of the first line that differs; the count of the shorter one if it is a part. */
size_t tic_output_difference(const struct tic_output *a, const struct tic_output *b);
/* The line as text for messages, without its end and what cannot be printed; in `text`. */
const char *tic_output_show(const struct tic_output *output, size_t line, char *text, size_t size);
