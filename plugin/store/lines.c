/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: finding, checking, adopting and removing what is in the directory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "store/ask.h"
#include "store/eventlog.h"
#include "store/linefile.h"
#include "store/mark.h"
#include "store/payload.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/store.h"

/* ---- checking ------------------------------------------------------------------------------- */

int tic_store_check_row(const struct tic_store *store, const struct tic_line *line,
                        const struct tic_line_reference *reference)
{
    const struct tic_line_extent *extent = &line->extents[*reference->extent];
    int fd = tic_store_peek_segment(store, extent->segment);

    if (fd < 0)
        return fd == -ENOENT ? -EBADMSG : fd;
    struct tic_place place = tic_payload_place(extent, *reference->row, fd);
    int status = tic_payload_check(store->h5, &place, reference->checksum);
    close(fd);
    return status;
}

int tic_store_verify(struct tic_store *store, const struct tic_saved *saved)
{
    uint64_t bytes = tic_rows_bytes(&store->rows, saved->row);
    struct tic_place place;
    int status = tic_rows_locate(&store->rows, saved->row, bytes, &place);

    atomic_fetch_add_explicit(&store->reading.bytes_verified, bytes, memory_order_relaxed);
    return status ? status : tic_payload_check(store->h5, &place, saved->checksum);
}

struct check {
    const struct tic_store *store;
    const struct tic_line *line;
};

static int check_reference(void *arg, const struct tic_line_reference *reference)
{
    const struct check *check = arg;
    bool block = strcmp(reference->table, TIC_LINE_BLOCKS) == 0; /* was read to complete the line */
    return block ? 0 : tic_store_check_row(check->store, check->line, reference);
}

int tic_store_check(struct tic_store *store, const struct tic_line *line)
{
    struct check check = {store, line};
    return tic_line_each(line, check_reference, &check);
}

int tic_store_walk(struct tic_store *store, tic_store_visit visit, void *arg)
{
    uint64_t *numbers;
    unsigned long count;
    int status = tic_store_list(store, TIC_FILE_LINE, &numbers, &count);
    bool done = false;

    for (unsigned long i = 0; i < count && status == 0 && !done; i++) {
        struct tic_line line = {0};
        char name[64];
        snprintf(name, sizeof(name), TIC_FILE_LINE, store->process, (unsigned long long)numbers[i]);
        if (numbers[i] >= store->next_line)
            store->next_line = numbers[i] + 1;
        int good = tic_linefile_read(store->directory, name, store->h5, &line);
        if (good == 0 && (line.number != numbers[i] || line.process != store->process))
            good = -EBADMSG; /* somebody renamed it */
        good = good ? good : tic_store_complete(store, &line);
        done = visit(arg, name, good, &line);
        tic_line_clear(&line);
    }
    free(numbers);
    return status;
}

/* ---- adopting -------------------------------------------------------------------------------
 */

static bool is_kept(const struct tic_store *store, const char *name)
{
    uint64_t number;

    if (tic_mark_is_named(name))
        return store->kept_count > 0;
    if (tic_store_parse_name(name, TIC_FILE_LOG, &number))
        return store->kept_count > 0 && store->log && tic_eventlog_holds(store->log, number);
    for (unsigned long i = 0; i < store->extra.count; i++)
        if (tic_store_parse_name(name, TIC_FILE_SEGMENT, &number) &&
            number == store->extra.numbers[i])
            return true;
    for (unsigned k = 0; k < store->kept_count; k++) {
        const struct tic_line *line = &store->kept[k];
        if (tic_store_parse_name(name, TIC_FILE_LINE, &number) && number == line->number)
            return true;
        if (!tic_store_parse_name(name, TIC_FILE_SEGMENT, &number))
            continue;
        for (size_t i = 0; i < line->extent_count; i++)
            if (line->extents[i].segment == number)
                return true;
    }
    return false;
}

static bool is_ours(const char *name)
{
    uint64_t number;
    return tic_mark_is_named(name) || tic_store_parse_name(name, TIC_FILE_LINE, &number) ||
           tic_store_parse_name(name, TIC_FILE_LINE_NEW, &number) ||
           tic_store_parse_name(name, TIC_FILE_SEGMENT, &number) ||
           tic_store_parse_name(name, TIC_FILE_LOG, &number);
}

static int remove_unless_kept(void *arg, const char *name)
{
    struct tic_store *store = arg;

    if (!is_ours(name) || is_kept(store, name) || unlinkat(store->directory, name, 0) == 0 ||
        errno == ENOENT)
        return 0;
    int status = -errno;
    tic_log(TIC_LOG_WARN, "%s/%s is in the way: %s. Remove it", store->path, name,
            tic_store_reason(status));
    return status;
}

int tic_store_clean(struct tic_store *store)
{
    return tic_store_each_name(store, remove_unless_kept, store);
}

struct comparison {
    const struct tic_line *older, *line;
};

static int compare_extents(void *arg, const struct tic_line_reference *reference)
{
    const struct comparison *lines = arg;
    const uint32_t i = *reference->extent;

    return i < lines->line->extent_count &&
                   memcmp(&lines->older->extents[i], &lines->line->extents[i],
                          sizeof(struct tic_line_extent)) == 0
               ? 0
               : -EINVAL;
}

/* Row numbers of both lines must mean the same: all extents that the older one refers to are the
 * newer one's, too. */
static bool is_compatible(const struct tic_line *older, const struct tic_line *line)
{
    struct comparison lines = {older, line};

    return older->version && tic_line_each(older, compare_extents, &lines) == 0;
}

static int check_there(void *arg, const struct tic_line_reference *reference)
{
    struct tic_store *store = arg;
    struct tic_line_extent extent;

    return tic_rows_extent(&store->rows, (struct tic_row){*reference->extent, *reference->row},
                           &extent) == 0
               ? 0
               : -ENOENT;
}

/* Segments that nothing refers to may be gone. */
static int add_extents(struct tic_store *store, const struct tic_line *line)
{
    for (size_t i = 0; i < line->extent_count; i++) {
        int fd = tic_store_open_segment(store, line->extents[i].segment);
        if (fd < 0 && fd != -ENOENT)
            return fd;
        if (line->extents[i].segment >= store->next_segment)
            store->next_segment = line->extents[i].segment + 1;
        long index = tic_rows_append(&store->rows, &line->extents[i], fd < 0 ? -1 : fd);
        if (index < 0)
            return (int)index;
    }
    return tic_line_each(line, check_there, store);
}

/* What main() and tasks have read stays, and so do blocks of tables that only grow. */
static void pin_logged(struct tic_store *store, const struct tic_line *line)
{
    for (size_t i = 0; i < line->acquire_count; i++)
        if (line->acquires[i].recorded)
            tic_rows_pin(&store->rows,
                         (struct tic_row){line->acquires[i].extent, line->acquires[i].row});
    for (size_t i = 0; i < line->read_count; i++)
        tic_rows_pin(&store->rows, (struct tic_row){line->reads[i].extent, line->reads[i].row});
    for (size_t i = 0; i < line->block_count; i++)
        if (line->blocks[i].table != TIC_TABLE_VALUES)
            tic_rows_pin(&store->rows,
                         (struct tic_row){line->blocks[i].extent, line->blocks[i].row});
}

static bool is_known(const struct tic_line *line, uint64_t segment)
{
    for (size_t i = 0; i < line->extent_count; i++)
        if (line->extents[i].segment == segment)
            return true;
    return false;
}

/* Numbers are not used again: a record of the log may name a segment that is gone. */
static int skip_numbers(struct tic_store *store)
{
    uint64_t *numbers;
    unsigned long count;
    int status = tic_store_list(store, TIC_FILE_SEGMENT, &numbers, &count);

    if (status == 0 && count > 0 && numbers[0] >= store->next_segment)
        store->next_segment = numbers[0] + 1;
    free(numbers);
    return status;
}

/* Nothing that a run has written, or not any more. */
static bool is_damage(int status)
{
    return status == -EBADMSG || status == -ELOOP || status == -EISDIR || status == -ESPIPE;
}

/* Segments that the line does not know; their extents come after its own. */
static int add_extra(struct tic_store *store)
{
    int status = 0;

    for (unsigned long i = 0; i < store->extra.count && status == 0; i++) {
        if (is_known(&store->kept[0], store->extra.numbers[i]))
            continue;
        struct tic_line_extent *extents = NULL;
        size_t count = 0;
        int fd = tic_store_open_segment(store, store->extra.numbers[i]);
        status = fd < 0 ? fd : tic_segment_read(fd, &extents, &count);
        if (status == -ENOENT) { /* removed, as nothing needed it: of a task executed twice, say */
            status = 0;
        } else if (is_damage(status)) {
            tic_log(TIC_LOG_WARN,
                    "%s/" TIC_FILE_SEGMENT
                    " is damaged: tasks whose results are in it are executed again",
                    store->path, store->process, (unsigned long long)store->extra.numbers[i]);
            status = 0;
        }
        for (size_t k = 0; k < count && status == 0; k++) {
            extents[k].segment = store->extra.numbers[i];
            long index = tic_rows_add(&store->rows, &extents[k], fd);
            status = index < 0 ? (int)index : 0;
        }
        free(extents);
    }
    return status;
}

int tic_store_keep_segment(struct tic_store *store, uint64_t number)
{
    for (unsigned long i = store->extra.count; i-- > 0;)
        if (store->extra.numbers[i] == number)
            return 0;
    if (tic_append(store->extra.numbers, store->extra.count, store->extra.capacity, &number) != 0)
        return -ENOMEM;
    if (number >= store->next_segment) /* it may be gone, and its number must not mean another */
        store->next_segment = number + 1;
    return 0;
}

int tic_store_adopt(struct tic_store *store, struct tic_line *line, struct tic_line *older,
                    unsigned older_count)
{
    store->kept[store->kept_count++] = *line;
    atomic_store_explicit(&store->has_line, true, memory_order_relaxed);
    memset(line, 0, sizeof(*line));
    for (unsigned i = 0; i < older_count; i++) {
        if (store->kept_count < store->keep && is_compatible(&older[i], &store->kept[0])) {
            store->kept[store->kept_count++] = older[i];
            memset(&older[i], 0, sizeof(older[i]));
        } else {
            tic_line_clear(&older[i]);
        }
    }
    int status = skip_numbers(store);
    status = status ? status : tic_store_clean(store);
    status = status ? status : add_extents(store, &store->kept[0]);
    status = status ? status : tic_index_load(&store->index, &store->kept[0]);
    status = status ? status : add_extra(store);
    if (status)
        return status;
    pin_logged(store, &store->kept[0]);
    /* A line holds what older ones do, but for one of a commit point. */
    for (unsigned i = 1; i < store->kept_count && store->kept[0].point.number; i++)
        pin_logged(store, &store->kept[i]);
    tic_rows_sweep_begin(&store->rows);
    tic_store_mark_kept(store);
    tic_rows_sweep_end(&store->rows);
    return 0;
}

void tic_store_remove_lines(struct tic_store *store)
{
    char name[64];
    uint64_t *numbers;
    unsigned long count;

    if (tic_store_list(store, TIC_FILE_LINE, &numbers, &count) != 0)
        return;
    while (count > 0) {
        snprintf(name, sizeof(name), TIC_FILE_LINE, store->process,
                 (unsigned long long)numbers[--count]);
        unlinkat(store->directory, name, 0);
    }
    free(numbers);
}

void tic_store_remove(struct tic_store *store)
{
    char name[64];

    /* Lines before the segments that they need, the newest last: a kill in between leaves a
     * store that can be used. */
    while (store->kept_count > 0) {
        struct tic_line *line = &store->kept[--store->kept_count];
        snprintf(name, sizeof(name), TIC_FILE_LINE, store->process,
                 (unsigned long long)line->number);
        unlinkat(store->directory, name, 0);
        tic_line_clear(line);
        tic_failpoint(TIC_FAIL_LINE_REMOVED);
    }
    store->extra.count = 0;
    tic_store_remove_lines(store); /* that this process has not adopted */
    tic_store_clean(store);
    tic_ask_clear(store->path);
    snprintf(name, sizeof(name), TIC_FILE_LOCK, store->process);
    unlinkat(store->directory, name, 0);
    rmdir(store->path); /* stays when something that is not ours lies in it */
}
