/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the histories that are made of the tables of lines without one. */
#include "history/history.h"

#include <stdlib.h>

#include "lib/testing.h"

#define SPAWNED (UINT64_C(1) << 63)
#define PROLOGUE (UINT64_C(1) << 61)

static void expect(const struct tic_line_entry *entry, enum tic_history_kind kind,
                   enum tic_history_role role, uint64_t actor, uint64_t position)
{
    assert_int_equal(entry->kind, kind);
    assert_int_equal(entry->role, role);
    assert_int_equal(entry->actor, actor);
    assert_int_equal(entry->position, position);
}

static void make(struct tic_line *line, struct tic_line_entry **entries, size_t *count)
{
    assert_int_equal(tic_line_adopt_begun(line), 0);
    assert_int_equal(tic_history_make(line, entries, count), 0);
    struct tic_line_entry *again;
    size_t again_count;
    assert_int_equal(tic_line_adopt_begun(line), 0); /* as in a line that the run writes then */
    assert_int_equal(tic_history_make(line, &again, &again_count), 0);
    assert_int_equal(again_count, *count);
    assert_memory_equal(again, *entries, *count * sizeof(*again));
    free(again);
    free(line->history);
}

/* Those that may look at data end before the next one begins. */
static void test_callbacks_in_their_order(void **state)
{
    struct tic_line_callback callbacks[] = {{7, 2}, {3 | PROLOGUE, 2}, {4, 5}, {7, 6}, {9, 6}};
    struct tic_line_read reads[] = {{.task = 4}};
    struct tic_line_look looks[] = {{.wait = 9 | TIC_LOOK_CALLBACK}};
    struct tic_line line = {.verified = 1,
                            .clock = 6,
                            .file.without_history = 1,
                            .callbacks = callbacks,
                            .callback_count = TIC_COUNT(callbacks),
                            .reads = reads,
                            .read_count = 1,
                            .looks = looks,
                            .look_count = 1};
    struct tic_line_entry *entries;
    size_t count;
    (void)state;

    make(&line, &entries, &count);
    assert_int_equal(count, 7);
    expect(&entries[0], TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, 7, 2 << TIC_WAIT_BITS);
    expect(&entries[1], TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, 3 | PROLOGUE, 2 << TIC_WAIT_BITS);
    expect(&entries[2], TIC_HISTORY_END, TIC_HISTORY_CALLBACK, 3 | PROLOGUE, 2 << TIC_WAIT_BITS);
    expect(&entries[3], TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, 4, 5 << TIC_WAIT_BITS);
    expect(&entries[4], TIC_HISTORY_END, TIC_HISTORY_CALLBACK, 4, 5 << TIC_WAIT_BITS);
    expect(&entries[5], TIC_HISTORY_BEGIN, TIC_HISTORY_CALLBACK, 9, 6 << TIC_WAIT_BITS);
    expect(&entries[6], TIC_HISTORY_END, TIC_HISTORY_CALLBACK, 9, 6 << TIC_WAIT_BITS);
    assert_int_equal(entries[0].part, TIC_HISTORY_NESTED);
    free(entries);
}

static void test_kernels_at_the_end(void **state)
{
    struct tic_line_callback callbacks[] = {{7, 2}};
    uint64_t ran[] = {5, 2, 5};
    struct tic_line line = {.verified = 1,
                            .clock = 6,
                            .file.without_history = 1,
                            .waits = 1,
                            .callbacks = callbacks,
                            .callback_count = 1,
                            .ran = ran,
                            .ran_count = 3};
    const uint64_t cut = 6 << TIC_WAIT_BITS | 1;
    struct tic_line_entry *entries;
    size_t count;
    (void)state;

    make(&line, &entries, &count);
    assert_int_equal(count, 5);
    expect(&entries[1], TIC_HISTORY_BEGIN, TIC_HISTORY_KERNEL, 2, cut);
    expect(&entries[2], TIC_HISTORY_BEGIN, TIC_HISTORY_KERNEL, 5, cut);
    expect(&entries[3], TIC_HISTORY_END, TIC_HISTORY_KERNEL, 2, cut);
    expect(&entries[4], TIC_HISTORY_END, TIC_HISTORY_KERNEL, 5, cut);
    free(entries);
}

/* Tasks of kernels are in the table, too, and are not submitted again. */
static void test_who_may_not_come(void **state)
{
    struct tic_line_callback callbacks[] = {{SPAWNED | 1, 2}, {SPAWNED | 2, 2}, {SPAWNED | 3, 2}};
    uint64_t spawned[] = {SPAWNED | 2};
    struct tic_line_read reads[] = {{.task = SPAWNED | 3}};
    struct tic_line line = {.verified = 1,
                            .clock = 6,
                            .file.without_history = 1,
                            .callbacks = callbacks,
                            .callback_count = 3,
                            .reads = reads,
                            .read_count = 1,
                            .spawned = spawned,
                            .spawned_count = 1};
    struct tic_line_entry *entries;
    size_t count;
    (void)state;

    make(&line, &entries, &count);
    assert_int_equal(count, 4);
    assert_int_equal(entries[0].part, TIC_HISTORY_NESTED | TIC_HISTORY_OPTIONAL);
    assert_int_equal(entries[1].part, TIC_HISTORY_NESTED);
    assert_int_equal(entries[2].part, TIC_HISTORY_NESTED);
    free(entries);
}

/* Lines of formats up to 7.2 have a history beside the tables. */
static void test_of_a_line_with_both(void **state)
{
    struct tic_line_callback callbacks[] = {{7, 2}};
    uint64_t ran[] = {5};
    struct tic_line line = {.verified = 1,
                            .clock = 6,
                            .history = calloc(1, sizeof(*line.history)),
                            .history_count = 1,
                            .callbacks = callbacks,
                            .callback_count = 1,
                            .ran = ran,
                            .ran_count = 1};
    (void)state;

    line.history->actor = 3;
    assert_int_equal(tic_line_adopt_begun(&line), 0);
    assert_int_equal(line.history_count, 1);
    assert_int_equal(line.history->actor, 3);
    free(line.history);
}

/* Of lines that do not say where main() was, /callbacks has later ones, too. */
static void test_later_ones_are_not_adopted(void **state)
{
    struct tic_line_callback callbacks[] = {{7, 2}};
    struct tic_line line = {
        .clock = 6, .file.without_history = 1, .callbacks = callbacks, .callback_count = 1};
    (void)state;

    assert_int_equal(tic_line_adopt_begun(&line), 0);
    assert_int_equal(line.history_count, 0);
    free(line.history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callbacks_in_their_order),
        cmocka_unit_test(test_kernels_at_the_end),
        cmocka_unit_test(test_who_may_not_come),
        cmocka_unit_test(test_of_a_line_with_both),
        cmocka_unit_test(test_later_ones_are_not_adopted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
