/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic log: the event log of a directory. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/extension.h"
#include "store/forced.h"
#include "tools/arguments.h"
#include "tools/events.h"
#include "tools/json_text.h"
#include "tools/tool.h"

/* ---- words ---------------------------------------------------------------------------------- */

static const char *const event_names[] = {
    [TIC_LOGGED_RUN] = "run",
    [TIC_LOGGED_CREATED] = "created",
    [TIC_LOGGED_STARTED] = "started",
    [TIC_LOGGED_FINISHED] = "finished",
    [TIC_LOGGED_REGISTERED] = "registered",
    [TIC_LOGGED_UNREGISTERED] = "unregistered",
    [TIC_LOGGED_ACQUIRED] = "acquired",
    [TIC_LOGGED_EVENT] = "event",
    [TIC_LOGGED_RESTORED] = "restored",
    [TIC_LOGGED_INPUT] = "input",
    [TIC_LOGGED_COMMITTED] = "committed",
    [TIC_LOGGED_ENDED] = "ended",
    [TIC_LOGGED_SUBMITTED] = "submitted",
};

static const char *name_of(enum tic_logged kind)
{
    return kind > 0 && (size_t)kind < sizeof(event_names) / sizeof(event_names[0])
               ? event_names[kind]
               : "unknown";
}

/* Names of numbers that follow the kind, in their order; data accesses and values come after. */
static const char *const fields[][4] = {
    [TIC_LOGGED_RUN] = {"line", "results", "runs"},
    [TIC_LOGGED_CREATED] = {"task"},
    [TIC_LOGGED_STARTED] = {"task"},
    [TIC_LOGGED_FINISHED] = {"task"},
    [TIC_LOGGED_REGISTERED] = {"data", "bytes"},
    [TIC_LOGGED_UNREGISTERED] = {"data"},
    [TIC_LOGGED_ACQUIRED] = {"data", "mode", "submissions"},
    [TIC_LOGGED_EVENT] = {"number", "kind", "value"},
    [TIC_LOGGED_RESTORED] = {"task"},
    [TIC_LOGGED_INPUT] = {"data", "hash"},
    [TIC_LOGGED_COMMITTED] = {"line"},
    [TIC_LOGGED_ENDED] = {"task"},
    [TIC_LOGGED_SUBMITTED] = {NULL},
};

static json_t *accesses_of(const struct tic_log_record *record)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tic_event_accesses(record); i++)
        json_array_append_new(list,
                              json_pack("{s:I, s:s}", "data", (json_int_t)tic_event_data(record, i),
                                        "mode", tic_event_mode(record, i)));
    return list;
}

static json_t *values_of(const struct tic_forced *forced)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < forced->count; i++)
        json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I}", "data",
                                              (json_int_t)forced->outputs[i].id, "bytes",
                                              (json_int_t)forced->outputs[i].bytes, "segment",
                                              (json_int_t)forced->outputs[i].segment, "offset",
                                              (json_int_t)forced->outputs[i].offset));
    return list;
}

/* A task of main() by its number, others by their identity. */
static json_t *task_of(uint64_t key)
{
    char text[32];

    snprintf(text, sizeof(text), "%016llx", (unsigned long long)key);
    return key <= INT64_MAX ? json_integer((json_int_t)key) : json_string(text);
}

static json_t *written_by(const struct tic_ended *ended)
{
    json_t *list = json_array();

    for (uint64_t i = 0; i < ended->count; i++) {
        const struct tic_ended_output *output = &ended->outputs[i];
        json_t *value = json_pack("{s:I, s:I}", "data", (json_int_t)output->id, "version",
                                  (json_int_t)output->version);
        if (output->segment != TIC_ENDED_REPLACED)
            json_object_update_new(value,
                                   json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)output->bytes,
                                             "segment", (json_int_t)output->segment, "offset",
                                             (json_int_t)output->offset));
        json_array_append_new(list, value);
    }
    return list;
}

static void add_workers(json_t *entry, uint64_t workers)
{
    json_object_set_new(entry, "worker", json_integer((uint32_t)workers));
    if (workers >> 32)
        json_object_set_new(entry, "stolen_from", json_integer((json_int_t)(workers >> 32) - 1));
}

static json_t *entry_of(const struct tic_log_record *record)
{
    json_t *entry = json_pack("{s:f, s:s}", "time", (double)record->time * 1e-9, "event",
                              name_of(record->kind));
    struct tic_submitted submitted;
    struct tic_forced forced;
    struct tic_ended ended;
    char name[TIC_EVENT_NAME];

    for (size_t i = 0; strcmp(name_of(record->kind), "unknown") != 0 && i < 4; i++)
        if (fields[record->kind][i] && i < record->count)
            json_object_set_new(entry, fields[record->kind][i], task_of(record->words[i]));
    if (record->kind == TIC_LOGGED_CREATED && tic_event_name(record, name)) {
        json_object_set_new(entry, "codelet", tic_json_text(name));
        json_object_set_new(entry, "accesses", accesses_of(record));
    }
    if (record->kind == TIC_LOGGED_STARTED && record->count >= 2)
        add_workers(entry, record->words[1]);
    if (tic_submitted_decode(record, &submitted)) {
        json_object_set_new(entry, "task", task_of(submitted.task.id));
        json_object_set_new(entry, "by", task_of(submitted.parent));
        json_object_set_new(entry, "codelet",
                            tic_json_text(strchr(submitted.codelet, '\t')
                                              ? strchr(submitted.codelet, '\t') + 1
                                              : submitted.codelet));
    }
    if (tic_ended_decode(record, &ended)) {
        add_workers(entry, ended.workers);
        json_object_set_new(entry, "seconds",
                            json_real((double)(record->time - ended.started) * 1e-9));
        json_object_set_new(entry, "written", written_by(&ended));
    }
    if (tic_forced_decode(record, &forced)) {
        add_workers(entry, forced.workers);
        json_object_set_new(entry, "seconds",
                            json_real((double)(record->time - forced.started) * 1e-9));
        json_object_set_new(entry, "written", values_of(&forced));
    }
    return entry;
}

/* ---- plain ---------------------------------------------------------------------------------- */

static void print_value(const char *key, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));

    printf(" %s %s", key, text ? text : "?");
    free(text);
}

static void print_list(const char *key, const json_t *list)
{
    size_t i;
    json_t *item;

    printf(" %s", key);
    json_array_foreach(list, i, item)
    {
        const char *mode = json_string_value(json_object_get(item, "mode"));
        printf("%s%lld%s%s", i ? ", " : " ",
               (long long)json_integer_value(json_object_get(item, "data")), mode ? ":" : "",
               mode ? mode : "");
    }
}

static void print_entry(json_t *entry, uint64_t begin, const struct tic_log_record *record)
{
    const char *key;
    json_t *value;

    printf("%12.6f %s", (double)(int64_t)(record->time - begin) * 1e-9, name_of(record->kind));
    json_object_foreach(entry, key, value)
    {
        if (json_is_array(value))
            print_list(key, value);
        else if (strcmp(key, "time") != 0 && strcmp(key, "event") != 0)
            print_value(key, value);
    }
    putchar('\n');
}

/* ---- the command ---------------------------------------------------------------------------- */

void tic_events_write(FILE *out, const struct tic_events *events)
{
    fputs("{\"events\": [\n", out);
    for (size_t i = 0; i < events->count; i++) {
        json_t *entry = entry_of(&events->items[i]);
        json_dumpf(entry, out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
        fputs(i + 1 < events->count ? ",\n" : "\n", out);
        json_decref(entry);
    }
    fputs("]}\n", out);
}

void tic_events_print(const struct tic_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        json_t *entry = entry_of(&events->items[i]);
        print_entry(entry, events->items[0].time, &events->items[i]);
        json_decref(entry);
    }
}

static int print_log(const char *path, bool as_json)
{
    struct tic_events events = {0};
    int status = tic_events_read(path, &events);

    if (status) {
        tic_arguments_cannot_read(path, status);
        return TIC_TOOL_FAILED;
    }
    if (as_json)
        tic_events_write(stdout, &events);
    else if (events.count == 0)
        printf("no events in %s\n", path);
    else
        tic_events_print(&events);
    tic_events_clear(&events);
    return TIC_TOOL_OK;
}

int tic_tool_log(int argc, char **argv)
{
    return tic_tool_report(argc, argv, print_log, false);
}
