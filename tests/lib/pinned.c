/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program with data of some megabytes, for tests of memory that is pinned: pinned MODE.
 *   alone    a block of malloc() is registered and unregistered, twice
 *   tiles    a block is registered in four parts
 *   gaps     two parts of a block, whose rows alternate
 *   across   a mapping in two halves, and then from the middle of one to that of the other
 *   small    less than is pinned
 *   own      the program pins it before, and unpins it
 *   then     the program pins it when it is registered
 *   submit   starpu_data_unregister_submit(), and free() after the tasks
 *   mapped   the same of a mapping, and munmap()
 *   given    free() of a block that is registered
 *   left     nobody unregisters it
 *   beside   two halves of a mapping; one leaves, comes again, leaves, and is moved
 * Prints a sum. */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LENGTH = 1 << 19, BYTES = LENGTH * sizeof(long), MOST = 4 };

static long *block;
static starpu_data_handle_t data[MOST];
static unsigned count;
static const char *mode;

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void add(void *buffers[], void *argument)
{
    (void)argument;
    ((long *)STARPU_MATRIX_GET_PTR(buffers[0]))[0] += 7;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

/* Rows of `width` numbers, so far apart. */
static void register_rows(long *at, unsigned apart, unsigned width, unsigned rows)
{
    starpu_matrix_data_register(&data[count++], STARPU_MAIN_RAM, (uintptr_t)at, apart, width, rows,
                                sizeof(*at));
}

static void register_all(void)
{
    const unsigned quarter = LENGTH / 4;

    if (is("tiles"))
        for (unsigned i = 0; i < MOST; i++)
            register_rows(block + i * quarter, quarter, quarter, 1);
    else if (is("gaps"))
        for (unsigned i = 0; i < 2; i++)
            register_rows(block + i * 1024, 2048, 1024, LENGTH / 2048);
    else if (is("across"))
        for (unsigned i = 0; i < 3; i++)
            register_rows(block + (i < 2 ? 2 * i * quarter : quarter), 2 * quarter, 2 * quarter, 1);
    else if (is("beside"))
        for (unsigned i = 0; i < 2; i++)
            register_rows(block + i * LENGTH / 2, LENGTH / 2, LENGTH / 2, 1);
    else
        register_rows(block, is("small") ? 1024 : LENGTH, is("small") ? 1024 : LENGTH, 1);
}

static void compute(void)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < 5; k++)
            if (starpu_task_insert(&codelet, STARPU_RW, data[i], 0) != 0)
                exit(3);
}

static void leave(void)
{
    for (unsigned i = 0; i < count; i++)
        if (is("submit") || is("mapped"))
            starpu_data_unregister_submit(data[i]);
        else if (!is("left") && !is("given"))
            starpu_data_unregister(data[i]);
    starpu_task_wait_for_all();
    if (is("given")) { /* the tasks may have been executed elsewhere */
        if (starpu_data_acquire(data[0], STARPU_R) != 0)
            exit(5);
        starpu_data_release(data[0]);
    }
    count = 0;
}

static void go_and_come(void)
{
    long *second = block + LENGTH / 2;

    for (unsigned i = 0; i < 2; i++) {
        starpu_data_unregister(data[1]);
        if (i == 0)
            starpu_vector_data_register(&data[1], STARPU_MAIN_RAM, (uintptr_t)second, LENGTH / 2,
                                        sizeof(*second));
    }
    count = 1;
    if (mremap(second, BYTES / 2, BYTES, MREMAP_MAYMOVE) == MAP_FAILED)
        exit(6);
}

static void round_of(void)
{
    const bool maps = is("mapped") || is("across") || is("beside");
    long *memory =
        maps ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
             : malloc(BYTES);

    block = memset(memory, 0, BYTES);
    if (is("own") && starpu_memory_pin(memory, BYTES) != 0)
        exit(4);
    register_all();
    if (is("then") && starpu_memory_pin(memory, BYTES) != 0)
        exit(4);
    compute();
    if (is("beside"))
        go_and_come();
    leave();
    if ((is("own") || is("then")) && starpu_memory_unpin(memory, BYTES) != 0)
        exit(4);
    if (!is("left"))
        printf("%ld\n", block[0] + block[LENGTH / 4]);
    if (maps)
        munmap(memory, is("beside") ? BYTES / 2 : BYTES);
    else if (!is("left"))
        free(memory);
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "alone";
    if (starpu_init(NULL) != 0)
        return 77;
    for (unsigned i = 0; i < (is("alone") ? 2 : 1); i++)
        round_of();
    starpu_shutdown();
    return 0;
}
