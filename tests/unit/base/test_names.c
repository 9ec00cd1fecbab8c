/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that each datum has the name that it got last, and others none. */
#include "base/names.h"

#include <errno.h>
#include <string.h>

#include "lib/testing.h"

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(tic_name_of(3), "");
    assert_int_equal(tic_names_set(7, "b"), 0);
    assert_int_equal(tic_names_set(3, "a"), 0);
    assert_int_equal(tic_names_set(9, "c"), 0);
    const char *first = tic_name_of(3);
    assert_string_equal(first, " \"a\"");
    assert_int_equal(tic_names_set(3, "other"), 0);
    assert_string_equal(first, " \"a\""); /* a message may be under way */
    assert_string_equal(tic_name_of(3), " \"other\"");
    assert_string_equal(tic_name_of(7), " \"b\"");
    assert_string_equal(tic_name_of(8), "");
    assert_string_equal(tic_name_plain(7), "b");
    assert_null(tic_name_plain(8));
}

/* A character that does not fit is left out as a whole. */
static void test_long(void **state)
{
    char name[101];
    (void)state;
    memset(name, 'x', sizeof(name));
    memcpy(name + 63, "\xe2\x82\xac", 3); /* the euro sign */
    name[100] = '\0';
    assert_int_equal(tic_names_set(50, name), 0);
    assert_int_equal(strlen(tic_name_plain(50)), 63);
    memset(name + 63, 'x', 3);
    memcpy(name + 61, "\xe2\x82\xac", 3);
    assert_int_equal(tic_names_set(50, name), 0);
    assert_int_equal(strlen(tic_name_plain(50)), 64);
}

static void test_many(void **state)
{
    (void)state;
    for (uint64_t id = 100; id < 100 + 65536 - 4; id++)
        assert_int_equal(tic_names_set(id, "x"), 0);
    assert_int_equal(tic_names_set(1, "y"), -ENOSPC);
    assert_int_equal(tic_names_set(100, "y"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
