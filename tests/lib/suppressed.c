/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose tasks write a variable that nobody registered, for tests: suppressed MODE.
 * It has the name of one of gcov's, asan's, tsan's or nvcc's, or of the program's own (own), is in
 * a section of its own (section), or memory that only the list of the environment leads to
 * (environ). */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 400, ELEMENTS = 4096 };

extern char **environ;
static long values[ELEMENTS];
static volatile long gcov[4] __asm__("__gcov0.step");
static volatile long asan[4] __asm__("_ZN6__asanL7countedE");
static volatile long tsan[4] __asm__("_ZN6__tsan3ctxE");
static volatile long nvcc[4] __asm__("_ZZ27__device_stub__Z4stepPdPdE3__f");
static volatile long own_counts[4];
static volatile long placed[4] __attribute__((section("own_section")));
static const struct {
    const char *mode;
    volatile long *counts;
} modes[] = {{"gcov", gcov}, {"asan", asan},      {"tsan", tsan},
             {"nvcc", nvcc}, {"own", own_counts}, {"section", placed}};

static void step(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    unsigned mode;

    starpu_codelet_unpack_args(arg, &mode);
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            at[i] = (at[i] * 31 + round + i) % 1000003;
    if (mode < sizeof(modes) / sizeof(*modes))
        modes[mode].counts[0]++;
    else /* behind its end, where old entries stay */
        ++*(long *)environ[2];
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

/* As setenv(3) leaves it on the heap. */
static void move_environment(void)
{
    char **moved = (char **)calloc(6, sizeof(*moved));

    moved[2] = (char *)calloc(8, sizeof(long));
    environ = moved;
}

int main(int argc, char **argv)
{
    starpu_data_handle_t data;
    unsigned mode = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    while (argc > 1 && mode < sizeof(modes) / sizeof(*modes) &&
           strcmp(modes[mode].mode, argv[1]) != 0)
        mode++;
    if (mode == sizeof(modes) / sizeof(*modes))
        move_environment();
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, ELEMENTS,
                                sizeof(*values));
    for (unsigned k = 0; k < TASKS; k++)
        if (starpu_task_insert(&codelet, STARPU_VALUE, &mode, sizeof(mode), STARPU_RW, data, 0) !=
            0)
            return 3;
    starpu_task_wait_for_all();
    starpu_data_unregister(data);
    printf("%ld\n", values[7]);
    starpu_shutdown();
    return 0;
}
