/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A task prints what main() has put into data that its interface packs (CSR), before another task
 * changes it: packed_reads [TASKS]. main() meanwhile gets access to something else, so often that
 * the change falls between: that is what it could read by its pointer then. A restart executes the
 * first task again, on one worker only when main() has come past that. Needs two workers to begin
 * with: one waits for main(). */
#include <semaphore.h>
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 3, LOOKS = 5000 };

static uint64_t values[VALUES] = {11, 22, 33}, number;
static uint32_t columns[VALUES] = {0, 1, 2}, rows[VALUES + 1] = {0, 1, 2, 3};
static volatile int is_past;
static sem_t holds;

static void hold(void *buffers[], void *arg)
{
    (void)buffers, (void)arg;
    sem_post(&holds);
    while (!is_past)
        ;
}

static void tell(void *buffers[], void *arg)
{
    const uint64_t *at = (const uint64_t *)STARPU_CSR_GET_NZVAL(buffers[0]);

    (void)arg;
    printf("%llu %llu %llu\n", (unsigned long long)at[0], (unsigned long long)at[1],
           (unsigned long long)at[2]);
}

static void scale(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_CSR_GET_NZVAL(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < VALUES; i++)
        at[i] = at[i] * 31 + i;
}

static void count(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet hold_codelet = {.cpu_funcs = {hold}, .name = "hold"};
static struct starpu_codelet tell_codelet = {
    .cpu_funcs = {tell}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tell"};
static struct starpu_codelet scale_codelet = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};
static struct starpu_codelet count_codelet = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count"};

/* The first task has ended before the one that changes the data is submitted. */
static int submit_first(starpu_data_handle_t packed, starpu_data_handle_t other)
{
    int status = starpu_task_insert(&hold_codelet, 0);

    sem_wait(&holds);
    if (status == 0)
        status = starpu_task_insert(&tell_codelet, STARPU_R, packed, 0);
    if (status == 0)
        status = starpu_task_insert(&count_codelet, STARPU_RW, other, 0);
    if (status == 0)
        status = starpu_data_acquire(other, STARPU_R);
    if (status == 0)
        starpu_data_release(other);
    return status ? status : starpu_task_insert(&scale_codelet, STARPU_RW, packed, 0);
}

static int look_often(starpu_data_handle_t other)
{
    int status = 0;

    for (unsigned i = 0; i < LOOKS && !status; i++) {
        status = starpu_data_acquire(other, STARPU_R);
        if (!status)
            starpu_data_release(other);
    }
    is_past = 1;
    return status;
}

int main(int argc, char **argv)
{
    long tasks = argc > 1 ? atol(argv[1]) : 100;
    starpu_data_handle_t packed, counter;

    sem_init(&holds, 0, 0);
    if (starpu_init(NULL) != 0)
        return 77;
    starpu_csr_data_register(&packed, STARPU_MAIN_RAM, VALUES, VALUES, (uintptr_t)values, columns,
                             rows, 0, sizeof(values[0]));
    starpu_variable_data_register(&counter, STARPU_MAIN_RAM, (uintptr_t)&number, sizeof(number));
    if (submit_first(packed, counter) != 0 || look_often(counter) != 0)
        return 1;
    for (long i = 0; i < tasks; i++)
        if (starpu_task_insert(&count_codelet, STARPU_RW, counter, 0) != 0)
            return 1;
    starpu_data_unregister(packed);
    starpu_data_unregister(counter);
    printf("%llu %llu\n", (unsigned long long)values[0], (unsigned long long)number);
    starpu_shutdown();
    return 0;
}
