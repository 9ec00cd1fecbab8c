/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose main() touches registered data, for tests of `starpu-tic check`; the
 * argument says how: reads, first (reads the first element), heap (the same of a piece that is
 * little more than a page), static (the same in the midst of a page of other variables), closed
 * (submits another task where its data is closed, as if it were slow), writes, changes (reads and
 * writes in one place), copies (memcpy), part (of a partitioned vector), tile (reads from one of
 * many), held-tile (acquires it), synchronous (after a synchronous task), busy (the same while
 * another task waits for main()), crowded (that once, and main() waits for nothing else), none
 * (nothing), beside (while it holds other data), handler (has
 * a handler of SIGSEGV, and use for it), crash (by a fault of its own), input (data that no task
 * writes), acquires, small (reads a small piece), gone (after it was unregistered), system, stream
 * (the same by write() to a file, by fwrite()), input-system, input-stream (from a file, by read(),
 * by fread()), kernel (a system call that libc has no function for reads it). Prints a sum of what
 * it saw. */
#include <fcntl.h>
#include <signal.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LENGTH = 100000,
    SMALL = 100,
    HEAP = 600,
    PARTS = 4,
    TILES = 3,
    SIDE = 100,
    WIDTH = TILES * SIDE
};

static long fixed[LENGTH + 1];
static long *data, *other, *copy;
static starpu_data_handle_t handle, other_handle, tiles[TILES][TILES];
static const char *mode;
static char *own;
static long own_faults;

static void must(int status)
{
    if (status < 0)
        abort();
}

static void step(void *buffers[], void *arg)
{
    long *to = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = (to[i] * 31 + i) % 1000003;
}

static struct starpu_codelet change = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};

static int go[2]; /* a pipe */

static void step_late(void *buffers[], void *arg)
{
    char byte;

    must((int)read(go[0], &byte, 1));
    step(buffers, arg);
}

static struct starpu_codelet change_late = {
    .cpu_funcs = {step_late}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change_late"};

static void fill(void *buffers[], void *arg)
{
    long *to = (long *)STARPU_MATRIX_GET_PTR(buffers[0]);
    (void)arg;
    for (unsigned j = 0; j < SIDE; j++)
        for (unsigned i = 0; i < SIDE; i++)
            to[i + j * STARPU_MATRIX_GET_LD(buffers[0])] += i * j;
}

static struct starpu_codelet fill_tile = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "fill"};

static void look(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet use = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "use"};

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static long sum(const long *values, int count)
{
    long result = 0;

    for (int i = 0; i < count; i++)
        result = (result * 7 + values[i]) % 1000003;
    return result;
}

/* ---- main() has waited for all tasks -------------------------------------------------------- */

static __attribute__((noinline)) void write_data(void)
{
    for (int i = 0; i < LENGTH; i++)
        data[i] = i;
}

static __attribute__((noinline)) void change_data(void)
{
    for (int i = 0; i < LENGTH; i++)
        data[i] = data[i] / 2 + 1;
}

static long acquire(void)
{
    must(starpu_data_acquire(handle, STARPU_RW));
    long seen = sum(data, LENGTH);
    data[LENGTH / 2] = 1;
    starpu_data_release(handle);
    return seen;
}

static long acquire_tile(void)
{
    must(starpu_data_acquire(tiles[1][1], STARPU_RW));
    long seen = copy[WIDTH / 2 + WIDTH / 2 * WIDTH]++;
    starpu_data_release(tiles[1][1]);
    return seen;
}

static long read_beside(void)
{
    must(starpu_data_acquire(handle, STARPU_R));
    long seen = sum(data, LENGTH) + sum(other, LENGTH);
    starpu_data_release(handle);
    return seen;
}

/* One value of it after the other, in a file. A failure is not noticed, as in many a program. */
static void hand_to_file(void)
{
    static int file = -1;
    static FILE *stream;
    ssize_t done = 0;

    if (is("system") && file < 0)
        file = open("values", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (is("stream") && !stream)
        stream = fopen("values", "w");
    if (is("input-system") && file < 0)
        file = open("input", O_RDONLY);
    if (is("input-stream") && !stream)
        stream = fopen("input", "r");
    if (is("system"))
        done = write(file, data, LENGTH * sizeof(*data));
    if (is("stream"))
        done = (ssize_t)fwrite(data, sizeof(*data), LENGTH, stream) + fflush(stream);
    if (is("input-system"))
        done = read(file, data, LENGTH * sizeof(*data));
    if (is("input-stream"))
        done = (ssize_t)fread(data, sizeof(*data), LENGTH, stream);
    (void)done;
}

static void write_to_kernel(void)
{
    int file = open("values", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool done =
        syscall(SYS_write, file, data, LENGTH * sizeof(*data)) == (long)(LENGTH * sizeof(*data));

    close(file);
    if (!done)
        exit(9);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (info->si_addr != own || mprotect(own, 1, PROT_READ | PROT_WRITE) != 0)
        _exit(7);
    own_faults++;
}

static void handle_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &action, NULL);
    own = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        abort();
}

/* A page of its own, which its handler opens. */
static long touch_own(void)
{
    must(mprotect(own, 1, PROT_NONE));
    *(volatile char *)own = 1;
    return own_faults;
}

static void abort_by_fault(void)
{
    char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *(volatile char *)page = 1;
}

static long touch(void)
{
    if (is("crash"))
        abort_by_fault();
    if (is("handler"))
        return sum(data, LENGTH) + touch_own();
    if (is("tile"))
        return copy[WIDTH / 2 + WIDTH / 2 * WIDTH];
    if (is("held-tile"))
        return acquire_tile();
    if (is("first") || is("heap") || is("static") || is("busy"))
        return data[0];
    if (is("reads") || is("part") || is("synchronous"))
        return sum(data, LENGTH);
    if (is("acquires"))
        return acquire();
    if (is("beside"))
        return read_beside();
    if (is("small"))
        return sum(data, SMALL);
    if (is("kernel"))
        write_to_kernel();
    if (is("system") || is("stream") || is("input-system") || is("input-stream"))
        hand_to_file();
    if (is("writes"))
        write_data();
    if (is("changes") || is("input"))
        change_data();
    if (is("copies"))
        memcpy(copy, data, LENGTH * sizeof(*data));
    return 0;
}

/* ---- the program ---------------------------------------------------------------------------- */

/* Columns of a tile are shorter than a page. */
static void register_tiles(void)
{
    for (int j = 0; j < TILES; j++)
        for (int i = 0; i < TILES; i++)
            starpu_matrix_data_register(&tiles[j][i], STARPU_MAIN_RAM,
                                        (uintptr_t)&copy[i * SIDE + j * SIDE * WIDTH], WIDTH, SIDE,
                                        SIDE, sizeof(*copy));
}

static void fill_tiles(void)
{
    for (int j = 0; j < TILES; j++)
        for (int i = 0; i < TILES; i++)
            must(starpu_task_insert(&fill_tile, STARPU_RW, tiles[j][i], 0));
}

static void unregister_tiles(void)
{
    for (int j = 0; j < TILES; j++)
        for (int i = 0; i < TILES; i++)
            starpu_data_unregister(tiles[j][i]);
}

static void work(void)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};

    if (is("input")) {
        must(starpu_task_insert(&use, STARPU_R, handle, 0));
    } else if (is("tile") || is("held-tile")) {
        fill_tiles();
    } else if (is("part")) {
        starpu_data_partition(handle, &filter);
        for (int i = 0; i < PARTS; i++)
            must(starpu_task_insert(&change, STARPU_RW, starpu_data_get_sub_data(handle, 1, i), 0));
    } else if (is("synchronous") || is("busy") || is("crowded")) {
        if (!is("synchronous"))
            must(starpu_task_insert(&change_late, STARPU_RW, other_handle, 0));
        must(starpu_task_insert(&change, STARPU_RW, handle, STARPU_TASK_SYNCHRONOUS, 1, 0));
        return;
    } else {
        must(starpu_task_insert(&change, STARPU_RW, handle, 0));
        must(starpu_task_insert(&change, STARPU_RW, other_handle, 0));
    }
    if (is("closed") && getenv("STARPU_TIC_PAGES") && atoi(getenv("STARPU_TIC_PAGES")) == 1)
        must(starpu_task_insert(&use, STARPU_R, handle, 0));
    must(starpu_task_wait_for_all());
}

static long run(void)
{
    long seen = 0;

    for (int round = 0; round < (is("crowded") ? 1 : 3); round++) {
        work();
        seen = (seen + touch()) % 1000003;
        if (is("busy")) {
            must((int)write(go[1], "", 1));
            must(starpu_task_wait_for_all());
        }
        if (is("part"))
            starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    }
    return seen;
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "reads";
    int length = is("small") ? SMALL : is("heap") ? HEAP : LENGTH;
    data = is("static") ? &fixed[1] : calloc(is("heap") ? HEAP : LENGTH, sizeof(*data));
    other = calloc(LENGTH, sizeof(*other));
    copy = calloc(LENGTH, sizeof(*copy));
    must(pipe(go));
    must(starpu_init(NULL));
    if (is("handler"))
        handle_faults();
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, length, sizeof(*data));
    starpu_vector_data_register(&other_handle, STARPU_MAIN_RAM, (uintptr_t)other, LENGTH,
                                sizeof(*other));
    if (is("tile") || is("held-tile"))
        register_tiles();
    long seen = run();
    if (is("crowded")) {
        printf("%ld\n", seen);
        must((int)write(go[1], "", 1));
        starpu_shutdown();
        return 0;
    }
    if (is("tile") || is("held-tile"))
        unregister_tiles();
    starpu_data_unregister(handle);
    if (is("gone"))
        write_data();
    starpu_data_unregister(other_handle);
    printf("%ld %ld %ld\n", seen, sum(data, length), sum(copy, LENGTH));
    starpu_shutdown();
    return 0;
}
