/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs in a few lines each, for crash tests; the argument names one:
 * temporary (data without home node, used once and unregistered), resubmit (one task structure
 * again and again), commute (kernels look at their access modes), fork (children that call exit),
 * closefds (closes all descriptors after starpu_init); and what cannot be resumed, because the
 * number of the process decides: pid-tasks (how many tasks there are; tells it on standard error),
 * pid-data (what the data holds at first); child-pointer (a kernel submits a task with a pointer as
 * argument). Prints a number that a resumed run must print, too. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
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

static void plain_step(starpu_data_handle_t data)
{
    must(starpu_task_insert(&change, STARPU_RW, data, 0));
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
                                                 : plain_step;
    if (strcmp(name, "pid-data") == 0)
        value = getpid();
    if (strcmp(name, "pid-tasks") == 0)
        fprintf(stderr, "%d\n", steps += getpid() % 1000);
    if (starpu_init(NULL) != 0)
        return 77;
    if (strcmp(name, "closefds") == 0)
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    starpu_variable_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    for (int i = 0; i < steps; i++)
        one_step(data);
    starpu_data_unregister(data);
    starpu_shutdown();
    printf("%ld %d\n", value, modes_changed);
    return 0;
}
