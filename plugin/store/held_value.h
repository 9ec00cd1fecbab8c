/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One held value: for held.c and held_write.c only. */
#pragma once

#include "base/image.h"
#include "store/rows.h"

struct tic_held {
    char *bytes;             /* a copy; or */
    struct tic_image *image; /* has it; neither: written, or nobody needs it any more */
    struct tic_layout where; /* in the image */
    uint64_t checksum;       /* of it there */
    struct tic_shape shape;
    struct tic_row real; /* if written */
    bool written;
    bool busy;   /* referenced from nowhere yet */
    bool pinned; /* survives all sweeps */
    bool keep;   /* survives the sweep under way */
    bool unused; /* nobody refers to it: its number may be given again */
};

static inline bool tic_held_is_there(const struct tic_held *held)
{
    return held->bytes || held->image;
}

/* The value is in the store, or nobody needs it: its memory is given back. */
void tic_held_drop_locked(struct tic_rows *rows, struct tic_held *held) TIC_REQUIRES(rows->lock);
struct tic_held tic_held_look_up(struct tic_rows *rows, uint32_t number);
/* The value of this number, if an image has it, is copied to memory, and the image goes. As
 * tic_held_copy_images. */
int tic_held_copy_image(struct tic_rows *rows, uint32_t number, const _Atomic bool *hurry);
