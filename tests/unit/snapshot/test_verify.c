/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a line is committed only if nobody wrote memory behind StarPU's back, for each order
 * of the end of a task, its save, main()'s return from a wait, main()'s write, and the cut. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "lib/rig.h"
#include "lib/testing.h"

enum { WORDS = 4, HANDLES = 3 };

static struct tic_rig rig;
static uint64_t memory[HANDLES][WORDS];
static struct tic_handle *handles[HANDLES];
static struct tic_line line;

/* main() begins an operation. */
static void tick(void)
{
    atomic_fetch_add(&rig.graph.position, 1 << TIC_WAIT_BITS);
}

static void wait_for_tasks(void)
{
    tick();
    tic_verify_enter(&rig.snapshot);
    tic_verify_leave(&rig.snapshot);
}

/* A cut is raised while main() waits; then main() comes back. A task keeps the cut from ending. */
static void hold(void)
{
    tick();
    tic_verify_enter(&rig.snapshot);
    tic_rig_hold(&rig);
    tic_verify_leave(&rig.snapshot);
}

/* Registered, filled, mentioned, and written once. */
static void prepare(void)
{
    rig.snapshot.verify.percent = 2;
    for (unsigned i = 0; i < HANDLES; i++) {
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
        handles[i]->imaged = true;
        tic_snapshot_adopt_content(&rig.snapshot, handles[i]);
        memory[i][0] = 10 + i;
        atomic_store(&handles[i]->use.mentioned, true);
    }
    tick();
    tic_rig_task(&rig, 0, handles[0], 1);
    tick();
}

static void load_newest(void)
{
    tic_line_clear(&line);
    assert_true(tic_rig_newest(&rig, &line));
}

static uint64_t saved_word(uint64_t id)
{
    const struct tic_line_value *value = tic_rig_find(&line, id);
    uint64_t words[WORDS];

    assert_non_null(value);
    tic_rig_read(&rig, &line, value, words, WORDS);
    return words[0];
}

/* A checkpoint while main() waits. */
static void checkpoint(void)
{
    tick();
    tic_verify_enter(&rig.snapshot);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    tic_verify_leave(&rig.snapshot);
    load_newest();
}

static void expect_no_difference(void)
{
    assert_false(atomic_load(&rig.snapshot.verify.quiescent));
    assert_int_equal(line.quiescent, 0);
}

static void expect_difference(void)
{
    assert_true(atomic_load(&rig.snapshot.verify.quiescent));
    assert_int_equal(line.quiescent, 1);
}

static void test_line_holds_all_memory(void **state)
{
    (void)state;
    prepare();
    checkpoint();
    expect_no_difference();
    assert_int_equal(saved_word(0), 1);
    assert_int_equal(saved_word(1), 11);
    assert_int_equal(line.clock, atomic_load(&rig.graph.position) >> TIC_WAIT_BITS);
}

static void test_main_writes_what_is_saved(void **state)
{
    (void)state;
    prepare();
    checkpoint();
    wait_for_tasks();
    memory[0][0] = 99;
    tic_rig_task(&rig, 1, handles[1], 2);
    checkpoint();
    expect_difference();
    assert_int_equal(saved_word(0), 99);
}

/* Its write came before an operation, which comes before the save: a restart does it once. */
static void test_main_writes_what_is_dirty(void **state)
{
    (void)state;
    prepare();
    atomic_store(&rig.snapshot.verify.cut_ns, tic_nanoseconds(CLOCK_MONOTONIC));
    wait_for_tasks();
    memory[0][0] = 99;
    checkpoint();
    expect_no_difference();
    assert_int_equal(saved_word(0), 99);
}

/* A line is due when main() comes back: what it may change is hashed. */
static void test_main_writes_what_was_hashed(void **state)
{
    (void)state;
    prepare();
    wait_for_tasks();
    memory[0][0] = 99;
    checkpoint();
    expect_difference();
    assert_int_equal(saved_word(0), 99);
}

/* The first period has begun with the run: no line is due. */
static void test_a_run_that_begins_hashes_nothing(void **state)
{
    (void)state;
    prepare();
    rig.snapshot.period = 1e6;
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    wait_for_tasks();
    assert_int_equal(atomic_load(&rig.snapshot.verify.sums.bytes), 0);
    tic_snapshot_stop(&rig.snapshot, false);
}

/* It need not begin an operation then. */
static void test_main_stays_away(void **state)
{
    (void)state;
    prepare();
    wait_for_tasks();
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    load_newest();
    expect_no_difference();
    assert_int_equal(saved_word(0), 1);
}

/* main() may be in the middle of it. */
static void test_line_waits_for_an_operation(void **state)
{
    (void)state;
    prepare();
    atomic_store(&rig.snapshot.verify.cut_ns, tic_nanoseconds(CLOCK_MONOTONIC));
    wait_for_tasks();
    memory[0][0] = 99;
    rig.snapshot.control.stopping = true;
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), -ECANCELED);
    rig.snapshot.control.stopping = false;
    tick();
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    load_newest();
    assert_int_equal(saved_word(0), 99);
    assert_int_equal(line.clock, atomic_load(&rig.graph.position) >> TIC_WAIT_BITS);
}

static void release(void)
{
    int status = tic_rig_release(&rig);

    assert_true(status == 0 || status == -ESTALE || status == 1);
    load_newest();
}

/* The cut waits for a task; main() writes meanwhile. */
static void test_main_writes_after_the_cut(void **state)
{
    (void)state;
    prepare();
    checkpoint();
    tic_rig_task(&rig, 1, handles[1], 2);
    hold();
    memory[0][0] = 99;
    tic_verify_enter(&rig.snapshot); /* the quiescent line that follows */
    release();
    expect_difference();
    assert_int_equal(saved_word(0), 99);
}

/* After a line, a task of the next cut writes the first handle. */
static void hold_with_a_writer(void)
{
    prepare();
    checkpoint();
    tic_rig_task(&rig, 1, handles[1], 2);
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_begin(&rig, 0, 2, handles[0]);
    hold();
}

/* The task belongs to the cut, its value is saved after main() has changed it. */
static void test_main_writes_between_end_and_save(void **state)
{
    (void)state;
    hold_with_a_writer();
    memory[0][0] = 2;
    tic_verify_note_result(&rig.snapshot, handles[0]);
    wait_for_tasks();
    memory[0][0] = 99;
    tic_verify_enter(&rig.snapshot);
    tic_cut_end(tic_cut_slot(&rig.snapshot.cut, 0));
    release();
    expect_difference();
    assert_int_equal(saved_word(0), 99);
}

/* A later task is about to change what main() has changed. */
static void test_worker_compares_before_it_writes(void **state)
{
    (void)state;
    prepare();
    checkpoint();
    tic_rig_task(&rig, 1, handles[1], 2);
    hold();
    memory[0][0] = 99;
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_begin(&rig, 0, 2, handles[0]);
    assert_true(atomic_load(&rig.snapshot.verify.quiescent));
    memory[0][0]++;
    tic_rig_end(&rig, 0);
    tic_verify_enter(&rig.snapshot);
    release();
    expect_difference();
    assert_int_equal(saved_word(0), 100);
}

/* A worker has saved what it is about to write; the checkpoint thread comes to it in between. */
static void test_worker_saves_before_it_writes(void **state)
{
    (void)state;
    hold_with_a_writer();
    memory[0][0] = 2; /* its kernel; its end hook comes late */
    uint64_t cut = atomic_load(&rig.snapshot.cut.active_cut);
    tic_snapshot_save_before(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, 1), cut + 1,
                             handles[0]);
    memory[0][0] = 3; /* the kernel of the next task */
    tic_lock(&handles[0]->saving.lock);
    tic_verify_check_locked(&rig.snapshot, handles[0], cut, false);
    tic_unlock(&handles[0]->saving.lock);
    expect_no_difference();
    memory[0][0] = 2;
    tic_rig_end(&rig, 0);
    tic_verify_enter(&rig.snapshot);
    release();
    expect_no_difference();
    assert_int_equal(saved_word(0), 2);
}

static int pack_and_begin(struct tic_handle *handle, char **bytes, struct tic_shape *shape)
{
    *bytes = memcpy(malloc(sizeof(memory[0])), handle->layout.base, sizeof(memory[0]));
    *shape = (struct tic_shape){1, 1, {sizeof(memory[0]), 1, 1, 1}, 0};
    tic_rig_begin(&rig, 0, 1, handle);
    return 0;
}

static void release_packed(char *bytes, uint64_t size)
{
    (void)size;
    free(bytes);
}

/* While a line settles no cut is active, so nothing holds up a task that writes what is saved. */
static void begin_in_save(int (*save)(void))
{
    static const struct tic_packer packer = {pack_and_begin, release_packed};

    prepare();
    assert_true(tic_rig_submit(&rig, 2));
    handles[0]->packer = &packer;
    handles[0]->layout.shape = (struct tic_shape){1, 1, {sizeof(memory[0]), 1, 1, 1}, 0};
    tic_rig_provide(&rig, handles[0], 1);
    uint64_t before = handles[0]->saving.current.version;
    assert_int_equal(save(), -EBUSY);
    assert_int_equal(handles[0]->saving.current.version,
                     before); /* half of one value, half of the next */
    assert_int_not_equal(atomic_load(&handles[0]->saving.dirty_since), 0);
    handles[0]->packer = NULL;
    memory[0][0] = 2;
    tic_rig_end(&rig, 0);
    checkpoint();
    expect_no_difference();
    assert_int_equal(saved_word(0), 2);
}

static int save_for_line(void)
{
    struct tic_row held;

    tic_lock(&handles[0]->saving.lock);
    int status = tic_snapshot_save_later_locked(&rig.snapshot, handles[0], &held);
    tic_unlock(&handles[0]->saving.lock);
    return status;
}

static void test_task_begins_while_a_line_settles(void **state)
{
    (void)state;
    begin_in_save(save_for_line);
}

static int save_own(void)
{
    tic_lock(&handles[0]->saving.lock);
    int status = tic_snapshot_save_own_locked(&rig.snapshot, handles[0]);
    tic_unlock(&handles[0]->saving.lock);
    return status;
}

static void test_task_begins_while_a_result_is_saved(void **state)
{
    (void)state;
    begin_in_save(save_own);
}

/* A line, then main() changes the last handle behind StarPU's back. mentioned: by a task. */
static void change_after_a_line(bool mentioned)
{
    prepare();
    atomic_store(&handles[2]->use.mentioned, mentioned);
    checkpoint();
    memory[2][0] = 77;
}

/* main() reads it by an access. */
static void read_changed(void)
{
    struct tic_saved saved;
    bool fresh;

    assert_int_equal(tic_snapshot_log_value(&rig.snapshot, handles[2], &saved, &fresh), 0);
}

static void expect_changed_in_next_line(uint64_t task)
{
    tic_rig_task(&rig, task, handles[1], task + 1);
    checkpoint();
    expect_no_difference();
    assert_int_equal(saved_word(2), 77);
}

/* What no task has mentioned is main()'s. */
static void test_main_fills_data(void **state)
{
    (void)state;
    change_after_a_line(false);
    expect_changed_in_next_line(1);
}

/* main() reads it, which saves it, between the comparison and the end of the cut. */
static void test_main_reads_data_that_was_found_filled(void **state)
{
    (void)state;
    change_after_a_line(false);
    tic_rig_task(&rig, 1, handles[1], 2);
    hold();
    tic_lock(&handles[2]->saving.lock);
    tic_verify_check_locked(&rig.snapshot, handles[2], atomic_load(&rig.snapshot.cut.active_cut),
                            false);
    tic_unlock(&handles[2]->saving.lock);
    read_changed();
    tic_verify_enter(&rig.snapshot);
    release();
    tic_verify_leave(&rig.snapshot);
    expect_changed_in_next_line(2);
}

/* A line names the newest value of all data that it was compared with, listed or not. */
static void test_line_names_what_nobody_listed(void **state)
{
    (void)state;
    change_after_a_line(true);
    atomic_store(&handles[2]->saving.dirty_since, atomic_load(&rig.snapshot.cut.epoch));
    read_changed();
    expect_changed_in_next_line(1);
}

static int set_up(void **state)
{
    (void)state;
    memset(memory, 0, sizeof(memory));
    tic_rig_open(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_line_clear(&line);
    return tic_rig_finish(&rig);
}

/* The callback of a task that has ended may write. */
static void test_quiescent_line_waits_for_callbacks(void **state)
{
    (void)state;
    prepare();
    rig.snapshot.options.patience = 0.01;
    tic_verify_enter(&rig.snapshot);
    atomic_store(&rig.graph.callbacks_open, 1);
    assert_int_equal(tic_verify_begin_calm(&rig.snapshot), -ESTALE);
    tic_verify_end_calm(&rig.snapshot);
    atomic_store(&rig.graph.callbacks_open, 0);
    rig.snapshot.verify.calm_after_ns = 0;
    assert_int_equal(tic_verify_begin_calm(&rig.snapshot), 0);
    tic_verify_end_calm(&rig.snapshot);
    tic_verify_leave(&rig.snapshot);
}

static void test_late_lines_are_told_of(void **state)
{
    uint64_t second = 1000000000, now = tic_nanoseconds(CLOCK_MONOTONIC);

    (void)state;
    rig.snapshot.period = 20;
    tic_verify_tell_late(&rig.snapshot, now - 100 * second);
    assert_false(rig.snapshot.verify.told_late);
    rig.snapshot.period = 5;
    tic_verify_tell_late(&rig.snapshot, now - 100 * second);
    assert_true(rig.snapshot.verify.told_late);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_line_holds_all_memory),
        TEST(test_main_writes_what_is_saved),
        TEST(test_main_writes_what_is_dirty),
        TEST(test_main_writes_what_was_hashed),
        TEST(test_a_run_that_begins_hashes_nothing),
        TEST(test_main_stays_away),
        TEST(test_line_waits_for_an_operation),
        TEST(test_main_writes_after_the_cut),
        TEST(test_main_writes_between_end_and_save),
        TEST(test_worker_compares_before_it_writes),
        TEST(test_worker_saves_before_it_writes),
        TEST(test_task_begins_while_a_line_settles),
        TEST(test_task_begins_while_a_result_is_saved),
        TEST(test_main_fills_data),
        TEST(test_main_reads_data_that_was_found_filled),
        TEST(test_line_names_what_nobody_listed),
        TEST(test_quiescent_line_waits_for_callbacks),
        TEST(test_late_lines_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
