/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that recovery submits itself because the task that did it is done. */
#include "interpose/resubmit.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/context.h"
#include "interpose/spawn.h"
#include "session/symbol.h"
#include "session/uses.h"

static void refuse(const char *what, const char *name)
{
    tic_stop(TIC_EXIT_REFUSED,
             "cannot continue from %s: a task that a task submitted is not done, and %s \"%s\" is "
             "not in this process. Start the same build of the program",
             tic_session->store.path, what, name ? name : "?");
}

static void *find_function(uint32_t number, const char **suffix)
{
    static __thread struct { /* most tasks are of one kind */
        void *found;
        const char *suffix;
        uint32_t number;
    } last __attribute__((tls_model("initial-exec")));

    if (last.found && last.number == number) {
        *suffix = last.suffix;
        return last.found;
    }
    const char *name = tic_spawns_function_name(&tic_session->graph.spawns, number);
    char *place = name ? strdup(name) : NULL, *space;
    void *found = NULL;

    space = place ? strchr(place, '\t') : NULL;
    if (space) {
        *space = '\0';
        found = tic_symbol_find(place);
        *suffix = name + (space - place) + 1;
    }
    free(place);
    if (!found)
        refuse("the codelet or callback", name);
    last.found = found;
    last.suffix = *suffix;
    last.number = number;
    return found;
}

static struct starpu_task *recreate(const struct tic_spawn *spawn)
{
    const struct tic_line_kept *kept = &spawn->task;
    struct starpu_task *task = tic_or_stop(tic_real.starpu_task_create());
    unsigned count = kept->buffers;
    const char *name;

    task->cl = find_function(kept->codelet, &name);
    task->cl_arg = tic_or_stop(malloc(kept->arguments + 1));
    bool large = count > STARPU_NMAXBUFS, variable = task->cl->nbuffers == STARPU_VARIABLE_NBUFFERS;
    if (large)
        task->dyn_handles = tic_or_stop(calloc(count, sizeof(*task->dyn_handles)));
    if (large && variable)
        task->dyn_modes = tic_or_stop(calloc(count, sizeof(*task->dyn_modes)));
    unsigned char *ordered = tic_or_stop(malloc(count + 1));
    if (!variable && task->cl->nbuffers != (int)count)
        refuse("the codelet", name);
    task->nbuffers = variable ? (int)count : 0;
    for (unsigned i = 0; i < count; i++) {
        struct tic_handle *handle =
            tic_graph_find_handle(&tic_session->graph, spawn->buffers[i].handle);
        if (!handle || !handle->data)
            refuse("the data of", name);
        (large ? task->dyn_handles : task->handles)[i] = handle->data;
        if (variable)
            (large ? task->dyn_modes : task->modes)[i] =
                (enum starpu_data_access_mode)spawn->buffers[i].mode;
        ordered[i] = !spawn->buffers[i].free;
    }
    task->handles_sequential_consistency = ordered; /* freed after the submission */
    memcpy(task->cl_arg, spawn->arguments, kept->arguments);
    task->cl_arg_size = kept->arguments;
    task->cl_arg_free = 1;
    task->priority = (int)kept->priority;
    task->use_tag = (kept->flags & TIC_KEPT_TAG) != 0;
    task->tag_id = kept->tag;
    task->sequential_consistency = (kept->flags & TIC_KEPT_FREE) == 0;
    if (kept->callback != TIC_SPAWN_NONE) {
        void *function = find_function(kept->callback, &name);
        memcpy(&task->callback_func, &function, sizeof(function));
        task->callback_arg = (void *)(uintptr_t)kept->callback_argument;
    }
    return task;
}

static struct tic_spawn copy_model(const struct tic_spawn *spawn)
{
    struct tic_spawn model = {
        .kept = true,
        .recovery = spawn->recovery,
        .seen = tic_session->graph.signature.position,
        .anew = tic_spawn_count_anew(),
        .task = spawn->task,
    };
    model.buffers = tic_or_stop(calloc(spawn->task.buffers + 1, sizeof(*model.buffers)));
    model.arguments = tic_or_stop(malloc(spawn->task.arguments + 1));
    memcpy(model.buffers, spawn->buffers, spawn->task.buffers * sizeof(*model.buffers));
    memcpy(model.arguments, spawn->arguments, spawn->task.arguments);
    return model;
}

static void submit_again(const struct tic_spawn *spawn, tic_spawn_admit *admit)
{
    struct starpu_task *task = recreate(spawn);
    struct tic_spawn model = copy_model(spawn);

    unsigned char *ordered = task->handles_sequential_consistency;
    enum tic_verdict verdict = admit(task, &model);
    tic_guard++;
    int status =
        verdict == TIC_PASS || verdict == TIC_CONTROL ? tic_real.starpu_task_submit(task) : 0;
    tic_guard--;
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot submit what is left of an earlier run: %s",
                 strerror(-status));
    free(ordered); /* StarPU reads it only while it submits */
}

/* What done kept tasks of the root wrote is no longer what main() put there. */
static void note_kept_writes(uint64_t root)
{
    struct tic_graph *graph = &tic_session->graph;
    struct tic_handle *handle;
    unsigned long cursor = 0;
    uint64_t id;

    tic_lock(&tic_session->submit);
    while (tic_spawns_next_write(&graph->spawns, root, &cursor, &id))
        if ((handle = tic_graph_find_handle(graph, id)) != NULL)
            tic_data_note_write(handle, false);
    tic_unlock(&tic_session->submit);
}

void tic_spawn_submit_kept(uint64_t root, tic_spawn_admit *admit)
{
    const struct tic_spawn *spawn;
    unsigned long cursor = 0;

    note_kept_writes(root);
    while ((spawn = tic_spawns_next(&tic_session->graph.spawns, root, &cursor)) != NULL)
        submit_again(spawn, admit);
}
