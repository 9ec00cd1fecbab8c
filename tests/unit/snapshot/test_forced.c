/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that results of stolen tasks are there after a crash until a line holds them, and that
 * nothing doubtful is taken for one. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/forced.h"

enum { WORDS = 4, THIEF = 1, SECONDS = 300 };

static struct tic_rig rig;
static uint64_t memory[2][WORDS];
static struct tic_handle *handles[2];

static int setup(void **state)
{
    (void)state;
    alarm(SECONDS); /* instead of hanging for ever */
    tic_rig_open(&rig);
    rig.snapshot.options.forced_percent = 100000; /* the clock must not matter */
    for (unsigned i = 0; i < 2; i++)
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0); /* rows for records, and a line */
    tic_rig_provide(&rig, handles[1], 8);
    rig.snapshot.started_ns = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    alarm(0);
    return 0;
}

/* A stolen task that sets the first word of a handle; `events` it may depend on. */
static void steal(uint64_t sequence, unsigned which, uint64_t word, uint64_t events)
{
    struct tic_forced forced = {.sequence = sequence, .signature = 5, .events = events};

    if (events == 0) /* all that main() has come to */
        tic_snapshot_events(&rig.snapshot, &forced.events, &forced.seen);

    assert_true(tic_rig_submit(&rig, sequence + 1));
    tic_rig_begin(&rig, THIEF, sequence, handles[which]);
    memory[which][0] = word;
    (void)tic_snapshot_force(&rig.snapshot, tic_cut_slot(&rig.snapshot.cut, THIEF), &forced);
    tic_rig_end(&rig, THIEF);
}

/* main() has come to an event. */
static void log_event(uint64_t number, int64_t value)
{
    uint64_t count, hash;

    assert_int_equal(tic_eventlog_provide(&rig.snapshot.log), 0); /* nobody serves a request */
    tic_snapshot_events(&rig.snapshot, &count, &hash);
    const uint64_t words[4] = {number, TIC_EVENT_TIME, (uint64_t)value, hash};
    assert_int_equal(tic_snapshot_append(&rig.snapshot, 0, TIC_LOGGED_EVENT, words, 4, NULL), 0);
}

static const struct tic_forced_found *found(uint64_t sequence)
{
    return tic_snapshot_forced_of(&rig.snapshot, sequence);
}

static const struct tic_forced_value *value_of(const struct tic_forced_found *result)
{
    return tic_snapshot_forced_values(&rig.snapshot, result);
}

static uint64_t first_word(const struct tic_forced_found *result)
{
    uint64_t words[WORDS];
    struct tic_layout layout = tic_fake_vector(words, sizeof(*words), WORDS);

    assert_int_equal(tic_store_read(&rig.store, &value_of(result)->saved, &layout), 0);
    return words[0];
}

static void test_result_survives_a_crash(void **state)
{
    (void)state;
    steal(3, 1, 42, 0);
    assert_true(tic_rig_restart(&rig));
    assert_non_null(found(3));
    assert_int_equal(first_word(found(3)), 42);
    assert_int_equal(value_of(found(3))->id, 1);
    assert_null(found(2));
}

/* The run that finds it is killed before it could use it. */
static void test_result_survives_several_crashes(void **state)
{
    (void)state;
    steal(3, 1, 42, 0);
    for (int i = 0; i < 3; i++)
        assert_true(tic_rig_restart(&rig));
    assert_non_null(found(3));
    assert_int_equal(first_word(found(3)), 42);
}

static void test_later_value_does_not_replace_it(void **state)
{
    (void)state;
    steal(3, 1, 42, 0);
    tic_rig_begin(&rig, 0, 4, handles[1]); /* it never ends */
    memory[1][0] = 43;
    tic_snapshot_save_now(&rig.snapshot, handles[1]);
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(first_word(found(3)), 42);
}

static void test_line_that_holds_it_replaces_it(void **state)
{
    (void)state;
    steal(3, 1, 42, 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_int_equal(rig.snapshot.results.kept_count, 0);
    assert_true(tic_rig_restart(&rig));
    assert_null(found(3));
}

/* main() had seen an event that no line has: it may see another one this time. */
static void test_unknown_event_makes_it_useless(void **state)
{
    (void)state;
    steal(3, 1, 42, 1);
    assert_true(tic_rig_restart(&rig));
    assert_null(found(3));
}

static void test_damaged_value_is_not_used(void **state)
{
    struct tic_place place;

    (void)state;
    steal(3, 1, 42, 0);
    assert_int_equal(tic_rows_locate(&rig.store.rows, rig.snapshot.results.kept[0].rows[0],
                                     sizeof(memory[1]), &place),
                     0);
    assert_int_equal(pwrite(place.fd, "x", 1, place.offset), 1);
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(tic_store_verify(&rig.store, &value_of(found(3))->saved), -EBADMSG);
}

/* The first run lost an event of the log, but not what came of it; the second came to another one
 * in its place. */
static void test_result_of_another_past_is_not_used(void **state)
{
    const uint64_t other[4] = {0, TIC_EVENT_TIME, 99, 0};
    int64_t event = 7;

    (void)state;
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &event), 0);
    steal(3, 1, 42, 0);
    tic_snapshot_append(&rig.snapshot, 0, TIC_LOGGED_EVENT, other, 4, NULL); /* a wrong hash */
    assert_true(tic_rig_restart(&rig));
    assert_null(found(3));
    assert_int_equal(tic_tail_total(&rig.graph.events), 0);
    event = 8;
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &event), 0);
    log_event(0, 8);
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(tic_tail_total(&rig.graph.events), 1);
    assert_null(found(3));
}

static void test_logged_event_makes_it_useful(void **state)
{
    int64_t event = 7;

    (void)state;
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &event), 0);
    log_event(0, 7);
    steal(3, 1, 42, 0);
    assert_true(tic_rig_restart(&rig));
    assert_non_null(found(3));
    event = 8;
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &event), 0);
    assert_int_equal(event, 7);
}

static void test_budget_of_nothing_saves_nothing(void **state)
{
    (void)state;
    rig.snapshot.options.forced_percent = 0;
    tic_cut_slot(&rig.snapshot.cut, THIEF)->forced_ns = 1;
    steal(3, 1, 42, 0);
    assert_int_equal(rig.snapshot.results.kept_count, 0);
}

/* Nobody asks for a line, and the period is long. */
static void test_much_of_them_brings_a_line(void **state)
{
    (void)state;
    rig.snapshot.period = 1000;
    atomic_store(&rig.snapshot.results.bytes_most, 3 * sizeof(memory[0]));
    uint64_t before = atomic_load(&rig.snapshot.counts.checkpoints);
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    for (uint64_t i = 1; i <= 3; i++)
        steal(i, 1, i, 0);
    while (atomic_load(&rig.snapshot.counts.checkpoints) == before)
        sched_yield();
    tic_snapshot_stop(&rig.snapshot, false);
    assert_true(rig.store.kept[0].tasks_done > 1);
}

/* The checkpoint thread must not try for ever what cannot be. */
static void test_much_of_them_asks_once(void **state)
{
    (void)state;
    atomic_store(&rig.snapshot.results.bytes_most, 2 * sizeof(memory[0]));
    steal(1, 1, 1, 0);
    steal(2, 1, 2, 0);
    assert_int_equal(atomic_load(&rig.snapshot.results.reuse.stored), 2 * sizeof(memory[0]));
    atomic_store(&rig.snapshot.replaying, true);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1);
    assert_int_equal(atomic_load(&rig.snapshot.results.reuse.stored), 0);
    atomic_store(&rig.snapshot.replaying, false);
}

static void log_input(void)
{
    const uint64_t words[2] = {77, 78};

    assert_int_equal(tic_eventlog_provide(&rig.snapshot.log), 0);
    assert_int_equal(tic_snapshot_append(&rig.snapshot, 0, TIC_LOGGED_INPUT, words, 2, NULL), 0);
}

/* A restart that has no results of the log executes what came after the line in its own order, with
 * its own data: what others had held at first must not bind it. */
static void test_input_without_results_does_not_count(void **state)
{
    (void)state;
    log_input();
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(rig.graph.recovered.input_count, 0);
}

static void test_input_with_results_counts(void **state)
{
    (void)state;
    steal(3, 1, 42, 0);
    log_input();
    assert_true(tic_rig_restart(&rig));
    assert_non_null(found(3));
    assert_int_equal(rig.graph.recovered.input_count, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_result_survives_a_crash),         TEST(test_result_survives_several_crashes),
        TEST(test_later_value_does_not_replace_it), TEST(test_line_that_holds_it_replaces_it),
        TEST(test_unknown_event_makes_it_useless),  TEST(test_damaged_value_is_not_used),
        TEST(test_budget_of_nothing_saves_nothing), TEST(test_result_of_another_past_is_not_used),
        TEST(test_logged_event_makes_it_useful),    TEST(test_much_of_them_brings_a_line),
        TEST(test_much_of_them_asks_once),          TEST(test_input_without_results_does_not_count),
        TEST(test_input_with_results_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
