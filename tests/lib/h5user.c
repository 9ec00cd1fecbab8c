/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that uses HDF5 itself. Argument: letters for when it writes a file of its own. b:
 * before it starts StarPU; d: while tasks run, every 20 of them; a: after StarPU; o: at the end,
 * and leaves the file open; n: never. Or `read` and files, whose sums it prints. Compiled with
 * H5_LATE it opens the code that uses libhdf5, named by H5_MODULE, when it needs it first. */
#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/h5write.h"

enum { LENGTH = 500, TASKS = 100 };

#ifdef H5_LATE
static void *find(const char *name)
{
    void *module = dlopen(getenv("H5_MODULE"), RTLD_NOW | RTLD_LOCAL);
    void *function = module ? dlsym(module, name) : NULL;

    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return function;
}

#define H5(name) ((__typeof__(&name))find(#name))
#else
#define H5(name) name
#endif

static void add(void *buffers[], void *arg)
{
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (int i = 0; i < LENGTH; i++)
        values[i] = values[i] * 3 + number;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void save(const char *when, const long *values, int leave_open)
{
    char file[32];

    snprintf(file, sizeof(file), "%s.h5", when);
    if (H5(h5_write)(file, values, LENGTH, leave_open))
        puts("HDF5 failed");
}

static int read_files(char **files)
{
    long values[LENGTH], sum = 0;

    for (; *files; files++) {
        if (H5(h5_read)(*files, values))
            return 1;
        for (int i = 0; i < LENGTH; i++)
            sum += values[i];
        printf("%s %ld\n", *files, sum);
    }
    return 0;
}

static void compute(long *values, int saves)
{
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH,
                                sizeof(*values));
    for (int i = 0; i < TASKS; i++) {
        if (starpu_task_insert(&codelet, STARPU_RW, handle, STARPU_VALUE, &i, sizeof(i), 0) != 0)
            abort();
        if (!saves || i % 20 != 10)
            continue;
        starpu_data_acquire(handle, STARPU_R);
        save("during", values, 0);
        starpu_data_release(handle);
    }
    starpu_data_unregister(handle);
}

int main(int argc, char **argv)
{
    static long values[LENGTH];
    const char *when = argc > 1 ? argv[1] : "n";

    if (strcmp(when, "read") == 0)
        return read_files(argv + 2);
    for (int i = 0; i < LENGTH; i++)
        values[i] = i;
    if (strchr(when, 'b'))
        save("before", values, 0);
    if (starpu_init(NULL) != 0)
        return 77;
    compute(values, strchr(when, 'd') != NULL);
    starpu_shutdown();
    if (strchr(when, 'a'))
        save("after", values, 0);
    if (strchr(when, 'o'))
        save("open", values, 1);
    printf("%ld\n", values[LENGTH - 1]);
    return 0;
}
