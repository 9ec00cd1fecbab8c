/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prologues number their tasks and look at data by a pointer, and kernels use what they found:
 * prologues FORM. Tasks follow each other by their data (data), or by declared dependencies, in
 * structures that stay (declared), each with the prologue of pop in place of the first (data-pop,
 * declared-pop); or do not (early); or write nothing (readers, readers-pop); or prologues of tasks
 * without a kernel write the data (nowhere). main() waits for nothing before the end; or it waits
 * for each fourth task in its submission (synchronous), or changes the data in an access after each
 * fifth (access), also where prologues of tasks without a kernel write it (written), or waits for
 * those, whose prologues look at the data, and whose structures stay (kept), or asks for accesses
 * by callback (called). Or tasks without a kernel: on data without a home node (homeless), or one
 * that main() waits for in its submission (sudden). */
#include <inttypes.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 40 };

static struct work {
    uint64_t found; /* by the prologue */
    uint64_t made;
} works[TASKS];

static struct starpu_task *tasks[TASKS];

static uint64_t values[TASKS], number, mixed = 1;
static starpu_data_handle_t data[TASKS];

static void must(int status)
{
    if (status)
        abort();
}

static void count(void *arg)
{
    struct work *work = arg;

    mixed = mixed * 31 + values[0];
    work->found = ++number * 1000 + mixed % 1000;
}

/* LATE: main, which submits tasks when those before have ended; or looks, which last so long that
 * in a restart prologues before them would come meanwhile. */
static void be_late(const char *whose)
{
    const char *late = getenv("LATE");

    if (late && strcmp(late, whose) == 0)
        usleep(2000);
}

static void count_only(void *arg)
{
    ((struct work *)arg)->found = ++number;
}

static void add(void *arg)
{
    values[0] += ((struct work *)arg)->found;
}

static void use(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);

    usleep(500); /* main() is far ahead */
    *at = *at * 31 + ((struct work *)arg)->found;
}

static void read_only(void *buffers[], void *arg)
{
    struct work *work = arg;

    usleep(500);
    work->made = *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) + work->found;
}

static struct starpu_codelet use_codelet = {
    .cpu_funcs = {use}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "use"};
static struct starpu_codelet read_codelet = {
    .cpu_funcs = {read_only}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};
static struct starpu_codelet nowhere_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_RW}, .name = "nowhere"};

static struct starpu_task *create(struct starpu_codelet *codelet, unsigned i, unsigned datum)
{
    struct starpu_task *task = starpu_task_create();

    tasks[i] = task;
    task->cl = codelet;
    task->handles[0] = data[datum];
    task->cl_arg = &works[i];
    task->cl_arg_size = sizeof(works[i]);
    return task;
}

static void set_prologue(struct starpu_task *task, void (*function)(void *), bool pop)
{
    *(pop ? &task->prologue_callback_pop_func : &task->prologue_callback_func) = function;
    *(pop ? &task->prologue_callback_pop_arg : &task->prologue_callback_arg) = task->cl_arg;
}

/* Behind the one before, by a declared dependency; the structures stay. */
static void follow(unsigned i)
{
    tasks[i]->destroy = 0;
    if (i > 0)
        starpu_task_declare_deps_array(tasks[i], 1, &tasks[i - 1]);
}

static void change(unsigned i)
{
    must(starpu_data_acquire(data[0], STARPU_RW));
    values[0] = values[0] * 7 + i;
    starpu_data_release(data[0]);
}

static void look(void *arg)
{
    (void)arg;
    be_late("looks");
    mixed = mixed * 31 + values[0];
    starpu_data_release(data[0]);
}

static void submit_called(unsigned i)
{
    set_prologue(create(&use_codelet, i, 0), count_only, i % 2);
    must(starpu_task_submit(tasks[i]));
    be_late("main");
    if (i % 4 == 3)
        must(starpu_data_acquire_cb(data[0], STARPU_R, look, NULL));
}

static void make(void *buffers[], void *arg)
{
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) = ((struct work *)arg)->found;
}

static void take(void *buffers[], void *arg)
{
    (void)arg;
    usleep(500);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[1]) +=
        *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet make_codelet = {
    .cpu_funcs = {make}, .nbuffers = 1, .modes = {STARPU_W}, .name = "make"};
static struct starpu_codelet take_codelet = {
    .cpu_funcs = {take}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "take"};

/* One makes it, one without a kernel says that it writes it, and one takes it. */
static void submit_homeless(unsigned i)
{
    static starpu_data_handle_t made;

    if (i >= TASKS / 3 * 3)
        return;
    works[i].found = i;
    if (i % 3 == 0)
        starpu_variable_data_register(&made, -1, 0, sizeof(uint64_t));
    create(i % 3 == 0 ? &make_codelet : i % 3 == 1 ? &nowhere_codelet : &take_codelet, i, 0);
    tasks[i]->handles[0] = made;
    tasks[i]->handles[1] = data[0];
    must(starpu_task_submit(tasks[i]));
    if (i % 3 == 2)
        starpu_data_unregister(made);
}

static void submit_sudden(unsigned i)
{
    works[i].found = i;
    create(i == TASKS / 2 ? &nowhere_codelet : &use_codelet, i, i % 2);
    tasks[i]->synchronous = i == TASKS / 2;
    must(starpu_task_submit(tasks[i]));
    if (i != TASKS / 2)
        return;
    struct starpu_task *bare = starpu_task_create();
    bare->callback_func = count_only;
    bare->callback_arg = &works[i];
    bare->synchronous = 1;
    must(starpu_task_submit(bare));
}

/* main() stays behind the tasks. */
static bool submit_close(const char *form, unsigned i)
{
    bool synchronous = strcmp(form, "synchronous") == 0, access = strcmp(form, "access") == 0,
         written = strcmp(form, "written") == 0, kept = strcmp(form, "kept") == 0;
    bool nowhere = (written || kept) && i % 3 == 2;

    if (!synchronous && !access && !written && !kept)
        return false;
    set_prologue(create(nowhere ? &nowhere_codelet : &use_codelet, i, 0),
                 nowhere && written ? add : count, false);
    works[i].found = i;
    if (synchronous && i % 4 == 3)
        tasks[i]->synchronous = 1;
    if (nowhere && kept)
        tasks[i]->destroy = tasks[i]->detach = 0;
    must(starpu_task_submit(tasks[i]));
    if (nowhere && kept) {
        must(starpu_task_wait(tasks[i]));
        starpu_task_destroy(tasks[i]);
    }
    if ((access || written) && i % 5 == 4)
        change(i);
    return true;
}

static void submit_one(const char *form, unsigned i)
{
    bool pop = strstr(form, "-pop");

    if (submit_close(form, i))
        return;
    if (strcmp(form, "called") == 0) {
        submit_called(i);
        return;
    }
    if (strcmp(form, "homeless") == 0) {
        submit_homeless(i);
        return;
    }
    if (strcmp(form, "sudden") == 0) {
        submit_sudden(i);
        return;
    }
    if (strcmp(form, "early") == 0) {
        set_prologue(create(&use_codelet, i, i), count_only, false);
    } else if (strcmp(form, "nowhere") == 0) {
        create(i % 3 == 2 ? &nowhere_codelet : &use_codelet, i, 0);
        works[i].found = i;
        if (i % 3 == 2)
            set_prologue(tasks[i], add, true);
        follow(i);
    } else if (strncmp(form, "readers", strlen("readers")) == 0) {
        set_prologue(create(i % 4 == 0 ? &use_codelet : &read_codelet, i, 0),
                     i % 4 == 0 ? count : count_only, pop);
    } else {
        set_prologue(create(&use_codelet, i, 0), count, pop);
        if (strncmp(form, "declared", strlen("declared")) == 0)
            follow(i);
    }
    must(starpu_task_submit(tasks[i]));
}

int main(int argc, char **argv)
{
    uint64_t hash = 0;

    if (argc != 2 || starpu_init(NULL) != 0)
        return 77;
    for (unsigned i = 0; i < TASKS; i++)
        starpu_variable_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
                                      sizeof(values[i]));
    for (unsigned i = 0; i < TASKS; i++)
        submit_one(argv[1], i);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < TASKS; i++)
        starpu_data_unregister(data[i]);
    for (unsigned i = 0; i < TASKS; i++)
        hash = (hash * 31 + values[i]) * 31 + works[i].found + works[i].made;
    starpu_shutdown();
    printf("%016" PRIx64 " %016" PRIx64 " %" PRIu64 " %016" PRIx64 "\n", hash, values[0], number,
           strcmp(argv[1], "called") == 0 ? mixed : 0);
    return 0;
}
