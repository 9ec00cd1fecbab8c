/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks in a restart. A skipped task ends at once, but its callback came later, maybe after
 * main() had gone on: it comes when the history says so. One that had not begun by the cut is
 * queued. */
#include "interpose/callback_redo.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interpose/callback_run.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/redo_values.h"
#include "real/real.h"
#include "replay/replay.h"
#include "session/context.h"
#include "session/task.h"

/* Tasks whose callbacks come after their ends; they stay. Guarded by the submission lock. */
static struct {
    struct starpu_task **items;
    unsigned long count, capacity;
    TAILQ_HEAD(, tic_redone) open;
} buried = {.open = TAILQ_HEAD_INITIALIZER(buried.open)};

static __thread struct starpu_task *current __attribute__((tls_model("initial-exec")));

static struct tic_redone *copy_of(const struct tic_redone *redone)
{
    return memcpy(tic_or_stop(malloc(sizeof(*redone))), redone, sizeof(*redone));
}

void tic_redone_open_locked(struct tic_redone *redone)
{
    struct starpu_task *task = redone->task;

    if (task->destroy && !redone->owned)
        tic_stop_unless(tic_append(buried.items, buried.count, buried.capacity, &task) == 0);
    task->destroy = 0;
    TAILQ_INSERT_TAIL(&buried.open, redone, open);
}

/* small: of a task that has ended, whose data may be gone; NULL: StarPU never gets it. */
static struct tic_redone callback_of(struct starpu_task *task, uint64_t key,
                                     const struct tic_small *small)
{
    struct tic_redone redone = {.key = key,
                                .run = tic_callback_of(task),
                                .argument = task->callback_arg,
                                .task = task,
                                .owned = !small};

    if (small)
        redone.small = *small;
    else
        tic_looks_list_small(task, &redone.small);
    return redone;
}

static void close_callback(struct tic_redone *redone)
{
    tic_lock(&tic_session->submit);
    TAILQ_REMOVE(&buried.open, redone, open);
    tic_unlock(&tic_session->submit);
}

void tic_callback_await(const struct starpu_task *task)
{
    const struct tic_redone *redone = NULL;

    if (!tic_session || !tic_session->recovered)
        return;
    do {
        tic_lock(&tic_session->submit);
        TAILQ_FOREACH (redone, &buried.open, open)
            if (redone->task == task)
                break;
        tic_unlock(&tic_session->submit);
    } while (redone && sched_yield() == 0);
}

static void name_looks_locked(uint64_t key)
{
    size_t count;
    const struct tic_line_look *look =
        tic_graph_find_looks(&tic_session->graph, key | TIC_LOOK_CALLBACK, &count);

    for (size_t i = 0; i < count; i++) {
        const struct tic_handle *handle = tic_looks_find_locked(look[i].id);
        if (handle)
            tic_redo_keeper(handle)->restart.redo.named = true;
    }
}

void tic_callback_name_looks(void)
{
    size_t next = 0;
    uint64_t key;

    tic_lock(&tic_session->submit);
    while (tic_replay_find_callback(&next, &key))
        name_looks_locked(key);
    tic_unlock(&tic_session->submit);
}

struct starpu_task *tic_callback_current_task(void)
{
    return current;
}

struct starpu_task *tic_callback_set_current(struct starpu_task *task)
{
    struct starpu_task *outer = current;

    current = task;
    return outer;
}

/* StarPU has never seen a task that is ours: nobody has measured its times. */
static void add_times(struct starpu_task *task)
{
    if (!task->profiling_info && tic_real.starpu_profiling_status_get())
        task->profiling_info = calloc(1, sizeof(*task->profiling_info));
}

/* ---- running --------------------------------------------------------------------------------- */

/* As StarPU does it on a worker. */
static void run_on_time(const struct tic_redone *redone)
{
    struct starpu_task *outer = tic_callback_set_current(redone->task);

    if (redone->owned)
        add_times(redone->task);
    tic_looks_note_callback(&redone->small, redone->key);
    tic_callback_begin(redone->key, redone->run, redone->argument);
    current = outer;
    if (redone->owned)
        tic_real.starpu_task_destroy(redone->task);
}

/* Before what comes later may use the same memory. */
static void show(void *arg)
{
    const struct tic_redone *redone = arg;

    if (redone->reader)
        tic_redo_show_reader(redone->reader);
    if (redone->task)
        tic_looks_show_callback(redone->key);
}

static void run_redone(void *arg)
{
    struct tic_redone *redone = arg;

    if (redone->task) {
        run_on_time(redone);
        close_callback(redone);
    } else {
        redone->run(redone->argument);
    }
    if (redone->free_argument)
        free(redone->argument);
    if (redone->inside)
        tic_replay_count_inside(-1);
    tic_redone_free(redone);
}

struct tic_replay_actor tic_redone_actor(struct tic_redone *redone, bool shows)
{
    return (struct tic_replay_actor){
        .begin = shows ? show : NULL, .run = run_redone, .argument = redone};
}

void tic_redone_free(struct tic_redone *redone)
{
    if (redone->reader)
        tic_redo_end_use(redone->reader);
    free(redone);
}

static void await_end(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    tic_replay_await_end();
}

/* On a worker, as of another task: who waits for all tasks, or those of its context, waits for it.
 */
static void play_callback(void *arg)
{
    const struct tic_redone *redone = arg;
    static struct starpu_codelet codelet = {.where = STARPU_CPU | STARPU_CUDA | STARPU_OPENCL,
                                            .cpu_funcs = {await_end},
                                            .cuda_funcs = {await_end},
                                            .opencl_funcs = {await_end},
                                            .name = "tic_callback"};
    struct starpu_task *task = tic_or_stop(tic_task_create());

    task->cl = &codelet;
    if (redone->task)
        task->sched_ctx = redone->task->sched_ctx;
    task->callback_func = run_redone;
    task->callback_arg = arg;
    if (!tic_task_submit(task))
        tic_stop(TIC_EXIT_REFUSED, "cannot submit a task for a callback in the replay");
}

/* StarPU has come to it if the task is not ours: on a worker, or inside of a call. */
static void queue_redone(struct tic_redone *redone)
{
    redone->inside = !redone->owned && tic_real.starpu_worker_get_id() < 0;
    if (redone->inside)
        tic_replay_count_inside(1);
    if (!tic_replay_queue(play_callback, redone))
        play_callback(redone);
}

static struct starpu_task *create_stand(uint64_t key, unsigned context, struct starpu_task *ends)
{
    if (!tic_replay_is_open(TIC_HISTORY_CALLBACK, key))
        return NULL;
    struct starpu_task *stand = tic_or_stop(tic_task_create());
    stand->sched_ctx = context;
    tic_guard++;
    tic_real.starpu_task_end_dep_add(stand, 1);
    if (ends)
        tic_real.starpu_task_declare_end_deps_array(ends, 1, &stand);
    tic_guard--;
    if (!tic_task_submit(stand))
        tic_stop(TIC_EXIT_REFUSED, "cannot submit a task for a callback in the replay");
    return stand;
}

void tic_callback_let_go(void *stand)
{
    tic_guard++;
    tic_real.starpu_task_end_dep_release(stand);
    tic_guard--;
}

bool tic_callback_add_actor(uint64_t key, struct tic_replay_actor *actor, bool inside,
                            unsigned context, struct starpu_task *ends)
{
    actor->stand = create_stand(key, context, ends);
    bool added = tic_replay_add_actor(TIC_HISTORY_CALLBACK, key, actor, inside);
    if (!added && actor->stand)
        tic_callback_let_go(actor->stand);
    return added;
}

bool tic_callback_redo_locked(struct starpu_task *task, uint64_t key, const struct tic_small *small,
                              bool begins)
{
    struct tic_redone redone = callback_of(task, key, small);

    if (!redone.run)
        return false;
    if (tic_nowhere_has_key(key))
        redone.reader = tic_redo_note_reader(task, key);
    struct tic_redone *copy = copy_of(&redone);
    struct tic_replay_actor actor = tic_redone_actor(copy, true);
    bool inside = tic_is_owner && (!tic_replay_is_made() || tic_task_runs_nowhere(task));
    tic_redone_open_locked(copy);
    if (!tic_callback_add_actor(key, &actor, inside, task->sched_ctx, begins ? task : NULL))
        queue_redone(copy);
    return true;
}

bool tic_callback_begin_open_locked(struct starpu_task *task, uint64_t key)
{
    struct tic_small small;

    if (!task->destroy || !tic_replay_is_open(TIC_HISTORY_CALLBACK, key))
        return false;
    tic_looks_list_small(task, &small);
    return tic_callback_redo_locked(task, key, &small, true);
}

bool tic_callback_redo(uint64_t key, void (*run)(void *), void *argument)
{
    struct tic_replay_actor actor = {.run = run, .argument = argument};

    return tic_callback_add_actor(key, &actor, false, STARPU_NMAX_SCHED_CTXS, NULL);
}

void tic_callback_play(void (*run)(void *), void *argument)
{
    queue_redone(copy_of(&(struct tic_redone){.run = run, .argument = argument}));
}
