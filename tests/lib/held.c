/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* main() changes a vector of more than 4096 bytes in an access that lasts while tasks of other data
 * go on, so that lines are cut there; as many tasks change it after that as before, or one less:
 * held [LATER]. Prints what main() has seen, and what is there in the end. */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 2000, EARLIER = 5, OTHERS = 10, LAST = 40 };

static uint32_t values[LENGTH], beside[LENGTH];

static void take_time(double microseconds)
{
    const double end = starpu_timing_now() + microseconds;

    while (starpu_timing_now() < end)
        ;
}

static void change(void *buffers[], void *arg)
{
    uint32_t *at = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]), number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < LENGTH; i++)
        at[i] = at[i] * 1664525u + number;
    if (number >= 100)
        take_time(3000);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {change}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};

static void submit(starpu_data_handle_t data, uint32_t first, unsigned count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (starpu_task_insert(&codelet, STARPU_RW, data, STARPU_VALUE, &i, sizeof(i), 0) != 0)
            exit(1);
}

static uint64_t hash(const uint32_t *at)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < LENGTH; i++)
        sum = sum * 31 + at[i];
    return sum;
}

int main(int argc, char **argv)
{
    unsigned later = argc > 1 ? (unsigned)atoi(argv[1]) : EARLIER - 1;
    starpu_data_handle_t data, other;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH,
                                sizeof(values[0]));
    starpu_vector_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)beside, LENGTH,
                                sizeof(beside[0]));
    submit(data, 0, EARLIER);
    submit(other, 100, OTHERS);
    if (starpu_data_acquire(data, STARPU_RW) != 0)
        return 1;
    uint64_t seen = hash(values);
    values[7] ^= (uint32_t)seen;
    take_time(60000);
    starpu_data_release(data);
    submit(data, 50, later);
    starpu_task_wait_for_all();
    submit(other, 200, LAST); /* a second line is counted here, however late the first one came */
    starpu_data_unregister(data);
    starpu_data_unregister(other);
    printf("%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", seen, hash(values), hash(beside));
    starpu_shutdown();
    return 0;
}
