/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the done-set behaves as an array of flags does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/doneset.h"
#include "lib/random.h"
#include "lib/testing.h"

enum { LIMIT = 3000, ROUNDS = 40 };

/* The model: one flag per sequence number. */
struct model {
    bool done[LIMIT + 200];
    uint64_t count;
};

static uint64_t model_end(const struct model *model)
{
    for (uint64_t i = TIC_COUNT(model->done); i-- > 0;)
        if (model->done[i])
            return i + 1;
    return 0;
}

static void check_ranges(const struct tic_doneset *set, const struct model *model)
{
    struct tic_range *ranges;
    size_t count, at = 0;

    assert_int_equal(tic_doneset_ranges(set, &ranges, &count), 0);
    for (uint64_t i = 0; i < TIC_COUNT(model->done); i++) {
        bool starts = model->done[i] && (i == 0 || !model->done[i - 1]);
        bool ends = model->done[i] && !(i + 1 < TIC_COUNT(model->done) && model->done[i + 1]);
        if (starts) {
            assert_true(at < count);
            assert_int_equal(ranges[at].first, i);
        }
        if (ends)
            assert_int_equal(ranges[at++].last, i);
    }
    assert_int_equal(at, count);
    free(ranges);
}

static void check_all(const struct tic_doneset *set, const struct model *model)
{
    for (uint64_t i = 0; i < TIC_COUNT(model->done); i++)
        assert_int_equal(tic_doneset_contains(set, i), model->done[i]);
    assert_int_equal(set->count, model->count);
    assert_int_equal(tic_doneset_end(set), model_end(model));
    check_ranges(set, model);
}

static void add(struct tic_doneset *set, struct model *model, uint64_t sequence)
{
    bool known = model->done[sequence];
    assert_int_equal(tic_doneset_add(set, sequence), known ? -EEXIST : 0);
    model->done[sequence] = true;
    model->count += !known;
}

/* Builds a second set from the ranges of the first. */
static void check_round_trip(const struct tic_doneset *set, const struct model *model)
{
    struct tic_doneset again;
    struct tic_range *ranges;
    size_t count;

    tic_doneset_init(&again);
    assert_int_equal(tic_doneset_ranges(set, &ranges, &count), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tic_doneset_add_range(&again, ranges[i]), 0);
    check_all(&again, model);
    tic_doneset_fini(&again);
    free(ranges);
}

static void test_empty(void **state)
{
    struct tic_doneset set;
    struct model model = {0};
    (void)state;
    tic_doneset_init(&set);
    check_all(&set, &model);
    check_round_trip(&set, &model);
    tic_doneset_fini(&set);
}

/* Adds in an order that is nearly ascending, as tasks end. */
static void test_random_near_order(void **state)
{
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct tic_doneset set;
        struct model model = {0};
        uint64_t window = 1 + tic_random_below(&random, 300);
        tic_doneset_init(&set);
        for (uint64_t at = 0; at + window < LIMIT; at += tic_random_below(&random, 3))
            add(&set, &model, at + tic_random_below(&random, window));
        check_all(&set, &model);
        check_round_trip(&set, &model);
        tic_doneset_fini(&set);
    }
}

static void test_random_any_order(void **state)
{
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 2);
    for (int round = 0; round < ROUNDS; round++) {
        struct tic_doneset set;
        struct model model = {0};
        uint64_t limit = 1 + tic_random_below(&random, LIMIT);
        tic_doneset_init(&set);
        for (int i = 0; i < 4000; i++)
            add(&set, &model, tic_random_below(&random, limit));
        check_all(&set, &model);
        check_round_trip(&set, &model);
        tic_doneset_fini(&set);
    }
}

static void test_descending_order(void **state)
{
    struct tic_doneset set;
    struct model model = {0};
    (void)state;
    tic_doneset_init(&set);
    for (uint64_t i = LIMIT; i-- > 0;)
        add(&set, &model, i);
    check_all(&set, &model);
    assert_int_equal(set.base, LIMIT / 64 * 64);
    tic_doneset_fini(&set);
}

/* A prefix takes no bitmap, whatever its length modulo 64. */
static void test_prefix_range(void **state)
{
    (void)state;
    for (uint64_t last = 0; last < 200; last++) {
        struct tic_doneset set;
        struct model model = {0};
        tic_doneset_init(&set);
        assert_int_equal(tic_doneset_add_range(&set, (struct tic_range){0, last}), 0);
        memset(model.done, true, last + 1);
        model.count = last + 1;
        check_all(&set, &model);
        add(&set, &model, last + 1);
        add(&set, &model, last + 70);
        check_all(&set, &model);
        check_round_trip(&set, &model);
        tic_doneset_fini(&set);
    }
}

static void test_huge_prefix(void **state)
{
    struct tic_doneset set;
    struct tic_range *ranges;
    size_t count;
    (void)state;
    tic_doneset_init(&set);
    assert_int_equal(tic_doneset_add_range(&set, (struct tic_range){0, 2000000000}), 0);
    assert_int_equal(set.count, 2000000001);
    assert_int_equal(tic_doneset_end(&set), 2000000001);
    assert_true(tic_doneset_contains(&set, 2000000000));
    assert_false(tic_doneset_contains(&set, 2000000001));
    assert_int_equal(tic_doneset_ranges(&set, &ranges, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ranges[0].last, 2000000000);
    free(ranges);
    tic_doneset_fini(&set);
}

static void test_overlapping_range_is_refused(void **state)
{
    struct tic_doneset set;
    (void)state;
    tic_doneset_init(&set);
    assert_int_equal(tic_doneset_add_range(&set, (struct tic_range){5, 9}), 0);
    assert_int_equal(tic_doneset_add_range(&set, (struct tic_range){9, 12}), -EEXIST);
    assert_int_equal(tic_doneset_add_range(&set, (struct tic_range){0, 4}), 0);
    assert_int_equal(tic_doneset_end(&set), 10);
    tic_doneset_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_random_near_order),
        cmocka_unit_test(test_random_any_order),
        cmocka_unit_test(test_descending_order),
        cmocka_unit_test(test_prefix_range),
        cmocka_unit_test(test_huge_prefix),
        cmocka_unit_test(test_overlapping_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
