/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that lines hold what tasks have left on a device, that each value is fetched at most once
 * for a line, and that tasks outside of windows bring nothing to main memory. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/save.h"
#include "snapshot/window.h"

enum { WORDS = 4, HANDLES = 6, LINES = 40, THREADS = 3, MOST = 200000 };

static struct tic_rig rig;
static uint64_t memory[HANDLES][WORDS], device[HANDLES][WORDS];
static struct tic_handle *handles[HANDLES];
static struct tic_line line;
static _Atomic uint64_t copies; /* from the device */

static unsigned index_of(const struct tic_handle *handle)
{
    return (unsigned)handle->id;
}

/* What StarPU does: nobody writes the data meanwhile. */
static void copy_back(struct tic_handle *handle)
{
    memcpy(memory[index_of(handle)], device[index_of(handle)], sizeof(memory[0]));
    atomic_fetch_add(&copies, 1);
}

/* Accesses are granted when the test says so, or at once. */
static struct tic_handle *waiting[HANDLES];
static _Atomic unsigned waiting_count; /* release: the first so many are there */
static bool waits;

static void grant(struct tic_handle *handle)
{
    copy_back(handle);
    tic_snapshot_save_granted(&rig.snapshot, handle);
    atomic_store(&handle->movable.asked, TIC_ASKED_NOT);
}

static pthread_mutex_t exclusive[HANDLES]; /* StarPU's: one writes, or others read */

static void ask(struct tic_handle **asked, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        if (waits) {
            waiting[waiting_count] = asked[i];
            atomic_fetch_add(&waiting_count, 1);
            continue;
        }
        pthread_mutex_lock(&exclusive[index_of(asked[i])]);
        grant(asked[i]);
        pthread_mutex_unlock(&exclusive[index_of(asked[i])]);
    }
}

/* On the device, by a worker; it ends as interpose/hooks.c has it. */
static void begin(unsigned worker, uint64_t sequence, unsigned at, uint64_t word)
{
    tic_rig_begin(&rig, worker, sequence, handles[at]);
    device[at][0] = word;
}

static void end(unsigned worker, unsigned at)
{
    if (!tic_window_mark(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, worker))) {
        copy_back(handles[at]);
        tic_window_unmark(handles[at]);
    }
    tic_rig_end(&rig, worker);
}

static void task(uint64_t sequence, unsigned at, uint64_t word)
{
    assert_true(tic_rig_submit(&rig, sequence + 1));
    begin(0, sequence, at, word);
    end(0, at);
}

static void load_newest(void)
{
    tic_line_clear(&line);
    assert_true(tic_rig_newest(&rig, &line));
}

static void checkpoint(void)
{
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    load_newest();
}

static void check_value(unsigned at, uint64_t word)
{
    const struct tic_line_value *value = tic_rig_find(&line, handles[at]->id);
    uint64_t words[WORDS];

    assert_non_null(value);
    tic_rig_read(&rig, &line, value, words, WORDS);
    assert_int_equal(words[0], word);
}

static void test_a_line_fetches_each_value_once(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        task(i, 0, i);
    task(10, 1, 77);
    assert_int_equal(copies, 0);
    checkpoint();
    assert_int_equal(copies, 2);
    check_value(0, 9);
    check_value(1, 77);
    task(11, 1, 78);
    checkpoint();
    assert_int_equal(copies, 3);
    check_value(0, 9);
    check_value(1, 78);
    assert_int_equal(atomic_load(&rig.snapshot.window.opened), 2);
    assert_int_equal(atomic_load(&rig.snapshot.window.fetched), 3);
    assert_int_equal(atomic_load(&rig.snapshot.window.bytes), 3 * sizeof(memory[0]));
}

static void test_a_task_of_the_cut_brings_its_value(void **state)
{
    (void)state;
    task(0, 0, 5);
    assert_true(tic_rig_submit(&rig, 2));
    begin(1, 1, 1, 6);
    tic_rig_hold(&rig);
    assert_int_equal(copies, 1);
    end(1, 1);
    assert_int_equal(copies, 2);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_value(0, 5);
    check_value(1, 6);
    assert_false(tic_window_is_open(&rig.snapshot));
}

/* The next task that writes it begins while the line is saved. */
static void test_copy_on_write_has_the_value_of_the_cut(void **state)
{
    (void)state;
    task(0, 0, 5);
    tic_rig_hold(&rig);
    task(1, 0, 6);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_value(0, 5);
    task(2, 1, 7);
    checkpoint();
    check_value(0, 6);
}

static void *run_checkpoint(void *status)
{
    *(int *)status = tic_checkpoint_run(&rig.snapshot);
    return NULL;
}

/* A task that was about to end when the window opened has left its value. */
static void test_the_epoch_waits_for_what_is_asked_for(void **state)
{
    uint64_t epoch = atomic_load(&rig.snapshot.cut.epoch);
    pthread_t thread;
    int status = 1;

    (void)state;
    waits = true;
    task(0, 0, 5);
    assert_int_equal(pthread_create(&thread, NULL, run_checkpoint, &status), 0);
    while (atomic_load(&waiting_count) == 0)
        sched_yield();
    task(1, 1, 6); /* ends in the window */
    assert_int_equal(copies, 1);
    assert_int_equal(atomic_load(&rig.snapshot.cut.epoch), epoch);
    grant(waiting[0]);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
    load_newest();
    check_value(0, 5);
    check_value(1, 6);
}

static void test_a_stale_value_is_not_saved(void **state)
{
    (void)state;
    task(0, 0, 5);
    tic_lock(&handles[0]->saving.lock);
    assert_int_equal(tic_save_locked(&rig.snapshot, handles[0], 0), -EINVAL);
    tic_unlock(&handles[0]->saving.lock);
    checkpoint();
    check_value(0, 5);
}

/* ---- beside running tasks -------------------------------------------------------------------- */

static _Atomic bool over;
static _Atomic uint64_t next; /* sequence number */

static void *work(void *arg)
{
    unsigned worker = *(unsigned *)arg;

    for (unsigned at = worker; !atomic_load(&over); at = (at + THREADS) % HANDLES) {
        uint64_t sequence = atomic_fetch_add(&next, 1);
        if (sequence >= MOST)
            break;
        pthread_mutex_lock(&exclusive[at]);
        begin(worker, sequence, at, atomic_load(&handles[at]->saving.version) + 1);
        end(worker, at);
        pthread_mutex_unlock(&exclusive[at]);
        sched_yield();
    }
    return NULL;
}

static void test_lines_beside_running_tasks(void **state)
{
    pthread_t threads[THREADS];
    unsigned workers[THREADS];

    (void)state;
    assert_true(tic_rig_submit(&rig, MOST));
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < LINES; i++) {
        int status;
        while ((status = tic_checkpoint_run(&rig.snapshot)) == 1 && atomic_load(&next) < MOST)
            sched_yield();
        if (status == 1)
            break;
        assert_int_equal(status, 0);
        load_newest();
        for (size_t k = 0; k < line.value_count; k++) {
            uint64_t words[WORDS];
            tic_rig_read(&rig, &line, &line.values[k], words, WORDS);
            assert_int_equal(words[0], line.values[k].version);
        }
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int open_rig(void **state)
{
    (void)state;
    tic_rig_open(&rig);
    rig.snapshot.options.other_memory = (struct tic_other_memory){true, ask};
    for (unsigned i = 0; i < HANDLES; i++) {
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
        handles[i]->data = handles[i];
        pthread_mutex_init(&exclusive[i], NULL);
    }
    copies = 0;
    waits = false;
    atomic_store(&waiting_count, 0);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    tic_line_clear(&line);
    return tic_rig_finish(&rig);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_line_fetches_each_value_once),
        TEST(test_a_task_of_the_cut_brings_its_value),
        TEST(test_copy_on_write_has_the_value_of_the_cut),
        TEST(test_the_epoch_waits_for_what_is_asked_for),
        TEST(test_a_stale_value_is_not_saved),
        TEST(test_lines_beside_running_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
