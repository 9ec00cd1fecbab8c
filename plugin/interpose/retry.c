/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executions of a kernel that may fail. */
#include "interpose/retry.h"

#include <pthread.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/thread.h"
#include "real/real.h"
#include "session/context.h"
#include "session/slave.h"
#include "session/task.h"
#include "snapshot/cut.h"

/* No such worker. */
#define TIC_ELSEWHERE_NONE (-1)

struct tic_elsewhere {
    int avoid;         /* this worker, too */
    bool insists;      /* also a worker that has not come to what was asked of it last */
    uint64_t patience; /* nanoseconds */
};

/* ---- on another worker ----------------------------------------------------------------------- */

/* A kernel on another worker.
 *
 * The worker that has the task leaves an offer with another one, and submits a task without data
 * for that one, so that it wakes up and looks. An offer is taken by whichever comes first: that
 * task, or the other worker itself where it waits here for an offer of its own, as two workers may
 * make each other one at the same time. An offer that nobody takes is withdrawn: the other worker
 * may run for long, or wait for something that comes after the task. Then its task still waits in
 * its queue, and it gets no offer until that was run. */

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

/* Calls `run` on another worker that may execute the task, and waits until it has returned. The
 * worker; TIC_ELSEWHERE_NONE: there is none, or it did not come to it in time, and nothing was
 * called. On a worker, in the kernel of the task. */
static int tic_elsewhere_run(void (*run)(void *), void *argument, struct starpu_task *task,
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

static unsigned long most_retries = 3;                /* immutable after the start */
static uint64_t least_patience = UINT64_C(100000000); /* nanoseconds; the same */

/* What this thread executes; NULL: no kernel that ours stand for. */
static __thread struct tic_execution *current __attribute__((tls_model("initial-exec")));

void tic_retry_set(unsigned long retries, double patience)
{
    most_retries = retries;
    least_patience = (uint64_t)(patience * 1e9);
}

bool tic_retry_is_inside(void)
{
    return current != NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

void tic_retry_describe(const struct starpu_task *task, uint64_t number, char *text, size_t size)
{
    if (number == TIC_RETRY_NO_NUMBER)
        snprintf(text, size, "task \"%.200s\"", tic_task_name(task));
    else
        snprintf(text, size, "task \"%.200s\" (submission %llu)", tic_task_name(task),
                 (unsigned long long)number);
}

const char *tic_retry_tell_lines(char *text, size_t size)
{
    struct tic_session *session = tic_session;

    text[0] = '\0';
    if (session && !tic_snapshot_is_broken(&session->snapshot))
        snprintf(
            text, size,
            atomic_load(&session->store.has_line)
                ? ". The recovery lines in %.1000s are kept: the same command goes on from the "
                  "last one"
                : ". There is no recovery line in %.1000s yet: the same command begins anew",
            session->store.path);
    return text;
}

static void describe_tries(const struct tic_execution *execution, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "on worker %d", execution->workers[0]);

    if (execution->tries > 1)
        used = (size_t)snprintf(text, size, "%u times, on workers %d", execution->tries,
                                execution->workers[0]);
    for (unsigned i = 1; i < execution->tries && i < TIC_RETRY_SHOWN && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ", %d", execution->workers[i]);
    if (execution->tries > TIC_RETRY_SHOWN && used < size)
        snprintf(text + used, size - used, " ...");
}

/* Numbers of registration. */
static void describe_data(const struct tic_execution *execution, char *text, size_t size)
{
    const struct tic_undo *undo = &execution->undo;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < undo->count && used < size; i++)
        if (undo->values[i].id != TIC_UNDO_NO_ID)
            used += (size_t)snprintf(text + used, size - used, "%s%llu",
                                     used > 0 ? ", " : ". It writes data ",
                                     (unsigned long long)undo->values[i].id);
    if (used > 0 && used < size)
        snprintf(text + used, size - used, " (number of registration)");
}

static void __attribute__((noreturn)) stop(const struct tic_execution *execution, const char *why)
{
    char task[256], tries[96], data[200], lines[1200];

    tic_retry_describe(execution->task, execution->number, task, sizeof(task));
    describe_tries(execution, tries, sizeof(tries));
    describe_data(execution, data, sizeof(data));
    tic_stop(
        TIC_EXIT_FAILED,
        "%s failed %s, and is not executed again: %s%s. No other task has seen what it wrote%s",
        task, tries, why, data, tic_retry_tell_lines(lines, sizeof(lines)));
}

static void tell_first(const struct tic_execution *execution)
{
    static _Atomic bool told;
    char task[256];

    if (atomic_exchange(&told, true))
        return;
    tic_retry_describe(execution->task, execution->number, task, sizeof(task));
    tic_log(TIC_LOG_INFO,
            "%s failed on worker %d: it is executed again, and later ones without a word "
            "(STARPU_TIC_RETRIES=%lu)",
            task, execution->workers[0], most_retries);
}

/* ---- executions ------------------------------------------------------------------------------ */

/* On the worker that has the task, or on another one for it. */
static void run_kernel(void *argument)
{
    struct tic_execution *execution = argument, *outer = current;
    const struct tic_acting acting = tic_acting;

    current = execution;
    tic_acting = (struct tic_acting){execution->task, execution->worker};
    execution->kernel->function(execution->buffers, execution->argument);
    tic_acting = acting;
    current = outer;
}

/* Another worker may be in a kernel as long as this one, and then takes what waits for it. */
static uint64_t choose_patience(const struct tic_execution *execution)
{
    return least_patience + 2 * execution->took;
}

/* One try: the worker that has executed it. */
static int try_once(struct tic_execution *execution, bool elsewhere, int avoid)
{
    const uint64_t begun = execution->tries == 0 ? tic_nanoseconds(CLOCK_MONOTONIC) : 0;
    int worker = TIC_ELSEWHERE_NONE;

    execution->failed = false;
    execution->submitted = 0;
    if (elsewhere && least_patience > 0)
        worker = tic_elsewhere_run(run_kernel, execution, execution->task,
                                   &(struct tic_elsewhere){.avoid = avoid,
                                                           .insists = execution->tries > 0,
                                                           .patience = choose_patience(execution)});
    if (worker == TIC_ELSEWHERE_NONE) {
        worker = execution->worker;
        run_kernel(execution);
    }
    if (begun > 0)
        execution->took = tic_nanoseconds(CLOCK_MONOTONIC) - begun;
    if (execution->tries < TIC_RETRY_SHOWN)
        execution->workers[execution->tries] = worker;
    execution->tries++;
    return worker;
}

/* Stops where there is no further try. */
static void prepare_retry(struct tic_execution *execution)
{
    if (execution->why_not)
        stop(execution, execution->why_not);
    if (execution->submitted > 0)
        stop(execution, "it has submitted tasks before it failed, which cannot be taken back");
    if (execution->tries > most_retries)
        stop(execution, "STARPU_TIC_RETRIES allows no more tries");
    tell_first(execution);
    if (!tic_undo_put_back(&execution->undo, execution->task, execution->buffers))
        stop(execution, "it has given data that it writes another size or place");
}

int tic_retry_execute(struct tic_execution *execution, bool elsewhere, int avoid)
{
    execution->tries = 0;
    int worker = try_once(execution, elsewhere, avoid);
    while (execution->failed) {
        const int last = worker;
        prepare_retry(execution);
        worker = try_once(execution, true, last);
        tic_kernels_count(&tic_kernels_counts.retried);
        if (worker != last)
            tic_kernels_count(&tic_kernels_counts.retried_elsewhere);
    }
    return worker;
}

/* StarPU makes up a task for the kernels of a slave. */
static void stop_on_slave(void)
{
    tic_stop(TIC_EXIT_FAILED,
             "a kernel failed on this slave, where it cannot be executed again. StarPU ends the "
             "master (%s) when this process is gone, and the same command goes on from the last "
             "recovery line there. `where` STARPU_CPU keeps a codelet on the master, which can "
             "execute it again",
             tic_slave_master());
}

/* ---- what the kernel does -------------------------------------------------------------------- */

bool tic_retry_note_failed(void)
{
    char task[256], lines[1200];

    if (current) {
        current->failed = true;
        return true;
    }
    const struct starpu_task *unknown =
        tic_in_callback == 0 && tic_real_resolve(NULL) ? tic_real.starpu_task_get_current() : NULL;
    if (unknown && !unknown->cl && tic_slave_is())
        stop_on_slave();
    if (!unknown || !unknown->cl)
        return false;
    tic_retry_describe(unknown, TIC_RETRY_NO_NUMBER, task, sizeof(task));
    tic_stop(TIC_EXIT_FAILED,
             "%s failed, and cannot be executed again, as nobody has kept what it writes: give its "
             "codelet to starpu_tic_codelet_can_fail() before its first task, or name it in "
             "STARPU_TIC_RETRY, which works as long as the program is protected. No other task has "
             "seen what it wrote%s",
             task, tic_retry_tell_lines(lines, sizeof(lines)));
}

void tic_retry_note_submission(void)
{
    char task[256], lines[1200];

    if (!current || tic_in_callback > 0)
        return;
    current->submitted++;
    atomic_store_explicit(&current->kernel->submits, true, memory_order_relaxed);
    if (!current->checks)
        return;
    tic_retry_describe(current->task, current->number, task, sizeof(task));
    tic_stop(TIC_EXIT_DIFFERS,
             "%s was executed a second time to certify it, and submits a task that its first "
             "execution has not submitted. STARPU_TIC_CERTIFY_SKIP leaves its codelet out%s",
             task, tic_retry_tell_lines(lines, sizeof(lines)));
}
