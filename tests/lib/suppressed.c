/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose tasks write a variable that nobody registered, for tests: suppressed MODE.
 * It has the name of one of gcov's, asan's, tsan's or nvcc's (nvcc, guard, handle, cudart), or of
 * the program's own (own), is in a section of its own (section), of a stub whose names are gone
 * (stub), of a library that a CUDA function of the codelet is in (library; the last two with
 * cudart.c preloaded), or memory that only the list of the environment leads to (environ). */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 400, FIRST_LAUNCH = 250, ELEMENTS = 4096 };

extern char **environ;
static long values[ELEMENTS];
static volatile long gcov[4] __asm__("__gcov0.step");
static volatile long asan[4] __asm__("_ZN6__asanL7countedE");
static volatile long tsan[4] __asm__("_ZN6__tsan3ctxE");
static volatile long nvcc[4] __asm__("_ZZ27__device_stub__Z4stepPdPdE3__f");
static volatile long guard[4] __asm__("_ZGVZL27__device_stub__Z4stepPdPdE5__tmp");
static volatile long handle[4] __asm__("_ZZL27__device_stub__Z4stepPdPdE8__handle");
static volatile long cudart[4] __asm__("libcudart_static_0101b79b");
static volatile long own_counts[4];
static volatile long placed[4] __attribute__((section("own_section")));
static const struct {
    const char *mode;
    volatile long *counts;
} modes[] = {{"gcov", gcov},   {"asan", asan},      {"tsan", tsan},
             {"nvcc", nvcc},   {"own", own_counts}, {"section", placed},
             {"guard", guard}, {"handle", handle},  {"cudart", cudart}};

extern int __cudaGetKernel(void **handle, const void *stub) __attribute__((weak));
extern void counting_kernel(void *buffers[], void *argument) __attribute__((weak));

/* As compilers lay out the variables of a stub, in either order. */
static struct {
    volatile long guard, begun;
    void *handle;
    const void *volatile stub;
} stubs[2];
static struct {
    void *handle;
    volatile long begun, guard;
} turned;

static void launch(void)
{
    if ((turned.guard & 1) != 0)
        return;
    stubs[1].guard = turned.guard = 0x100;
    stubs[1].stub = (const void *)launch;
    if (__cudaGetKernel(&stubs[1].handle, (const void *)launch) != 0 ||
        __cudaGetKernel(&turned.handle, (const void *)launch) != 0 ||
        turned.handle != (char *)launch + 1)
        abort();
    stubs[1].begun = turned.begun = 1;
    stubs[1].guard = turned.guard = 1;
}

enum { MODES = sizeof(modes) / sizeof(*modes), STUB = MODES, LIBRARY, ENVIRON };

static void step(void *buffers[], void *arg)
{
    long *at = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    unsigned mode, task;

    starpu_codelet_unpack_args(arg, &mode, &task);
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            at[i] = (at[i] * 31 + round + i) % 1000003;
    if (mode < MODES)
        modes[mode].counts[0]++;
    else if (mode == STUB && task >= FIRST_LAUNCH) /* main() waits by then */
        launch();
    else if (mode == STUB)
        return;
    else if (mode == LIBRARY)
        counting_kernel(buffers, arg);
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
    const char *name = argc > 1 ? argv[1] : "";
    while (mode < MODES && strcmp(modes[mode].mode, name) != 0)
        mode++;
    if (mode == MODES)
        mode = strcmp(name, "stub") == 0 ? STUB : strcmp(name, "library") == 0 ? LIBRARY : ENVIRON;
    if (mode == LIBRARY)
        codelet.cuda_funcs[0] = counting_kernel;
    if (mode == ENVIRON)
        move_environment();
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, ELEMENTS,
                                sizeof(*values));
    for (unsigned k = 0; k < TASKS; k++)
        if (starpu_task_insert(&codelet, STARPU_VALUE, &mode, sizeof(mode), STARPU_VALUE, &k,
                               sizeof(k), STARPU_RW, data, 0) != 0)
            return 3;
    starpu_task_wait_for_all();
    starpu_data_unregister(data);
    printf("%ld\n", values[7]);
    starpu_shutdown();
    return 0;
}
