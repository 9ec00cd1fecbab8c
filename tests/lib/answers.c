/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs whose main() goes by what it asks StarPU; for crash tests. A resumed run
 * prints what a run without a kill prints, and each checks what it can.
 *   tiles     cuts its data by the number of workers, and has arrays with an element for each
 *   twice     does so, shuts StarPU down, starts it again, and does so again
 *   chosen    the same as twice, and asks for two workers, which the environment may overrule
 *   places    the same, with tasks for each worker
 *   fixed     does not ask, and has tasks for each of four workers
 *   each      the same as tiles, and each worker prepares its element before
 *   progress  submits as long as few tasks are there, and looks at the clock
 *   waits     waits by asking, again and again
 *   asks      asks a million times, and looks whether the clock goes back
 *   clock     looks at the clock while a kernel does, which looks whether it goes back
 *   items     asks the environment (ITEMS) for the order of items that it adds up, which matters to
 *             no result */
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "real/since.h"

enum { LENGTH = 960, ROUNDS = 40, CHAINS = 6 };

static void pause_for(long microseconds)
{
    struct timespec time = {0, microseconds * 1000};

    nanosleep(&time, NULL);
}

/* Works long enough that others can be asked about it. */
static void advance(void *buffers[], void *arg)
{
    long *values = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    pause_for(200);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        values[i] = (values[i] * 31 + i + 7) % 1000003;
}

static struct starpu_codelet advance_codelet = {
    .cpu_funcs = {advance}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "advance"};

/* Adds from a neighbour. */
static void mix(void *buffers[], void *arg)
{
    long *to = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const long *from = (const long *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = (to[i] + 3 * from[i % STARPU_VECTOR_GET_NX(buffers[1])]) % 1000003;
}

static struct starpu_codelet mix_codelet = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};

static void check(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "answers: %s\n", what);
    abort();
}

static void submit(starpu_data_handle_t data)
{
    if (starpu_task_insert(&advance_codelet, STARPU_RW, data, 0) != 0)
        abort();
}

static void submit_mix(starpu_data_handle_t to, starpu_data_handle_t from)
{
    if (starpu_task_insert(&mix_codelet, STARPU_RW, to, STARPU_R, from, 0) != 0)
        abort();
}

static long sum_up(const long *values, unsigned length)
{
    long sum = 0;

    for (unsigned i = 0; i < length; i++)
        sum = (sum * 17 + values[i]) % 1000003;
    return sum;
}

/* ---- numbers of workers ---------------------------------------------------------------------- */

static _Atomic long *used; /* an element for each worker: how many tasks it has executed */
static unsigned known;     /* workers, to main() */

static void advance_here(void *buffers[], void *arg)
{
    int id = starpu_worker_get_id();

    check(id >= 0 && (unsigned)id < known, "a worker that main() was not told of");
    atomic_fetch_add(&used[id], 1);
    advance(buffers, arg);
}

static struct starpu_codelet here_codelet = {
    .cpu_funcs = {advance_here}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "advance_here"};

enum how { TILES, PLACES, MASKS, TURNS, EACH };

/* On this worker, if one is named: directly, by a mask, or as the next one in its order. */
static void submit_here(starpu_data_handle_t data, int worker, enum how how)
{
    static uint32_t masks[STARPU_NMAXWORKERS];
    static unsigned turns[STARPU_NMAXWORKERS];

    struct starpu_task *task = starpu_task_create();

    task->cl = &here_codelet;
    task->handles[0] = data;
    task->execute_on_a_specific_worker = worker >= 0 && how != MASKS;
    task->workerid = worker >= 0 ? (unsigned)worker : 0;
    if (worker >= 0 && how == MASKS) {
        masks[worker] = UINT32_C(1) << worker;
        task->workerids = &masks[worker];
        task->workerids_len = 1;
    }
    if (worker >= 0 && how == TURNS)
        task->workerorder = ++turns[worker];
    check(starpu_task_submit(task) == 0, "a task was refused");
}

static void ask_about_all(void)
{
    for (unsigned i = 0; i < known; i++) {
        char name[64] = "";
        starpu_worker_get_name((int)i, name, sizeof(name));
        check(starpu_worker_get_type((int)i) == STARPU_CPU_WORKER, "a worker is no CPU worker");
        check(name[0] != '\0', "a worker has no name");
        check(starpu_worker_get_memory_node(i) == 0, "a worker has another memory");
        check(starpu_worker_get_devid((int)i) == (int)i, "a worker has another device");
#if TIC_STARPU_1_4
        check(starpu_worker_get_devnum((int)i) == (int)i, "a worker has another device number");
        check(starpu_worker_get_subworkerid((int)i) == 0, "a worker is one of several of a device");
#endif
        check(starpu_worker_get_perf_archtype((int)i, 0) != NULL, "a worker has no type");
    }
}

/* The program is told the same by all calls. */
static void ask_in_other_ways(void)
{
    int *ids = calloc(known + 1, sizeof(*ids)), *list = NULL;

    check(ids != NULL, "out of memory");
    check(starpu_cpu_worker_get_count() == known, "another number of CPU workers");
    check(starpu_worker_get_count_by_type(STARPU_CPU_WORKER) == (int)known,
          "another number by type");
    check(starpu_worker_get_count_by_type(STARPU_CUDA_WORKER) == 0, "there are devices");
    check(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, ids, known + 1) == known,
          "another number of ids");
    for (unsigned i = 0; i < known; i++) {
        check(ids[i] == (int)i, "another id");
        check(starpu_worker_get_by_type(STARPU_CPU_WORKER, (int)i) == (int)i, "another id by type");
    }
    check(starpu_worker_get_by_type(STARPU_CPU_WORKER, (int)known) < 0, "one worker more");
    check(starpu_sched_ctx_get_nworkers(0) == known, "another number in the context");
    check(starpu_sched_ctx_get_workers_list(0, &list) == known, "another list in the context");
    check(list[known - 1] == (int)known - 1, "another last worker in the context");
    check(starpu_combined_worker_get_count() == starpu_combined_worker_get_count(),
          "another number of combined workers");
    free(list);
    free(ids);
}

static void prepare(void *arg)
{
    (void)arg;
    atomic_store(&used[starpu_worker_get_id()], 1);
}

static int cut(enum how how)
{
    static long values[LENGTH];
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block};
    starpu_data_handle_t data;

    known = starpu_worker_get_count();
    used = calloc(known, sizeof(*used));
    check(used != NULL, "out of memory");
    if (how == EACH)
        starpu_execute_on_each_worker(prepare, NULL, STARPU_CPU);
    for (unsigned i = 0; how == EACH && i < known; i++)
        check(used[i] == 1, "a worker was not reached");
    ask_about_all();
    ask_in_other_ways();
    for (unsigned i = 0; i < LENGTH; i++)
        values[i] = i;
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH, sizeof(long));
    filter.nchildren = 2 * known;
    starpu_data_partition(data, &filter);
    for (unsigned i = 0; i < ROUNDS; i++)
        for (unsigned tile = 0; tile < 2 * known; tile++) {
            submit_here(starpu_data_get_sub_data(data, 1, tile),
                        how == TILES || how == EACH ? -1 : (int)(tile % known), how);
            submit_mix(starpu_data_get_sub_data(data, 1, tile),
                       starpu_data_get_sub_data(data, 1, (tile + 1) % (2 * known)));
        }
    starpu_task_wait_for_all();
    starpu_data_unpartition(data, STARPU_MAIN_RAM);
    starpu_data_unregister(data);
    check(starpu_worker_get_count() == known, "another number at the end");
    printf("%u workers: %ld\n", known, sum_up(values, LENGTH));
    free(used);
    return 0;
}

/* ---- how far tasks are ------------------------------------------------------------------------
 */

static long chains[CHAINS][16];
static starpu_data_handle_t data[CHAINS];

static void register_chains(void)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        for (unsigned j = 0; j < 16; j++)
            chains[i][j] = i * 16 + j;
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)chains[i], 16,
                                    sizeof(long));
    }
}

static void unregister_chains(unsigned long count, const char *what, int tells)
{
    for (unsigned i = 0; i < CHAINS; i++)
        starpu_data_unregister(data[i]);
    printf("%lu %s: %ld\n", count, what, tells ? sum_up(chains[0], CHAINS * 16) : 0);
}

/* Which chain goes on depends on how many tasks are there and on the time. The result differs from
 * run to run; main() computes by itself what its choices must give. */
static int progress(void)
{
    static long expected[CHAINS][16];
    double begin = starpu_timing_now();

    register_chains();
    memcpy(expected, chains, sizeof(chains));
    for (unsigned i = 0; i < 6 * ROUNDS; i++) {
        int there = starpu_task_nsubmitted() + starpu_task_nready();
        long spent = (long)(starpu_timing_now() - begin);
        unsigned to = (unsigned)(there + spent) % CHAINS;
        submit(data[to]);
        for (unsigned j = 0; j < 16; j++)
            expected[to][j] = (expected[to][j] * 31 + j + 7) % 1000003;
        if (there % 5 == 4)
            pause_for(300);
    }
    unregister_chains(6 * ROUNDS, "tasks", 0);
    check(memcmp(expected, chains, sizeof(chains)) == 0, "the result is not that of the choices");
    return 0;
}

/* It knows its machine. */
static int fixed(void)
{
    known = 4;
    used = calloc(known, sizeof(*used));
    check(used != NULL, "out of memory");
    register_chains();
    for (unsigned i = 0; i < 6 * ROUNDS; i++)
        submit_here(data[i % CHAINS], (int)(i % known), PLACES);
    unregister_chains(6 * ROUNDS, "tasks", 1);
    free(used);
    return 0;
}

static _Atomic int ended;

static void count_end(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ended, 1);
}

/* Waits by asking; and by looking at what a callback counts, while it asks: then a restart asks
 * less often. */
static int waits(void)
{
    unsigned long tasks = 0;

    register_chains();
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned j = 0; j < CHAINS; j++, tasks++)
            submit(data[(i * 5 + j) % CHAINS]);
        if (starpu_task_insert(&advance_codelet, STARPU_RW, data[i % CHAINS], STARPU_CALLBACK,
                               count_end, 0) != 0)
            abort();
        if (i % 2 == 0)
            while (starpu_task_nsubmitted() > 0)
                pause_for(50);
        else
            while (atomic_load(&ended) <= (int)i) {
                (void)starpu_task_nready();
                (void)starpu_timing_now();
                pause_for(20);
            }
        tasks++;
        starpu_data_acquire(data[i % CHAINS], STARPU_R);
        starpu_data_release(data[i % CHAINS]);
    }
    unregister_chains(tasks, "tasks", 1);
    return 0;
}

static int asks(void)
{
    double begin = starpu_timing_now(), last = begin;
    long later = 0, there = 0;

    register_chains();
    for (unsigned i = 0; i < 1000000; i++) {
        double now = starpu_timing_now();
        check(now >= last, "the clock goes back");
        later += now > last;
        last = now;
        there += starpu_task_nsubmitted() + (int)starpu_worker_get_count();
        if (i % 50000 == 0)
            submit(data[0]);
    }
    check(there >= 1000000 && later > 1000, "nothing was answered");
    starpu_task_wait_for_all();
    fprintf(stderr, "%.3f us for a question\n", (starpu_timing_now() - begin) / 3000000);
    unregister_chains(20, "tasks", 1);
    return 0;
}

static _Atomic int turn; /* odd: the kernel has looked at the clock; even: main() has */

static void pass_turn(int next)
{
    atomic_store(&turn, next);
    while (atomic_load(&turn) == next)
        pause_for(20);
}

static void look_twice(void *buffers[], void *arg)
{
    double before = starpu_timing_now();
    (void)buffers;
    (void)arg;
    pass_turn(1);
    check(starpu_timing_now() >= before, "the clock goes back");
    atomic_store(&turn, 0);
}

static int looks_at_clock(void)
{
    static struct starpu_codelet codelet = {
        .cpu_funcs = {look_twice}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look_twice"};
    long odd = 0;

    register_chains();
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (starpu_task_insert(&codelet, STARPU_R, data[0], 0) != 0)
            abort();
        while (atomic_load(&turn) == 0)
            pause_for(20);
        odd += (long)starpu_timing_now() % 2;
        pass_turn(2);
        submit(data[0]);
    }
    check(odd < ROUNDS, "the clock stands still");
    unregister_chains(ROUNDS, "tasks", 1);
    return 0;
}

static void add_item(void *buffers[], void *arg)
{
    long *sum = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const char *address;
    double weight;
    int item;

    starpu_codelet_unpack_args(arg, &item, &weight, &address);
    sum[item % 16] += (long)(weight * item) + (address == NULL);
}

static struct starpu_codelet item_codelet = {
    .cpu_funcs = {add_item}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_item"};

static int items(void)
{
    const char *order = getenv("ITEMS");
    const int count = 6 * ROUNDS, first = order ? atoi(order) : 0;
    const char *address = malloc(1); /* another one in each run */

    register_chains();
    for (int i = 0; i < count; i++) {
        int item = (first + i) % count;
        double weight = item + 0.5;
        starpu_task_insert(&item_codelet, STARPU_RW, data[item % CHAINS], STARPU_VALUE, &item,
                           sizeof(item), STARPU_VALUE, &weight, sizeof(weight), STARPU_VALUE,
                           &address, sizeof(address), 0);
    }
    unregister_chains((unsigned long)count, "items", 1);
    free((void *)address);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "tiles";
    int status = 2;

    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = strcmp(what, "chosen") == 0 ? 2 : conf.ncpus;
    if (starpu_init(&conf) != 0)
        return 77;
    if (strcmp(what, "tiles") == 0)
        status = cut(TILES);
    else if (strcmp(what, "twice") == 0 || strcmp(what, "chosen") == 0) {
        status = cut(TILES);
        starpu_shutdown();
        check(starpu_init(&conf) == 0, "StarPU does not start again");
        status = status == 0 ? cut(TILES) : status;
    } else if (strcmp(what, "places") == 0)
        status = cut(PLACES);
    else if (strcmp(what, "masks") == 0)
        status = cut(MASKS);
    else if (strcmp(what, "turns") == 0)
        status = cut(TURNS);
    else if (strcmp(what, "fixed") == 0)
        status = fixed();
    else if (strcmp(what, "each") == 0)
        status = cut(EACH);
    else if (strcmp(what, "progress") == 0)
        status = progress();
    else if (strcmp(what, "waits") == 0)
        status = waits();
    else if (strcmp(what, "asks") == 0)
        status = asks();
    else if (strcmp(what, "clock") == 0) {
        starpu_shutdown();
        check(starpu_init(&conf) == 0, "StarPU does not start again");
        status = looks_at_clock();
    } else if (strcmp(what, "items") == 0)
        status = items();
    starpu_shutdown();
    return status;
}
