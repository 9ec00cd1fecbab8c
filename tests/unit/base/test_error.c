/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that messages are whole lines of the wanted levels, and that a stop has its status. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/child.h"
#include "lib/testing.h"

static char text[8192];

static int log_all_levels(void *arg)
{
    tic_log_set_level(*(int *)arg);
    tic_log(TIC_LOG_WARN, "warning %d", 1);
    tic_log(TIC_LOG_INFO, "info %s", "two");
    tic_log(TIC_LOG_DETAIL, "detail");
    return 0;
}

static void test_levels(void **state)
{
    static const char *const wanted[] = {
        "starpu-tic: warning 1\n",
        "starpu-tic: warning 1\nstarpu-tic: info two\n",
        "starpu-tic: warning 1\nstarpu-tic: info two\nstarpu-tic: detail\n",
    };
    (void)state;
    for (int level = 0; level <= 2; level++) {
        assert_int_equal(tic_child_run(log_all_levels, &level, text, sizeof(text)), 0);
        assert_string_equal(text, wanted[level]);
    }
}

static int log_long(void *arg)
{
    char long_text[5000];
    (void)arg;
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    tic_log(TIC_LOG_WARN, "%s", long_text);
    tic_log(TIC_LOG_WARN, "next");
    return 0;
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    assert_int_equal(tic_child_run(log_long, NULL, text, sizeof(text)), 0);
    char *second = strchr(text, '\n');
    assert_non_null(second);
    assert_true(second - text > 1000 && second - text < 2048);
    assert_string_equal(second + 1, "starpu-tic: next\n");
}

static void must_not_run(void)
{
    tic_log(TIC_LOG_WARN, "an exit handler ran");
}

static int stop(void *arg)
{
    atexit(must_not_run);
    tic_log_set_level(0);
    tic_stop(*(enum tic_exit *)arg, "because of %d", 5);
}

static void test_stop(void **state)
{
    static enum tic_exit statuses[] = {TIC_EXIT_REFUSED, TIC_EXIT_DIVERGED};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(statuses); i++) {
        assert_int_equal(tic_child_run(stop, &statuses[i], text, sizeof(text)), statuses[i]);
        assert_string_equal(text, "starpu-tic: because of 5\n");
    }
}

static void test_grow(void **state)
{
    unsigned long capacity = 0, *array = NULL;
    (void)state;
    for (unsigned long i = 0; i < 1000; i++) {
        array = tic_grow(array, &capacity, i + 1, sizeof(*array));
        assert_non_null(array);
        assert_true(capacity > i);
        array[i] = i;
    }
    for (unsigned long i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    assert_ptr_equal(tic_grow(array, &capacity, 10, sizeof(*array)), array);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
