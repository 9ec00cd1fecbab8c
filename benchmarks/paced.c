/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that take as long as they should, however busy the machine is: paced SECONDS MILLISECONDS
 * TILES MEGABYTES. Each task updates one of the tiles, and then sleeps until so many milliseconds
 * have passed since it began; there are as many tasks as keep all workers busy for so many seconds.
 * What a checkpoint or a restart takes from the workers adds to that. Prints a hash of the result.
 */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long nanoseconds; /* of a task */
static size_t words;     /* of a tile */

static void kernel(void *buffers[], void *arg)
{
    uint64_t *tile = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    struct timespec end;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (size_t i = 0; i < words; i++)
        tile[i] = tile[i] * 31 + i;
    end.tv_nsec += nanoseconds;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0)
        ;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "paced"};

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 30;
    const double milliseconds = argc > 2 ? atof(argv[2]) : 10;
    const size_t tiles = argc > 3 ? strtoul(argv[3], NULL, 0) : 48;
    const size_t bytes = (argc > 4 ? strtoul(argv[4], NULL, 0) : 4) << 20;
    uint64_t *memory = calloc(tiles, bytes), hash = 0;
    starpu_data_handle_t *handles = calloc(tiles, sizeof(starpu_data_handle_t));

    nanoseconds = (long)(milliseconds * 1e6);
    words = bytes / sizeof(uint64_t);
    if (!memory || !handles || tiles == 0 || starpu_init(NULL) != 0)
        return 77;
    for (size_t i = 0; i < tiles; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)(memory + i * words),
                                      bytes);
    const double tasks = seconds * 1e3 / milliseconds * starpu_cpu_worker_get_count();
    for (size_t i = 0; i < (size_t)tasks; i++)
        if (starpu_task_insert(&codelet, STARPU_RW, handles[i % tiles], 0) != 0)
            return EXIT_FAILURE;
    for (size_t i = 0; i < tiles; i++)
        starpu_data_unregister(handles[i]);
    for (size_t i = 0; i < tiles * words; i++)
        hash = hash * 31 + memory[i];
    printf("%016" PRIx64 "\n", hash);
    starpu_shutdown();
    return 0;
}
