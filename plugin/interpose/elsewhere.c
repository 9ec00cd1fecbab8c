/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel on another worker.
 *
 * The worker that has the task leaves an offer with another one, and submits a task without data
 * for that one, so that it wakes up and looks. An offer is taken by whichever comes first: that
 * task, or the other worker itself where it waits here for an offer of its own, as two workers may
 * make each other one at the same time. An offer that nobody takes is withdrawn: the other worker
 * may run for long, or wait for something that comes after the task. Then its task still waits in
 * its queue, and it gets no offer until that was run. */
#include "interpose/elsewhere.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "real/real.h"
#include "session/context.h"
#include "session/task.h"
#include "snapshot/cut.h"

enum offer_state { OFFER_OPEN, OFFER_TAKEN, OFFER_DONE };

/* On the stack of the worker that made it, which stays until it is done or withdrawn. */
struct offer {
    void (*run)(void *);
    void *argument;
    enum offer_state state; /* guarded by the mutex below */
};

/* A leaf: nothing is called under it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* by CLOCK_MONOTONIC */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    struct offer *offer; /* open; or NULL */
    bool awaited;        /* a task of ours for this worker has not begun: it will find the offer */
    bool waits;          /* it is in await() */
    bool silent;         /* the last offer to it was withdrawn */
} workers[TIC_MAX_WORKERS];          /* guarded by mutex */
static _Atomic unsigned next_worker; /* relaxed: others take turns */

/* Takes the offer that is open to this worker, if there is one. Under the mutex, which is given
 * back meanwhile. */
static bool serve(unsigned here)
{
    struct offer *offer = workers[here].offer;

    if (!offer)
        return false;
    workers[here].offer = NULL;
    offer->state = OFFER_TAKEN;
    pthread_mutex_unlock(&mutex);
    offer->run(offer->argument);
    pthread_mutex_lock(&mutex);
    offer->state = OFFER_DONE;
    pthread_cond_broadcast(&changed);
    return true;
}

static void come(void *buffers[], void *argument)
{
    unsigned here = (unsigned)tic_real.starpu_worker_get_id();

    (void)buffers;
    (void)argument;
    pthread_mutex_lock(&mutex);
    workers[here].awaited = workers[here].silent = false;
    serve(here);
    pthread_mutex_unlock(&mutex);
}

static struct starpu_codelet codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {come},
    .nbuffers = 0,
    .name = "tic_elsewhere",
};

static bool may_take(unsigned worker, struct starpu_task *task)
{
    unsigned implementation;

    return tic_real.starpu_worker_get_type((int)worker) == STARPU_CPU_WORKER &&
           tic_real.starpu_sched_ctx_contains_worker((int)worker, 0) != 0 &&
           tic_real.starpu_worker_can_execute_task_first_impl(worker, task, &implementation) != 0;
}

/* The program has chosen the workers, or only part of them belongs to the context. */
static bool has_choice(const struct starpu_task *task)
{
    return !task->execute_on_a_specific_worker && task->workerids_len == 0 &&
           !tic_hooks_has_contexts();
}

static void begin(void)
{
    tic_cond_init(&changed);
}

/* False: the worker has an offer, or may not come to it. */
static bool leave_with(struct offer *offer, unsigned worker, bool insists)
{
    pthread_mutex_lock(&mutex);
    const bool is_free =
        !workers[worker].offer && (insists || workers[worker].waits || !workers[worker].silent);
    if (is_free)
        workers[worker].offer = offer;
    pthread_mutex_unlock(&mutex);
    return is_free;
}

static int leave(struct offer *offer, struct starpu_task *task, const struct tic_elsewhere *how)
{
    const unsigned count = tic_real.starpu_worker_get_count();
    const int here = tic_real.starpu_worker_get_id();
    const unsigned first = atomic_fetch_add_explicit(&next_worker, 1, memory_order_relaxed);

    if (count > TIC_MAX_WORKERS || !has_choice(task))
        return TIC_ELSEWHERE_NONE;
    for (unsigned i = 0; i < count; i++) {
        const unsigned worker = (first + i) % count;
        if ((int)worker != here && (int)worker != how->avoid && may_take(worker, task) &&
            leave_with(offer, worker, how->insists))
            return (int)worker;
    }
    return TIC_ELSEWHERE_NONE;
}

static bool submit_call(int worker)
{
    struct starpu_task *task = tic_task_create();

    if (!task)
        return false;
    task->cl = &codelet;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    task->sched_ctx = 0;
    return tic_task_submit(task);
}

/* Has it look for what is offered to it. */
static bool call_worker(int worker)
{
    pthread_mutex_lock(&mutex);
    const bool awaited = workers[worker].awaited;
    workers[worker].awaited = true;
    pthread_cond_broadcast(&changed); /* it may be in await() */
    pthread_mutex_unlock(&mutex);
    if (awaited || submit_call(worker))
        return true;
    pthread_mutex_lock(&mutex);
    workers[worker].awaited = false;
    pthread_mutex_unlock(&mutex);
    return false;
}

/* Under the mutex. False: the offer was withdrawn. */
static bool await(struct offer *offer, int worker, uint64_t patience)
{
    const unsigned here = (unsigned)tic_real.starpu_worker_get_id();
    const struct timespec until = tic_after((double)patience * 1e-9);
    bool late = false;

    workers[here].waits = true;
    while (offer->state == OFFER_TAKEN || (offer->state == OFFER_OPEN && !late)) {
        if (serve(here))
            continue;
        if (offer->state == OFFER_OPEN)
            late = pthread_cond_timedwait(&changed, &mutex, &until) != 0;
        else
            pthread_cond_wait(&changed, &mutex);
    }
    workers[here].waits = false;
    if (offer->state == OFFER_OPEN) {
        workers[worker].offer = NULL;
        workers[worker].silent = true;
    }
    return offer->state == OFFER_DONE;
}

int tic_elsewhere_run(void (*run)(void *), void *argument, struct starpu_task *task,
                      const struct tic_elsewhere *how)
{
    struct offer offer = {.run = run, .argument = argument, .state = OFFER_OPEN};

    pthread_once(&once, begin);
    const int worker = leave(&offer, task, how);
    if (worker == TIC_ELSEWHERE_NONE)
        return worker;
    const bool called = call_worker(worker);
    pthread_mutex_lock(&mutex);
    const bool ran = await(&offer, worker, called ? how->patience : 0);
    pthread_mutex_unlock(&mutex);
    return ran ? worker : TIC_ELSEWHERE_NONE;
}
