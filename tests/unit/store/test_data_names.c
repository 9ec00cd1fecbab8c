/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that names of data come back from the text that a line holds, and that other text is no
 * list of names. */
#include "store/data_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "lib/testing.h"

#define TEXT(text)                                                                                 \
    {                                                                                              \
        (char *)(text), sizeof(text)                                                               \
    }

static void test_there_and_back(void **state)
{
    struct tic_line_text none, names;
    (void)state;
    assert_int_equal(tic_data_names_describe(&none), 0);
    assert_int_equal(none.size, 0);
    assert_true(tic_data_names_are_sane(&none));
    assert_int_equal(tic_names_set(12, "b c"), 0);
    assert_int_equal(tic_names_set(3, "7 dwarfs"), 0);
    assert_int_equal(tic_data_names_describe(&names), 0);
    assert_int_equal(names.size, sizeof("3 7 dwarfs\0"
                                        "12 b c"));
    assert_memory_equal(names.text,
                        "3 7 dwarfs\0"
                        "12 b c",
                        names.size);
    assert_true(tic_data_names_are_sane(&names));
    assert_int_equal(tic_names_set(3, "other"), 0);
    assert_int_equal(tic_data_names_load(&names), 0);
    assert_string_equal(tic_name_plain(3), "7 dwarfs");
    assert_string_equal(tic_name_plain(12), "b c");
    assert_null(tic_name_plain(4));
    free(none.text);
    free(names.text);
}

/* Of a name that is nothing but the middle of characters something stays, as an entry needs it. */
static void test_odd_names(void **state)
{
    struct tic_line_text names;
    char odd[100];
    (void)state;
    memset(odd, 0x80, sizeof(odd));
    odd[99] = '\0';
    assert_int_equal(tic_names_set(20, odd), 0);
    assert_int_equal(tic_names_set(21, "\n\x1b[31m\x7f"), 0);
    assert_true(strlen(tic_name_plain(20)) >= 60);
    assert_string_equal(tic_name_plain(21), "  [31m ");
    assert_int_equal(tic_data_names_describe(&names), 0);
    assert_true(tic_data_names_are_sane(&names));
    free(names.text);
}

static void test_insane(void **state)
{
    const struct tic_line_text insane[] = {
        {(char *)"1 a", 3},
        TEXT(""),
        TEXT("1"),
        TEXT("1 "),
        TEXT("a b"),
        TEXT(" 1 b"),
        TEXT("1b"),
        TEXT("-1 b"),
        TEXT("2 a\0"
             "1 b"),
        TEXT("2 a\0"
             "2 b"),
        TEXT("1 a\0\0"
             "2 b"),
    };
    const struct tic_line_text sane = TEXT("0 a\0"
                                           "1 b\0"
                                           "18446744073709551615 c");
    (void)state;
    for (size_t i = 0; i < sizeof(insane) / sizeof(insane[0]); i++)
        assert_false(tic_data_names_are_sane(&insane[i]));
    assert_true(tic_data_names_are_sane(&sane));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_insane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
