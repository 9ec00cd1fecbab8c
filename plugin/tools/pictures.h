/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pictures of a report. */
#ifndef TIC_TOOLS_PICTURES_H
#define TIC_TOOLS_PICTURES_H

#include <stdio.h>

#include "interval/costs.h"
#include "tools/traced.h"
#include "tools/scale.h"

/* The time scale that the pictures over time share: time between runs is drawn short. */
struct tic_time_scale tic_picture_scale(const struct tic_traced *traced);

/* Workers over time: tasks, thefts, checkpoints, stalls, crashes, restarts. */
void tic_picture_timeline(FILE *out, const struct tic_traced *traced);
/* Bytes written for each checkpoint, over the same time. */
void tic_picture_volumes(FILE *out, const struct tic_traced *traced);
/* What each crash cost. */
void tic_picture_crashes(FILE *out, const struct tic_traced *traced);
/* Waste against the period by each model; period: the run's, s, or 0. */
void tic_picture_interval(FILE *out, const struct tic_interval_costs *costs, double period);

/* For pictures over time: lines at round times, and the marks below. */
void tic_picture_time_grid(FILE *out, const struct tic_traced *traced,
                           const struct tic_time_scale *scale, int height);
void tic_picture_time_axis(FILE *out, const struct tic_traced *traced,
                           const struct tic_time_scale *scale);

#endif
