/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks when the row of a replaced result is free again, and that a restart takes no row for what
 * another result has written over. */
#include <string.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/forced.h"

enum { WORDS = 4, WORKER = 1, READER = 2, SECONDS = 300 };

static struct tic_rig rig;
static uint64_t memory[2][WORDS];
static struct tic_handle *handles[2];

static int setup(void **state)
{
    (void)state;
    alarm(SECONDS); /* instead of hanging for ever */
    tic_rig_open(&rig);
    for (unsigned i = 0; i < 2; i++)
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0); /* rows for records, and a line */
    tic_rig_provide(&rig, handles[0], 64);
    rig.snapshot.started_ns = 1;
    rig.snapshot.options.log_all = true;
    atomic_store(&rig.snapshot.results.bytes_most, UINT64_MAX);
    rig.snapshot.options.forced_percent = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    alarm(0);
    return 0;
}

static void begin(unsigned worker, uint64_t sequence, struct tic_handle *handle)
{
    assert_true(tic_rig_submit(&rig, sequence + 1));
    tic_rig_begin(&rig, worker, sequence, handle);
    tic_reuse_note_begin(&rig.snapshot.results.reuse, tic_cut_slot(&rig.snapshot.cut, worker));
}

/* A task that is logged, and sets the first word of a handle; again: a restart executes it again.
 */
static void write_word_by(uint64_t sequence, unsigned which, uint64_t word, bool again)
{
    struct tic_forced forced = {.sequence = sequence, .signature = 5};

    assert_int_equal(tic_eventlog_provide(&rig.snapshot.log), 0); /* nobody serves a request */
    tic_snapshot_events(&rig.snapshot, &forced.events, &forced.seen);
    begin(WORKER, sequence, handles[which]);
    if (again)
        tic_reuse_note_use(handles[which], &rig.snapshot.cut);
    memory[which][0] = word;
    assert_true(
        tic_snapshot_force(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, WORKER), &forced));
    tic_rig_end(&rig, WORKER);
}

static void write_word(uint64_t sequence, unsigned which, uint64_t word)
{
    write_word_by(sequence, which, word, false);
}

/* Enough of them for a look at the slots. Gives how many rows are free again. */
static uint64_t write_many(uint64_t first, unsigned which)
{
    const unsigned count = 3 * rig.snapshot.cut.slot_count;

    for (unsigned i = 0; i < count; i++)
        write_word(first + i, which, 1000 + i);
    return atomic_load(&rig.snapshot.results.reuse.rows);
}

static bool is_free(struct tic_row row)
{
    bool free = !tic_rows_share(&rig.store.rows, row, &handles[0]->layout.shape);

    if (!free)
        tic_rows_settle(&rig.store.rows, row);
    return free;
}

static void test_replaced_result_is_free(void **state)
{
    (void)state;
    assert_true(write_many(1, 0) > rig.snapshot.cut.slot_count);
    uint64_t used = tic_rows_total(&rig.store.rows, &handles[0]->layout.shape) -
                    tic_rows_available(&rig.store.rows, &handles[0]->layout.shape);
    assert_in_range(used, 1, 2 * rig.snapshot.cut.slot_count + 2);
}

static void test_newest_is_not(void **state)
{
    (void)state;
    write_many(1, 0);
    assert_false(is_free(handles[0]->saving.current.saved.row));
}

/* Its successor may be the first after a cut that defines it. */
static void test_value_of_a_line_is_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    write_many(2, 0);
    assert_false(is_free(row));
}

static void test_value_of_a_cut_under_way_is_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    tic_rig_hold(&rig);
    write_word(2, 0, 2);
    assert_int_equal(tic_rig_release(&rig), 0);
    write_many(3, 0);
    assert_false(is_free(row));
}

static void test_nothing_is_while_an_older_task_runs(void **state)
{
    (void)state;
    begin(READER, 1, NULL);
    assert_int_equal(write_many(2, 0), 0);
    tic_rig_end(&rig, READER);
    assert_true(write_many(100, 0) > 0);
}

static void test_value_that_a_task_without_result_has_read_is_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    begin(READER, 2, NULL);
    tic_reuse_note_use(handles[0], &rig.snapshot.cut);
    tic_rig_end(&rig, READER);
    assert_int_equal(write_many(3, 0), 0);
    assert_false(is_free(row));
}

/* The value that replaces it is read where the task computes, before its result is logged. */
static void test_value_that_was_read_before_a_late_result_is_not(void **state)
{
    struct tic_forced forced = {.sequence = 3, .signature = 5};

    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    begin(READER, 2, NULL);
    tic_reuse_note_use(handles[0], &rig.snapshot.cut);
    tic_rig_end(&rig, READER);
    tic_snapshot_events(&rig.snapshot, &forced.events, &forced.seen);
    begin(WORKER, 3, handles[0]);
    begin(READER, 4, NULL);
    tic_reuse_note_use(handles[0], &rig.snapshot.cut);
    tic_rig_end(&rig, READER);
    memory[0][0] = 3;
    assert_true(
        tic_snapshot_force(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, WORKER), &forced));
    struct tic_row late = handles[0]->saving.current.saved.row;
    tic_rig_end(&rig, WORKER);
    write_many(5, 0);
    assert_false(is_free(row));
    assert_false(is_free(late));
}

/* In a restart the task uses the data, and each result after it takes its place behind it. */
static void test_none_is_until_a_line_has_the_task_without_result(void **state)
{
    (void)state;
    begin(READER, 1, NULL);
    tic_reuse_note_use(handles[0], &rig.snapshot.cut);
    tic_rig_end(&rig, READER);
    assert_int_equal(write_many(2, 0), 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_true(write_many(100, 0) > 0);
}

static void test_none_is_of_data_that_is_excluded(void **state)
{
    (void)state;
    tic_reuse_exclude(handles[0]);
    assert_int_equal(write_many(1, 0), 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_int_equal(write_many(100, 0), 0);
}

static void test_value_before_a_write_that_a_restart_repeats_is_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    write_word_by(2, 0, 2, true);
    struct tic_row repeated = handles[0]->saving.current.saved.row;
    assert_int_equal(write_many(3, 0), 0);
    assert_false(is_free(row));
    assert_false(is_free(repeated));
}

static void test_value_before_a_write_without_result_is_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row row = handles[0]->saving.current.saved.row;
    begin(READER, 2, handles[0]);
    tic_rig_end(&rig, READER);
    assert_true(write_many(3, 0) > 0);
    assert_false(is_free(row));
}

static void test_pinned_and_shared_are_not(void **state)
{
    (void)state;
    write_word(1, 0, 1);
    struct tic_row pinned = handles[0]->saving.current.saved.row;
    tic_rows_pin(&rig.store.rows, pinned);
    write_word(2, 0, 2);
    struct tic_row shared = handles[0]->saving.current.saved.row;
    assert_true(tic_rows_share(&rig.store.rows, shared, &handles[0]->layout.shape));
    tic_rows_settle(&rig.store.rows, shared);
    assert_true(write_many(3, 0) > 0);
    assert_false(is_free(pinned));
    assert_false(is_free(shared));
}

/* The sweep has freed the row, and another value may lie there. */
static void test_sweep_comes_first(void **state)
{
    (void)state;
    begin(READER, 1, NULL);
    write_many(2, 0);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_sweep_end(&rig.store.rows);
    tic_rig_end(&rig, READER);
    struct tic_replaced none = {.row = {0, 0}};
    tic_reuse_add(&rig.snapshot.results.reuse, &rig.snapshot.cut, &rig.store.rows, &none, 1);
    assert_int_equal(atomic_load(&rig.snapshot.results.reuse.rows), 0);
}

static void test_stop(void **state)
{
    (void)state;
    tic_reuse_stop(&rig.snapshot.results.reuse);
    assert_int_equal(write_many(1, 0), 0);
}

/* What is free again does not bring a line. */
static void test_volume(void **state)
{
    (void)state;
    write_many(1, 0);
    assert_in_range(tic_reuse_volume(&rig.snapshot.results.reuse), sizeof(memory[0]),
                    (2 * rig.snapshot.cut.slot_count + 2) * sizeof(memory[0]));
    tic_reuse_begin_volume(&rig.snapshot.results.reuse);
    assert_int_equal(tic_reuse_volume(&rig.snapshot.results.reuse), 0);
}

/* The newest of each is there; of those before some are not, and none is taken for another. */
static void test_restart(void **state)
{
    (void)state;
    write_many(1, 0);
    uint64_t last = memory[0][0];
    const unsigned count = 3 * rig.snapshot.cut.slot_count;
    unsigned lost = 0;
    assert_true(tic_rig_restart(&rig));
    for (uint64_t i = 1; i <= count; i++) {
        const struct tic_forced_found *result = tic_snapshot_forced_of(&rig.snapshot, i);
        assert_non_null(result);
        const struct tic_forced_value *value = tic_snapshot_forced_values(&rig.snapshot, result);
        uint64_t words[WORDS];
        struct tic_layout layout = tic_fake_vector(words, sizeof(*words), WORDS);
        if (tic_store_read(&rig.store, &value->saved, &layout) == 0)
            assert_int_equal(words[0], 1000 + i - 1);
        else
            lost++;
    }
    assert_in_range(lost, 1, count - 1);
    assert_int_equal(last, 1000 + count - 1);
    const struct tic_forced_found *newest = tic_snapshot_forced_of(&rig.snapshot, count);
    assert_true(tic_snapshot_is_whole(&rig.snapshot,
                                      tic_snapshot_forced_values(&rig.snapshot, newest), 1, true));
}

/* Until main() has come to the task whose result is the newest. */
static void test_line_names_no_row_of_another(void **state)
{
    (void)state;
    write_many(1, 0);
    const unsigned count = 3 * rig.snapshot.cut.slot_count;
    assert_true(tic_rig_restart(&rig));
    struct tic_handle *handle = tic_rig_register(&rig, memory[0], WORDS);
    for (uint64_t i = 1; i <= count; i++) {
        const struct tic_forced_found *result = tic_snapshot_forced_of(&rig.snapshot, i);
        assert_true(tic_rig_submit(&rig, i + 1));
        assert_int_equal(tic_snapshot_adopt(&rig.snapshot, &i,
                                            tic_snapshot_forced_values(&rig.snapshot, result),
                                            &handle, 1),
                         0);
        atomic_store(&rig.snapshot.replaying, false);
        if (i == 1)
            assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1);
    }
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_int_equal(rig.store.kept[0].tasks_done, count + 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_replaced_result_is_free),
        TEST(test_newest_is_not),
        TEST(test_value_of_a_line_is_not),
        TEST(test_value_of_a_cut_under_way_is_not),
        TEST(test_nothing_is_while_an_older_task_runs),
        TEST(test_value_that_a_task_without_result_has_read_is_not),
        TEST(test_value_that_was_read_before_a_late_result_is_not),
        TEST(test_none_is_until_a_line_has_the_task_without_result),
        TEST(test_none_is_of_data_that_is_excluded),
        TEST(test_value_before_a_write_that_a_restart_repeats_is_not),
        TEST(test_value_before_a_write_without_result_is_not),
        TEST(test_pinned_and_shared_are_not),
        TEST(test_sweep_comes_first),
        TEST(test_stop),
        TEST(test_volume),
        TEST(test_restart),
        TEST(test_line_names_no_row_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
