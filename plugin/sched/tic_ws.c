/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tic-ws: a StarPU scheduling policy by work stealing. A worker queues what it makes ready with
 * itself, and steals from the nearest when it has nothing.
 *
 * StarPU's contract (starpu_sched_policy): push_task runs on any thread when a task is ready, must
 * queue it, call starpu_push_task_end while it still owns the task, and wake a worker; pop_task
 * runs on a worker, and returning NULL lets it sleep unless it was woken since it was called.
 *
 * Who pushes looks for a waiting worker after queueing; who pops announces that it waits and then
 * looks once more before it returns NULL. Both are sequentially consistent, so one sees the other,
 * and only workers that really wait are woken, one per task; none for the only task of a worker
 * that comes back for it at once. */
#include "sched/tic_ws.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "real/real.h"
#include "sched/near.h"
#include "sched/queue.h"
#include "sched/stolen.h"

struct worker_queue {
    pthread_mutex_t mutex;      /* a leaf: nothing of StarPU's is locked under it */
    struct tic_queue queue;     /* guarded by mutex */
    _Atomic unsigned long size; /* relaxed hint: copy of queue.size */
    _Atomic bool waiting;       /* seq_cst: see above */
    _Atomic bool member;        /* the worker belongs to the context */
    unsigned *order;            /* immutable: where it looks for tasks, one after the other */
} __attribute__((aligned(128)));

struct policy_data {
    unsigned worker_count;
    struct worker_queue *workers;
    unsigned *orders;
    /* how many workers wait, at least; seq_cst: raised before a worker's flag, lowered after it */
    _Atomic unsigned waiting __attribute__((aligned(128)));
    _Atomic unsigned next __attribute__((aligned(128))); /* relaxed: where the next task from
                                                            outside goes */
};

static _Atomic uint64_t thefts; /* relaxed: a statistic */

uint64_t tic_ws_thefts(void)
{
    return atomic_load_explicit(&thefts, memory_order_relaxed);
}

static struct tic_stolen stolen[STARPU_NMAXWORKERS];

int tic_ws_victim_of(const struct starpu_task *task)
{
    int worker = tic_real.starpu_worker_get_id();

    return worker >= 0 && worker < STARPU_NMAXWORKERS ? tic_stolen_victim_of(&stolen[worker], task)
                                                      : -1;
}

static struct policy_data *data_of(unsigned context)
{
    return tic_real.starpu_sched_ctx_get_policy_data(context);
}

static bool can_run(struct starpu_task *task, unsigned worker)
{
    return tic_real.starpu_worker_can_execute_task_first_impl(worker, task, NULL) != 0;
}

/* ---- pop and steal -------------------------------------------------------------------------- */

static bool accept_task(struct starpu_task *task, unsigned worker)
{
    unsigned implementation;
    if (!tic_real.starpu_worker_can_execute_task_first_impl(worker, task, &implementation))
        return false;
    tic_real.starpu_task_set_implementation(task, implementation);
    return true;
}

static struct starpu_task *take_from(struct worker_queue *from, unsigned worker, bool own)
{
    struct starpu_task *task;

    if (atomic_load(&from->size) == 0)
        return NULL;
    pthread_mutex_lock(&from->mutex);
    task = own ? tic_queue_pop(&from->queue, accept_task, worker)
               : tic_queue_steal(&from->queue, accept_task, worker);
    atomic_store(&from->size, from->queue.size);
    pthread_mutex_unlock(&from->mutex);
    return task;
}

/* StarPU's list of the contexts of a worker: one that counts too many tasks in it looks nowhere else
 * any more. The worker itself is not locked while it looks for tasks; the lock of another one
 * excludes it, its pushers and other thieves. */
static void count_taken(unsigned context, unsigned worker, unsigned from)
{
    if (from != worker)
        tic_real.starpu_worker_lock((int)from);
    tic_real.starpu_sched_ctx_list_task_counters_decrement(context, (int)from);
    if (from != worker)
        tic_real.starpu_worker_unlock((int)from);
}

static struct starpu_task *look_everywhere(struct policy_data *data, unsigned context,
                                           unsigned worker)
{
    const unsigned *order = data->workers[worker].order;

    for (unsigned i = 0; i < data->worker_count; i++) {
        unsigned from = order[i];
        struct starpu_task *task = take_from(&data->workers[from], worker, i == 0);
        if (!task)
            continue;
        count_taken(context, worker, from);
        tic_stolen_note(&stolen[worker], task, i > 0 ? (int)from : -1);
        if (i > 0)
            atomic_fetch_add_explicit(&thefts, 1, memory_order_relaxed);
        return task;
    }
    return NULL;
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Two may want to end it: the worker itself, and who wakes it. */
static bool end_wait(struct policy_data *data, struct worker_queue *queue)
{
    if (!atomic_exchange(&queue->waiting, false))
        return false;
    atomic_fetch_sub(&data->waiting, 1);
    return true;
}

static struct starpu_task *pop_task(unsigned context)
{
    struct policy_data *data = data_of(context);
    unsigned worker = (unsigned)tic_real.starpu_worker_get_id();
    struct worker_queue *mine = &data->workers[worker];
    bool waits = atomic_load(&mine->waiting); /* it looked in vain before: who pushes knows that */
    struct starpu_task *task = look_everywhere(data, context, worker);

    if (!task && !waits) {
        atomic_fetch_add(&data->waiting, 1);
        atomic_store(&mine->waiting, true);
        waits = true;
        task = look_everywhere(data, context, worker);
    }
    if (task && waits)
        end_wait(data, mine);
    return task;
}

/* A worker that waits and can run the task, which nobody can take yet; it does not wait any more.
 * Or -1. */
static int choose_sleeper(struct policy_data *data, struct starpu_task *task, unsigned near,
                          int here)
{
    if (atomic_load(&data->waiting) == 0)
        return -1;
    for (unsigned i = 0; i < data->worker_count; i++) {
        unsigned worker = data->workers[near].order[i];
        struct worker_queue *queue = &data->workers[worker];
        if ((int)worker != here && atomic_load(&queue->waiting) && atomic_load(&queue->member) &&
            can_run(task, worker) && end_wait(data, queue))
            return (int)worker;
    }
    return -1;
}

/* ---- push ----------------------------------------------------------------------------------- */

/* The worker that made the task ready has its data in cache; others take turns. */
static unsigned choose_worker(struct policy_data *data, struct starpu_task *task, int here)
{
    if (here >= 0 && atomic_load(&data->workers[here].member) && can_run(task, (unsigned)here))
        return (unsigned)here;
    unsigned start = atomic_fetch_add_explicit(&data->next, 1, memory_order_relaxed);
    unsigned fallback = 0;
    for (unsigned i = 0; i < data->worker_count; i++) {
        unsigned worker = (start + i) % data->worker_count;
        if (!atomic_load(&data->workers[worker].member))
            continue;
        fallback = worker;
        if (can_run(task, worker))
            return worker;
    }
    return fallback; /* nobody can: StarPU checked that before, so it will be noticed there */
}

/* Does this worker come back for its only task at once? Not from inside a kernel or a callback,
 * which may go on. */
static bool comes_back(const struct worker_queue *queue, bool own)
{
    return own && queue->queue.size == 1 && !tic_real.starpu_task_get_current();
}

static int push_task(struct starpu_task *task)
{
    unsigned context = task->sched_ctx;
    struct policy_data *data = data_of(context);
    int here = tic_real.starpu_worker_get_id(), sleeper = -1;
    unsigned worker = choose_worker(data, task, here);
    struct worker_queue *queue = &data->workers[worker];

    pthread_mutex_lock(&queue->mutex);
    tic_queue_push(&queue->queue, task);
    tic_real.starpu_push_task_end(task);
    atomic_store(&queue->size, queue->queue.size);
    if (!comes_back(queue, (int)worker == here))
        sleeper = choose_sleeper(data, task, worker, here);
    pthread_mutex_unlock(&queue->mutex);
    tic_real.starpu_sched_ctx_list_task_counters_increment(context, (int)worker);
    if (sleeper >= 0)
        tic_real.starpu_wake_worker_relax_light(sleeper);
    return 0;
}

/* ---- contexts ------------------------------------------------------------------------------- */

/* Where the workers run; all NULL when StarPU does not know. */
static void find_nodes(const struct starpu_tree **nodes, unsigned count)
{
    struct starpu_tree *tree = tic_real.starpu_workers_get_tree();

    for (unsigned i = 0; i < count; i++) {
        int place = tic_real.starpu_worker_get_bindid((int)i);
        nodes[i] = tree && place >= 0 ? tic_real.starpu_tree_get(tree, place) : NULL;
    }
}

static void init_queue(struct worker_queue *queue)
{
    pthread_mutexattr_t adaptive; /* held for a few instructions */

    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&queue->mutex, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
    if (tic_queue_init(&queue->queue) != 0)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    atomic_init(&queue->size, 0);
    atomic_init(&queue->waiting, false);
    atomic_init(&queue->member, false);
}

static struct policy_data *create_data(unsigned count)
{
    struct policy_data *data = aligned_alloc(_Alignof(struct policy_data), sizeof(*data));
    const struct starpu_tree *nodes[STARPU_NMAXWORKERS] = {NULL};

    if (data) {
        data->workers = aligned_alloc(128, count * sizeof(*data->workers));
        data->orders = calloc((size_t)count * count, sizeof(*data->orders));
    }
    if (!data || !data->workers || !data->orders)
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    data->worker_count = count;
    atomic_init(&data->waiting, 0);
    atomic_init(&data->next, 0);
    find_nodes(nodes, count);
    for (unsigned i = 0; i < count; i++) {
        init_queue(&data->workers[i]);
        data->workers[i].order = data->orders + (size_t)i * count;
        tic_near_order(nodes, count, i, data->workers[i].order);
    }
    return data;
}

static void init_policy(unsigned context)
{
    tic_real_resolve(NULL);
    tic_real.starpu_sched_ctx_set_policy_data(context,
                                              create_data(tic_real.starpu_worker_get_count()));
    if (!tic_real.starpu_sched_ctx_min_priority_is_set(context))
        tic_real.starpu_sched_ctx_set_min_priority(context, INT_MIN);
    if (!tic_real.starpu_sched_ctx_max_priority_is_set(context))
        tic_real.starpu_sched_ctx_set_max_priority(context, INT_MAX);
}

static void deinit_policy(unsigned context)
{
    struct policy_data *data = data_of(context);
    for (unsigned i = 0; i < data->worker_count; i++) {
        tic_queue_fini(&data->workers[i].queue);
        pthread_mutex_destroy(&data->workers[i].mutex);
    }
    free(data->orders);
    free(data->workers);
    free(data);
}

static void add_workers(unsigned context, int *workers, unsigned count)
{
    struct policy_data *data = data_of(context);
    for (unsigned i = 0; i < count; i++) {
        tic_real.starpu_sched_ctx_worker_shares_tasks_lists(workers[i], (int)context);
        atomic_store(&data->workers[workers[i]].member, true);
    }
}

/* Tasks that a leaving worker has queued are stolen by the others. */
static void remove_workers(unsigned context, int *workers, unsigned count)
{
    struct policy_data *data = data_of(context);
    for (unsigned i = 0; i < count; i++)
        atomic_store(&data->workers[workers[i]].member, false);
}

struct starpu_sched_policy tic_ws_policy = {
    .init_sched = init_policy,
    .deinit_sched = deinit_policy,
    .push_task = push_task,
    .pop_task = pop_task,
    .add_workers = add_workers,
    .remove_workers = remove_workers,
    .policy_name = TIC_WS_NAME,
    .policy_description = "work stealing of starpu-tic",
    .worker_type = STARPU_WORKER_LIST,
};
