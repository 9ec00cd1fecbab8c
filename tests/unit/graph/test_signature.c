/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a replay that submits the same passes, and that one that differs is caught at the
 * first submission that differs. */
#include <errno.h>
#include <stdlib.h>

#include "graph/signature.h"
#include "lib/random.h"
#include "lib/testing.h"

enum { SMALL = 300 };

static void record(struct tic_signature *signature, const uint64_t *contents, size_t count)
{
    assert_int_equal(tic_signature_init(signature), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tic_signature_submit(signature, contents[i], 0), 0);
    assert_int_equal(tic_signature_count(signature), count);
    assert_int_equal(signature->position, count);
}

/* A fresh signature that knows the first `count` entries of `recorded`. */
static void load(struct tic_signature *signature, const struct tic_signature *recorded,
                 uint64_t count)
{
    assert_int_equal(tic_signature_init(signature), 0);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(tic_signature_load(signature, tic_signature_entry(recorded, i)), 0);
}

static void fill(uint64_t *contents, size_t count, uint64_t stream)
{
    struct tic_random random;
    tic_random_init(&random, stream);
    tic_random_fill(&random, contents, count * sizeof(*contents));
}

static void test_same_replay_passes(void **state)
{
    uint64_t contents[SMALL];
    struct tic_signature recorded, replay;
    (void)state;
    fill(contents, SMALL, 1);
    record(&recorded, contents, SMALL);
    load(&replay, &recorded, SMALL / 2); /* the second half is new again */
    for (size_t i = 0; i < SMALL; i++) {
        assert_int_equal(tic_signature_submit(&replay, contents[i], 0), 0);
        assert_int_equal(tic_signature_entry(&replay, i), tic_signature_entry(&recorded, i));
    }
    assert_int_equal(tic_signature_count(&replay), SMALL);
    tic_signature_fini(&recorded);
    tic_signature_fini(&replay);
}

static void expect_caught_at(const struct tic_signature *recorded, uint64_t *contents, size_t k)
{
    struct tic_signature replay;

    load(&replay, recorded, SMALL);
    contents[k] ^= UINT64_C(1) << k % 64;
    for (size_t i = 0; i < k; i++)
        assert_int_equal(tic_signature_submit(&replay, contents[i], 0), 0);
    assert_int_equal(tic_signature_submit(&replay, contents[k], 0), -EILSEQ);
    assert_int_equal(replay.position, k);
    contents[k] ^= UINT64_C(1) << k % 64;
    tic_signature_fini(&replay);
}

static void test_difference_is_caught_where_it_is(void **state)
{
    uint64_t contents[SMALL];
    struct tic_signature recorded;
    (void)state;
    fill(contents, SMALL, 2);
    record(&recorded, contents, SMALL);
    for (size_t k = 0; k < SMALL; k++)
        expect_caught_at(&recorded, contents, k);
    tic_signature_fini(&recorded);
}

/* They are known of each submission for itself; 0: not known, which is known, too. */
static void test_other_arguments_are_told_apart(void **state)
{
    struct tic_signature recorded, replay;
    (void)state;
    assert_int_equal(tic_signature_init(&recorded), 0);
    for (uint64_t i = 0; i < SMALL; i++)
        assert_int_equal(tic_signature_submit(&recorded, 7, i % 5), 0);
    load(&replay, &recorded, SMALL);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(tic_signature_submit(&replay, 7, i), 0);
    assert_int_equal(tic_signature_submit(&replay, 7, 4), -EINVAL);
    assert_int_equal(replay.position, 3);
    tic_signature_fini(&replay);
    load(&replay, &recorded, SMALL);
    replay.ignores = true;
    for (uint64_t i = 0; i < SMALL - 1; i++)
        assert_int_equal(tic_signature_submit(&replay, 7, 0), 0);
    assert_int_equal(tic_signature_submit(&replay, 8, 4), -EILSEQ);
    tic_signature_fini(&replay);
    tic_signature_fini(&recorded);
}

/* A store of before: its entries tell of no arguments. */
static void test_arguments_of_before_are_not_compared(void **state)
{
    struct tic_signature recorded, replay;
    (void)state;
    assert_int_equal(tic_signature_init(&recorded), 0);
    recorded.compares = false;
    for (uint64_t i = 0; i < SMALL; i++)
        assert_int_equal(tic_signature_submit(&recorded, i, i), 0);
    load(&replay, &recorded, SMALL);
    replay.compares = false;
    for (uint64_t i = 0; i < SMALL; i++)
        assert_int_equal(tic_signature_submit(&replay, i, 0), 0);
    assert_int_equal(tic_signature_submit(&replay, SMALL, 1), 0);
    tic_signature_fini(&replay);
    tic_signature_fini(&recorded);
}

static void test_swap_is_caught(void **state)
{
    uint64_t contents[SMALL];
    struct tic_signature recorded, replay;
    (void)state;
    fill(contents, SMALL, 3);
    record(&recorded, contents, SMALL);
    load(&replay, &recorded, SMALL);
    assert_int_equal(tic_signature_submit(&replay, contents[1], 0), -EILSEQ);
    tic_signature_fini(&recorded);
    tic_signature_fini(&replay);
}

/* Blocks of 65536: the entry before, at and after the border, recorded and replayed. */
static void test_block_border(void **state)
{
    const size_t count = 2 * TIC_SIGNATURE_BLOCK + 3;
    uint64_t *contents = malloc(count * sizeof(*contents));
    struct tic_signature recorded, replay;
    (void)state;
    fill(contents, count, 4);
    record(&recorded, contents, count);
    load(&replay, &recorded, TIC_SIGNATURE_BLOCK);
    for (size_t i = 0; i < count; i++)
        if (tic_signature_submit(&replay, contents[i], 0) != 0 ||
            tic_signature_entry(&replay, i) != tic_signature_entry(&recorded, i))
            fail_msg("entry %zu differs", i);
    tic_signature_fini(&replay);
    load(&replay, &recorded, count);
    for (size_t i = 0; i < TIC_SIGNATURE_BLOCK; i++)
        if (tic_signature_submit(&replay, contents[i], 0) != 0)
            fail_msg("entry %zu differs", i);
    contents[TIC_SIGNATURE_BLOCK]++;
    assert_int_equal(tic_signature_submit(&replay, contents[TIC_SIGNATURE_BLOCK], 0), -EILSEQ);
    tic_signature_fini(&replay);
    tic_signature_fini(&recorded);
    free(contents);
}

/* Numbers and the signature go on behind what is forgotten, also in a restart, which begins there.
 */
static void test_forget(void **state)
{
    const size_t count = TIC_SIGNATURE_BLOCK + 10;
    uint64_t *contents = malloc(count * sizeof(*contents));
    struct tic_signature whole, restart;
    (void)state;
    fill(contents, count, 5);
    record(&whole, contents, count);
    const uint64_t rolling = whole.rolling;
    tic_signature_forget(&whole, whole.position, whole.rolling);
    assert_int_equal(tic_signature_init(&restart), 0);
    assert_int_equal(tic_signature_submit(&restart, contents[0], 0), 0);
    tic_signature_forget(&restart, count, rolling);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tic_signature_submit(&whole, contents[i], 1), 0);
        assert_int_equal(tic_signature_submit(&restart, contents[i], 1), 0);
        assert_int_equal(tic_signature_entry(&whole, count + i),
                         tic_signature_entry(&restart, count + i));
    }
    assert_int_equal(whole.position, 2 * count);
    assert_int_equal(tic_signature_count(&restart), 2 * count);
    tic_signature_fini(&restart);
    tic_signature_fini(&whole);
    free(contents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_replay_passes),
        cmocka_unit_test(test_difference_is_caught_where_it_is),
        cmocka_unit_test(test_other_arguments_are_told_apart),
        cmocka_unit_test(test_arguments_of_before_are_not_compared),
        cmocka_unit_test(test_swap_is_caught),
        cmocka_unit_test(test_block_border),
        cmocka_unit_test(test_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
