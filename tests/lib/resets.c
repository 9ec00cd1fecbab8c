/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks add to small data that its interface packs (CSR, or COO); after each wait main() reads what
 * came of it, and sets it to another value, by its pointer: resets [coo]. */
#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 10, TASKS = 20, VALUES = 3 };

static uint64_t values[VALUES], beside;
static uint32_t columns[VALUES] = {0, 1, 2}, rows[VALUES + 1] = {0, 1, 2, 3};
static bool is_coo;

static void take_time(void)
{
    double end = starpu_timing_now() + 300;

    while (starpu_timing_now() < end)
        ;
}

static void add(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)(is_coo ? STARPU_COO_GET_VALUES(buffers[0])
                                       : STARPU_CSR_GET_NZVAL(buffers[0])),
             number;

    starpu_codelet_unpack_args(arg, &number);
    take_time();
    for (unsigned i = 0; i < VALUES; i++)
        at[i] = at[i] * 31 + number + i;
}

static void count(void *buffers[], void *arg)
{
    (void)arg;
    take_time();
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};
static struct starpu_codelet count_codelet = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count"};

/* Lines come when the data is at rest, too. */
static int submit_round(starpu_data_handle_t data, starpu_data_handle_t other, uint64_t round)
{
    int status = 0;

    for (unsigned i = 0; i < TASKS && !status; i++)
        status = starpu_task_insert(&count_codelet, STARPU_RW, other, 0);
    for (unsigned i = 0; i < TASKS && !status; i++) {
        uint64_t number = round * TASKS + i;
        status = starpu_task_insert(&add_codelet, STARPU_VALUE, &number, sizeof(number), STARPU_RW,
                                    data, 0);
    }
    return status;
}

int main(int argc, char **argv)
{
    starpu_data_handle_t data, other;

    is_coo = argc > 1 && strcmp(argv[1], "coo") == 0;
    if (starpu_init(NULL) != 0)
        return 77;
    if (is_coo)
        starpu_coo_data_register(&data, STARPU_MAIN_RAM, VALUES, VALUES, VALUES, columns, rows,
                                 (uintptr_t)values, sizeof(values[0]));
    else
        starpu_csr_data_register(&data, STARPU_MAIN_RAM, VALUES, VALUES, (uintptr_t)values, columns,
                                 rows, 0, sizeof(values[0]));
    starpu_variable_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)&beside, sizeof(beside));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        values[0] = round;
        values[1] = values[2] % 7;
        if (submit_round(data, other, round) != 0)
            return 1;
        starpu_task_wait_for_all();
        for (unsigned i = 0; i < VALUES; i++)
            printf("%llx ", (unsigned long long)values[i]);
        printf("%llu\n", (unsigned long long)beside);
    }
    starpu_data_unregister(data);
    starpu_data_unregister(other);
    starpu_shutdown();
    return 0;
}
