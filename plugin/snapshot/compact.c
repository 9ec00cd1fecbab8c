/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moving values out of segments that are to be removed. Checkpoint thread only. */
#include "store/compact.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "snapshot/provide.h"
#include "snapshot/snapshot.h"

/* main() waits for the graph lock no longer than a look at so many handles takes. */
enum { HANDLES_AT_ONCE = 256 };

struct moves {
    struct tic_handle_list handles;
    struct tic_demands demands;
    uint64_t bytes;
};

/* The newest line names this very value: it is whole, nobody is about to log where it is, and the
 * row stays as long as that line. No restore is to come that knows the row: values of the line that
 * a restart began with have no epoch. */
static bool may_move_locked(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    struct tic_rows *rows = &snapshot->store->rows;
    const struct tic_value *value = &handle->saving.current;

    if (!value->exists || value->since == 0 || value->found ||
        atomic_load(&handle->saving.dirty_since) != 0 ||
        atomic_load_explicit(&handle->saving.writers, memory_order_acquire) != 0 ||
        !tic_rows_is_closed(rows, value->saved.row))
        return false;
    const struct tic_line_value *named = tic_index_find(&snapshot->store->index, handle->id);
    struct tic_row row = tic_rows_real(rows, value->saved.row);
    return named && named->extent == row.extent && named->row == row.row;
}

static int consider(struct tic_snapshot *snapshot, struct tic_handle *handle, struct moves *moves)
{
    struct tic_line_extent extent;

    tic_lock(&handle->saving.lock);
    bool may =
        may_move_locked(snapshot, handle) &&
        tic_rows_extent(&snapshot->store->rows, handle->saving.current.saved.row, &extent) == 0;
    tic_unlock(&handle->saving.lock);
    if (!may)
        return 0;
    struct tic_shape shape = tic_line_extent_shape(&extent);
    moves->bytes += tic_shape_bytes(&shape);
    int status = tic_demands_add(&moves->demands, &shape);
    return status || tic_handle_append(&moves->handles, handle) ? status : -ENOMEM;
}

/* Handles are freed by this thread only. */
static int gather(struct tic_snapshot *snapshot, struct moves *moves)
{
    struct tic_graph *graph = snapshot->graph;
    unsigned long count = 1;
    int status = 0;

    for (unsigned long i = 0; i < count && status == 0 && moves->bytes < TIC_COMPACT_BYTES;) {
        tic_lock(&graph->lock);
        count = graph->handle_count;
        for (unsigned n = 0; n < HANDLES_AT_ONCE && i < count && status == 0; n++)
            status = consider(snapshot, graph->handles[i++], moves);
        tic_unlock(&graph->lock);
    }
    return status;
}

/* The next line names the new row; lines that are kept, the old one. */
static int move(struct tic_snapshot *snapshot, struct tic_handle *handle)
{
    struct tic_saved moved;

    tic_lock(&handle->saving.lock);
    int status = may_move_locked(snapshot, handle) ? 0 : -EBUSY;
    moved = handle->saving.current.saved;
    status = status ? status : tic_compact_move(snapshot->store, &moved);
    if (status == 0) {
        handle->saving.current.saved = moved;
        tic_rows_settle(&snapshot->store->rows, moved.row);
    }
    tic_unlock(&handle->saving.lock);
    if (status)
        return status;
    bool fine = tic_graph_note_changed(snapshot->graph, handle);
    tic_snapshot_need(snapshot, fine);
    return 0;
}

void tic_snapshot_move_values(struct tic_snapshot *snapshot)
{
    struct moves moves = {0};

    if (!tic_compact_wants(snapshot->store))
        return;
    int status = gather(snapshot, &moves);
    status = status ? status
                    : tic_store_provide(snapshot->store, moves.demands.items, moves.demands.count);
    for (unsigned long i = 0; i < moves.handles.count && status == 0; i++) {
        status = move(snapshot, moves.handles.items[i]);
        if (status == -EBUSY || status == -EBADMSG)
            status = 0; /* it has changed meanwhile; or stays as the lines have it */
        tic_snapshot_serve_requests(snapshot);
    }
    if (status)
        tic_log(TIC_LOG_DETAIL, "values of small segments stay there: %s",
                tic_store_reason(status));
    free(moves.handles.items);
    free(moves.demands.items);
}
