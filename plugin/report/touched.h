/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Findings of closed pages (pages.h): data, and places in the program that touch it. The caller
 * synchronises. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Bits; both where the machine does not tell. */
enum tic_touch { TIC_TOUCH_READ = 1, TIC_TOUCH_WRITE = 2 };

enum { TIC_TOUCHED_PLACES = 64, TIC_TOUCHED_FRAMES = 8 };

struct tic_touched_place {
    uint64_t id, bytes;   /* of the data */
    uint64_t calls;       /* calls of StarPU after which pages were closed, so far */
    const char *after;    /* the last of them */
    unsigned kinds;       /* enum tic_touch */
    bool is_main;         /* else another thread of the application */
    unsigned frame_count; /* the instruction, and where its callers go on */
    void *frames[TIC_TOUCHED_FRAMES];
};

/* Notes a place, once for each piece of data; no more than TIC_TOUCHED_PLACES, and few pieces of
 * data for each place. May be called in a signal handler. */
void tic_touched_note_place(const struct tic_touched_place *place);
/* Makes room for data with this many ids. False when out of memory. */
bool tic_touched_reserve(uint64_t ids);
/* Notes the data, if there is room. May be called in a signal handler. */
void tic_touched_note_data(uint64_t id, uint64_t bytes, unsigned kinds);
/* Adds "touched", a list of places, and "touched_data", a list of [id, bytes, kinds]. */
void tic_touched_report(json_t *report);
