/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program that registers memory, for tests: extents MODE. Prints a sum of what tasks
 * wrote. Tasks write only what there is. The data is longer than block, matrix   a block of the
 * heap, by some bytes or by its leading dimension large           a block that malloc() has mapped
 *   inner           a block, from its fifth number on
 *   global, local   a variable that others see, or not
 *   stack           the stack's frame of the function that has the array
 *   mapping         what mmap() gave
 * and it fits in
 *   exact           a block
 *   tiles           a block of numbers that look like what malloc() keeps before blocks
 *   tile-global     a variable, piece by piece
 *   tile-stack      an array on the stack, piece by piece
 *   aligned         a block of posix_memalign()
 *   pages           what mmap() gave, from its middle to its end
 *   allocated       what starpu_malloc() gave */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TILE = 16, TILES = 8, TASKS = 60, PAGE = 4096, MOST = TILE * TILES };

long shown[4];
static long hidden[4], array[MOST];
static const char *mode;
static long *first; /* what tasks write: so many, from here on */
static unsigned count = 3;
static starpu_data_handle_t data[TILES];
static unsigned tiles;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void step(void *buffers[], void *arg)
{
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < count; i++)
        values[i] = (values[i] * 31 + i + 1) % 1000003;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

static void add(long *at, unsigned length)
{
    starpu_vector_data_register(&data[tiles++], STARPU_MAIN_RAM, (uintptr_t)at, length,
                                sizeof(long));
    first = first ? first : at;
}

static void add_tiles(long *at)
{
    count = TILE;
    for (unsigned i = 0; i < MOST; i++)
        at[i] = 33;
    for (unsigned i = 0; i < TILES; i++)
        add(at + (size_t)i * TILE, TILE);
}

static void *map(size_t bytes)
{
    char *all =
        mmap(NULL, bytes + 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED || munmap(all + bytes, 64 * PAGE) != 0)
        exit(3);
    return all;
}

static void register_blocks(void)
{
    void *aligned = NULL;

    if (is("block"))
        add(calloc(3, sizeof(long)), 6 + 2494 * (getenv("LONG") != NULL));
    if (is("matrix")) {
        first = calloc(8 * 8, sizeof(long));
        starpu_matrix_data_register(&data[tiles++], STARPU_MAIN_RAM, (uintptr_t)first, 16, 8, 8,
                                    sizeof(long));
    }
    if (is("large"))
        add(calloc(1 << 17, sizeof(long)), 1 << 18);
    if (is("inner")) /* malloc() gives up to three numbers more than it was asked for */
        add((long *)calloc(8, sizeof(long)) + 4, 8);
    if (is("exact"))
        add(calloc(3, sizeof(long)), 3);
    if (is("tiles"))
        add_tiles(malloc(MOST * sizeof(long)));
    if (is("aligned") && posix_memalign(&aligned, 256, MOST * sizeof(long)) == 0)
        add_tiles(aligned);
    if (is("allocated") && starpu_malloc(&aligned, MOST * sizeof(long)) == 0)
        add_tiles(aligned);
}

static void register_others(void)
{
    if (is("global"))
        add(shown, 500);
    if (is("local"))
        add(hidden, 5);
    if (is("tile-global"))
        add_tiles(array);
    if (is("mapping"))
        add(map(PAGE), 2 * PAGE / sizeof(long));
    if (is("pages"))
        add((long *)map(2 * PAGE) + PAGE / sizeof(long), PAGE / sizeof(long));
}

static void run(void)
{
    long sum = 0;

    for (unsigned k = 0; k < TASKS; k++)
        if (starpu_task_insert(&codelet, STARPU_RW, data[k % tiles], 0) != 0)
            exit(3);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < count; i++)
        sum += first[i];
    for (unsigned i = 0; i < tiles; i++)
        starpu_data_unregister(data[i]);
    printf("%s %ld\n", mode, sum);
}

static __attribute__((noinline)) void run_on_stack(void)
{
    long values[MOST] = {0};

    if (is("stack"))
        add(values, MOST + 200);
    else
        add_tiles(values);
    run();
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "block";
    if (starpu_init(NULL) != 0)
        return 77;
    if (is("stack") || is("tile-stack")) {
        run_on_stack();
    } else {
        register_blocks();
        register_others();
        run();
    }
    starpu_shutdown();
    return 0;
}
