/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tic-ws: a StarPU scheduling policy by work stealing.
 *
 * StarPU's contract (starpu_sched_policy): push_task runs on any thread when a task is ready, must
 * queue it, call starpu_push_task_end while it still owns the task, and wake a worker; pop_task
 * runs on a worker, and returning NULL lets it sleep unless it was woken since it was called.
 *
 * Who pushes looks for a waiting worker after queueing; who pops announces that it waits and then
 * looks once more before it returns NULL. Both are sequentially consistent, so one sees the other,
 * and only workers that really wait are woken, one per task. */
#include "sched/tic_ws.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "real/real.h"
#include "sched/queue.h"

struct worker_queue {
    pthread_mutex_t mutex;      /* a leaf: nothing of StarPU's is locked under it */
    struct tic_queue queue;     /* guarded by mutex */
    _Atomic unsigned long size; /* relaxed hint: copy of queue.size */
    _Atomic bool waiting;       /* seq_cst: see above */
    _Atomic bool member;        /* the worker belongs to the context */
} __attribute__((aligned(128)));

struct policy_data {
    unsigned worker_count;
    _Atomic unsigned next; /* relaxed: where the next task from outside goes */
    struct worker_queue *workers;
};

static _Atomic uint64_t thefts; /* relaxed: a statistic */

uint64_t tic_ws_thefts(void)
{
    return atomic_load_explicit(&thefts, memory_order_relaxed);
}

static __thread struct {
    const struct starpu_task *task;
    unsigned victim;
} stolen __attribute__((tls_model("initial-exec")));

int tic_ws_victim_of(const struct starpu_task *task)
{
    return stolen.task == task ? (int)stolen.victim : -1;
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

static struct starpu_task *look_everywhere(struct policy_data *data, unsigned context,
                                           unsigned worker)
{
    for (unsigned i = 0; i < data->worker_count; i++) {
        unsigned from = (worker + i) % data->worker_count;
        struct starpu_task *task = take_from(&data->workers[from], worker, i == 0);
        if (!task)
            continue;
        tic_real.starpu_sched_ctx_list_task_counters_decrement(context, (int)from);
        stolen.task = i > 0 ? task : NULL;
        stolen.victim = from;
        if (i > 0)
            atomic_fetch_add_explicit(&thefts, 1, memory_order_relaxed);
        return task;
    }
    return NULL;
}

static struct starpu_task *pop_task(unsigned context)
{
    struct policy_data *data = data_of(context);
    unsigned worker = (unsigned)tic_real.starpu_worker_get_id();
    struct worker_queue *mine = &data->workers[worker];
    struct starpu_task *task = look_everywhere(data, context, worker);

    if (task)
        return task;
    atomic_store(&mine->waiting, true);
    task = look_everywhere(data, context, worker);
    if (task)
        atomic_store(&mine->waiting, false);
    return task;
}

/* ---- push ----------------------------------------------------------------------------------- */

/* The worker that made the task ready has its data in cache; others take turns. */
static unsigned choose_worker(struct policy_data *data, struct starpu_task *task)
{
    int here = tic_real.starpu_worker_get_id();
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

/* `able` says for each worker whether it can run the task, which may be gone by now. */
static void wake_one(struct policy_data *data, unsigned first, const bool *able)
{
    int here = tic_real.starpu_worker_get_id();
    for (unsigned i = 0; i < data->worker_count; i++) {
        unsigned worker = (first + i) % data->worker_count;
        struct worker_queue *queue = &data->workers[worker];
        if ((int)worker == here || !able[worker] || !atomic_load(&queue->waiting))
            continue;
        if (atomic_exchange(&queue->waiting, false)) {
            tic_real.starpu_wake_worker_relax_light((int)worker);
            return;
        }
    }
}

static int push_task(struct starpu_task *task)
{
    unsigned context = task->sched_ctx;
    struct policy_data *data = data_of(context);
    unsigned worker = choose_worker(data, task);
    struct worker_queue *queue = &data->workers[worker];
    bool able[STARPU_NMAXWORKERS];

    for (unsigned i = 0; i < data->worker_count; i++)
        able[i] = i == worker || can_run(task, i);
    pthread_mutex_lock(&queue->mutex);
    int status = tic_queue_push(&queue->queue, task);
    if (status == 0) {
        tic_real.starpu_push_task_end(task);
        atomic_store(&queue->size, queue->queue.size);
    }
    pthread_mutex_unlock(&queue->mutex);
    if (status)
        return status;
    tic_real.starpu_sched_ctx_list_task_counters_increment(context, (int)worker);
    wake_one(data, worker, able);
    return 0;
}

/* ---- contexts ------------------------------------------------------------------------------- */

static void init_policy(unsigned context)
{
    tic_real_resolve(NULL);
    struct policy_data *data = calloc(1, sizeof(*data));
    unsigned count = tic_real.starpu_worker_get_count();
    if (data)
        data->workers = aligned_alloc(128, count * sizeof(*data->workers));
    if (!data || !data->workers)
        abort(); /* inside starpu_init, as every policy of StarPU does */
    data->worker_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct worker_queue *queue = &data->workers[i];
        pthread_mutex_init(&queue->mutex, NULL);
        tic_queue_init(&queue->queue);
        atomic_init(&queue->size, 0);
        atomic_init(&queue->waiting, false);
        atomic_init(&queue->member, false);
    }
    tic_real.starpu_sched_ctx_set_policy_data(context, data);
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

/* ---- STARPU_SCHED_LIB (StarPU 1.4) ---------------------------------------------------------- */

__attribute__((visibility("default"))) struct starpu_sched_policy *
starpu_get_sched_lib_policy(const char *name);
__attribute__((visibility("default"))) struct starpu_sched_policy **
starpu_get_sched_lib_policies(void);

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    return strcmp(name, TIC_WS_NAME) == 0 ? &tic_ws_policy : NULL;
}

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
    static struct starpu_sched_policy *policies[] = {&tic_ws_policy, NULL};
    return policies;
}
