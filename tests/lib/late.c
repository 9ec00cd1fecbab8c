/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that opens StarPU itself, for itself (RTLD_LOCAL), as Python's modules do. LATE_DEEP:
 * with RTLD_DEEPBIND; LATE_IDLE: and does not start it; LATE_AGAIN: tasks open it again. */
#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static const char name[] = "libstarpu-" PACKAGE_STARPU_VERSION ".so";
static void *library;

static void *find(const char *symbol)
{
    void *function = dlsym(library, symbol);

    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    return function;
}

#define STARPU(name) ((__typeof__(&name))find(#name))

static void add(void *buffers[], void *arg)
{
    (void)arg;
    if (getenv("LATE_AGAIN"))
        (void)dlopen(name, RTLD_NOW);
    *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

int main(void)
{
    long sum = 0;
    starpu_data_handle_t handle;

    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | (getenv("LATE_DEEP") ? RTLD_DEEPBIND : 0));
    if (getenv("LATE_IDLE"))
        return 0;
    if (!library || STARPU(starpu_init)(NULL) != 0)
        return 77;
    STARPU(starpu_variable_data_register)
    (&handle, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
    for (unsigned i = 0; i < 200; i++)
        if (STARPU(starpu_task_insert)(&codelet, STARPU_RW, handle, 0) != 0)
            return 1;
    STARPU(starpu_data_unregister)(handle);
    STARPU(starpu_shutdown)();
    printf("%ld\n", sum);
    return 0;
}
