/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a worker that asks for a row gets an answer, even when the checkpoint for which it
 * asked is over and the next one has begun. Linked with --wrap=pthread_mutex_lock to hold the
 * worker just before it asks. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "lib/child.h"
#include "lib/rig.h"
#include "lib/testing.h"

enum { WORDS = 4 };

static struct tic_rig rig;
static uint64_t memory[WORDS];
static struct tic_handle *handle;

/* ---- holding the worker --------------------------------------------------------------------- */

static __thread bool is_worker;
static atomic_bool worker_asks, worker_may_go_on;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (is_worker && mutex == &rig.snapshot.lock.mutex && !atomic_load(&worker_asks)) {
        atomic_store(&worker_asks, true);
        while (!atomic_load(&worker_may_go_on))
            sched_yield();
    }
    return __real_pthread_mutex_lock(mutex);
}

static void *next_writer(void *arg)
{
    (void)arg;
    is_worker = true;
    tic_rig_begin(&rig, 1, 1, handle);
    memory[0] = 8;
    tic_rig_end(&rig, 1);
    return NULL;
}

/* ---- the checkpoint thread ------------------------------------------------------------------ */

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

/* The writer of the cut ends late, so its value is due until then; the next writer must copy it,
 * finds no row, and is held before it asks. Meanwhile the checkpoint thread saves the value itself,
 * commits, and takes the next cut, which that next writer belongs to. */
static int ask_too_late(void *arg)
{
    pthread_t checkpoints, worker;
    int statuses[2] = {-1, -1};

    (void)arg;
    tic_rig_open(&rig);
    handle = tic_rig_register(&rig, memory, WORDS);
    tic_rig_submit(&rig, 3);
    tic_rig_begin(&rig, 2, 2, NULL);
    tic_rig_end(&rig, 2); /* news */
    tic_rig_begin(&rig, 0, 0, handle);
    memory[0] = 7;
    pthread_create(&checkpoints, NULL, two_checkpoints, statuses);
    wait_for_epoch(2);
    take_all_rows();
    pthread_create(&worker, NULL, next_writer, NULL);
    while (!atomic_load(&worker_asks))
        sched_yield();
    tic_rig_end(&rig, 0);
    wait_for_epoch(3);
    atomic_store(&worker_may_go_on, true);
    pthread_join(worker, NULL);
    pthread_join(checkpoints, NULL);
    bool fine = statuses[0] == 0 && statuses[1] == 0 && !tic_snapshot_is_broken(&rig.snapshot) &&
                rig.store.kept[0].tasks_done == 2 && rig.store.kept[1].tasks_done == 1;
    tic_rig_close(&rig);
    return fine ? 0 : 1;
}

static void test_asking_late(void **state)
{
    (void)state;
    assert_int_equal(tic_child_run(ask_too_late, NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asking_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
