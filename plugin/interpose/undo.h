/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task writes, as it was before its kernel: so that the kernel may be executed again, and so
 * that what two executions wrote can be compared. Nobody else has access to it meanwhile: to StarPU
 * and to checkpoints all executions are one. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/layout.h"

/* In the place of a buffer: the arguments of the task. */
#define TIC_UNDO_ARGUMENTS UINT32_MAX
#define TIC_UNDO_NO_ID UINT64_MAX

struct tic_undo_value {
    struct tic_layout layout; /* where it is */
    uint64_t id;              /* of the data, if protection knows it; or TIC_UNDO_NO_ID */
    uint32_t buffer;          /* of the task */
    char *before;             /* without gaps */
    char *results[2];         /* of the executions that these were called after: */
};

struct tic_undo {
    struct tic_undo_value *values; /* `few`, or owned */
    unsigned count;
    char *before, *results[2]; /* owned: of all values */
    struct tic_undo_value few[STARPU_NMAXBUFS + 1];
};

/* Keeps what the task writes, before its kernel. NULL, or why that cannot be put back; then there
 * is nothing to end. is_known: protection knows the data. */
const char *tic_undo_begin(struct tic_undo *undo, struct starpu_task *task, void *buffers[],
                           bool is_known);
void tic_undo_end(struct tic_undo *undo);
/* Has the kernel given some of the data another size or place? */
bool tic_undo_has_moved(const struct tic_undo *undo, struct starpu_task *task, void *buffers[]);
/* Writes it back. False, and nothing is written, where it has. */
bool tic_undo_put_back(const struct tic_undo *undo, struct starpu_task *task, void *buffers[]);

enum tic_undo_result { TIC_UNDO_FIRST, TIC_UNDO_OTHER };
/* Keeps what an execution has written. False when out of memory. */
bool tic_undo_keep(struct tic_undo *undo, enum tic_undo_result which);
/* Is the memory what was kept? */
bool tic_undo_is(const struct tic_undo *undo, enum tic_undo_result which);

enum { TIC_UNDO_SHOWN = 16 };
struct tic_undo_difference {
    const struct tic_undo_value *value;
    uint64_t element, elements; /* the first that differs, in the order of memory; of so many */
    uint32_t offset, bytes;     /* in it, and how many are below: */
    unsigned char kept[TIC_UNDO_SHOWN], now[TIC_UNDO_SHOWN];
};
/* Where the memory first differs from the first result. False: nowhere. */
bool tic_undo_find_difference(const struct tic_undo *undo, struct tic_undo_difference *difference);
