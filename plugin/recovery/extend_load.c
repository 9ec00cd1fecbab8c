/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recovery/extend_load.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "recovery/convert.h"
#include "snapshot/forced.h"

/* ---- the log --------------------------------------------------------------------------------- */

struct reading {
    struct tic_extend *extend;
    int status;
};

static bool note(void *arg, const struct tic_log_record *record)
{
    struct reading *reading = arg;

    reading->status = tic_extend_note(reading->extend, record);
    return reading->status == 0;
}

static int keep_segments(struct tic_snapshot *snapshot, const struct tic_extend *extend)
{
    int status = 0;

    for (size_t i = 0; i < extend->value_count && status == 0; i++)
        if (extend->values[i].output)
            status = tic_store_keep_segment(snapshot->store, extend->values[i].output->segment);
    return status;
}

int tic_extend_read(struct tic_snapshot *snapshot, const struct tic_line *line,
                    struct tic_extend *extend)
{
    struct reading reading = {.extend = extend};

    if (line->log.tick == 0 || tic_convert_is_other(line) || snapshot->recovery.line_lost ||
        snapshot->options.ignore_results)
        return 0;
    int status = tic_eventlog_walk(snapshot->store, note, &reading);
    status = reading.status ? reading.status : status;
    status = status ? status : tic_extend_choose(extend, line);
    return status ? status : keep_segments(snapshot, extend);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where it is now. False: it is not as its record says. */
static bool find(struct tic_snapshot *snapshot, const struct tic_extend_value *value,
                 struct tic_line_value *row)
{
    const struct tic_ended_output *output = value->output;
    struct tic_saved saved = {.checksum = output->checksum};

    if (tic_rows_find(&snapshot->store->rows, output->segment, output->offset, output->bytes,
                      &saved.row) != 0 ||
        tic_store_verify(snapshot->store, &saved) != 0)
        return false;
    *row = (struct tic_line_value){
        .id = value->id,
        .version = value->version,
        .checksum = output->checksum,
        .extent = saved.row.extent,
        .row = saved.row.row,
    };
    return true;
}

/* *count rows of values with an output. False: one is damaged. */
static bool find_all(struct tic_snapshot *snapshot, const struct tic_extend *extend,
                     struct tic_line_value *rows, size_t *count)
{
    bool whole = true;

    *count = 0;
    for (size_t i = 0; i < extend->value_count && whole; i++)
        if (extend->values[i].output)
            whole = find(snapshot, &extend->values[i], &rows[(*count)++]);
    return whole;
}

/* The next line names them, and until then they stay. */
static int adopt(struct tic_snapshot *snapshot, const struct tic_line_value *rows, size_t count)
{
    int status = 0;

    for (size_t i = 0; i < count && status == 0; i++) {
        const struct tic_forced_kept result = {
            .epoch = 1, .count = 1, .rows = {{rows[i].extent, rows[i].row}}};
        status = tic_index_set(&snapshot->store->index, &rows[i]);
        status = status ? status : tic_snapshot_keep_result(snapshot, &result);
    }
    return status;
}

int tic_extend_load(struct tic_snapshot *snapshot, struct tic_line *line, struct tic_extend *extend)
{
    struct tic_line_value *rows = calloc(extend->value_count + 1, sizeof(*rows));
    struct tic_line extended;
    size_t count = 0;

    if (!rows)
        return -ENOMEM;
    if (!find_all(snapshot, extend, rows, &count)) {
        tic_log(TIC_LOG_WARN,
                "a result in %s is damaged or gone: tasks that ended after recovery line %llu are "
                "executed again",
                snapshot->store->path, (unsigned long long)line->number);
        tic_extend_give_up(extend);
        count = 0;
    }
    snapshot->recovery.extended = extend->count;
    int status = extend->count == 0 ? tic_graph_load(snapshot->graph, line)
                                    : tic_extend_line(extend, line, rows, &extended);
    if (status == 0 && extend->count > 0) {
        status = tic_graph_load(snapshot->graph, &extended);
        status = status ? status : adopt(snapshot, rows, count);
        tic_extend_drop_line(&extended);
    }
    free(rows);
    return status;
}
