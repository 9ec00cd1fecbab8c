/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost curve of interval models: expected waste against the period, as an SVG picture. */
#ifndef TIC_TOOLS_CURVE_H
#define TIC_TOOLS_CURVE_H

#include "interval/models.h"

struct tic_curve {
    const struct tic_interval_costs *costs;    /* checked */
    const struct tic_interval_choice *choices; /* of each model */
    double work;                               /* s, > 0 */
    double period;                             /* s, > t_c: marked, too; 0: none */
};

/* Writes a file that needs no other, readable on light and dark pages. 0 or -errno. */
int tic_curve_write(const char *path, const struct tic_curve *curve);

#endif
