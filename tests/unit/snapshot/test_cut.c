/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a cut holds exactly the tasks that began before it was taken, and knows when they
 * have ended. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "lib/testing.h"
#include "snapshot/cut.h"

enum { WORKERS = 4, ROUNDS = 2000, AHEAD = 300, MANY = 10000 };

static struct tic_cut cut;
static struct tic_handle *handle;

static void begin(unsigned worker, uint64_t sequence, struct tic_handle *written)
{
    struct tic_slot *slot = tic_cut_slot(&cut, worker);
    uint64_t epoch = tic_cut_begin(&cut, slot, sequence);
    if (written)
        tic_cut_write(slot, epoch, written);
    tic_cut_running(slot, epoch);
}

static void test_before_and_after(void **state)
{
    (void)state;
    begin(0, 10, handle);
    uint64_t taken = tic_cut_raise(&cut);
    assert_int_equal(taken, 1);
    assert_int_equal(atomic_load(&cut.active_cut), taken);
    begin(1, 11, NULL); /* after the cut */
    while (!tic_cut_has_entered(&cut, taken))
        sched_yield();
    assert_false(tic_cut_has_ended(&cut, taken));
    assert_int_equal(tic_cut_end(tic_cut_slot(&cut, 0)), 1);
    assert_true(tic_cut_has_ended(&cut, taken));
    assert_false(tic_cut_has_ended(&cut, taken + 1));
    assert_int_equal(tic_cut_end(tic_cut_slot(&cut, 1)), 2);
    tic_cut_finish(&cut);
    assert_int_equal(atomic_load(&cut.active_cut), 0);
}

static void test_ended_tasks_are_listed_by_epoch(void **state)
{
    struct tic_slot *slot = tic_cut_slot(&cut, 0);
    (void)state;
    begin(0, 5, handle);
    tic_cut_end(slot);
    begin(0, 6, handle);
    tic_cut_end(slot);
    tic_cut_raise(&cut);
    begin(0, 7, handle);
    tic_cut_end(slot);
    assert_int_equal(slot->ended[1].count, 2);
    assert_int_equal(slot->ended[1].items[0], 5);
    assert_int_equal(slot->ended[1].items[1], 6);
    assert_int_equal(slot->ended[0].count, 1);
    assert_int_equal(slot->ended[0].items[0], 7);
    assert_int_equal(atomic_load(&slot->executed), 3);
}

static void test_a_task_that_writes_nothing_is_not_done(void **state)
{
    (void)state;
    begin(0, 5, NULL);
    tic_cut_end(tic_cut_slot(&cut, 0));
    assert_int_equal(tic_cut_slot(&cut, 0)->ended[1].count, 0);
    assert_int_equal(atomic_load(&tic_cut_slot(&cut, 0)->executed), 1);
}

static void test_writes_are_announced(void **state)
{
    struct tic_slot *slot = tic_cut_slot(&cut, 0);
    (void)state;
    begin(0, 0, handle);
    assert_int_equal(atomic_load(&handle->saving.writers), 1);
    assert_int_equal(atomic_load(&handle->saving.version), 1);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), 1);
    assert_int_equal(slot->dirty[1].count, 1);
    tic_cut_end(slot);
    assert_int_equal(atomic_load(&handle->saving.writers), 0);
    tic_cut_raise(&cut);
    begin(0, 1, handle); /* dirty since the first write, listed once */
    assert_int_equal(atomic_load(&handle->saving.version), 2);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), 1);
    assert_int_equal(slot->dirty[0].count, 0);
    tic_cut_end(slot);
    atomic_store(&handle->saving.dirty_since, 0); /* as if saved, and still listed for the cut */
    begin(0, 2, handle);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), 2);
    assert_int_equal(slot->dirty[0].count, 0);
    tic_cut_end(slot);
}

static void test_must_copy(void **state)
{
    (void)state;
    atomic_store(&handle->saving.dirty_since, 1);
    assert_false(tic_cut_must_copy(&cut, 2, handle)); /* no cut is being taken */
    uint64_t taken = tic_cut_raise(&cut);
    assert_false(tic_cut_must_copy(&cut, taken, handle)); /* a task of the cut itself */
    assert_true(tic_cut_must_copy(&cut, taken + 1, handle));
    atomic_store(&handle->saving.dirty_since, taken + 1); /* dirty only since the cut */
    assert_false(tic_cut_must_copy(&cut, taken + 1, handle));
    atomic_store(&handle->saving.dirty_since, 0);
    assert_false(tic_cut_must_copy(&cut, taken + 1, handle));
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *write_it(void *arg)
{
    (void)arg;
    begin(1, 1, handle);
    return NULL;
}

/* Who begins to write while a save is noted finds the mark gone, whenever he comes, and sets it to
 * his own epoch: an older one would make his value that of the cut. */
static void test_writer_waits_until_a_save_is_noted(void **state)
{
    static const struct tic_saved saved = {.checksum = 1};
    pthread_t writer;
    (void)state;
    begin(0, 0, handle);
    tic_cut_end(tic_cut_slot(&cut, 0));
    uint64_t taken = tic_cut_raise(&cut);
    tic_lock(&handle->saving.lock);
    atomic_store(&handle->saving.noting, true);
    assert_int_equal(atomic_load(&handle->saving.writers), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_it, NULL), 0);
    while (atomic_load(&handle->saving.writers) == 0)
        sched_yield();
    tic_handle_note_saved_locked(handle, &saved, taken);
    atomic_store(&handle->saving.noting, false);
    tic_unlock(&handle->saving.lock);
    pthread_join(writer, NULL);
    assert_int_equal(handle->saving.current.version, 1);
    assert_int_equal(atomic_load(&handle->saving.version), 2);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), taken + 1);
    tic_cut_end(tic_cut_slot(&cut, 1));
}

static atomic_uint_fast64_t closed; /* the last cut that has ended */
static atomic_bool stop;
static atomic_uint late; /* tasks seen in a cut that had ended */

static void *work(void *arg)
{
    struct tic_slot *slot = arg;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        uint64_t epoch = tic_cut_begin(&cut, slot, 0);
        tic_cut_running(slot, epoch);
        atomic_fetch_add(&late, atomic_load(&closed) >= epoch);
        tic_cut_end(slot);
        if (i % 16 == 0)
            sched_yield(); /* here, rather than within a task, where the raiser would wait for it */
    }
    return NULL;
}

static void take_cut(void)
{
    uint64_t taken = tic_cut_raise(&cut);
    while (!tic_cut_has_entered(&cut, taken))
        sched_yield();
    while (!tic_cut_has_ended(&cut, taken))
        sched_yield();
    atomic_store(&closed, taken);
    tic_cut_finish(&cut);
}

/* As a worker of a device whose tasks have not ended when it begins others: each in a slot of its
 * own, so that slots are added beside the raiser. */
static void *work_ahead(void *arg)
{
    struct tic_slot *slots[AHEAD];
    (void)arg;
    while (!atomic_load(&stop)) {
        uint64_t epochs[AHEAD];
        for (unsigned i = 0; i < AHEAD; i++) {
            slots[i] = tic_cut_take_spare(&cut);
            epochs[i] = tic_cut_begin(&cut, slots[i], 0);
            tic_cut_running(slots[i], epochs[i]);
        }
        for (unsigned i = 0; i < AHEAD; i++) {
            atomic_fetch_add(&late, atomic_load(&closed) >= epochs[i]);
            tic_cut_end(slots[i]);
            tic_cut_give_back(&cut, slots[i]);
        }
        sched_yield();
    }
    return NULL;
}

static void test_slots_are_added_beside_cuts(void **state)
{
    pthread_t threads[WORKERS];
    (void)state;
    atomic_store(&stop, false);
    atomic_store(&closed, 0);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_ahead, NULL), 0);
    for (int round = 0; round < ROUNDS / 10 || atomic_load(&cut.slot_count) < WORKERS + AHEAD;
         round++)
        take_cut();
    atomic_store(&stop, true);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&late), 0);
    assert_in_range(atomic_load(&cut.slot_count), WORKERS + AHEAD, WORKERS + WORKERS * AHEAD);
}

/* Ten thousand tasks that have not ended, and no two in one slot. */
static void test_many_tasks_have_a_slot_each(void **state)
{
    static struct tic_slot *slots[MANY];
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        slots[i] = tic_cut_take_spare(&cut);
        assert_non_null(slots[i]);
        assert_int_equal(slots[i]->number, WORKERS + i);
        assert_ptr_equal(tic_cut_slot(&cut, WORKERS + i), slots[i]);
        tic_cut_running(slots[i], tic_cut_begin(&cut, slots[i], i));
        slots[i]->counts = true;
    }
    assert_int_equal(atomic_load(&cut.slot_count), WORKERS + MANY);
    uint64_t taken = tic_cut_raise(&cut);
    for (unsigned i = 0; i < MANY; i++) {
        assert_false(tic_cut_has_ended(&cut, taken));
        tic_cut_end(slots[i]);
        tic_cut_give_back(&cut, slots[i]);
    }
    assert_true(tic_cut_has_ended(&cut, taken));
    assert_int_equal(tic_cut_count_executed(&cut), MANY);
    assert_ptr_equal(tic_cut_take_spare(&cut), slots[MANY - 1]);
    assert_int_equal(tic_cut_start(&cut, WORKERS + 1), 0); /* StarPU starts again, with one more */
    assert_int_equal(tic_cut_take_spare(&cut)->number, WORKERS + 1);
}

/* Once a cut has ended, no task of its epoch or an earlier one begins or runs any more. */
static void test_no_task_slips_into_a_cut_that_ended(void **state)
{
    pthread_t threads[WORKERS];
    (void)state;
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, tic_cut_slot(&cut, i)), 0);
    for (int round = 0; round < ROUNDS; round++)
        take_cut();
    atomic_store(&stop, true);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&late), 0);
}

static int set_up(void **state)
{
    (void)state;
    handle = tic_handle_create(0);
    return tic_cut_init(&cut, WORKERS);
}

static int tear_down(void **state)
{
    (void)state;
    tic_cut_fini(&cut);
    tic_handle_destroy(handle);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_before_and_after),
        TEST(test_ended_tasks_are_listed_by_epoch),
        TEST(test_a_task_that_writes_nothing_is_not_done),
        TEST(test_writes_are_announced),
        TEST(test_must_copy),
        TEST(test_writer_waits_until_a_save_is_noted),
        TEST(test_no_task_slips_into_a_cut_that_ended),
        TEST(test_slots_are_added_beside_cuts),
        TEST(test_many_tasks_have_a_slot_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
