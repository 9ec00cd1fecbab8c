/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs in a few lines each, for crash tests; the argument names one:
 * temporary (data without home node, used once and unregistered), resubmit (one task structure
 * again and again), commute (kernels look at their access modes), fork (children that call exit),
 * closefds (closes all descriptors after starpu_init), swap-first (starts StarPU twice, at first
 * with the swap disk of the environment); and what cannot be resumed, because the number of the
 * process decides: pid-tasks (how many tasks there are; tells it on standard error), pid-data (what
 * the data holds at first); child-pointer (a kernel submits a task with a pointer as argument);
 * unmapped (main() unmaps memory that stays registered); freed (main() frees it, or moves it by
 * realloc, round after round, and gets it again); disk (copies data from file to file on a disk of
 * StarPU's, in the working directory); listed (main() asks for the successors of tasks that write
 * no data, which a restart executes again), listed-done (of tasks that it skips). Prints a number
 * that a resumed run must print, too. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 60 };

static long value = 1; /* registered data of main() */
static int modes_changed;

static void step(void *buffers[], void *arg)
{
    struct starpu_task *task = starpu_task_get_current();
    long *to = (long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    long *from = task->cl->nbuffers > 1 ? (long *)STARPU_VARIABLE_GET_PTR(buffers[1]) : to;
    (void)arg;
    if (STARPU_TASK_GET_MODE(task, 0) != task->cl->modes[0])
        modes_changed = 1;
    *to = (*from * 31 + 7) % 1000003;
}

static void idle(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet change = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};
static struct starpu_codelet commuting = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "commuting"};
static struct starpu_codelet copy = {
    .cpu_funcs = {step}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "copy"};

static struct starpu_codelet with_pointer = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "with_pointer"};

static void must(int status)
{
    if (status != 0)
        abort();
}

static void bear(void *buffers[], void *arg)
{
    starpu_data_handle_t data;
    long *place = &value;

    step(buffers, NULL);
    starpu_codelet_unpack_args(arg, &data);
    must(
        starpu_task_insert(&with_pointer, STARPU_RW, data, STARPU_VALUE, &place, sizeof(place), 0));
}

static struct starpu_codelet parent = {
    .cpu_funcs = {bear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "parent"};

static void temporary_step(starpu_data_handle_t data)
{
    starpu_data_handle_t temporary;
    starpu_variable_data_register(&temporary, -1, 0, sizeof(long));
    must(starpu_task_insert(&copy, STARPU_W, temporary, STARPU_R, data, 0));
    must(starpu_task_insert(&copy, STARPU_W, data, STARPU_R, temporary, 0));
    starpu_data_unregister(temporary);
}

static void resubmit_step(starpu_data_handle_t data)
{
    static struct starpu_task task;
    static int ready;
    if (!ready++) {
        starpu_task_init(&task);
        task.cl = &change;
        task.handles[0] = data;
        task.detach = 0;
    }
    must(starpu_task_submit(&task));
    must(starpu_task_wait(&task));
}

static void commute_step(starpu_data_handle_t data)
{
    must(starpu_task_insert(&commuting, STARPU_RW | STARPU_COMMUTE, data, 0));
}

static void fork_step(starpu_data_handle_t data)
{
    must(starpu_task_insert(&change, STARPU_RW, data, 0));
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
}

static void child_pointer_step(starpu_data_handle_t data)
{
    must(starpu_task_insert(&parent, STARPU_RW, data, STARPU_VALUE, &data, sizeof(data), 0));
}

static struct starpu_codelet look = {
    .cpu_funcs = {idle}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
static struct starpu_codelet mark = {
    .cpu_funcs = {idle}, .nbuffers = 1, .modes = {STARPU_W}, .name = "mark"};

static starpu_data_handle_t token; /* data without content */
static long listed;                /* what main() was told, all in one number */

/* A task that waits for main() has the two others as successors. */
static void list_successors(struct starpu_codelet *first, enum starpu_data_access_mode mode,
                            struct starpu_codelet *next, enum starpu_data_access_mode next_mode,
                            starpu_data_handle_t data)
{
    static starpu_tag_t open;
    struct starpu_task *all[8], *scheduled[8];

    open += 2;
    starpu_tag_declare_deps(open + 1, 1, open);
    struct starpu_task *a = starpu_task_build(first, mode, data, STARPU_TAG, open + 1, 0);
    struct starpu_task *b = starpu_task_build(next, next_mode, data, 0);
    struct starpu_task *c = starpu_task_build(next, next_mode, data, 0);
    must(starpu_task_submit(a) || starpu_task_submit(b) || starpu_task_submit(c));
    int count = starpu_task_get_task_succs(a, 8, all);
    int runs = starpu_task_get_task_scheduled_succs(a, 8, scheduled);
    for (int i = 0; i < count; i++)
        must(all[i] != b && all[i] != c);
    for (int i = 0; i < runs; i++)
        must(scheduled[i] != b && scheduled[i] != c);
    must(starpu_task_get_task_succs(a, 1, all) != (count > 0));
    listed = (listed * 31 + count * 8 + runs) % 1000003;
    starpu_tag_notify_from_apps(open);
    must(starpu_task_wait_for_all());
}

static void listed_step(starpu_data_handle_t data)
{
    if (!token)
        starpu_void_data_register(&token);
    must(starpu_task_insert(&change, STARPU_RW, data, 0));
    list_successors(&mark, STARPU_W, &look, STARPU_R, token);
}

static void listed_done_step(starpu_data_handle_t data)
{
    list_successors(&change, STARPU_RW, &change, STARPU_RW, data);
}

static void plain_step(starpu_data_handle_t data)
{
    must(starpu_task_insert(&change, STARPU_RW, data, 0));
}

/* As programs do that free their arrays first, and unregister them at their ends. */
static void run_unmapped(void)
{
    enum { BYTES = 1 << 20 };
    starpu_data_handle_t gone, other;
    long *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    starpu_variable_data_register(&gone, STARPU_MAIN_RAM, (uintptr_t)&memory[70], sizeof(long));
    starpu_vector_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)&memory[1024], 8192,
                                sizeof(long));
    for (int i = 0; i < STEPS; i++) {
        plain_step(gone);
        plain_step(other);
    }
    starpu_task_wait_for_all();
    printf("%ld %ld\n", memory[70], memory[1024]);
    munmap(memory, BYTES);
    starpu_task_wait_for_all();
    starpu_data_unregister(gone);
    starpu_data_unregister_no_coherency(other);
}

/* The next round gets the same blocks, and registers them anew. */
static void run_freed(void)
{
    enum { ROUNDS = 12, BLOCKS = 12 };
    static const size_t sizes[] = {16, 24, 4096, 1 << 18};
    unsigned long sum = 0;

    for (int round = 0; round < ROUNDS; round++) {
        long *blocks[BLOCKS];
        size_t size = sizes[round % 4];
        for (int i = 0; i < BLOCKS; i++) {
            starpu_data_handle_t handle;
            blocks[i] = calloc(1, size);
            blocks[i][0] = (long)(sum % 1000) + i;
            starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)blocks[i],
                                          sizeof(long));
            plain_step(handle);
        }
        starpu_task_wait_for_all();
        for (int i = 0; i < BLOCKS; i++)
            sum = sum * 31 + (unsigned long)blocks[i][0];
        for (int i = 0; i < BLOCKS; i++)
            if (round % 3 == 0)
                free(realloc(blocks[i], 3 * size));
            else
                free(blocks[i]);
    }
    printf("%lu\n", sum);
}

enum { ON_DISK = 16 * 1024 }; /* numbers in a file: more than pages, which disks want */

static void write_file(const char *name, long factor)
{
    FILE *file = fopen(name, "wb");

    for (long i = 0; file && i < ON_DISK; i++) {
        long number = i * factor;
        must(fwrite(&number, sizeof(number), 1, file) != 1);
    }
    must(!file || fclose(file) != 0);
}

static long sum_of_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    long sum = 0;

    must(!file);
    for (long number; fread(&number, sizeof(number), 1, file) == 1;)
        sum = (sum * 31 + number) % 1000003;
    fclose(file);
    return sum;
}

static void run_disk(void)
{
    static char folder[] = ".", from_name[] = "from", to_name[] = "to";
    size_t bytes = ON_DISK * sizeof(long);
    starpu_data_handle_t from, to;

    write_file(from_name, 3);
    write_file(to_name, 0);
    int disk = starpu_disk_register(&starpu_disk_unistd_ops, folder, STARPU_DISK_SIZE_MIN);
    must(disk < 0);
    void *from_file = starpu_disk_open((unsigned)disk, from_name, bytes);
    void *to_file = starpu_disk_open((unsigned)disk, to_name, bytes);
    starpu_vector_data_register(&from, disk, (uintptr_t)from_file, ON_DISK, sizeof(long));
    starpu_vector_data_register(&to, disk, (uintptr_t)to_file, ON_DISK, sizeof(long));
    must(starpu_data_cpy(to, from, 0, NULL, NULL));
    starpu_data_unregister(from);
    starpu_data_unregister(to);
    starpu_disk_close((unsigned)disk, from_file, bytes);
    starpu_disk_close((unsigned)disk, to_file, bytes);
    printf("%ld\n", sum_of_file(to_name));
}

int main(int argc, char **argv)
{
    starpu_data_handle_t data;
    const char *name = argc > 1 ? argv[1] : "";
    int steps = STEPS;
    void (*one_step)(starpu_data_handle_t) = strcmp(name, "temporary") == 0  ? temporary_step
                                             : strcmp(name, "resubmit") == 0 ? resubmit_step
                                             : strcmp(name, "commute") == 0  ? commute_step
                                             : strcmp(name, "fork") == 0     ? fork_step
                                             : strcmp(name, "child-pointer") == 0
                                                 ? child_pointer_step
                                             : strcmp(name, "listed") == 0      ? listed_step
                                             : strcmp(name, "listed-done") == 0 ? listed_done_step
                                                                                : plain_step;
    if (strcmp(name, "pid-data") == 0)
        value = getpid();
    if (strcmp(name, "pid-tasks") == 0)
        fprintf(stderr, "%d\n", steps += getpid() % 1000);
    if (strcmp(name, "swap-first") == 0) {
        must(starpu_init(NULL));
        starpu_shutdown();
        unsetenv("STARPU_DISK_SWAP");
    }
    if (starpu_init(NULL) != 0)
        return 77;
    if (strcmp(name, "closefds") == 0)
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    starpu_variable_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    for (int i = 0; i < steps; i++)
        one_step(data);
    if (strcmp(name, "unmapped") == 0)
        run_unmapped();
    if (strcmp(name, "freed") == 0)
        run_freed();
    if (strcmp(name, "disk") == 0)
        run_disk();
    starpu_data_unregister(data);
    if (token)
        starpu_data_unregister(token);
    starpu_shutdown();
    printf("%ld %ld %d\n", value, listed, modes_changed);
    return 0;
}
