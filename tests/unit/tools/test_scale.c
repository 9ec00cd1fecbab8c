/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks numbers with units. */
#include <math.h>

#include "lib/testing.h"
#include "tools/scale.h"

static const char *duration(double seconds)
{
    static char text[TIC_SCALE_TEXT];

    tic_scale_duration(text, seconds);
    return text;
}

/* checks that times are in the unit that people would use */
static void test_durations(void **state)
{
    (void)state;
    assert_string_equal(duration(0), "0 s");
    assert_string_equal(duration(2.5e-5), "25 µs");
    assert_string_equal(duration(0.0123), "12.3 ms");
    assert_string_equal(duration(0.9999), "1 s");
    assert_string_equal(duration(3.14159), "3.14 s");
    assert_string_equal(duration(59.96), "1 min");
    assert_string_equal(duration(90), "1 min 30 s");
    assert_string_equal(duration(7200), "2 h");
    assert_string_equal(duration(3 * 86400.0 + 4 * 3600), "3 d 4 h");
    assert_string_equal(duration(NAN), "?");
}

/* checks bytes and counts */
static void test_numbers(void **state)
{
    (void)state;
    char text[TIC_SCALE_TEXT];
    tic_scale_bytes(text, 0);
    assert_string_equal(text, "0 B");
    tic_scale_bytes(text, 999.9);
    assert_string_equal(text, "1 kB");
    tic_scale_bytes(text, 33177600);
    assert_string_equal(text, "33.2 MB");
    tic_scale_bytes(text, 2e18);
    assert_string_equal(text, "2000 PB");
    tic_scale_count(text, 7);
    assert_string_equal(text, "7");
    tic_scale_count(text, 1234567);
    assert_string_equal(text, "1,234,567");
    tic_scale_count(text, UINT64_MAX);
    assert_string_equal(text, "18,446,744,073,709,551,615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
