/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that arrays are sorted, without repetition where asked, and that items are found in them.
 */
#include "base/order.h"

#include "lib/testing.h"

struct item {
    uint64_t number;
    char name;
};

static int by_number(const void *a, const void *b)
{
    return tic_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void test_sorted(void **state)
{
    struct item items[] = {{9, 'c'}, {0, 'a'}, {UINT64_MAX, 'd'}, {4, 'b'}};
    const uint64_t there = 4, missing = 5;
    (void)state;
    tic_sort(items, 4, by_number);
    for (int i = 0; i < 4; i++)
        assert_int_equal(items[i].name, 'a' + i);
    assert_ptr_equal(tic_find(&there, items, 4, by_number), &items[1]);
    assert_null(tic_find(&missing, items, 4, by_number));
    assert_int_equal(tic_first_from(0, items, 4), 0);
    assert_int_equal(tic_first_from(4, items, 4), 1);
    assert_int_equal(tic_first_from(5, items, 4), 2);
    assert_int_equal(tic_first_from(UINT64_MAX, items, 4), 3);
    assert_int_equal(tic_first_from(UINT64_MAX, items, 3), 3);
}

static void test_once(void **state)
{
    uint64_t numbers[] = {5, 2, 5, 5, 1, 2, 7};
    uint64_t same[] = {3, 3, 3};
    (void)state;
    assert_int_equal(tic_sort_once(numbers, 7, by_number), 4);
    assert_memory_equal(numbers, ((uint64_t[]){1, 2, 5, 7}), 4 * sizeof(uint64_t));
    assert_int_equal(tic_sort_once(numbers, 4, by_number), 4);
    assert_memory_equal(numbers, ((uint64_t[]){1, 2, 5, 7}), 4 * sizeof(uint64_t));
    assert_int_equal(tic_sort_once(same, 3, by_number), 1);
    assert_int_equal(same[0], 3);
}

static void test_nothing(void **state)
{
    struct item *none = NULL;
    const uint64_t number = 1;
    (void)state;
    tic_sort(none, 0, by_number);
    assert_int_equal(tic_sort_once(none, 0, by_number), 0);
    assert_null(tic_find(&number, none, 0, by_number));
    assert_int_equal(tic_first_from(number, none, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
