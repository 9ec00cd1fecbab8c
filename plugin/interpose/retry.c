/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executions of a kernel that may fail. */
#include "interpose/retry.h"

#include <stdio.h>

#include "base/error.h"
#include "base/thread.h"
#include "interpose/elsewhere.h"
#include "real/real.h"
#include "session/context.h"
#include "session/slave.h"
#include "session/task.h"

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
