/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segments that are not worth their file. */
#include "store/compact.h"

#include <errno.h>
#include <stdlib.h>

#include "base/failpoint.h"
#include "store/index.h"

/* Reviews: how long more than the lines are kept nothing must have been in use, or little; how long
 * a closed segment may stay as it is; and how long it is spared then. */
enum { PATIENCE = 2, STUCK = 8, SPARED = 64 };

/* ---- what is in use ------------------------------------------------------------------------- */

struct uses {
    const struct tic_store *store;
    struct tic_use *of; /* as the segments of the store */
    unsigned long found;
};

/* Extents of one segment mostly follow each other. */
static struct tic_use *use_of(void *arg, uint64_t segment)
{
    struct uses *uses = arg;
    const struct tic_store *store = uses->store;

    for (unsigned long k = 0; k < store->segment_count; k++) {
        unsigned long i = (uses->found + k) % store->segment_count;
        if (store->segments[i].number != segment)
            continue;
        uses->found = i;
        return &uses->of[i];
    }
    return NULL;
}

struct tic_use *tic_compact_uses(struct tic_store *store)
{
    struct uses uses = {.store = store, .of = calloc(store->segment_count + 1, sizeof(*uses.of))};

    if (uses.of)
        tic_rows_count_use(&store->rows, use_of, &uses);
    return uses.of;
}

/* ---- one segment ---------------------------------------------------------------------------- */

static void set_closed(struct tic_store *store, struct tic_store_segment *segment, bool closed)
{
    segment->closed = closed;
    segment->sparse = 0;
    tic_rows_close(&store->rows, segment->number, closed);
}

/* It stays closed as long as it gets emptier. What cannot be moved (what main() read, values that a
 * restart has not come to) opens it again. */
static void review_closed(struct tic_store *store, struct tic_store_segment *segment,
                          const struct tic_use *use)
{
    segment->closed = use->bytes < segment->left ? 1 : segment->closed + 1;
    if (use->pinned == 0 && segment->closed <= STUCK + store->keep)
        return;
    set_closed(store, segment, false);
    segment->spared = SPARED;
}

static bool is_sparse(const struct tic_use *use)
{
    return use->pinned == 0 && use->bytes * 2 < use->touched &&
           use->touched - use->bytes >= TIC_COMPACT_WASTE;
}

static void review_segment(struct tic_store *store, struct tic_store_segment *segment,
                           const struct tic_use *use)
{
    segment->age++;
    segment->spared -= segment->spared > 0;
    segment->empty = use->rows == 0 ? segment->empty + 1 : 0;
    if (segment->closed > 0)
        review_closed(store, segment, use);
    else
        segment->sparse = is_sparse(use) ? segment->sparse + 1 : 0;
    segment->left = use->bytes;
}

/* Rows are needed again as lines go: every (keep + 1)-th time, where all values change. */
static bool is_needless(const struct tic_store *store, const struct tic_store_segment *segment)
{
    return segment->empty > (segment->closed ? 0 : store->keep + PATIENCE);
}

static void remove_needless(struct tic_store *store)
{
    for (unsigned long i = store->segment_count; i-- > 0;)
        if (is_needless(store, &store->segments[i]) &&
            tic_rows_retire(&store->rows, store->segments[i].number) == 0)
            tic_store_remove_segment(store, i);
}

/* ---- which to close ------------------------------------------------------------------------- */

static bool may_close(const struct tic_store *store, const struct tic_store_segment *segment)
{
    return segment->spared == 0 && segment->age > store->keep + PATIENCE;
}

/* One at least, whose values are then moved bit by bit; more as long as they are moved at once. */
static void close_sparse(struct tic_store *store)
{
    uint64_t bytes = 0;

    for (unsigned long i = 0; i < store->segment_count; i++) {
        struct tic_store_segment *segment = &store->segments[i];
        if (!may_close(store, segment) || segment->sparse <= store->keep + PATIENCE ||
            (bytes > 0 && bytes + segment->left > TIC_COMPACT_BYTES))
            continue;
        bytes += segment->left + 1;
        set_closed(store, segment, true);
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct tic_store_segment *const *x = a, *const *y = b;
    return tic_order((*x)->left, (*y)->left);
}

/* Of too many segments the smaller half becomes one. */
static int close_small(struct tic_store *store, const struct tic_use *uses)
{
    struct tic_store_segment **small =
        calloc(store->segment_count, sizeof(struct tic_store_segment *));
    unsigned long count = 0;
    uint64_t bytes = 0;

    if (!small)
        return -ENOMEM;
    for (unsigned long i = 0; i < store->segment_count; i++)
        if (uses[i].pinned == 0 && may_close(store, &store->segments[i]))
            small[count++] = &store->segments[i];
    tic_sort(small, count, by_bytes);
    if (count > store->segment_count / 2)
        count = store->segment_count / 2;
    for (unsigned long i = 0; i < count && bytes + small[i]->left <= TIC_COMPACT_BYTES; i++) {
        bytes += small[i]->left;
        set_closed(store, small[i], true);
    }
    free(small);
    return 0;
}

bool tic_compact_wants(const struct tic_store *store)
{
    for (unsigned long i = 0; i < store->segment_count; i++)
        if (store->segments[i].closed > 0)
            return true;
    return false;
}

int tic_compact_review(struct tic_store *store)
{
    struct tic_use *uses = tic_compact_uses(store);
    int status = 0;

    if (!uses)
        return -ENOMEM;
    for (unsigned long i = 0; i < store->segment_count; i++)
        review_segment(store, &store->segments[i], &uses[i]);
    if (!tic_compact_wants(store)) {
        close_sparse(store);
        if (store->segment_count > TIC_COMPACT_SEGMENTS && !tic_compact_wants(store))
            status = close_small(store, uses);
    }
    remove_needless(store);
    tic_index_leave_closed(&store->index);
    free(uses);
    return status;
}

void tic_compact_trim(struct tic_store *store)
{
    for (unsigned long i = store->segment_count; i-- > 0;)
        if (tic_rows_retire(&store->rows, store->segments[i].number) == 0)
            tic_store_remove_segment(store, i);
}

/* ---- moving --------------------------------------------------------------------------------- */

int tic_compact_move(struct tic_store *store, struct tic_saved *saved)
{
    struct tic_line_extent extent;
    int status = tic_rows_extent(&store->rows, saved->row, &extent);
    struct tic_demand demand = {.rows = 1};

    if (status)
        return status;
    demand.shape = tic_line_extent_shape(&extent);
    char *bytes = malloc(tic_shape_bytes(&demand.shape));
    if (!bytes)
        return -ENOMEM;
    struct tic_layout layout = tic_layout_packed(&demand.shape, bytes);
    struct tic_saved moved;
    status = tic_store_read(store, saved, &layout);
    status = status ? status : tic_store_save(store, &layout, &moved);
    free(bytes);
    if (status)
        return status;
    *saved = moved;
    atomic_fetch_add_explicit(&store->counts.values_moved, 1, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_VALUE_MOVED);
    return 0;
}
