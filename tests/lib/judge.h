/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader as a judge of stores that were damaged. */
#ifndef TIC_LIB_JUDGE_H
#define TIC_LIB_JUDGE_H

#include "store/store.h"

/* Everything that a line says. */
uint64_t tic_judge_content(const struct tic_line *line);

/* What a restart would continue from; number 0: nothing. */
struct tic_judged {
    uint64_t number, content;
    bool refused; /* there are lines, and none is good */
};
struct tic_judged tic_judge_directory(const char *directory);

#endif
