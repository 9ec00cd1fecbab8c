/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose results come from a library: libraries MODE LIBRARY. Applies a kernel to a
 * vector in 60 tasks, and prints what becomes of it. The kernel is in the library: opened at the
 * start (opened), after 20 tasks with a kernel of the program (late), closed and opened again after
 * 20 tasks (again), in a namespace of its own (apart), or loaded with the program (loaded). Or the
 * library submits the tasks, whose kernel is the program's (driver). BEFORE and AFTER name
 * scripts that it executes before StarPU starts, and after it has opened the library. */
#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 60, FIRST = 20, LENGTH = 500 };

static void own_kernel(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]), number = 1;

    if (arg)
        starpu_codelet_unpack_args(arg, &number);
    for (int i = 0; i < LENGTH; i++)
        values[i] = values[i] / 2 + number;
}

static struct starpu_codelet own = {
    .cpu_funcs = {own_kernel}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "own"};
static struct starpu_codelet others = {.nbuffers = 1, .modes = {STARPU_RW}, .name = "others"};

static void execute(const char *variable)
{
    const char *script = getenv(variable);
    char command[64];

    snprintf(command, sizeof(command), "LD_PRELOAD= sh %s", script ? script : "");
    if (script && system(command) != 0)
        exit(2);
}

static void *library;

static void *find(const char *mode, const char *path, const char *symbol)
{
    if (strcmp(mode, "apart") == 0)
        library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    else if (strcmp(mode, "loaded") == 0)
        library = RTLD_DEFAULT;
    else
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *found = library || strcmp(mode, "loaded") == 0 ? dlsym(library, symbol) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static void take_kernel(const char *mode, const char *path)
{
    void *kernel = find(mode, path, "kernel");

    memcpy(&others.cpu_funcs[0], &kernel, sizeof(kernel));
    execute("AFTER");
}

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, int count)
{
    for (int i = 0; i < count; i++)
        if (starpu_task_insert(codelet, STARPU_RW, handle, 0) != 0)
            abort();
}

static void run(const char *mode, const char *path, starpu_data_handle_t handle)
{
    if (strcmp(mode, "driver") == 0) {
        void (*drive)(struct starpu_codelet *, starpu_data_handle_t, int);
        *(void **)&drive = find(mode, path, "drive");
        drive(&own, handle, TASKS);
        return;
    }
    if (strcmp(mode, "late") == 0)
        submit(&own, handle, FIRST);
    take_kernel(mode, path);
    submit(&others, handle, FIRST);
    if (strcmp(mode, "again") == 0) {
        starpu_task_wait_for_all();
        dlclose(library);
        take_kernel(mode, path);
    }
    submit(&others, handle, TASKS - FIRST);
}

int main(int argc, char *argv[])
{
    static double values[LENGTH];
    starpu_data_handle_t handle;

    execute("BEFORE");
    if (argc < 3 || starpu_init(NULL) != 0)
        return 1;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH,
                                sizeof(double));
    run(argv[1], argv[2], handle);
    starpu_data_unregister(handle);
    printf("%.17g\n", values[0]);
    starpu_shutdown();
    return 0;
}
