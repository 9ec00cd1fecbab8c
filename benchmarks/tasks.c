/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many small StarPU tasks of one shape: tasks SHAPE TASKS MICROSECONDS [HANDLES [BYTES [paused]]].
 *   wide    task i updates handle i modulo HANDLES
 *   chain   every task updates the same handle
 *   random  a task updates one handle and reads two others, at random
 *   hot     the first HANDLES tasks update one handle each, the others only the first 100 of them
 *   once    every task writes a new handle, and its predecessor's is read (single assignment)
 *   again   as wide, but when every handle was updated main() waits, unregisters all, and registers
 *           them again, as a library does that registers its arrays around every call
 * Each task spins for MICROSECONDS. Prints "submit wall cpu first rate hash": seconds until the
 * last submission returned, until all had ended, processor time of all threads meanwhile, from the
 * start of the process until the first kernel; submissions per second until then; a hash of the
 * result. With `paused` no worker does anything before the last submission, so nobody waits for
 * somebody else, and it also prints "submission execution task handle": processor seconds of the
 * submissions, and of the rest; bytes allocated for a waiting task, and for a handle. */
#include <malloc.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { HOT = 100 };

static double spin_us;
static double begun; /* the process, by CLOCK_REALTIME */
static _Atomic double first_kernel, start, rate;
static _Atomic unsigned long progress; /* submissions */

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void kernel(void *buffers[], void *arg)
{
    uint64_t *value = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    (void)arg;
    if (__builtin_expect(atomic_load_explicit(&first_kernel, memory_order_relaxed) == 0, 0)) {
        atomic_store(&first_kernel, now(CLOCK_REALTIME));
        atomic_store(&rate, (double)progress / (now(CLOCK_MONOTONIC) - start));
    }
    if (spin_us > 0) {
        double end = starpu_timing_now() + spin_us;
        while (starpu_timing_now() < end)
            ;
    }
    *value = *value * 31 + 7;
}

static struct starpu_codelet update = {
    .cpu_funcs = {kernel},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "update",
};
static struct starpu_codelet combine = {
    .cpu_funcs = {kernel},
    .nbuffers = 3,
    .modes = {STARPU_RW, STARPU_R, STARPU_R},
    .name = "combine",
};
static struct starpu_codelet derive = {
    .cpu_funcs = {kernel},
    .nbuffers = 2,
    .modes = {STARPU_W, STARPU_R},
    .name = "derive",
};

static starpu_data_handle_t *handles;
static char *memory;

static void submit(const char *shape, unsigned long i, unsigned long count, unsigned *seed)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &update;
    if (strcmp(shape, "wide") == 0 || strcmp(shape, "again") == 0) {
        task->handles[0] = handles[i % count];
    } else if (strcmp(shape, "hot") == 0) {
        task->handles[0] = handles[i < count ? i : i % HOT % count];
    } else if (strcmp(shape, "chain") == 0) {
        task->handles[0] = handles[0];
    } else if (strcmp(shape, "once") == 0) {
        task->cl = i > 0 ? &derive : &update;
        task->handles[0] = handles[i];
        task->handles[1] = i > 0 ? handles[i - 1] : NULL;
    } else {
        unsigned long at = (unsigned long)rand_r(seed) % count;
        task->cl = &combine;
        task->handles[0] = handles[at];
        task->handles[1] = handles[(at + 1 + (unsigned long)rand_r(seed) % (count / 3)) % count];
        task->handles[2] = handles[(at + 1 + count / 2) % count];
    }
    if (starpu_task_submit(task) != 0)
        abort();
}

static double allocated(void)
{
    struct mallinfo2 all = mallinfo2();
    return (double)all.uordblks + (double)all.hblkhd;
}

static void make_memory(unsigned long count, size_t bytes)
{
    handles = calloc(count, sizeof(*handles));
    memory = calloc(count, bytes);
    if (!handles || !memory)
        abort();
}

static void register_all(unsigned long count, size_t bytes)
{
    for (unsigned long i = 0; i < count; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)(memory + i * bytes),
                                      bytes);
}

static uint64_t take_back(unsigned long count, size_t bytes)
{
    uint64_t sum = 0;

    for (unsigned long i = 0; i < count; i++) {
        starpu_data_unregister(handles[i]);
        sum = sum * 31 + *(uint64_t *)(memory + i * bytes);
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "wide";
    unsigned long tasks = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;
    spin_us = argc > 3 ? atof(argv[3]) : 0;
    unsigned long count = argc > 4 ? strtoul(argv[4], NULL, 0) : 1024;
    size_t bytes = argc > 5 ? strtoul(argv[5], NULL, 0) : sizeof(uint64_t);
    unsigned seed = 1;

    bool paused = argc > 6 && strcmp(argv[6], "paused") == 0;

    begun = now(CLOCK_REALTIME);
    if (strcmp(shape, "once") == 0)
        count = tasks;
    if (starpu_init(NULL) != 0)
        return 77;
    make_memory(count, bytes);
    double at_first = allocated();
    register_all(count, bytes);
    double registered = allocated();
    if (paused)
        starpu_pause();
    double cpu = cpu_seconds();
    start = now(CLOCK_MONOTONIC);
    for (unsigned long i = 0; i < tasks; i++) {
        if (i > 0 && i % count == 0 && strcmp(shape, "again") == 0) {
            starpu_task_wait_for_all();
            take_back(count, bytes);
            register_all(count, bytes);
        }
        submit(shape, i, count, &seed);
        atomic_store_explicit(&progress, i + 1, memory_order_relaxed);
    }
    double submitted = now(CLOCK_MONOTONIC), submission = cpu_seconds() - cpu;
    double waiting = allocated();
    if (paused)
        starpu_resume();
    starpu_task_wait_for_all();
    double ended = now(CLOCK_MONOTONIC), used = cpu_seconds() - cpu;
    uint64_t sum = take_back(count, bytes);
    starpu_shutdown();
    printf("%.6f %.6f %.6f %.6f %.0f %016llx", submitted - start, ended - start, used,
           first_kernel > 0 ? first_kernel - begun : 0.0, rate, (unsigned long long)sum);
    if (paused)
        printf(" %.6f %.6f %.1f %.1f", submission, used - submission,
               (waiting - registered) / (double)tasks, (registered - at_first) / (double)count);
    puts("");
    return 0;
}
