/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that arrays grow, at their end and between items. */
#include "base/grow.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/testing.h"

static void test_append(void **state)
{
    int *items = NULL;
    unsigned long count = 0, capacity = 0;
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(tic_append(items, count, capacity, &i), 0);
    assert_int_equal(count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(items[i], i);
    free(items);
}

static void test_insert(void **state)
{
    int *items = NULL;
    unsigned long count = 0, capacity = 0;
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(tic_insert(items, count, capacity, (unsigned long)i / 2, &i), 0);
    assert_int_equal(count, 100);
    for (int i = 0; i < 50; i++) /* 1 3 5 ... 99 98 ... 2 0 */
        assert_int_equal(items[i] + items[99 - i], 4 * i + 1);
    free(items);
}

static void test_reserve(void **state)
{
    int *items = NULL;
    unsigned long capacity = 0;
    (void)state;
    assert_int_equal(tic_reserve(items, capacity, 0), 0);
    assert_null(items);
    assert_int_equal(tic_reserve(items, capacity, 17), 0);
    assert_true(capacity >= 17);
    items[16] = 5;
    assert_int_equal(tic_reserve(items, capacity, 3), 0);
    assert_int_equal(items[16], 5);
    assert_int_equal(tic_reserve(items, capacity, LONG_MAX / 4), -ENOMEM);
    assert_int_equal(items[16], 5); /* what there is stays */
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_insert),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
