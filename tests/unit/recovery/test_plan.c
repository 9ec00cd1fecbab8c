/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a restart reads, of what results hold, what will be needed and no more, that a
 * damaged value is in the way only where it is needed, and that a result that is taken over is in
 * later lines as if its task had been executed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/forced.h"

enum { WORDS = 4, HANDLES = 2, R = 1, W = 2, RW = 3 };

static struct tic_rig rig;
static uint64_t memory[HANDLES][WORDS];
static struct tic_handle *handles[HANDLES];

static void register_handles(void)
{
    for (unsigned i = 0; i < HANDLES; i++)
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
}

static int setup(void **state)
{
    (void)state;
    tic_rig_open(&rig);
    rig.snapshot.options.log_all = true;
    register_handles();
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0); /* rows for records, and a line */
    tic_rig_provide(&rig, handles[1], 20);
    assert_int_equal(tic_eventlog_provide(&rig.snapshot.log), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    return 0;
}

static void log_record(enum tic_logged kind, const uint64_t *words, size_t count)
{
    assert_int_equal(tic_snapshot_append(&rig.snapshot, TIC_RIG_HOLDER, kind, words, count, NULL),
                     0);
}

/* main() creates a task with one access, or two. */
static void create(uint64_t sequence, uint64_t first, uint64_t second)
{
    const uint64_t words[5] = {sequence, second ? 2 : 1, first, second ? second : 0x6b, 0x6b};

    log_record(TIC_LOGGED_CREATED, words, second ? 5 : 4);
}

static uint64_t to(unsigned which, unsigned mode)
{
    return (uint64_t)which << TIC_LOG_MODE_BITS | mode;
}

/* It sets the first word of a handle, and its result is logged. */
static void finish(uint64_t sequence, unsigned which, uint64_t word)
{
    struct tic_forced forced = {.sequence = sequence};

    assert_true(tic_rig_submit(&rig, sequence + 1));
    tic_rig_begin(&rig, 1, sequence, handles[which]);
    memory[which][0] = word;
    assert_true(tic_snapshot_force(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, 1), &forced));
    tic_rig_end(&rig, 1);
}

/* The same of both handles, of the second one 100 more: equal values share a row. */
static void write_both(uint64_t sequence, uint64_t word)
{
    struct tic_slot *slot = tic_cut_slot(&rig.snapshot.cut, 1);
    struct tic_forced forced = {.sequence = sequence};

    create(sequence, to(0, RW), to(1, RW));
    assert_true(tic_rig_submit(&rig, sequence + 1));
    tic_rig_begin(&rig, 1, sequence, handles[0]);
    tic_snapshot_write(&rig.snapshot, slot, atomic_load(&rig.snapshot.cut.epoch), handles[1]);
    memory[0][0] = word;
    memory[1][0] = word + 100;
    assert_true(tic_snapshot_force(&rig.snapshot, slot, &forced));
    tic_rig_end(&rig, 1);
}

static void write_task(uint64_t sequence, unsigned which, uint64_t word)
{
    create(sequence, to(which, RW), 0);
    finish(sequence, which, word);
}

/* A value of the task that was logged last is not what it was. */
static void damage_last_of(unsigned output)
{
    const struct tic_forced_kept *last =
        &rig.snapshot.results.kept[rig.snapshot.results.kept_count - 1];
    struct tic_place place;

    assert_int_equal(
        tic_rows_locate(&rig.store.rows, last->rows[output], sizeof(memory[0]), &place), 0);
    assert_int_equal(pwrite(place.fd, "xyz", 3, place.offset + 8), 3);
}

static void damage_last(void)
{
    damage_last_of(0);
}

static const struct tic_forced_found *found(uint64_t sequence)
{
    return tic_snapshot_forced_of(&rig.snapshot, sequence);
}

static enum tic_fate fate(uint64_t sequence)
{
    return tic_snapshot_forced_values(&rig.snapshot, found(sequence))->fate;
}

static void restart(void)
{
    assert_true(tic_rig_restart(&rig));
    rig.snapshot.options.log_all = true;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void test_only_the_last_version_is_read(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 5; i++)
        write_task(i, 1, 40 + i);
    restart();
    assert_int_equal(rig.store.reading.bytes_verified, sizeof(memory[1]));
    assert_int_equal(rig.snapshot.recovery.planned.values, 1);
    assert_int_equal(rig.snapshot.recovery.planned.all_values, 4);
    for (uint64_t i = 1; i < 4; i++)
        assert_int_equal(fate(i), TIC_FATE_SPARE);
    assert_int_equal(fate(4), TIC_FATE_GOOD);
}

static void test_a_task_without_result_needs_what_it_reads(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    create(2, to(1, R), to(0, RW)); /* it never ends */
    write_task(3, 1, 43);
    restart();
    assert_int_equal(fate(1), TIC_FATE_GOOD);
    assert_int_equal(fate(3), TIC_FATE_GOOD);
    assert_int_equal(rig.snapshot.recovery.planned.executes, 1);
    assert_int_equal(rig.snapshot.recovery.planned.least, 1);
}

/* A task of ours writes them in their place among others, whether somebody will read them or not.
 */
static void test_results_behind_a_task_that_is_executed_are_needed(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    write_task(2, 1, 42);
    create(3, to(1, R), to(0, RW)); /* it never ends */
    for (uint64_t i = 4; i < 7; i++)
        write_task(i, 1, 40 + i);
    restart();
    assert_int_equal(fate(1), TIC_FATE_SPARE);
    for (uint64_t i = 4; i < 7; i++)
        assert_int_equal(fate(i), TIC_FATE_GOOD);
    assert_int_equal(rig.snapshot.recovery.planned.executes, 1);
}

static void test_damaged_result_behind_a_task_that_is_executed(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    create(2, to(1, R), to(0, RW)); /* it never ends */
    write_task(3, 1, 43);
    damage_last();
    write_task(4, 1, 44);
    restart();
    assert_null(found(3));
    assert_int_equal(fate(1), TIC_FATE_GOOD); /* it is executed, and reads this */
    assert_int_equal(fate(4), TIC_FATE_GOOD);
    assert_int_equal(rig.snapshot.recovery.planned.executes, 2);
}

/* What the task wrote besides goes the way of all results: the newest is needed. */
static void test_only_data_that_is_used_before_has_its_results_placed(void **state)
{
    const uint64_t access[3] = {0, 3, 2}; /* handle, writes, when it had submitted two */

    (void)state;
    write_both(1, 41);
    log_record(TIC_LOGGED_ACQUIRED, access, 3);
    write_both(2, 42);
    damage_last_of(1); /* another result may have its space */
    write_both(3, 43);
    restart();
    assert_int_equal(rig.snapshot.recovery.planned.executes, 0);
    assert_int_equal(tic_snapshot_forced_values(&rig.snapshot, found(2))[0].fate, TIC_FATE_GOOD);
    assert_int_equal(tic_snapshot_forced_values(&rig.snapshot, found(2))[1].fate, TIC_FATE_SPARE);
    for (unsigned i = 0; i < HANDLES; i++)
        assert_int_equal(tic_snapshot_forced_values(&rig.snapshot, found(3))[i].fate,
                         TIC_FATE_GOOD);
}

static void test_what_main_reads_is_needed(void **state)
{
    const uint64_t access[3] = {1, 1, 2}; /* handle, reads, when it had submitted two */

    (void)state;
    write_task(1, 1, 41);
    log_record(TIC_LOGGED_ACQUIRED, access, 3);
    write_task(2, 1, 42);
    write_task(3, 1, 43);
    restart();
    assert_int_equal(fate(1), TIC_FATE_GOOD);
    assert_int_equal(fate(2), TIC_FATE_SPARE);
}

static void test_a_task_that_the_log_does_not_know_may_read(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    write_task(2, 1, 42);
    assert_true(tic_rig_submit(&rig, 4)); /* of task 3 there is no record */
    write_task(4, 1, 44);
    restart();
    assert_int_equal(fate(1), TIC_FATE_SPARE);
    assert_int_equal(fate(2), TIC_FATE_GOOD);
    assert_int_equal(fate(4), TIC_FATE_GOOD);
}

static void test_without_created_tasks_nothing_is_known(void **state)
{
    (void)state;
    finish(1, 1, 41);
    finish(2, 1, 42);
    restart();
    assert_int_equal(fate(1), TIC_FATE_UNKNOWN);
    assert_int_equal(rig.store.reading.bytes_verified, 0);
}

/* ---- damage --------------------------------------------------------------------------------- */

static void test_damage_where_nobody_looks_is_nothing(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    damage_last();
    write_task(2, 1, 42);
    restart();
    assert_non_null(found(1));
    assert_int_equal(fate(1), TIC_FATE_SPARE);
    assert_int_equal(rig.snapshot.recovery.planned.executes, 0);
}

static void test_damage_makes_the_version_before_needed(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    write_task(2, 1, 42);
    write_task(3, 1, 43);
    damage_last();
    restart();
    assert_null(found(3));
    assert_int_equal(fate(2), TIC_FATE_GOOD); /* task 3 reads it, and is executed */
    assert_int_equal(fate(1), TIC_FATE_SPARE);
    assert_int_equal(rig.snapshot.recovery.planned.executes, 1);
}

/* A task that only overwrites, and is overwritten: it is executed although nobody needs it. */
static void test_the_least_is_told(void **state)
{
    (void)state;
    create(1, to(1, W), 0);
    create(2, to(1, W), 0);
    assert_true(tic_rig_submit(&rig, 2));
    finish(2, 1, 42);
    restart();
    assert_int_equal(rig.snapshot.recovery.planned.executes, 1);
    assert_int_equal(rig.snapshot.recovery.planned.least, 0);
}

static void test_results_can_be_ignored(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    tic_rig_stop(&rig);
    tic_rig_prepare(&rig);
    rig.snapshot.options.ignore_results = true;
    assert_true(tic_rig_open_store(&rig));
    assert_null(found(1));
}

/* ---- a result that is taken over ------------------------------------------------------------ */

/* As main() submits it in the replay. */
static void adopt(uint64_t sequence, unsigned which)
{
    struct tic_handle *const only[1] = {handles[which]};

    assert_true(tic_rig_submit(&rig, sequence + 1));
    assert_int_equal(tic_snapshot_adopt(&rig.snapshot, &sequence,
                                        tic_snapshot_forced_values(&rig.snapshot, found(sequence)),
                                        only, 1),
                     0);
}

static uint64_t value_in(const struct tic_line *line, unsigned which)
{
    uint64_t words[WORDS];

    tic_rig_read(&rig, line, tic_rig_find(line, which), words, WORDS);
    return words[0];
}

static void test_taken_over_is_done_in_the_next_line(void **state)
{
    struct tic_line line;

    (void)state;
    write_task(1, 1, 41);
    write_task(2, 1, 42);
    restart();
    register_handles();
    adopt(1, 1);
    adopt(2, 1);
    assert_int_equal(rig.store.reading.bytes, 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_int_equal(rig.store.counts.bytes_written, 0); /* it stays where it is */
    assert_true(tic_rig_newest(&rig, &line));
    assert_true(tic_rig_is_done(&line, 1) && tic_rig_is_done(&line, 2));
    assert_int_equal(value_in(&line, 1), 42);
    assert_int_equal(tic_rig_find(&line, 1)->version, 2);
    tic_line_clear(&line);
}

static void test_taken_over_after_a_cut_is_not_in_its_line(void **state)
{
    struct tic_line line;

    (void)state;
    write_task(1, 0, 41);
    write_task(2, 0, 42);
    restart();
    register_handles();
    adopt(1, 0);
    tic_rig_hold(&rig); /* the cut is taken */
    adopt(2, 0);
    assert_int_equal(tic_rig_release(&rig), 0);
    assert_true(tic_rig_newest(&rig, &line));
    assert_true(tic_rig_is_done(&line, 1));
    assert_false(tic_rig_is_done(&line, 2));
    assert_int_equal(value_in(&line, 0), 41);
    tic_line_clear(&line);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_true(tic_rig_newest(&rig, &line));
    assert_true(tic_rig_is_done(&line, 2));
    assert_int_equal(value_in(&line, 0), 42);
    tic_line_clear(&line);
}

/* A task of ours writes the other value. */
static void test_taken_over_in_part_is_in_a_line_with_the_rest(void **state)
{
    struct tic_line line;

    (void)state;
    write_both(1, 41);
    restart();
    register_handles();
    assert_true(tic_rig_submit(&rig, 2));
    atomic_fetch_add(&rig.snapshot.results.stand_ins, 1);
    assert_int_equal(tic_snapshot_adopt(&rig.snapshot, NULL,
                                        &tic_snapshot_forced_values(&rig.snapshot, found(1))[1],
                                        &handles[1], 1),
                     0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1); /* not now */
    tic_rig_begin(&rig, 1, 1, handles[0]);
    memory[0][0] = 41;
    tic_rig_end(&rig, 1);
    atomic_fetch_sub(&rig.snapshot.results.stand_ins, 1);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_true(tic_rig_newest(&rig, &line));
    assert_true(tic_rig_is_done(&line, 1));
    assert_int_equal(value_in(&line, 0), 41);
    assert_int_equal(value_in(&line, 1), 141);
    tic_line_clear(&line);
}

/* The run that took it over is killed before its first line, or after it. */
static void test_taken_over_survives_the_next_crash(void **state)
{
    (void)state;
    write_task(1, 1, 41);
    for (int lines = 0; lines < 2; lines++) {
        restart();
        register_handles();
        assert_non_null(found(1));
        adopt(1, 1);
        if (lines)
            assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    }
    restart();
    assert_null(found(1)); /* the line has it */
    register_handles();
    assert_true(handles[1]->restart.pending);
    assert_int_equal(
        tic_store_read(&rig.store, &handles[1]->saving.current.saved, &handles[1]->layout), 0);
    assert_int_equal(memory[1][0], 41);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_the_last_version_is_read),
        TEST(test_a_task_without_result_needs_what_it_reads),
        TEST(test_results_behind_a_task_that_is_executed_are_needed),
        TEST(test_damaged_result_behind_a_task_that_is_executed),
        TEST(test_only_data_that_is_used_before_has_its_results_placed),
        TEST(test_what_main_reads_is_needed),
        TEST(test_a_task_that_the_log_does_not_know_may_read),
        TEST(test_without_created_tasks_nothing_is_known),
        TEST(test_damage_where_nobody_looks_is_nothing),
        TEST(test_damage_makes_the_version_before_needed),
        TEST(test_the_least_is_told),
        TEST(test_results_can_be_ignored),
        TEST(test_taken_over_is_done_in_the_next_line),
        TEST(test_taken_over_after_a_cut_is_not_in_its_line),
        TEST(test_taken_over_in_part_is_in_a_line_with_the_rest),
        TEST(test_taken_over_survives_the_next_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
