/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line in memory: what one line file holds. */
#include "store/line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"

void tic_line_clear(struct tic_line *line)
{
    void *owned[] = {line->version,
                     line->starpu,
                     line->host,
                     line->program,
                     line->directory,
                     line->arguments.text,
                     line->extents,
                     line->values,
                     line->done,
                     line->inputs,
                     line->events,
                     line->blocks,
                     line->signatures,
                     line->acquires,
                     line->spawned,
                     line->kept,
                     line->buffers,
                     line->bytes.items,
                     line->functions.text,
                     line->reads,
                     line->build,
                     line->input,
                     line->callbacks,
                     line->kept_writes,
                     line->looks,
                     line->ran,
                     line->history,
                     line->known.files.text,
                     line->known.names.text,
                     line->on.machine,
                     line->on.types.text,
                     line->on.extent_types,
                     line->point.names.text,
                     line->point.bytes.items};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        free(owned[i]);
    memset(line, 0, sizeof(*line));
}

bool tic_line_is_done(const struct tic_line *line, uint64_t sequence)
{
    size_t after = tic_first_from(sequence + 1, line->done, line->done_count);

    return after > 0 && line->done[after - 1].last >= sequence;
}

int tic_line_by_number(const void *a, const void *b)
{
    return tic_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

int tic_line_by_two_numbers(const void *a, const void *b)
{
    int order = tic_line_by_number(a, b);

    return order ? order : tic_line_by_number((const uint64_t *)a + 1, (const uint64_t *)b + 1);
}

int tic_line_by_read(const void *a, const void *b)
{
    const struct tic_line_read *x = a, *y = b;

    return tic_order(x->task, y->task) ?: tic_order(x->buffer, y->buffer);
}

int tic_line_adopt_begun(struct tic_line *line)
{
    const size_t most = line->history_count + line->callback_count + line->ran_count;
    struct tic_line_entry *history = realloc(line->history, (most + 1) * sizeof(*history));

    if (!history)
        return -ENOMEM;
    line->history = history;
    for (size_t i = 0; i < line->callback_count && line->file.without_history && line->verified;
         i++)
        history[line->history_count++] =
            (struct tic_line_entry){.kind = TIC_HISTORY_BEGIN,
                                    .role = TIC_HISTORY_CALLBACK,
                                    .actor = line->callbacks[i].task,
                                    .position = line->callbacks[i].clock << TIC_WAIT_BITS};
    for (size_t i = 0; i < line->ran_count && line->file.without_history; i++)
        history[line->history_count++] =
            (struct tic_line_entry){.kind = TIC_HISTORY_BEGIN,
                                    .role = TIC_HISTORY_KERNEL,
                                    .actor = line->ran[i],
                                    .position = tic_line_position(line)};
    line->callback_count = line->ran_count = 0;
    return 0;
}

/* EACH(table, array, count member, id, which entries) */
#define EACH(table, array, count, id_of, refers)                                                   \
    for (size_t i = 0; i < line->count && status == 0; i++) {                                      \
        const struct tic_line_reference reference = {table,                                        \
                                                     i,                                            \
                                                     id_of,                                        \
                                                     &line->array[i].extent,                       \
                                                     &line->array[i].row,                          \
                                                     line->array[i].checksum};                     \
        status = (refers) ? visit(arg, &reference) : 0;                                            \
    }

int tic_line_each(const struct tic_line *line, tic_line_visit visit, void *arg)
{
    int status = 0;

    EACH(TIC_LINE_VALUES, values, value_count, line->values[i].id, true)
    EACH(TIC_LINE_ACQUIRES, acquires, acquire_count, line->acquires[i].id,
         line->acquires[i].recorded)
    EACH(TIC_LINE_READS, reads, read_count, line->reads[i].task, true)
    EACH(TIC_LINE_BLOCKS, blocks, block_count, i, true)
    return status;
}

static int clone_table(const void *items, size_t count, size_t item, void **clone, size_t *cloned)
{
    *clone = malloc(count * item + 1);
    if (!*clone)
        return -ENOMEM;
    if (count > 0)
        memcpy(*clone, items, count * item);
    *cloned = count;
    return 0;
}

#define CLONE(items, count)                                                                        \
    clone_table(line->items, line->count, sizeof(*line->items), (void **)&clone->items,            \
                &clone->count)

int tic_line_clone_rows(const struct tic_line *line, struct tic_line *clone)
{
    memset(clone, 0, sizeof(*clone));
    clone->number = line->number;
    if (CLONE(extents, extent_count) == 0 && CLONE(values, value_count) == 0 &&
        CLONE(acquires, acquire_count) == 0 && CLONE(reads, read_count) == 0 &&
        CLONE(blocks, block_count) == 0)
        return 0;
    tic_line_clear(clone);
    return -ENOMEM;
}
