/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks, with workers that run random tasks all the time, that every recovery line is a state that
 * its own done tasks alone make: the cut is closed, and no value is older, newer or torn. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/random.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/provide.h"

enum {
    HANDLES = 12,     /* that live all the time */
    MAX_GUESTS = 400, /* that the owner thread registers and removes meanwhile */
    MAX_NODES = HANDLES + MAX_GUESTS,
    TASKS = 10000,
    TASKS_PER_LINE = 500, /* workers wait for the next line rather than run ahead any further */
    MAX_STEPS =
        1 << 15, /* of a kernel: some microseconds, so that checkpoints fall between tasks */
    MAX_ACCESSES = 3,
    SECONDS = 500,
};

/* One access of a task to a handle, in the order in which they were granted. */
struct access {
    uint64_t sequence;
    bool writes;
    uint64_t value; /* after it */
};

/* A handle; the mutex stands for StarPU, which lets one task at a time use it. */
struct node {
    pthread_mutex_t mutex;
    struct tic_handle *handle;
    uint64_t id;
    uint64_t *memory;
    uint64_t words;
    struct access *history; /* guarded by mutex */
    unsigned long count, capacity;
    atomic_bool leaving, pinned; /* set before it is removed */
};

static struct tic_rig rig;
static struct node nodes[MAX_NODES];
static atomic_uint node_count;
static atomic_ulong next_sequence;
static atomic_uint workers_left;

/* ---- nodes ---------------------------------------------------------------------------------- */

static void set_value(struct node *node, uint64_t value)
{
    for (uint64_t i = 0; i < node->words; i++)
        node->memory[i] = value + i;
}

static struct node *add_node(uint64_t words)
{
    unsigned index = atomic_load(&node_count);
    struct node *node = &nodes[index];

    pthread_mutex_init(&node->mutex, NULL);
    node->words = words;
    node->memory = calloc(words, sizeof(uint64_t));
    node->handle = tic_rig_register(&rig, node->memory, words);
    node->id = node->handle->id;
    set_value(node, 0);
    atomic_store(&node_count, index + 1);
    return node;
}

static void note_access(struct node *node, uint64_t sequence, bool writes)
{
    if (node->count == node->capacity) {
        node->capacity = node->capacity ? 2 * node->capacity : 64;
        node->history = realloc(node->history, node->capacity * sizeof(*node->history));
    }
    node->history[node->count++] = (struct access){sequence, writes, node->memory[0]};
}

static void remove_nodes(void)
{
    for (unsigned i = 0; i < atomic_load(&node_count); i++) {
        pthread_mutex_destroy(&nodes[i].mutex);
        free(nodes[i].memory);
        free(nodes[i].history);
    }
    memset(nodes, 0, sizeof(nodes));
    atomic_store(&node_count, 0);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

struct task {
    struct node *nodes[MAX_ACCESSES]; /* ascending, so that locking them cannot deadlock */
    bool writes[MAX_ACCESSES];
    unsigned count;
    bool ends_late; /* data is released before the end hook */
};

static void add_access(struct task *task, struct node *node, bool writes)
{
    unsigned at = task->count;
    for (unsigned i = 0; i < task->count; i++)
        if (task->nodes[i] == node)
            return;
    for (; at > 0 && task->nodes[at - 1] > node; at--) {
        task->nodes[at] = task->nodes[at - 1];
        task->writes[at] = task->writes[at - 1];
    }
    task->nodes[at] = node;
    task->writes[at] = writes;
    task->count++;
}

static void run_kernel(const struct task *task, uint64_t sequence)
{
    uint64_t mix = sequence + 1;

    for (unsigned i = 0; i < task->count; i++)
        mix = (mix ^ task->nodes[i]->memory[0]) * UINT64_C(0x9E3779B97F4A7C15);
    for (uint64_t steps = mix >> 32 & (MAX_STEPS - 1); steps > 0; steps--)
        mix = mix * UINT64_C(6364136223846793005) + 1;
    for (unsigned i = 0; i < task->count; i++)
        if (task->writes[i])
            set_value(task->nodes[i], mix + i);
}

static void unlock_all(const struct task *task)
{
    for (unsigned i = 0; i < task->count; i++)
        pthread_mutex_unlock(&task->nodes[i]->mutex);
}

/* So that there are many lines, and tasks during each of them, on fast and slow machines. */
static void wait_for_lines(void)
{
    for (;;) {
        uint64_t allowed = TASKS_PER_LINE * (1 + atomic_load(&rig.snapshot.counts.checkpoints));
        if (atomic_load(&rig.snapshot.cut.active_cut) != 0)
            allowed += TASKS_PER_LINE / 2;
        uint64_t next = atomic_load(&next_sequence);
        if (next < allowed || next >= TASKS)
            return;
        sched_yield();
    }
}

/* False when there are enough tasks. */
static bool run_task(const struct task *task, unsigned worker)
{
    struct tic_slot *slot = tic_cut_slot(&rig.snapshot.cut, worker);

    wait_for_lines();
    for (unsigned i = 0; i < task->count; i++)
        pthread_mutex_lock(&task->nodes[i]->mutex);
    uint64_t sequence = atomic_fetch_add(&next_sequence, 1);
    if (sequence >= TASKS) {
        unlock_all(task);
        return false;
    }
    uint64_t epoch = tic_cut_begin(&rig.snapshot.cut, slot, sequence);
    for (unsigned i = 0; i < task->count; i++)
        if (task->writes[i])
            tic_snapshot_write(&rig.snapshot, slot, epoch, task->nodes[i]->handle);
    tic_cut_running(slot, epoch);
    run_kernel(task, sequence);
    for (unsigned i = 0; i < task->count; i++)
        note_access(task->nodes[i], sequence, task->writes[i]);
    if (task->ends_late)
        unlock_all(task);
    tic_snapshot_task_end(&rig.snapshot, slot);
    if (!task->ends_late)
        unlock_all(task);
    return true;
}

static struct task random_task(struct tic_random *random, struct node *guest)
{
    struct task task = {.ends_late = tic_random_below(random, 2)};

    add_access(&task, guest ? guest : &nodes[tic_random_below(random, HANDLES)], true);
    for (uint64_t more = tic_random_below(random, MAX_ACCESSES); more > 0; more--)
        add_access(&task, &nodes[tic_random_below(random, HANDLES)], tic_random_below(random, 2));
    return task;
}

static void *work(void *arg)
{
    unsigned worker = (unsigned)(uintptr_t)arg;
    struct tic_random random;
    bool more = true;

    tic_random_init(&random, 100 + worker);
    while (more) {
        struct task task = random_task(&random, NULL);
        more = run_task(&task, worker);
    }
    atomic_fetch_sub(&workers_left, 1);
    return NULL;
}

/* Registers a handle, runs tasks on it, removes it, overwrites its memory: again and again. */
static void *own(void *arg)
{
    struct tic_random random;
    bool more = true;

    (void)arg;
    tic_random_init(&random, 99);
    while (more && atomic_load(&node_count) < MAX_NODES) {
        struct node *guest = add_node(1 + tic_random_below(&random, 4) * 100);
        for (uint64_t i = tic_random_below(&random, 4); i > 0 && more; i--) {
            struct task task = random_task(&random, guest);
            more = run_task(&task, TIC_RIG_HOLDER);
        }
        atomic_store(&guest->pinned, tic_random_below(&random, 3) == 0);
        atomic_store(&guest->leaving, true);
        tic_snapshot_remove(&rig.snapshot, guest->handle, atomic_load(&guest->pinned));
        set_value(guest, 666);
        sched_yield();
    }
    atomic_fetch_sub(&workers_left, 1);
    return NULL;
}

/* ---- checking a line ------------------------------------------------------------------------ */

static bool is_done[TASKS];

static void load_done(const struct tic_line *line)
{
    memset(is_done, 0, sizeof(is_done));
    for (size_t i = 0; i < line->done_count; i++)
        for (uint64_t k = line->done[i].first; k <= line->done[i].last; k++)
            is_done[k] = true;
}

/* What done tasks made of the node: how many wrote it, and the last value. */
static uint64_t replay(struct node *node, uint64_t *value)
{
    uint64_t writes = 0;
    bool gap = false;

    *value = 0;
    pthread_mutex_lock(&node->mutex);
    for (unsigned long i = 0; i < node->count; i++) {
        const struct access *access = &node->history[i];
        if (is_done[access->sequence] && gap)
            fail_msg("task %lu is done, and an earlier one on handle %lu is not",
                     (unsigned long)access->sequence, (unsigned long)node->id);
        gap |= !is_done[access->sequence];
        if (gap || !access->writes)
            continue;
        *value = access->value;
        writes++;
    }
    pthread_mutex_unlock(&node->mutex);
    return writes;
}

static void check_node(const struct tic_line *line, struct node *node)
{
    uint64_t value, words[512];
    uint64_t writes = replay(node, &value);
    const struct tic_line_value *saved = tic_rig_find(line, node->id);

    if (!saved) {
        if (writes > 0 && (!atomic_load(&node->leaving) || atomic_load(&node->pinned)))
            fail_msg("handle %lu has no value", (unsigned long)node->id);
        return;
    }
    assert_int_equal(saved->version, writes);
    tic_rig_read(&rig, line, saved, words, node->words);
    for (uint64_t i = 0; i < node->words; i++)
        if (words[i] != value + i)
            fail_msg("handle %lu, word %lu: %lx instead of %lx", (unsigned long)node->id,
                     (unsigned long)i, (unsigned long)words[i], (unsigned long)(value + i));
}

static void check_newest(void)
{
    struct tic_line line = {0};

    assert_true(tic_rig_newest(&rig, &line));
    load_done(&line);
    for (unsigned i = 0; i < atomic_load(&node_count); i++)
        check_node(&line, &nodes[i]);
    tic_line_clear(&line);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static pthread_t threads[TIC_RIG_WORKERS + 1];

static void start_workers(void)
{
    static const uint64_t sizes[] = {1, 8, 8, 64, 500};
    atomic_store(&next_sequence, 0);
    assert_true(tic_rig_submit(&rig, TASKS));
    for (unsigned i = 0; i < HANDLES; i++)
        add_node(sizes[i % TIC_COUNT(sizes)]);
    atomic_store(&workers_left, TIC_RIG_WORKERS + 1);
    for (uintptr_t i = 0; i < TIC_RIG_WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    assert_int_equal(pthread_create(&threads[TIC_RIG_HOLDER], NULL, own, NULL), 0);
}

static void join_workers(void)
{
    for (unsigned i = 0; i <= TIC_RIG_WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* Every line is checked as soon as it is there, while tasks go on. */
static void test_every_line_is_a_consistent_cut(void **state)
{
    unsigned lines = 0;
    (void)state;
    start_workers();
    while (atomic_load(&workers_left) > 0) {
        int status = tic_checkpoint_run(&rig.snapshot);
        assert_in_range(status, 0, 1);
        tic_snapshot_serve_requests(&rig.snapshot);
        if (status == 0) {
            check_newest();
            lines++;
        }
    }
    join_workers();
    assert_in_range(tic_checkpoint_run(&rig.snapshot), 0, 1);
    check_newest();
    assert_int_equal(rig.store.kept[0].tasks_done, TASKS);
    print_message("# %u lines while tasks ran\n", lines);
    assert_true(lines >= TASKS / TASKS_PER_LINE / 2);
}

/* The real thread, which takes a checkpoint whenever a few tasks have ended; then a restart. */
static void test_checkpoint_thread_and_restart(void **state)
{
    (void)state;
    rig.snapshot.options.every = 20;
    rig.snapshot.period = 1000;
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    start_workers();
    join_workers();
    tic_snapshot_stop(&rig.snapshot, false);
    check_newest();
    assert_true(atomic_load(&rig.snapshot.counts.checkpoints) >= TASKS / TASKS_PER_LINE / 2);
    assert_true(tic_rig_restart(&rig));
    tic_rig_begin(&rig, 0, 0, NULL); /* news */
    tic_rig_end(&rig, 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    check_newest();
}

static int set_up(void **state)
{
    (void)state;
    alarm(SECONDS);    /* instead of hanging for ever */
    tic_random_seed(); /* printed before there are threads */
    tic_rig_open(&rig);
    return 0;
}

/* After a failure, workers may be at it still. */
static void stop_workers(void)
{
    atomic_store(&next_sequence, TASKS);
    tic_snapshot_stop(&rig.snapshot, false);
    while (atomic_load(&workers_left) > 0) {
        tic_snapshot_serve_requests(&rig.snapshot);
        sched_yield();
    }
}

/* A test in which protection ended has failed. */
static int tear_down(void **state)
{
    bool broken = tic_snapshot_is_broken(&rig.snapshot);
    (void)state;
    stop_workers();
    tic_rig_close(&rig);
    remove_nodes();
    alarm(0);
    return broken ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_line_is_a_consistent_cut),
        TEST(test_checkpoint_thread_and_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
