/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Workers of the fake StarPU, and what main() asks about them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_int.h"
#include "turns.h"

enum { MOST = 4 };

__thread struct starpu_task *fake_current;
static __thread int own_number = -1;
struct starpu_sched_policy fake_policy;

static struct {
    pthread_t threads[MOST];
    unsigned count;
    bool quits;
    struct fake_list ready; /* tasks */
} workers;

static bool has_work(void *arg)
{
    (void)arg;
    return workers.ready.count > 0 || workers.quits;
}

static struct starpu_task *take_task(void)
{
    unsigned count = workers.ready.count;
    unsigned index = count > 1 && tic_fake_choose_task ? tic_fake_choose_task(count) : 0;

    return fake_list_take(&workers.ready, index);
}

static void fetch(struct fake_job *job)
{
    struct starpu_task *task = job->task;

    for (unsigned i = 0; i < job->use_count; i++)
        fake_data_fetch(&job->uses[i]);
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
        task->interfaces[i] = STARPU_TASK_GET_HANDLE(task, i)->interface;
}

static void run(struct starpu_task *task)
{
    struct fake_job *job = task->starpu_private;

    fake_current = task;
    task->status = STARPU_TASK_RUNNING;
    if (task->prologue_callback_pop_func)
        task->prologue_callback_pop_func(task->prologue_callback_pop_arg);
    fetch(job);
    fake_note("begin", task->cl->name);
    if (fake_policy.pre_exec_hook)
        fake_policy.pre_exec_hook(task, task->sched_ctx);
    task->cl->cpu_funcs[0](task->interfaces, task->cl_arg);
    tic_turns_yield();
    fake_note("end", task->cl->name);
    fake_current = NULL;
    const unsigned ready = workers.ready.count;
    fake_data_release(job);
    if (workers.ready.count > ready)
        tic_turns_yield(); /* another worker may have taken one that waited for the data */
    fake_task_end(job);
}

static void *work(void *arg)
{
    own_number = (int)(long)arg;
    for (;;) {
        tic_turns_await(has_work, NULL, true);
        if (workers.quits)
            return NULL;
        if (workers.ready.count > 0)
            run(take_task());
    }
}

void fake_workers_start(unsigned count)
{
    if (count > MOST)
        fake_stop("more workers than it has");
    workers.quits = false;
    for (workers.count = 0; workers.count < count; workers.count++) {
        tic_turns_next_kind(TIC_TURN_WORKER);
        if (pthread_create(&workers.threads[workers.count], NULL, work,
                           (void *)(long)workers.count) != 0)
            fake_stop("no thread");
    }
}

void fake_workers_stop(void)
{
    workers.quits = true;
    for (unsigned i = 0; i < workers.count; i++)
        pthread_join(workers.threads[i], NULL);
    workers.count = 0;
}

/* ---- the policy ------------------------------------------------------------------------------ */

static int push_task(struct starpu_task *task)
{
    fake_list_add(&workers.ready, task);
    return 0;
}

struct starpu_sched_policy tic_fake_policy = {
    .push_task = push_task, .policy_name = "fake", .policy_description = "order of a test"};

struct starpu_sched_policy **starpu_sched_get_predefined_policies(void);
struct starpu_sched_policy **starpu_sched_get_predefined_policies(void)
{
    static struct starpu_sched_policy *none[1];

    return none;
}

struct starpu_sched_policy *starpu_sched_ctx_get_sched_policy(unsigned context)
{
    return context == 0 ? &fake_policy : NULL;
}

unsigned starpu_sched_ctx_get_context(void)
{
    return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

unsigned starpu_memory_nodes_get_count(void)
{
    return 1;
}

unsigned starpu_worker_get_count(void)
{
    return workers.count;
}

unsigned starpu_cpu_worker_get_count(void)
{
    return workers.count;
}

unsigned starpu_combined_worker_get_count(void)
{
    return 0;
}

int starpu_combined_worker_get_size(void)
{
    return 1;
}

int starpu_combined_worker_get_rank(void)
{
    return 0;
}

int starpu_worker_get_id(void)
{
    return own_number;
}

unsigned starpu_worker_get_memory_node(unsigned worker)
{
    (void)worker;
    return STARPU_MAIN_RAM;
}

enum starpu_worker_archtype starpu_worker_get_type(int worker)
{
    (void)worker;
    return STARPU_CPU_WORKER;
}

void starpu_worker_get_name(int worker, char *name, size_t size)
{
    snprintf(name, size, "fake %d", worker);
}
