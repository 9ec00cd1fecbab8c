/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "store/data_names.h"

struct reading {
    struct tic_saved_lines *lines;
    int status;
};

uint64_t tic_saved_value_bytes(const struct tic_line *line, const struct tic_line_value *value)
{
    struct tic_shape shape = tic_line_extent_shape(&line->extents[value->extent]);

    return tic_shape_bytes(&shape);
}

int tic_saved_find_name(const struct tic_line *line, const char *name, uint64_t *id)
{
    int status = -ENOENT;

    for (size_t i = 0; i < line->value_count; i++) {
        const char *known = tic_name_plain(line->values[i].id);
        if (!known || strcmp(known, name) != 0)
            continue;
        if (status == 0)
            return -EEXIST;
        *id = line->values[i].id;
        status = 0;
    }
    return status;
}

void tic_saved_shape_text(char *text, unsigned size, const struct tic_shape *shape)
{
    unsigned used = 0;

    for (unsigned i = 0; i < shape->ndim && used < size; i++)
        used += (unsigned)snprintf(text + used, size - used, "%s%llu", i > 0 ? " x " : "",
                                   (unsigned long long)shape->dims[i]);
    if (used < size)
        snprintf(text + used, size - used, " of %llu byte%s",
                 (unsigned long long)shape->element_size, shape->element_size == 1 ? "" : "s");
}

static char *join_arguments(const struct tic_line *line)
{
    char *text = calloc(1, line->arguments.size + 1);

    for (size_t at = 0; text && at < line->arguments.size;
         at += strlen(line->arguments.text + at) + 1) {
        if (at > 0)
            strcat(text, " ");
        strcat(text, line->arguments.text + at);
    }
    return text;
}

static struct tic_saved_line describe(const char *file, int status, const struct tic_line *line)
{
    struct tic_saved_line saved = {.status = status, .number = line->number};

    snprintf(saved.file, sizeof(saved.file), "%s", file);
    if (!line->version)
        return saved;
    saved.tasks_done = line->tasks_done;
    saved.tasks_submitted = line->tasks_submitted;
    saved.workers = line->workers;
    saved.runs = line->account.runs;
    saved.created = line->created;
    saved.period = (double)line->account.period * 1e-9;
    saved.cost = (double)line->account.cost * 1e-9;
    saved.latency = (double)line->account.latency * 1e-9;
    saved.handles = line->value_count;
    for (size_t i = 0; i < line->value_count; i++)
        saved.bytes += tic_saved_value_bytes(line, &line->values[i]);
    return saved;
}

static bool take_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct reading *reading = arg;
    struct tic_saved_lines *lines = reading->lines;
    const struct tic_saved_line saved = describe(name, status, line);

    reading->status = tic_append(lines->items, lines->count, lines->capacity, &saved);
    if (reading->status)
        return true;
    if (line->version && !lines->program) {
        lines->program = strdup(line->program);
        lines->arguments = join_arguments(line);
    }
    if (status == 0 && !lines->has_newest) { /* the visitor may take it over */
        lines->newest = *line;
        memset(line, 0, sizeof(*line));
        lines->has_newest = true;
        tic_data_names_load(&lines->newest.known.names);
    }
    return false;
}

int tic_saved_read(struct tic_store *store, struct tic_saved_lines *lines)
{
    struct reading reading = {.lines = lines};
    int status = tic_store_walk(store, take_line, &reading);

    status = reading.status ? reading.status : status;
    if (status)
        tic_saved_clear(lines);
    return status;
}

void tic_saved_clear(struct tic_saved_lines *lines)
{
    if (lines->has_newest)
        tic_line_clear(&lines->newest);
    free(lines->items);
    free(lines->program);
    free(lines->arguments);
    memset(lines, 0, sizeof(*lines));
}
