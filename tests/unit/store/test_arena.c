/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the arena never gives the same memory twice, gives it again once it is free, and lets
 * the system have what was not needed. */
#include "store/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/random.h"
#include "lib/testing.h"

enum { MIB = 1 << 20, PLACES = 64, STEPS = 20000 };

static struct tic_arena arena;

static int teardown(void **state)
{
    (void)state;
    tic_arena_fini(&arena);
    return 0;
}

/* Pages of this range that have memory. */
static size_t count_resident(const char *begin, size_t size)
{
    unsigned char *pages = malloc(size / 4096);
    size_t count = 0;

    assert_int_equal(mincore((void *)begin, size, pages), 0);
    for (size_t i = 0; i < size / 4096; i++)
        count += pages[i] & 1;
    free(pages);
    return count;
}

static void test_small_and_too_large_are_not_here(void **state)
{
    (void)state;
    assert_null(tic_arena_take(&arena, TIC_ARENA_LEAST - 1));
    assert_null(tic_arena_take(&arena, 0));
    assert_null(tic_arena_take(&arena, TIC_ARENA_SIZE + 1));
    assert_null(arena.base);
    assert_false(tic_arena_give(&arena, (char *)&arena, MIB));
}

static void test_lowest_is_first(void **state)
{
    (void)state;
    char *a = tic_arena_take(&arena, MIB), *b = tic_arena_take(&arena, MIB),
         *c = tic_arena_take(&arena, MIB);
    assert_true(a && b == a + MIB && c == b + MIB);
    assert_true(tic_arena_give(&arena, b, MIB));
    assert_ptr_equal(tic_arena_take(&arena, 2 * MIB), c + MIB);
    assert_ptr_equal(tic_arena_take(&arena, MIB / 2), b);
    assert_ptr_equal(tic_arena_take(&arena, MIB / 2), b + MIB / 2);
    assert_false(tic_arena_give(&arena, (char *)&arena, MIB));
}

static void test_whole_arena_and_no_more(void **state)
{
    (void)state;
    char *all = tic_arena_take(&arena, TIC_ARENA_SIZE);
    assert_non_null(all);
    all[0] = all[TIC_ARENA_SIZE - 1] = 1;
    assert_null(tic_arena_take(&arena, TIC_ARENA_LEAST));
    assert_true(tic_arena_give(&arena, all, TIC_ARENA_SIZE));
    assert_ptr_equal(tic_arena_take(&arena, TIC_ARENA_LEAST), all);
}

struct place {
    char *bytes;
    uint64_t size;
    char mark;
};

static void check(const struct place *place)
{
    assert_int_equal(place->bytes[0], place->mark);
    assert_int_equal(place->bytes[place->size - 1], place->mark);
}

static void test_nobody_gets_what_another_has(void **state)
{
    struct place places[PLACES] = {0};
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    for (unsigned step = 0; step < STEPS; step++) {
        struct place *place = &places[tic_random_next(&random) % PLACES];
        if (place->bytes) {
            check(place);
            assert_true(tic_arena_give(&arena, place->bytes, place->size));
            place->bytes = NULL;
        } else {
            place->size = TIC_ARENA_LEAST + tic_random_next(&random) % (8 * MIB);
            place->bytes = tic_arena_take(&arena, place->size);
            place->mark = (char)step;
            if (place->bytes)
                place->bytes[0] = place->bytes[place->size - 1] = place->mark;
        }
        if (step % 50 == 0)
            tic_arena_trim(&arena);
    }
    for (unsigned i = 0; i < PLACES; i++)
        if (places[i].bytes)
            check(&places[i]);
}

static void test_memory_that_is_not_needed_goes_back(void **state)
{
    (void)state;
    char *low = tic_arena_take(&arena, 4 * MIB), *high = tic_arena_take(&arena, 16 * MIB);
    memset(low, 1, 4 * MIB);
    memset(high, 1, 16 * MIB);
    tic_arena_trim(&arena);
    assert_true(tic_arena_give(&arena, high, 16 * MIB));
    tic_arena_trim(&arena);
    tic_arena_trim(&arena);
    assert_int_equal(count_resident(high, 16 * MIB), 16 * MIB / 4096);
    tic_arena_trim(&arena);
    assert_int_equal(count_resident(high, 16 * MIB), 0);
    assert_int_equal(low[4 * MIB - 1], 1);
    assert_ptr_equal(tic_arena_take(&arena, MIB), high);
    high[0] = 1;
}

static void test_without_address_space(void **state)
{
    struct rlimit limit, none;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    none = limit;
    none.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    char *bytes = tic_arena_take(&arena, MIB);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_null(bytes);
    assert_null(tic_arena_take(&arena, MIB)); /* nor does it try again */
}

#define TEST(function) cmocka_unit_test_teardown(function, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_small_and_too_large_are_not_here),
        TEST(test_lowest_is_first),
        TEST(test_whole_arena_and_no_more),
        TEST(test_nobody_gets_what_another_has),
        TEST(test_memory_that_is_not_needed_goes_back),
        TEST(test_without_address_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
