/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a line gets what came up to its cut, in order, and that nothing gets lost or doubled
 * when the front of a tail goes to blocks. */
#include "history/tail.h"

#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"

static struct tic_tail tail;

static void append(uint64_t number, uint64_t epoch)
{
    assert_int_equal(tic_tail_append(&tail, &number, epoch), 0);
}

static void test_only_up_to_the_cut(void **state)
{
    struct tic_line line = {0};
    static const uint64_t expected[] = {10, 11, 13, 15};
    (void)state;
    for (uint64_t i = 0; i < 6; i++)
        append(10 + i, i == 2 || i == 4 ? 5 : 4); /* 12 and 14 come after the cut */
    assert_int_equal(tic_tail_describe(&tail, 4, &line), 0);
    assert_int_equal(line.spawned_count, TIC_COUNT(expected));
    assert_memory_equal(line.spawned, expected, sizeof(expected));
    tic_line_clear(&line);
    tic_tail_drop(&tail, 3);
    assert_int_equal(tic_tail_total(&tail), 6);
    assert_int_equal(tic_tail_describe(&tail, 5, &line), 0);
    assert_int_equal(line.spawned_count, 3);
    assert_int_equal(line.spawned[0], 15);
    assert_int_equal(line.spawned[1], 12);
    assert_int_equal(line.spawned[2], 14);
    tic_line_clear(&line);
}

/* Callbacks come in a restart as a line names them. */
static void test_order_of_later_ones(void **state)
{
    struct tic_line line = {0};
    static const uint64_t expected[] = {12, 10, 11, 13};
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        append(10 + i, i == 2 ? 4 : 5);
    assert_int_equal(tic_tail_describe(&tail, 4, &line), 0);
    assert_int_equal(line.spawned_count, 1);
    tic_line_clear(&line);
    assert_int_equal(tic_tail_describe(&tail, 5, &line), 0);
    assert_int_equal(line.spawned_count, TIC_COUNT(expected));
    assert_memory_equal(line.spawned, expected, sizeof(expected));
    tic_line_clear(&line);
}

/* However they come and go: every entry once, and those of one epoch in their order. */
static void test_nothing_is_lost(void **state)
{
    enum { MANY = 5000 };
    static bool seen[MANY];
    struct tic_random random;
    uint64_t next = 0, found = 0, cut = 0;
    (void)state;
    tic_random_init(&random, 1);
    memset(seen, 0, sizeof(seen));
    while (found < MANY) {
        for (uint64_t n = tic_random_below(&random, 40); n > 0 && next < MANY; n--)
            append(next++, cut + tic_random_below(&random, 3));
        struct tic_line line = {0};
        assert_int_equal(tic_tail_describe(&tail, cut, &line), 0);
        uint64_t drop = tic_random_below(&random, line.spawned_count + 1);
        for (uint64_t i = 0; i < drop; i++) {
            assert_false(seen[line.spawned[i]]);
            seen[line.spawned[i]] = true;
        }
        found += drop;
        tic_tail_drop(&tail, drop);
        assert_int_equal(tic_tail_total(&tail), next);
        tic_line_clear(&line);
        cut++;
    }
}

/* A restart knows what lies in blocks, and keeps the rest. */
static void test_load(void **state)
{
    uint64_t numbers[] = {7, 8, 9, 10, 11};
    struct tic_line_block blocks[] = {{.table = TIC_TABLE_SPAWNED, .count = 2},
                                      {.table = TIC_TABLE_INPUTS, .count = 9},
                                      {.table = TIC_TABLE_SPAWNED, .count = 1}};
    struct tic_line line = {
        .spawned = numbers, .spawned_count = 5, .blocks = blocks, .block_count = 3};
    struct tic_line described = {0};
    (void)state;
    assert_int_equal(tic_tail_load(&tail, &line), 0);
    assert_int_equal(tail.first, 3);
    assert_int_equal(tic_tail_total(&tail), 5);
    assert_int_equal(tic_tail_describe(&tail, 1, &described), 0);
    assert_int_equal(described.spawned_count, 2);
    assert_memory_equal(described.spawned, numbers + 3, 2 * sizeof(uint64_t));
    tic_line_clear(&described);
}

/* A closed tail counts on, and needs no memory for it. */
static void test_close(void **state)
{
    struct tic_line line = {0};
    (void)state;
    append(7, 1);
    append(8, 1);
    tic_tail_close(&tail, tic_tail_total(&tail));
    append(9, 2);
    assert_int_equal(tic_tail_total(&tail), 3);
    assert_int_equal(tic_tail_describe(&tail, 5, &line), 0);
    assert_int_equal(line.spawned_count, 0);
    tic_line_clear(&line);
    tic_tail_close(&tail, tic_tail_total(&tail));
    assert_int_equal(tic_tail_total(&tail), 3);
}

/* A copy stays as it is, with what lies in blocks. */
static void test_copy(void **state)
{
    struct tic_line line = {0};
    struct tic_tail copy;
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        append(10 + i, 9);
    tic_tail_drop(&tail, 1);
    assert_int_equal(tic_tail_copy(&tail, &copy), 0);
    append(99, 9);
    assert_int_equal(tic_tail_total(&copy), 4);
    assert_int_equal(tic_tail_describe(&copy, 0, &line), 0);
    assert_int_equal(line.spawned_count, 3);
    assert_int_equal(line.spawned[0], 11);
    tic_line_clear(&line);
    tic_tail_fini(&copy);
}

static int set_up(void **state)
{
    (void)state;
    tic_tail_init(&tail, TIC_TABLE_SPAWNED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_tail_fini(&tail);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_up_to_the_cut),
        TEST(test_order_of_later_ones),
        TEST(test_nothing_is_lost),
        TEST(test_load),
        TEST(test_close),
        TEST(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
