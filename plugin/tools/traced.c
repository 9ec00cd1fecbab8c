/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trace is read line by line; what a kill has left of a line is passed over. */
#include "tools/traced.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void *tic_traced_append(void **items, unsigned long *count, unsigned long *capacity, size_t size)
{
    if (tic_reserve_bytes(items, capacity, *count + 1, size) != 0)
        return NULL;
    return memset((char *)*items + (*count)++ * size, 0, size);
}

unsigned tic_traced_name(struct tic_traced *traced, const char *name)
{
    unsigned i = 0;

    while (i < traced->name_count && strcmp(traced->names[i], name) != 0)
        i++;
    if (i < traced->name_count)
        return i;
    char **place = tic_traced_append((void **)&traced->names, &traced->name_count,
                                     &traced->name_capacity, sizeof(*traced->names));
    char *copy = place ? strdup(name) : NULL;
    if (place && !copy)
        traced->name_count--;
    if (!copy)
        return UINT32_MAX;
    *place = copy;
    return i;
}

void tic_traced_clear(struct tic_traced *traced)
{
    for (unsigned long i = 0; i < traced->messages.count; i++)
        free(traced->messages.items[i].text);
    for (unsigned long i = 0; i < traced->runs.count; i++)
        free(traced->runs.items[i].directory);
    for (unsigned long i = 0; i < traced->name_count; i++)
        free(traced->names[i]);
    free(traced->names);
    free(traced->runs.items);
    free(traced->tasks.items);
    free(traced->checkpoints.items);
    free(traced->stalls.items);
    free(traced->messages.items);
    free(traced->crashes.items);
    free(traced->directory);
    memset(traced, 0, sizeof(*traced));
}

/* ---- events --------------------------------------------------------------------------------- */

struct reading {
    struct tic_traced *traced;
    double epoch;   /* seconds since 1970 of the run's time 0 */
    uint64_t bytes; /* of the run, by its last checkpoint */
    int status;
};

static double number_of(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));

    return text ? text : "";
}

static uint64_t count_of(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
}

static struct tic_traced_run *last_run(const struct reading *reading)
{
    const struct tic_traced *traced = reading->traced;

    return traced->runs.count > 0 ? &traced->runs.items[traced->runs.count - 1] : NULL;
}

/* A time of the run's clock; the run is known for as long at least. */
static double time_of(const struct reading *reading, const json_t *event, const char *key)
{
    double time = number_of(event, key) + reading->epoch - reading->traced->origin;
    struct tic_traced_run *run = last_run(reading);

    if (isfinite(time) && time > run->last)
        run->last = time;
    return time;
}

static void take_run(struct reading *reading, const json_t *event)
{
    struct tic_traced *traced = reading->traced;
    double time = number_of(event, "time");

    if (!isfinite(time))
        return;
    if (traced->runs.count == 0)
        traced->origin = time;
    struct tic_traced_run *run = tic_traced_add(&traced->runs);
    if (!run) {
        reading->status = -ENOMEM;
        return;
    }
    reading->epoch = time - number_of(event, "at");
    reading->bytes = 0;
    run->begin = run->last = time - traced->origin;
    run->first_task = run->from_cut = NAN;
}

static void take_directory(struct reading *reading, const json_t *event)
{
    struct tic_traced_run *run = last_run(reading);

    free(run->directory);
    run->directory = strdup(text_of(event, "path"));
}

static void take_start(struct reading *reading, const json_t *event)
{
    struct tic_traced_run *run = last_run(reading);

    time_of(reading, event, "at");
    run->started = true;
    run->workers = (unsigned)count_of(event, "workers");
    run->line = count_of(event, "line");
    run->tasks_done = count_of(event, "tasks_done");
    run->period = number_of(event, "period");
    run->mtbf = number_of(event, "mtbf");
    snprintf(run->protocol, sizeof(run->protocol), "%s", text_of(event, "protocol"));
    snprintf(run->program, sizeof(run->program), "%s", text_of(event, "program"));
    snprintf(run->arguments, sizeof(run->arguments), "%s", text_of(event, "arguments"));
    snprintf(run->host, sizeof(run->host), "%s", text_of(event, "host"));
}

static void take_reason(struct reading *reading, const json_t *event)
{
    struct tic_traced_run *run = last_run(reading);

    snprintf(run->no_restart, sizeof(run->no_restart), "%s", text_of(event, "reason"));
    snprintf(run->tasks, sizeof(run->tasks), "%s", text_of(event, "tasks"));
    run->restarts = count_of(event, "restarts");
}

/* The same task may come twice: when it runs, and when it has. */
static void take_task(struct reading *reading, const json_t *event)
{
    enum { MOST_WORKERS = 4096 };
    struct tic_traced *traced = reading->traced;
    struct tic_traced_task task = {
        .begin = time_of(reading, event, "begin"),
        .end = time_of(reading, event, "end"),
        .number =
            json_is_integer(json_object_get(event, "task")) ? count_of(event, "task") : UINT64_MAX,
        .run = (unsigned)traced->runs.count - 1,
        .name = tic_traced_name(traced, text_of(event, "name")),
        .worker = (int)count_of(event, "worker"),
        .victim = json_is_integer(json_object_get(event, "victim")) ? (int)count_of(event, "victim")
                                                                    : -1};

    if (!isfinite(task.begin) || task.worker < 0 || task.worker >= MOST_WORKERS)
        return;
    struct tic_traced_task *place = tic_traced_add(&traced->tasks);
    if (!place || task.name == UINT32_MAX)
        reading->status = -ENOMEM;
    else
        *place = task;
}

static void take_checkpoint(struct reading *reading, const json_t *event)
{
    struct tic_traced *traced = reading->traced;
    struct tic_traced_checkpoint *checkpoint = tic_traced_add(&traced->checkpoints);
    uint64_t bytes = count_of(event, "bytes");

    if (!checkpoint) {
        reading->status = -ENOMEM;
        return;
    }
    *checkpoint = (struct tic_traced_checkpoint){
        .begin = time_of(reading, event, "begin"),
        .end = time_of(reading, event, "at"),
        .run = (unsigned)traced->runs.count - 1,
        .line = count_of(event, "line"),
        .tasks_done = count_of(event, "tasks_done"),
        .bytes = bytes > reading->bytes ? bytes - reading->bytes : 0};
    reading->bytes = bytes;
    if (!isfinite(checkpoint->begin) || !isfinite(checkpoint->end))
        traced->checkpoints.count--;
}

static void take_stall(struct reading *reading, const json_t *event, int worker, const char *end)
{
    struct tic_traced_stall stall = {.begin = time_of(reading, event, "begin"),
                                     .end = time_of(reading, event, end),
                                     .run = (unsigned)reading->traced->runs.count - 1,
                                     .worker = worker};
    if (!isfinite(stall.begin) || !isfinite(stall.end))
        return;
    struct tic_traced_stall *place = tic_traced_add(&reading->traced->stalls);
    if (place)
        *place = stall;
    else
        reading->status = -ENOMEM;
}

static void take_message(struct reading *reading, const json_t *event)
{
    enum { MOST_LEVEL = 1 }; /* details are pictures here */
    struct tic_traced *traced = reading->traced;
    int level = (int)count_of(event, "level");
    char *text = level <= MOST_LEVEL ? strdup(text_of(event, "text")) : NULL;
    struct tic_traced_message *message = text ? tic_traced_add(&traced->messages) : NULL;

    if (message)
        *message = (struct tic_traced_message){.at = time_of(reading, event, "at"),
                                               .run = (unsigned)traced->runs.count - 1,
                                               .level = level,
                                               .text = text};
    else
        free(text);
}

/* The process says it, or who has seen it die. */
static void take_end(struct reading *reading, const json_t *event, bool by_itself)
{
    struct tic_traced_run *run = last_run(reading);
    double time = by_itself ? time_of(reading, event, "at")
                            : number_of(event, "time") - reading->traced->origin;

    if (!isfinite(time))
        return;
    if (!run->ended || !by_itself)
        run->last = fmax(run->last, time);
    run->ended = true;
    run->status = (int)count_of(event, "status");
    run->signal = (int)count_of(event, "signal");
}

static void take_event(struct reading *reading, const json_t *event)
{
    const char *kind = text_of(event, "kind");

    if (strcmp(kind, "run") == 0)
        take_run(reading, event);
    else if (!last_run(reading))
        return; /* its run is of an older trace, or lost */
    else if (strcmp(kind, "task") == 0)
        take_task(reading, event);
    else if (strcmp(kind, "stall") == 0)
        take_stall(reading, event, (int)count_of(event, "worker"), "end");
    else if (strcmp(kind, "held") == 0)
        take_stall(reading, event, -1, "at");
    else if (strcmp(kind, "hold") == 0)
        take_stall(reading, event, -2, "at");
    else if (strcmp(kind, "checkpoint") == 0)
        take_checkpoint(reading, event);
    else if (strcmp(kind, "message") == 0)
        take_message(reading, event);
    else if (strcmp(kind, "directory") == 0)
        take_directory(reading, event);
    else if (strcmp(kind, "start") == 0)
        take_start(reading, event);
    else if (strcmp(kind, "end") == 0 || strcmp(kind, "ended") == 0)
        take_end(reading, event, strcmp(kind, "end") == 0);
    else if (strcmp(kind, "no_restart") == 0)
        take_reason(reading, event);
    else if (strcmp(kind, "dropped") == 0)
        reading->traced->dropped += count_of(event, "records");
    else if (strcmp(kind, "full") == 0)
        reading->traced->full = true;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int read_lines(FILE *file, struct reading *reading)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    while (reading->status == 0 && (length = getline(&line, &size, file)) > 0) {
        json_t *event = length > 1 ? json_loadb(line, (size_t)length, 0, NULL) : NULL;
        reading->traced->bad_lines += !event && length > 1;
        if (event)
            take_event(reading, event);
        json_decref(event);
    }
    free(line);
    return reading->status ? reading->status : ferror(file) ? -EIO : 0;
}

/* ---- which runs count ----------------------------------------------------------------------- */

/* One that died before it told is of the same directory as that before it. */
static void keep_directory(const struct tic_traced *traced, const char *directory, bool *keep)
{
    const struct tic_traced_run *runs = traced->runs.items;
    unsigned long count = traced->runs.count;

    for (unsigned long i = count; i-- > 0 && !directory;)
        directory = runs[i].directory;
    for (unsigned long i = 0; i < count; i++)
        keep[i] = runs[i].directory && directory ? strcmp(runs[i].directory, directory) == 0
                  : i > 0                        ? keep[i - 1]
                                                 : true;
}

/* What comes after a run that was over is of another result. */
static void drop_earlier(const struct tic_traced *traced, bool *keep)
{
    bool is_later = false, is_earlier = false;

    for (unsigned long i = traced->runs.count; i-- > 0;) {
        const struct tic_traced_run *run = &traced->runs.items[i];
        is_earlier |= keep[i] && is_later && run->ended && run->status == 0;
        is_later |= keep[i];
        keep[i] &= !is_earlier;
    }
}

/* Of items of this size that have the number of their run at `place`: those of runs that are kept,
 * with their new numbers. How many. */
static unsigned long keep_items(void *items, unsigned long count, size_t size, size_t place,
                                const bool *keep, const unsigned *number)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < count; i++) {
        char *item = (char *)items + i * size;
        unsigned *run = (unsigned *)(item + place);
        if (!keep[*run])
            continue;
        *run = number[*run];
        memmove((char *)items + kept++ * size, item, size);
    }
    return kept;
}

#define KEPT(list, type)                                                                           \
    keep_items((list).items, (list).count, sizeof(struct type), offsetof(struct type, run), keep,  \
               number)

static void keep_messages(struct tic_traced *traced, const bool *keep)
{
    for (unsigned long i = 0; i < traced->messages.count; i++)
        if (!keep[traced->messages.items[i].run])
            free(traced->messages.items[i].text);
}

static void keep_runs(struct tic_traced *traced, const bool *keep)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < traced->runs.count; i++)
        if (keep[i])
            traced->runs.items[kept++] = traced->runs.items[i];
        else
            free(traced->runs.items[i].directory);
    traced->runs.count = kept;
}

/* Times count from the first run that is kept. */
static void shift(struct tic_traced *traced)
{
    double by = traced->runs.count > 0 ? traced->runs.items[0].begin : 0;

    traced->origin += by;
    for (unsigned long i = 0; i < traced->runs.count; i++) {
        traced->runs.items[i].begin -= by;
        traced->runs.items[i].last -= by;
    }
    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        traced->tasks.items[i].begin -= by;
        traced->tasks.items[i].end -= by;
    }
    for (unsigned long i = 0; i < traced->checkpoints.count; i++) {
        traced->checkpoints.items[i].begin -= by;
        traced->checkpoints.items[i].end -= by;
    }
    for (unsigned long i = 0; i < traced->stalls.count; i++) {
        traced->stalls.items[i].begin -= by;
        traced->stalls.items[i].end -= by;
    }
    for (unsigned long i = 0; i < traced->messages.count; i++)
        traced->messages.items[i].at -= by;
}

static int select_runs(struct tic_traced *traced, const char *directory)
{
    bool *keep = calloc(traced->runs.count + 1, sizeof(*keep));
    unsigned *number = calloc(traced->runs.count + 1, sizeof(*number));

    if (keep && number) {
        keep_directory(traced, directory, keep);
        drop_earlier(traced, keep);
        for (unsigned long i = 0, kept = 0; i < traced->runs.count; i++)
            number[i] = (unsigned)(keep[i] ? kept++ : 0);
        traced->tasks.count = KEPT(traced->tasks, tic_traced_task);
        traced->checkpoints.count = KEPT(traced->checkpoints, tic_traced_checkpoint);
        traced->stalls.count = KEPT(traced->stalls, tic_traced_stall);
        keep_messages(traced, keep);
        traced->messages.count = KEPT(traced->messages, tic_traced_message);
        keep_runs(traced, keep);
        shift(traced);
    }
    int status = keep && number ? 0 : -ENOMEM;
    free(keep);
    free(number);
    return status;
}

static int name_directory(struct tic_traced *traced)
{
    const char *directory = NULL;

    for (unsigned long i = traced->runs.count; i-- > 0 && !directory;)
        directory = traced->runs.items[i].directory;
    traced->directory = directory ? strdup(directory) : NULL;
    return directory && !traced->directory ? -ENOMEM : 0;
}

int tic_traced_read(const char *path, const char *directory, struct tic_traced *traced)
{
    struct reading reading = {.traced = traced};
    FILE *file = fopen(path, "re");

    if (!file)
        return -errno;
    int status = read_lines(file, &reading);
    fclose(file);
    status = status ? status : select_runs(traced, directory);
    if (status == 0 && traced->runs.count == 0)
        status = -ENOENT;
    status = status ? status : name_directory(traced);
    if (status)
        tic_traced_clear(traced);
    return status;
}
