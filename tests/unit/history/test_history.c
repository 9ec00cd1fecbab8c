/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that tables which are no projection of the history are found, and that a restart appends
 * nothing that the recovered history has. */
#include "history/history.h"

#include "lib/testing.h"

static struct tic_history history;

static struct tic_line_entry entry(uint32_t kind, uint32_t role, uint64_t actor, uint64_t subject)
{
    return (struct tic_line_entry){.kind = kind, .role = role, .actor = actor, .subject = subject};
}

/* main() looks, reads data 3, and merges data 1; callback 7 and kernel 9 run, and the kernel reads.
 */
static struct tic_line_entry entries[] = {
    {.kind = TIC_HISTORY_BEGIN, .role = TIC_HISTORY_KERNEL, .actor = 8},
    {.kind = TIC_HISTORY_BEGIN, .role = TIC_HISTORY_CALLBACK, .actor = 7},
    {.kind = TIC_HISTORY_END, .role = TIC_HISTORY_CALLBACK, .actor = 7},
    {.kind = TIC_HISTORY_BEGIN, .role = TIC_HISTORY_KERNEL, .actor = 9},
    {.kind = TIC_HISTORY_VALUE, .role = TIC_HISTORY_KERNEL, .actor = 9, .subject = 3, .part = 1},
    {.kind = TIC_HISTORY_RETURN, .position = 5},
    {.kind = TIC_HISTORY_BYTES, .actor = 1, .subject = 2},
    {.kind = TIC_HISTORY_VALUE, .subject = 3, .position = 6},
    {.kind = TIC_HISTORY_RELEASE, .subject = 3, .position = 6},
    {.kind = TIC_HISTORY_END, .role = TIC_HISTORY_KERNEL, .actor = 9},
    {.kind = TIC_HISTORY_MERGE, .subject = 1, .position = 7},
    {.kind = TIC_HISTORY_INPUT, .subject = 4},
};
static struct tic_line_read reads[] = {{.task = 9, .buffer = 1}};
static struct tic_line_look looks[] = {{.wait = 9, .id = TIC_LOOK_ARGUMENTS, .bytes = 8},
                                       {.wait = 1, .id = 2, .bytes = 48},
                                       {.wait = 1, .id = 2, .part = 1, .bytes = 48}};
static struct tic_line_acquire acquires[] = {{.id = 3},
                                             {.id = 1, .writes = TIC_ACQUIRE_UNPARTITION}};
static struct tic_line_input inputs[] = {{.id = 4}};

static struct tic_line make_line(void)
{
    return (struct tic_line){
        .history = entries,
        .history_count = TIC_COUNT(entries),
        .reads = reads,
        .read_count = TIC_COUNT(reads),
        .looks = looks,
        .look_count = TIC_COUNT(looks),
        .acquires = acquires,
        .acquire_count = TIC_COUNT(acquires),
        .inputs = inputs,
        .input_count = TIC_COUNT(inputs),
        .clock = 1,
    };
}

static void test_projections(void **state)
{
    struct tic_line line = make_line();
    (void)state;

    assert_null(tic_history_find_difference(&line, true));
    line.history_count = 8; /* entries of a part of the run: a later one has them all */
    line.input_count = 0;
    line.acquire_count = 1;
    assert_null(tic_history_find_difference(&line, true));
}

/* The rows of the tail of a complete line are in blocks, or there. */
static void test_rows_in_blocks(void **state)
{
    struct tic_line line = make_line();
    (void)state;

    line.read_count = 0;
    line.acquire_count = 1;
    line.acquires = &acquires[1];
    assert_null(tic_history_find_difference(&line, false));
    assert_string_equal(tic_history_find_difference(&line, true), "/acquires");
    line.acquire_count = 2;
    line.acquires = acquires;
    assert_string_equal(tic_history_find_difference(&line, true), "/reads");
}

/* A store of before has tables without a history, and a run of today goes on with both. */
static void test_tables_may_begin_before(void **state)
{
    struct tic_line line = make_line();
    struct tic_line_read more[] = {{.task = 2}, {.task = 9, .buffer = 1}};
    (void)state;

    line.reads = more;
    line.read_count = TIC_COUNT(more);
    assert_null(tic_history_find_difference(&line, true));
    line.history_count = 0;
    assert_null(tic_history_find_difference(&line, true));
}

/* Each field that a projection says, one after the other. */
static void test_differences(void **state)
{
    static const struct {
        size_t entry;
        const char *table;
    } cases[] = {{6, "/looks"}, {7, "/acquires"}, {10, "/acquires"}, {11, "/inputs"}};
    static const struct {
        size_t entry;
        const char *table;
    } actors[] = {{4, "/reads"}, {6, "/looks"}};
    struct tic_line line = make_line();
    (void)state;

    for (size_t i = 0; i < TIC_COUNT(cases); i++) {
        entries[cases[i].entry].subject++;
        assert_string_equal(tic_history_find_difference(&line, true), cases[i].table);
        entries[cases[i].entry].subject--;
    }
    for (size_t i = 0; i < TIC_COUNT(actors); i++) {
        entries[actors[i].entry].actor++;
        assert_string_equal(tic_history_find_difference(&line, true), actors[i].table);
        entries[actors[i].entry].actor--;
    }
    entries[4].part++;
    assert_string_equal(tic_history_find_difference(&line, true), "/reads");
    entries[4].part--;
    entries[10].kind = TIC_HISTORY_VALUE;
    assert_string_equal(tic_history_find_difference(&line, true), "/acquires");
    entries[10].kind = TIC_HISTORY_MERGE;
    assert_null(tic_history_find_difference(&line, true));
}

static uint64_t appended(struct tic_line_entry entry, uint64_t position)
{
    const uint64_t before = tic_tail_total(&history.tail);

    entry.position = position;
    assert_int_equal(tic_history_append(&history, &entry, 0), 0);
    return tic_tail_total(&history.tail) - before;
}

static void test_a_restart_appends_what_is_new(void **state)
{
    struct tic_line line = make_line();
    (void)state;

    tic_history_init(&history);
    assert_int_equal(tic_history_load(&history, &line), 0);
    assert_int_equal(tic_tail_total(&history.tail), TIC_COUNT(entries));
    assert_true(tic_history_has_begun(&history, TIC_HISTORY_KERNEL, 8));
    assert_true(tic_history_has_begun(&history, TIC_HISTORY_KERNEL, 9));
    assert_false(tic_history_has_begun(&history, TIC_HISTORY_CALLBACK, 8));
    assert_true(tic_history_has_begun(&history, TIC_HISTORY_CALLBACK, 7));
    for (uint32_t kind = TIC_HISTORY_BEGIN; kind <= TIC_HISTORY_CALLED; kind++)
        if (kind == TIC_HISTORY_BEGIN || kind == TIC_HISTORY_END || kind == TIC_HISTORY_CALL ||
            kind == TIC_HISTORY_CALLED) {
            const bool begins = kind == TIC_HISTORY_BEGIN; /* 8 was running */
            assert_int_equal(appended(entry(kind, TIC_HISTORY_KERNEL, 8, 0), 7), !begins);
            assert_int_equal(appended(entry(kind, TIC_HISTORY_KERNEL, 9, 0), 7), 0);
            assert_int_equal(appended(entry(kind, TIC_HISTORY_CALLBACK, 8, 0), 7), 1);
            assert_int_equal(appended(entry(kind, TIC_HISTORY_CALLBACK, 7, 0), 7), 0);
        }
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), 5), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), 6), 1);
    assert_int_equal(appended(entry(TIC_HISTORY_RELEASE, TIC_HISTORY_MAIN, 0, 3), 6), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_RELEASE, TIC_HISTORY_MAIN, 0, 3), 8), 1);
    assert_int_equal(appended(entry(TIC_HISTORY_VALUE, TIC_HISTORY_MAIN, 0, 3), 6), 1);
    tic_history_fini(&history);
}

/* What main() had done by the cut of a line without a history is not told afterwards, but who
 * begins, and in which operation. */
static void test_of_a_line_without(void **state)
{
    struct tic_line line = {.clock = 2, .waits = 3, .file.without_history = 1};
    const uint64_t cut = UINT64_C(2) << TIC_WAIT_BITS | 3;
    (void)state;

    tic_history_init(&history);
    assert_int_equal(tic_history_load(&history, &line), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), cut), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), cut + 1), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, 7, 0), cut + 1), 1);
    assert_int_equal(appended(entry(TIC_HISTORY_END, TIC_HISTORY_CALLBACK, 7, 0), cut + 2), 0);
    assert_int_equal(((struct tic_line_entry *)(void *)history.tail.items)->position,
                     UINT64_C(2) << TIC_WAIT_BITS);
    tic_history_fini(&history);
}

/* Nobody had observed anything by the cut, but data had been registered. */
static void test_of_a_line_with_inputs(void **state)
{
    struct tic_line_input input = {.id = 1};
    struct tic_line line = {.inputs = &input, .input_count = 1};
    (void)state;

    tic_history_init(&history);
    assert_int_equal(tic_history_load(&history, &line), 0);
    assert_false(history.absent);
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), 1), 1);
    tic_history_fini(&history);
}

/* Nobody had observed anything by the cut: main() had not come back from the wait in which it was.
 */
static void test_of_an_empty_one(void **state)
{
    struct tic_line line = {.clock = 2, .waits = 3};
    const uint64_t cut = UINT64_C(2) << TIC_WAIT_BITS | 3;
    (void)state;

    tic_history_init(&history);
    assert_int_equal(tic_history_load(&history, &line), 0);
    assert_int_equal(appended(entry(TIC_HISTORY_RETURN, TIC_HISTORY_MAIN, 0, 0), cut), 1);
    tic_history_fini(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_projections),
        cmocka_unit_test(test_tables_may_begin_before),
        cmocka_unit_test(test_rows_in_blocks),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_a_restart_appends_what_is_new),
        cmocka_unit_test(test_of_a_line_without),
        cmocka_unit_test(test_of_a_line_with_inputs),
        cmocka_unit_test(test_of_an_empty_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
