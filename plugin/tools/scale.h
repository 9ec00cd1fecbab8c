/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Axes of pictures: where a value lies, round marks, and numbers with units. No drawing here. */
#ifndef TIC_TOOLS_SCALE_H
#define TIC_TOOLS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

enum { TIC_SCALE_TICKS = 24, TIC_SCALE_GAPS = 32, TIC_SCALE_TEXT = 32 };

/* Time from left to right, 0 to 1. Stretches in which nothing was there are drawn short. */
struct tic_time_scale {
    double begin, end;
    unsigned gap_count;
    struct {
        double begin, end; /* in time, ascending */
    } gaps[TIC_SCALE_GAPS];
};

/* How much of the width a gap takes, and how long it is at least, as a share of the other time. */
#define TIC_SCALE_GAP_WIDTH 0.02
#define TIC_SCALE_GAP_LEAST 0.08

struct tic_time_scale tic_time_scale_make(double begin, double end);
/* Gaps that are not worth it, and those beyond TIC_SCALE_GAPS, are left as they are. In order. */
void tic_time_scale_add_gap(struct tic_time_scale *scale, double begin, double end, double busy);
/* 0 to 1; what lies beyond an end is at it. */
double tic_time_scale_place(const struct tic_time_scale *scale, double time);

/* The step of round marks, 1, 2 or 5 times a power of ten, or round in minutes, hours and days if
 * it is a time: the least with which at most `most` of them fit into `length`. */
double tic_scale_step(double length, unsigned most);
double tic_scale_time_step(double seconds, unsigned most);
/* Binary units: of a length in bytes. */
double tic_scale_byte_step(double bytes, unsigned most);

/* "3.2 s", "210 ms", "12 min", "3 h 20 min", "2 d 4 h". */
void tic_scale_duration(char text[TIC_SCALE_TEXT], double seconds);
/* With as many decimals as a step needs: "0.25 s", "55 ms"; from a minute on "1:30", "2:00:00". */
void tic_scale_clock(char text[TIC_SCALE_TEXT], double seconds, double step);
/* "740 kB": of 1000 bytes. */
void tic_scale_bytes(char text[TIC_SCALE_TEXT], double bytes);
/* "12,345". */
void tic_scale_count(char text[TIC_SCALE_TEXT], uint64_t count);

#endif
