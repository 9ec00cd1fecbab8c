/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: kills the process with SIGKILL when its n-th task ends, protected
 * or not; n is TIC_KILL_TASK. Writes how many tasks ended to the file TIC_KILL_COUNT at exit. Sees
 * no task with a StarPU that hides the function that all workers call at the end of a task. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long ended;       /* relaxed: only the count matters */
static long last;               /* immutable after start */
static void (*next)(void *job); /* StarPU 1.3; else NULL */
static void (*next_end)(void *worker, void *job, void *arch, int rank, int profiling);

__attribute__((constructor)) static void start(void)
{
    const char *task = getenv("TIC_KILL_TASK");
    last = task ? atol(task) : 0;
    next = dlsym(RTLD_NEXT, "__starpu_push_task_output");
    next_end = dlsym(RTLD_NEXT, "_starpu_driver_end_job");
}

/* Runs in every process that the library is preloaded into, so only those with tasks write. */
__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("TIC_KILL_COUNT");
    FILE *file = path && ended > 0 ? fopen(path, "we") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", atomic_load(&ended));
    fclose(file);
}

static void count(void)
{
    if (atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed) + 1 == last)
        kill(getpid(), SIGKILL);
}

void __starpu_push_task_output(void *job);
void __starpu_push_task_output(void *job)
{
    count();
    next(job);
}

/* What CPU workers of StarPU 1.4 call; of a parallel task, each of them. */
void _starpu_driver_end_job(void *worker, void *job, void *arch, int rank, int profiling);
void _starpu_driver_end_job(void *worker, void *job, void *arch, int rank, int profiling)
{
    if (!next && rank == 0)
        count();
    next_end(worker, job, arch, rank, profiling);
}
