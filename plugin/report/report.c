/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic check` asks of a run. docs: starpu-tic(1), tools/check.c reads it. */
#include "report/report.h"

#include <dlfcn.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/path.h"
#include "session/about.h"
#include "session/context.h"
#include "report/looks_tell.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "session/packed.h"
#include "report/pages.h"
#include "unseen/left.h"
#include "unseen/statics.h"
#include "session/task.h"
#include "store/line.h"

/* The order in which `starpu-tic check` lists them. FEATURE(member, "words") */
#define FEATURES(FEATURE)                                                                          \
    FEATURE(tasks, "tasks")                                                                        \
    FEATURE(callback_tasks, "tasks that callbacks submit")                                         \
    FEATURE(child_tasks, "tasks that tasks submit")                                                \
    FEATURE(thread_tasks, "tasks that other threads submit")                                       \
    FEATURE(handles, "data handles")                                                               \
    FEATURE(homeless, "data handles without a home node")                                          \
    FEATURE(packed, "data handles that are saved by their interface's pack_data")                  \
    FEATURE(partitions, "partitions")                                                              \
    FEATURE(plans, "planned partitions")                                                           \
    FEATURE(commutes, "commuting accesses")                                                        \
    FEATURE(reductions, "accesses to accumulators of reductions")                                  \
    FEATURE(unordered, "tasks without sequential consistency")                                     \
    FEATURE(tags, "tasks with tags")                                                               \
    FEATURE(callbacks, "tasks with callbacks")                                                     \
    FEATURE(synchronous, "synchronous tasks")                                                      \
    FEATURE(effect_tasks, "tasks that write no data: a restart executes them again")               \
    FEATURE(each_worker, "calls that reach each worker: a restart needs as many workers, or more") \
    FEATURE(pointer_tasks, "tasks with pointers in their arguments")

static struct {
    pthread_mutex_t mutex;
#define MEMBER(member, words) uint64_t member;
    FEATURES(MEMBER) /* guarded by mutex */
#undef MEMBER
    uint64_t spawned; /* guarded by mutex: sum of identities */
    /* guarded by mutex */
    json_t *problems, *effects, *pointers, *data; /* NULL: nobody asks */
} report = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* {"name": count} */
static void count(json_t *object, const char *name)
{
    json_object_set_new(object, name,
                        json_integer(json_integer_value(json_object_get(object, name)) + 1));
}

static void load_events(struct tic_graph *graph, const char *path)
{
    json_t *file = json_load_file(path, 0, NULL), *entry;
    size_t i;

    json_array_foreach(json_object_get(file, "events"), i, entry)
    {
        int64_t value = json_integer_value(json_array_get(entry, 1));
        tic_graph_event(graph, (enum tic_event)json_integer_value(json_array_get(entry, 0)),
                        &value);
    }
    tic_graph_rewind_events(graph);
    json_decref(file);
}

static void note_problem(const char *what, const char *why)
{
    char *text = NULL;

    if (asprintf(&text, "%s: %s", what, why) < 0)
        return;
    pthread_mutex_lock(&report.mutex);
    count(report.problems, text);
    pthread_mutex_unlock(&report.mutex);
    free(text);
}

static void count_buffers(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool writes = false;

    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        writes |= mode & STARPU_W && handle && !tic_handle_is_empty(handle);
        report.commutes += (mode & STARPU_COMMUTE) != 0;
        report.reductions += handle && handle->use.accumulates;
    }
    if (writes || tic_marks_of(task) == TIC_MARK_CAN_SKIP)
        return;
    report.effect_tasks++;
    count(report.effects, tic_task_name(task));
}

void tic_report_task(struct starpu_task *task, enum tic_context context, uint64_t id)
{
    if (!report.problems)
        return;
    pthread_mutex_lock(&report.mutex);
    report.tasks++;
    report.callback_tasks += context == TIC_CONTEXT_CALLBACK;
    report.child_tasks += context == TIC_CONTEXT_TASK;
    report.thread_tasks += context == TIC_CONTEXT_THREAD;
    report.unordered += !task->sequential_consistency;
    report.tags += task->use_tag;
    report.callbacks += task->callback_func || task->cl->callback_func;
    report.synchronous += task->synchronous;
    report.spawned += id;
    count_buffers(task);
    if (tic_packed_has_pointer(task)) {
        report.pointer_tasks++;
        count(report.pointers, tic_task_name(task));
    }
    pthread_mutex_unlock(&report.mutex);
}

void tic_report_note(enum tic_lint_note what, const struct tic_handle *handle)
{
    const bool registers = what == TIC_LINT_REGISTERED;

    if (!report.problems)
        return;
    pthread_mutex_lock(&report.mutex);
    report.handles += registers;
    report.homeless += registers && handle->home_node < 0;
    report.packed += registers && handle->packer;
    report.each_worker += what == TIC_LINT_EACH_WORKER;
    report.plans += what == TIC_LINT_PLANNED;
    report.partitions += what == TIC_LINT_PARTITIONED;
    pthread_mutex_unlock(&report.mutex);
}

/* {"handle": "hash"} */
static void add_hash(json_t *object, uint64_t id, uint64_t hash)
{
    char key[24], text[24];

    snprintf(key, sizeof(key), "%llu", (unsigned long long)id);
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
    json_object_set_new(object, key, json_string(text));
}

static void note_returned(uint64_t id, const struct tic_layout *layout)
{
    pthread_mutex_lock(&report.mutex);
    add_hash(report.data, id, tic_layout_checksum(layout));
    pthread_mutex_unlock(&report.mutex);
}

static json_t *features(void)
{
    json_t *list = json_array();

#define ADD(member, words)                                                                         \
    if (report.member > 0)                                                                         \
        json_array_append_new(list, json_pack("[s, I]", words, (json_int_t)report.member));
    FEATURES(ADD)
#undef ADD
    return list;
}

static json_t *signatures(const struct tic_graph *graph)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < graph->signature.position; i++)
        json_array_append_new(list, json_integer(tic_signature_entry(&graph->signature, i)));
    return list;
}

/* Of data, or of what tasks write that is executed again. */
static json_t *inputs(const struct tic_graph *graph, bool of_tasks)
{
    json_t *object = json_object();
    const struct tic_line_input *input = (const void *)graph->inputs.items;

    for (unsigned long i = 0; i < graph->inputs.count; i++) /* no checkpoint has taken any away */
        if (((input[i].id & TIC_LINE_INPUT_OF_TASK) != 0) == of_tasks)
            add_hash(object, input[i].id & ~TIC_LINE_INPUT_OF_TASK, input[i].hash);
    return object;
}

static void add_events(json_t *list, const struct tic_line_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("[I, I]", (json_int_t)events[i].kind, (json_int_t)events[i].value));
}

static json_t *events(const struct tic_graph *graph)
{
    json_t *list = json_array();

    add_events(list, graph->recovered.events, graph->recovered.event_count);
    add_events(list, (const void *)graph->events.items, graph->events.count);
    return list;
}

/* directory: where a run of the same command keeps its recovery lines, if nothing else is set. */
static void add_notes(json_t *whole, const struct tic_session *session)
{
    char *directory = tic_about_directory(&session->snapshot.about);

    json_object_set_new(whole, "remade", inputs(&session->graph, true));
    json_object_set_new(whole, "working", json_string(tic_path_start()));
    json_object_set_new(whole, "directory", json_string(directory ? directory : ""));
    free(directory);
    if (dlsym(RTLD_DEFAULT, "starpu_mpi_world_size"))
        json_object_set_new(whole, "mpi", json_true());
    if (report.callbacks > 0)
        json_object_set_new(whole, "callbacks", json_integer((json_int_t)report.callbacks));
}

static void write_report(struct tic_session *session)
{
    char spawned[24];

    pthread_mutex_lock(&report.mutex); /* tasks may be running at the end of the process */
    snprintf(spawned, sizeof(spawned), "%016llx", (unsigned long long)report.spawned);
    json_t *whole = json_pack(
        "{s:o, s:O, s:O, s:O, s:O, s:o, s:o, s:o, s:s, s:s, s:s, s:s}", "features",
        features(),                                                                          //
        "problems", report.problems, "effects", report.effects,                              //
        "pointers", report.pointers, "data", report.data,                                    //
        "signatures", signatures(&session->graph), "inputs", inputs(&session->graph, false), //
        "events", events(&session->graph), "spawned", spawned,                               //
        "unregistered", tic_statics_found(), "left_out", tic_statics_left_out(), "addresses",
        tic_left_found());
    if (whole) {
        add_notes(whole, session);
        tic_looks_report(whole);
        tic_pages_report(whole);
    }
    bool written = whole && json_dump_file(whole, session->settings.report, JSON_COMPACT) == 0;
    json_decref(whole);
    pthread_mutex_unlock(&report.mutex);
    if (!written)
        tic_log(TIC_LOG_WARN, "cannot write the report %s", session->settings.report);
}

bool tic_report_begin(struct tic_graph *graph, const char *events)
{
    report.effects = json_object();
    report.pointers = json_object();
    report.data = json_object();
    report.problems = json_object();
    if (!report.problems)
        return false;
    tic_lint.end = write_report;
    tic_lint.problem = note_problem;
    tic_lint.returned = note_returned;
    if (events[0])
        load_events(graph, events);
    return true;
}
