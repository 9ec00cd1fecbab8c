/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log of a directory in memory, ordered by time. */
#include "tools/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/store.h"
#include "tools/tool.h"

struct reading {
    struct tic_events *events;
    int status;
};

static bool note(void *arg, const struct tic_log_record *record)
{
    struct reading *reading = arg;
    struct tic_events *events = reading->events;
    struct tic_log_record copy = *record;
    uint64_t *words = malloc(record->count * 8 + 1);

    copy.words = words;
    if (!words || tic_append(events->items, events->count, events->capacity, &copy) != 0) {
        free(words);
        reading->status = -ENOMEM;
        return false;
    }
    if (record->count > 0)
        memcpy(words, record->words, record->count * 8);
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct tic_log_record *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

int tic_events_load(struct tic_store *store, struct tic_events *events)
{
    struct reading reading = {.events = events};
    int status = tic_eventlog_walk(store, note, &reading);

    status = reading.status ? reading.status : status;
    if (status == 0)
        tic_sort(events->items, events->count, by_time);
    return status;
}

int tic_events_read(const char *path, struct tic_events *events)
{
    struct tic_store store;
    int status = tic_tool_open_store(&store, path);

    if (status)
        return status;
    status = tic_events_load(&store, events);
    tic_store_close(&store);
    if (status)
        tic_events_clear(events);
    return status;
}

void tic_events_clear(struct tic_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        free((void *)events->items[i].words);
    free(events->items);
    memset(events, 0, sizeof(*events));
}

size_t tic_event_accesses(const struct tic_log_record *record)
{
    return record->kind == TIC_LOGGED_CREATED && record->count > 2 &&
                   record->words[1] < record->count - 2
               ? record->words[1]
               : 0;
}

uint64_t tic_event_data(const struct tic_log_record *record, size_t access)
{
    return record->words[2 + access] >> TIC_LOG_MODE_BITS;
}

static uint64_t mode_bits(const struct tic_log_record *record, size_t access)
{
    return record->words[2 + access] & ((1u << TIC_LOG_MODE_BITS) - 1);
}

bool tic_event_writes(const struct tic_log_record *record, size_t access)
{
    return mode_bits(record, access) & 2;
}

const char *tic_event_mode(const struct tic_log_record *record, size_t access)
{
    /* As all versions of StarPU number them. */
    static const char *const plain[] = {"none", "R", "W", "RW"};
    static const char *const more[] = {"SCRATCH", "REDUX", "COMMUTE"};
    static char text[64];
    uint64_t bits = mode_bits(record, access);

    snprintf(text, sizeof(text), "%s", plain[bits & 3]);
    for (unsigned i = 0; i < 3; i++)
        if (bits & (4u << i))
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "|%s", more[i]);
    return text;
}

bool tic_event_name(const struct tic_log_record *record, char name[TIC_EVENT_NAME])
{
    size_t first = 2 + tic_event_accesses(record);
    size_t bytes = record->count > first ? (record->count - first) * 8 : 0;

    if (record->kind != TIC_LOGGED_CREATED || record->count <= first || bytes >= TIC_EVENT_NAME)
        return false;
    memcpy(name, record->words + first, bytes);
    name[bytes] = '\0';
    return true;
}
