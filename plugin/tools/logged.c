/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/logged.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "store/forced.h"
#include "tools/events.h"
#include "tools/traced.h"

/* Names of tasks by number, as main() created them. */
struct names {
    unsigned *of;
    uint64_t count;
};

static int load_names(const struct tic_events *events, struct tic_traced *traced,
                      struct names *names)
{
    char name[TIC_EVENT_NAME];

    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].kind == TIC_LOGGED_CREATED && events->items[i].count > 0 &&
            events->items[i].words[0] >= names->count &&
            events->items[i].words[0] < TIC_LOG_MOST_TASKS)
            names->count = events->items[i].words[0] + 1;
    unsigned none = tic_traced_name(traced, "");
    names->of = malloc((names->count + 1) * sizeof(*names->of));
    if (!names->of || none == UINT32_MAX)
        return -ENOMEM;
    for (uint64_t i = 0; i < names->count; i++)
        names->of[i] = none;
    for (size_t i = 0; i < events->count; i++)
        if (tic_event_name(&events->items[i], name) && events->items[i].words[0] < names->count)
            names->of[events->items[i].words[0]] = tic_traced_name(traced, name);
    return 0;
}

/* Seconds since the first event. */
static double time_of(const struct tic_events *events, uint64_t nanoseconds)
{
    return (double)(int64_t)(nanoseconds - events->items[0].time) * 1e-9;
}

static int add_run(struct tic_traced *traced, double time)
{
    struct tic_traced_run *run = tic_traced_add(&traced->runs);

    if (run)
        *run = (struct tic_traced_run){
            .begin = time, .last = time, .first_task = NAN, .from_cut = NAN};
    return run ? 0 : -ENOMEM;
}

static int add_task(struct tic_traced *traced, const struct tic_events *events,
                    const struct names *names, const struct tic_log_record *record)
{
    enum { MOST_WORKERS = 4096 };
    struct tic_forced forced;

    if (!tic_forced_decode(record, &forced) || (uint32_t)forced.workers >= MOST_WORKERS)
        return 0;
    struct tic_traced_task *task = tic_traced_add(&traced->tasks);
    if (!task)
        return -ENOMEM;
    *task = (struct tic_traced_task){
        .begin = time_of(events, forced.started),
        .end = time_of(events, record->time),
        .number = forced.sequence,
        .run = (unsigned)traced->runs.count - 1,
        .name = forced.sequence < names->count ? names->of[forced.sequence] : 0,
        .worker = (int)(uint32_t)forced.workers,
        .victim = (int)(forced.workers >> 32) - 1};
    return 0;
}

static int take_events(struct tic_traced *traced, const struct tic_events *events,
                       const struct names *names)
{
    int status = add_run(traced, 0);
    bool has_run = false; /* some records may come before that of the first run */

    for (size_t i = 0; i < events->count && status == 0; i++) {
        const struct tic_log_record *record = &events->items[i];
        double time = time_of(events, record->time);
        if (record->kind == TIC_LOGGED_RUN && has_run)
            status = add_run(traced, time);
        else
            status = add_task(traced, events, names, record);
        has_run |= record->kind == TIC_LOGGED_RUN;
        if (status == 0)
            traced->runs.items[traced->runs.count - 1].last = time;
    }
    return status;
}

int tic_logged_read(struct tic_store *store, struct tic_traced *traced)
{
    struct tic_events events = {0};
    struct names names = {0};
    int status = tic_events_load(store, &events);

    if (status == 0 && events.count > 0) {
        status = load_names(&events, traced, &names);
        status = status ? status : take_events(traced, &events, &names);
        traced->origin = (double)events.items[0].time * 1e-9;
    }
    free(names.of);
    tic_events_clear(&events);
    return status;
}
