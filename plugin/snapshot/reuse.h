/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEL: rows of results that the next write has replaced are used again before the next recovery
 * line. A new page of a file costs several times as much as one that is there, and the log takes no
 * more space than the data and what has been written of late.
 *
 * A replaced value is needed no more when the log holds the result that replaced it and the result
 * of each task that has read it. Three rules make that so:
 * - a use that a restart makes again marks the data (tic_reuse_note_use): by a task without a
 *   result that a restart can use, by a message, or by main(), in an access or a partition. Later
 *   results on that data must take their place among others in a restart, so all are kept until a
 *   line has that use; for good of data that main() holds while it submits tasks that write it
 *   (tic_reuse_exclude);
 * - a row waits until each task that ran when its value was replaced has ended, and so was logged:
 *   the hook at the end of a task comes after StarPU has released its data;
 * - only a value that this run has logged, of the write directly before, and that no cut defines,
 * is given up. A restart that needs such a value in spite of all this (a damaged file) finds
 * another checksum, and executes more tasks again, at most those after the line. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "graph/handle.h"
#include "snapshot/cut.h"

/* A row whose value was replaced. */
struct tic_replaced {
    struct tic_row row;
    uint64_t
        sweeps; /* of the store, when the value was still the data's: another one has freed it */
    uint64_t clock; /* tasks that began at an earlier one may not be logged */
};

struct tic_reuse {
    struct tic_lock lock;
    _Atomic uint64_t clock;       /* rows that were replaced; seq_cst */
    _Atomic bool off;             /* a task ended without a result in the log; seq_cst */
    _Atomic uint64_t committed;   /* the cut of the newest line of this run; relaxed */
    struct tic_replaced *waiting; /* guarded by lock: ascending clock, from first on */
    unsigned long first, count, capacity;
    unsigned long looked;    /* guarded by lock: count after the last look at the slots */
    _Atomic uint64_t rows;   /* statistics: free again; relaxed */
    _Atomic uint64_t stored; /* bytes of results since a line was tried last; relaxed */
    _Atomic uint64_t freed;  /* bytes of rows that are free again since then; relaxed */
};

void tic_reuse_init(struct tic_reuse *reuse);
void tic_reuse_fini(struct tic_reuse *reuse);

/* A task begins that is to be logged. On its worker, in the begin hook. */
void tic_reuse_note_begin(struct tic_reuse *reuse, struct tic_slot *slot);
/* A restart makes this use again. In the begin hook of the task, or before main() goes on. */
void tic_reuse_note_use(struct tic_handle *handle, const struct tic_cut *cut);
/* Its results are never given up. */
void tic_reuse_exclude(struct tic_handle *handle);
/* A task that was to be logged ends without: nothing is used again from now on. On its worker. */
void tic_reuse_stop(struct tic_reuse *reuse);

/* The value that is about to be replaced by a result: true, and *replaced, if its row may be used
 * again once that is logged. Under the handle's lock, before the result is noted. */
bool tic_reuse_find_locked(struct tic_reuse *reuse, const struct tic_cut *cut,
                           struct tic_rows *rows, const struct tic_handle *handle,
                           struct tic_replaced *replaced);
/* What results since a line was tried last take that is not free again, in bytes. */
uint64_t tic_reuse_volume(struct tic_reuse *reuse);
/* The same, with so many bytes more. */
uint64_t tic_reuse_add_volume(struct tic_reuse *reuse, uint64_t bytes);
/* A line is tried: from now on. Checkpoint thread. */
void tic_reuse_begin_volume(struct tic_reuse *reuse);

/* These were replaced by results that the log holds now. On the worker. */
void tic_reuse_add(struct tic_reuse *reuse, const struct tic_cut *cut, struct tic_rows *rows,
                   struct tic_replaced *replaced, unsigned count);
