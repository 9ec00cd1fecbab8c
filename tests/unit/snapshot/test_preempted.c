/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that nothing hangs or is freed too early when a thread is held up at the worst moment.
 * Linked with --wrap=pthread_mutex_lock and _unlock, to hold it there. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "graph/family.h"
#include "lib/child.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "store/held.h"

enum { WORDS = 4 };

static struct tic_rig rig;
static uint64_t memory[WORDS], other_memory[WORDS];
static struct tic_handle *handle;

/* ---- holding a thread up -------------------------------------------------------------------- */

/* Where this thread stops, once: before it takes a mutex, or after it released one. */
static __thread pthread_mutex_t *stop_before, *stop_after;
static atomic_bool stopped, may_go_on;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

static void stop_here(void)
{
    stop_before = stop_after = NULL;
    atomic_store(&stopped, true);
    while (!atomic_load(&may_go_on))
        sched_yield();
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (mutex == stop_before)
        stop_here();
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int status = __real_pthread_mutex_unlock(mutex);
    if (mutex == stop_after)
        stop_here();
    return status;
}

static void wait_until_stopped(void)
{
    while (!atomic_load(&stopped))
        sched_yield();
}

/* ---- a worker that asks for a row late ------------------------------------------------------ */

static void *next_writer(void *arg)
{
    (void)arg;
    stop_before = &rig.snapshot.lock.mutex;
    tic_rig_begin(&rig, 1, 1, handle);
    memory[0] = 8;
    tic_rig_end(&rig, 1);
    return NULL;
}

static void *two_checkpoints(void *arg)
{
    int *statuses = arg;
    statuses[0] = tic_checkpoint_run(&rig.snapshot);
    statuses[1] = tic_checkpoint_run(&rig.snapshot);
    return NULL;
}

static void wait_for_epoch(uint64_t epoch)
{
    while (atomic_load(&rig.snapshot.cut.epoch) < epoch)
        sched_yield();
}

static void take_all_rows(void)
{
    struct tic_row row;
    while (tic_rows_take(&rig.store.rows, &handle->layout.shape, &row) == 0)
        continue;
}

/* Task 0 writes the handle; something else has ended, so that there is news. */
static void start_writer(void)
{
    tic_rig_open(&rig);
    handle = tic_rig_register(&rig, memory, WORDS);
    tic_rig_submit(&rig, 3);
    tic_rig_begin(&rig, 2, 2, NULL);
    tic_rig_end(&rig, 2);
    tic_rig_begin(&rig, 0, 0, handle);
    memory[0] = 7;
}

/* The writer of the cut ends late, so its value is due until then; the next writer must copy it,
 * finds no row, and is held before it asks. Meanwhile the checkpoint thread saves the value itself,
 * commits, and takes the next cut, which that next writer belongs to. */
static int ask_late(void *arg)
{
    pthread_t checkpoints, worker;
    int statuses[2] = {-1, -1};

    (void)arg;
    start_writer();
    pthread_create(&checkpoints, NULL, two_checkpoints, statuses);
    wait_for_epoch(2);
    take_all_rows();
    rig.store.rows.held_most = 0; /* nothing can be held */
    pthread_create(&worker, NULL, next_writer, NULL);
    wait_until_stopped();
    tic_rig_end(&rig, 0);
    wait_for_epoch(3);
    atomic_store(&may_go_on, true);
    pthread_join(worker, NULL);
    pthread_join(checkpoints, NULL);
    rig.store.rows.held_most = TIC_HELD_MOST;
    bool fine = statuses[0] == 0 && statuses[1] == 0 && !tic_snapshot_is_broken(&rig.snapshot) &&
                rig.store.kept[0].tasks_done == 2 && rig.store.kept[1].tasks_done == 1;
    tic_rig_close(&rig);
    return fine ? 0 : 1;
}

static void test_worker_that_asks_late_is_served(void **state)
{
    (void)state;
    assert_int_equal(tic_child_run(ask_late, NULL, NULL, 0), 0);
}

/* ---- an owner thread that is slow to remove ------------------------------------------------- */

static void *remove_handle(void *arg)
{
    (void)arg;
    stop_after = &rig.graph.lock.mutex;
    tic_snapshot_remove(&rig.snapshot, handle, false);
    return NULL;
}

/* The handle is marked as gone, and the owner thread is held. One checkpoint finds it gone and
 * nothing to save; the next is under way when the owner goes on. What was freed too early shows
 * under AddressSanitizer. */
static int remove_slowly(void *arg)
{
    pthread_t owner;
    (void)arg;
    tic_rig_open(&rig);
    handle = tic_rig_register(&rig, memory, WORDS);
    struct tic_handle *other = tic_rig_register(&rig, other_memory, WORDS);
    tic_rig_task(&rig, 0, handle, 7);
    bool fine = tic_checkpoint_run(&rig.snapshot) == 0;
    pthread_create(&owner, NULL, remove_handle, NULL);
    wait_until_stopped();
    tic_rig_task(&rig, 1, other, 8);
    fine = fine && tic_checkpoint_run(&rig.snapshot) == 0;
    tic_rig_task(&rig, 2, other, 9);
    tic_rig_hold(&rig);
    atomic_store(&may_go_on, true);
    pthread_join(owner, NULL);
    fine = fine && tic_rig_release(&rig) == 0 && rig.store.kept[0].tasks_done == 3;
    tic_rig_close(&rig);
    return fine ? 0 : 1;
}

static void test_owner_that_removes_slowly(void **state)
{
    (void)state;
    assert_int_equal(tic_child_run(remove_slowly, NULL, NULL, 0), 0);
}

/* ---- main() writes what shares its memory with parts ----------------------------------------- */

static void *hold_root(void *arg)
{
    const struct tic_line_acquire access = {.id = handle->id, .writes = true};
    (void)arg;
    stop_after = &rig.graph.lock.mutex;
    tic_snapshot_hold(&rig.snapshot, handle, &access);
    return NULL;
}

/* main() is held as soon as it lets go of the graph. A line that comes then has all values and no
 * access, or the access and no value. */
static int hold_slowly(void *arg)
{
    struct tic_line line = {0};
    pthread_t owner;
    (void)arg;
    tic_rig_open(&rig);
    handle = tic_rig_register(&rig, memory, WORDS);
    struct tic_handle *parts[2] = {tic_rig_register(&rig, memory, WORDS / 2),
                                   tic_rig_register(&rig, memory + WORDS / 2, WORDS / 2)};
    bool fine = tic_family_join(&rig.graph, handle, parts, 2) == 0;
    tic_rig_task(&rig, 0, handle, 7);
    tic_rig_task(&rig, 1, parts[0], 8);
    tic_rig_task(&rig, 2, parts[1], 9);
    pthread_create(&owner, NULL, hold_root, NULL);
    wait_until_stopped();
    fine = fine && tic_checkpoint_run(&rig.snapshot) == 0 && tic_rig_newest(&rig, &line);
    fine = fine && line.tasks_done == 3 && line.value_count == (line.acquire_count > 0 ? 0 : 3);
    atomic_store(&may_go_on, true);
    pthread_join(owner, NULL);
    tic_line_clear(&line);
    tic_rig_close(&rig);
    return fine ? 0 : 1;
}

static void test_main_that_writes_a_root_slowly(void **state)
{
    (void)state;
    assert_int_equal(tic_child_run(hold_slowly, NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_that_asks_late_is_served),
        cmocka_unit_test(test_owner_that_removes_slowly),
        cmocka_unit_test(test_main_that_writes_a_root_slowly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
