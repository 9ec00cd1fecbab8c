/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The line that an extended one is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/doneset.h"
#include "graph/graph.h"
#include "recovery/extend.h"

/* ---- tasks of main() ------------------------------------------------------------------------- */

static int extend_done(const struct tic_extend *extend, struct tic_line *line)
{
    struct tic_doneset done;
    int status = 0;

    tic_doneset_init(&done);
    for (size_t i = 0; i < line->done_count && status == 0; i++)
        status = tic_doneset_add_range(&done, line->done[i]);
    for (size_t i = 0; i < extend->ended_count && status == 0; i++)
        if (extend->applied[i] && !(extend->ended[i].key & TIC_SPAWN_KEY))
            status = tic_doneset_add(&done, extend->ended[i].key);
    line->done = NULL;
    line->done_count = 0;
    status = status ? status : tic_doneset_ranges(&done, &line->done, &line->done_count);
    tic_doneset_fini(&done);
    return status;
}

/* ---- tasks of kernels ------------------------------------------------------------------------ */

/* What is copied into the line, with room for all. */
struct tables {
    const struct tic_extend *extend;
    const struct tic_line *from;
    struct tic_line *to;
};

static int allocate(struct tables *tables)
{
    const struct tic_extend *extend = tables->extend;
    const struct tic_line *from = tables->from;
    struct tic_line *to = tables->to;
    size_t buffers = from->buffer_count, bytes = from->bytes.count, text = from->functions.size;

    for (size_t i = 0; i < extend->submitted_count; i++) {
        const struct tic_submitted *what = &extend->submitted[i].what;
        buffers += what->task.buffers;
        bytes += what->task.arguments;
        text += strlen(what->codelet) + 1 + (what->callback ? strlen(what->callback) + 1 : 0);
    }
    to->kept = calloc(from->kept_count + extend->submitted_count + 1, sizeof(*to->kept));
    to->buffers = calloc(buffers + 1, sizeof(*to->buffers));
    to->bytes.items = calloc(bytes + 1, 1);
    to->functions.text = calloc(text + 1, 1);
    to->kept_writes = calloc(from->kept_write_count + buffers + 1, sizeof(*to->kept_writes));
    if (!to->kept || !to->buffers || !to->bytes.items || !to->functions.text || !to->kept_writes)
        return -ENOMEM;
    to->kept_count = to->buffer_count = to->bytes.count = 0;
    if (from->functions.size > 0)
        memcpy(to->functions.text, from->functions.text, from->functions.size);
    if (from->kept_write_count > 0)
        memcpy(to->kept_writes, from->kept_writes,
               from->kept_write_count * sizeof(*to->kept_writes));
    return 0;
}

static uint32_t number_function(struct tic_line *line, const char *name)
{
    uint32_t number = 0;
    size_t at = 0;

    for (; at < line->functions.size; at += strlen(line->functions.text + at) + 1, number++)
        if (strcmp(line->functions.text + at, name) == 0)
            return number;
    memcpy(line->functions.text + at, name, strlen(name) + 1);
    line->functions.size += strlen(name) + 1;
    return number;
}

static void keep(struct tic_line *line, const struct tic_line_kept *task,
                 const struct tic_line_buffer *buffers, const unsigned char *bytes)
{
    line->kept[line->kept_count++] = *task;
    if (task->buffers > 0)
        memcpy(line->buffers + line->buffer_count, buffers, task->buffers * sizeof(*buffers));
    if (task->arguments > 0)
        memcpy(line->bytes.items + line->bytes.count, bytes, task->arguments);
    line->buffer_count += task->buffers;
    line->bytes.count += task->arguments;
}

/* It is done: nobody submits it again, and a restart must know what it wrote. */
static void note_done(struct tic_line *line, const struct tic_line_kept *task,
                      const struct tic_line_buffer *buffers)
{
    line->kept_done++;
    for (uint32_t i = 0; i < task->buffers; i++)
        if (buffers[i].mode & TIC_MODE_WRITE)
            line->kept_writes[line->kept_write_count++] =
                (struct tic_line_kept_write){task->root, buffers[i].handle};
}

/* Those that the line had stay where they are, as some lie in blocks; of the others each once. */
static int unite_writes(const struct tic_line *from, struct tic_line *to)
{
    size_t old = from->kept_write_count, kept = old;
    struct tic_line_kept_write *writes = to->kept_writes;
    struct tic_line_kept_write *known = malloc((old + 1) * sizeof(*known));

    if (!known)
        return -ENOMEM;
    if (old > 0)
        memcpy(known, writes, old * sizeof(*known));
    tic_sort(known, old, tic_line_by_two_numbers);
    tic_sort(writes + old, to->kept_write_count - old, tic_line_by_two_numbers);
    for (size_t i = old; i < to->kept_write_count; i++)
        if ((kept == old || tic_line_by_two_numbers(&writes[kept - 1], &writes[i]) != 0) &&
            !tic_find(&writes[i], known, old, tic_line_by_two_numbers))
            writes[kept++] = writes[i];
    to->kept_write_count = kept;
    free(known);
    return 0;
}

static void copy_kept(struct tables *tables)
{
    const struct tic_line *from = tables->from;
    const struct tic_line_buffer *buffers = from->buffers;
    const unsigned char *bytes = from->bytes.items;

    for (size_t i = 0; i < from->kept_count; i++) {
        const struct tic_line_kept *task = &from->kept[i];
        if (tic_extend_has(tables->extend, task->id))
            note_done(tables->to, task, buffers);
        else
            keep(tables->to, task, buffers, bytes);
        buffers += task->buffers;
        bytes += task->arguments;
    }
}

static int by_order(const void *a, const void *b)
{
    const struct tic_submitted *x = *(const struct tic_submitted *const *)a;
    const struct tic_submitted *y = *(const struct tic_submitted *const *)b;

    return tic_order(x->run, y->run) ?: tic_order(x->order, y->order);
}

/* The last record of each task that a chosen one has submitted; they are sorted by identity. In the
 * order of submission. */
static const struct tic_submitted **list_submitted(const struct tic_extend *extend, size_t *count)
{
    const struct tic_submitted **list = calloc(extend->submitted_count + 1, sizeof(*list));

    *count = 0;
    for (size_t i = 0; list && i < extend->submitted_count; i++) {
        const struct tic_submitted *what = &extend->submitted[i].what;
        if (!tic_extend_has(extend, what->parent))
            continue;
        if (*count > 0 && list[*count - 1]->task.id == what->task.id)
            --*count;
        list[(*count)++] = what;
    }
    tic_sort(list, *count, by_order);
    return list;
}

static int add_submitted(struct tables *tables)
{
    size_t count;
    const struct tic_submitted **list = list_submitted(tables->extend, &count);

    for (size_t i = 0; list && i < count; i++) {
        struct tic_line_kept task = list[i]->task;
        if (tic_extend_has(tables->extend, task.id)) {
            note_done(tables->to, &task, list[i]->buffers);
            continue;
        }
        task.codelet = number_function(tables->to, list[i]->codelet);
        task.callback =
            list[i]->callback ? number_function(tables->to, list[i]->callback) : TIC_SPAWN_NONE;
        keep(tables->to, &task, list[i]->buffers, list[i]->bytes);
    }
    free(list);
    return list ? 0 : -ENOMEM;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* rows: ascending id. */
static int extend_values(const struct tic_extend *extend, const struct tic_line *from,
                         const struct tic_line_value *rows, struct tic_line *line)
{
    size_t count = 0;

    for (size_t i = 0; i < extend->value_count; i++)
        count += extend->values[i].output != NULL;
    line->values = calloc(from->value_count + count + 1, sizeof(*line->values));
    if (!line->values)
        return -ENOMEM;
    line->value_count = 0;
    for (size_t i = 0; i < from->value_count; i++)
        if (!tic_find(&from->values[i], rows, count, tic_line_by_number))
            line->values[line->value_count++] = from->values[i];
    if (count > 0)
        memcpy(line->values + line->value_count, rows, count * sizeof(*rows));
    line->value_count += count;
    tic_sort(line->values, line->value_count, tic_line_by_number);
    return 0;
}

/* ---- the line -------------------------------------------------------------------------------- */

int tic_extend_line(const struct tic_extend *extend, const struct tic_line *line,
                    const struct tic_line_value *rows, struct tic_line *extended)
{
    struct tables tables = {.extend = extend, .from = line, .to = extended};

    *extended = *line;
    extended->kept = NULL;
    extended->buffers = NULL;
    extended->bytes.items = NULL;
    extended->functions.text = NULL;
    extended->kept_writes = NULL;
    extended->values = NULL;
    int status = extend_done(extend, extended);
    status = status ? status : allocate(&tables);
    if (status == 0)
        copy_kept(&tables);
    status = status ? status : add_submitted(&tables);
    status = status ? status : unite_writes(line, extended);
    status = status ? status : extend_values(extend, line, rows, extended);
    extended->tasks_done += extend->count;
    if (status)
        tic_extend_drop_line(extended);
    return status;
}

void tic_extend_drop_line(struct tic_line *extended)
{
    free(extended->done);
    free(extended->kept);
    free(extended->buffers);
    free(extended->bytes.items);
    free(extended->functions.text);
    free(extended->kept_writes);
    free(extended->values);
    memset(extended, 0, sizeof(*extended));
}
