/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks axes: where times lie, round marks, and numbers with units. */
#include <math.h>
#include <stdbool.h>

#include "lib/testing.h"
#include "tools/scale.h"

static bool is_near(double x, double y)
{
    return fabs(x - y) < 1e-9;
}

/* checks that time goes from 0 to 1, and stays within */
static void test_plain(void **state)
{
    (void)state;
    struct tic_time_scale scale = tic_time_scale_make(0, 10);
    assert_true(is_near(tic_time_scale_place(&scale, 0), 0));
    assert_true(is_near(tic_time_scale_place(&scale, 2.5), 0.25));
    assert_true(is_near(tic_time_scale_place(&scale, 10), 1));
    assert_true(is_near(tic_time_scale_place(&scale, -1), 0));
    assert_true(is_near(tic_time_scale_place(&scale, 11), 1));
    scale = tic_time_scale_make(3, 3); /* nothing was there */
    assert_true(tic_time_scale_place(&scale, 3) >= 0);
    assert_true(tic_time_scale_place(&scale, 4) <= 1);
}

/* checks that a long gap is short, that time in it goes on, and that a short one stays */
static void test_gaps(void **state)
{
    (void)state;
    struct tic_time_scale scale = tic_time_scale_make(0, 110);
    tic_time_scale_add_gap(&scale, 4, 4.5, 10); /* less than TIC_SCALE_GAP_LEAST */
    assert_int_equal(scale.gap_count, 0);
    tic_time_scale_add_gap(&scale, 5, 105, 10);
    assert_int_equal(scale.gap_count, 1);
    double wide = 1 - TIC_SCALE_GAP_WIDTH;
    assert_true(is_near(tic_time_scale_place(&scale, 5), wide / 2));
    assert_true(is_near(tic_time_scale_place(&scale, 55), 0.5));
    assert_true(is_near(tic_time_scale_place(&scale, 105), wide / 2 + TIC_SCALE_GAP_WIDTH));
    assert_true(is_near(tic_time_scale_place(&scale, 110), 1));
    double last = -1;
    for (double time = 0; time <= 110; time += 0.5) {
        double place = tic_time_scale_place(&scale, time);
        assert_true(place >= last);
        last = place;
    }
}

/* checks that more gaps than there is room for are drawn as they are */
static void test_many_gaps(void **state)
{
    (void)state;
    struct tic_time_scale scale = tic_time_scale_make(0, 1000);
    for (int i = 0; i < 100; i++)
        tic_time_scale_add_gap(&scale, 10 * i + 1, 10 * i + 9, 1);
    assert_int_equal(scale.gap_count, TIC_SCALE_GAPS);
    assert_true(is_near(tic_time_scale_place(&scale, 1000), 1));
    assert_true(tic_time_scale_place(&scale, 990) < 1);
}

/* checks that steps are round, and no more marks than wanted */
static void test_steps(void **state)
{
    (void)state;
    assert_true(is_near(tic_scale_step(10, 10), 1));
    assert_true(is_near(tic_scale_step(10, 5), 2));
    assert_true(is_near(tic_scale_step(11, 4), 5));
    assert_true(is_near(tic_scale_step(0.37, 4), 0.1));
    assert_true(is_near(tic_scale_step(0, 4), 1));
    assert_true(is_near(tic_scale_time_step(25, 12), 5));
    assert_true(is_near(tic_scale_time_step(300, 12), 60));
    assert_true(is_near(tic_scale_time_step(7200, 12), 600));
    assert_true(is_near(tic_scale_time_step(86400, 12), 7200));
    assert_true(is_near(tic_scale_time_step(30 * 86400.0, 12), 5 * 86400));
    for (double length = 1e-3; length < 1e8; length *= 1.7) {
        assert_true(length / tic_scale_step(length, 7) <= 7.0001);
        assert_true(length / tic_scale_time_step(length, 7) <= 7.0001);
    }
}

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

/* checks that marks of an axis have the decimals of its step */
static void test_clock(void **state)
{
    (void)state;
    char text[TIC_SCALE_TEXT];
    tic_scale_clock(text, 0.5, 0.25);
    assert_string_equal(text, "0.50 s");
    tic_scale_clock(text, 0.055, 0.005);
    assert_string_equal(text, "55 ms");
    tic_scale_clock(text, 0.0015, 0.0005);
    assert_string_equal(text, "1.5 ms");
    tic_scale_clock(text, 45, 5);
    assert_string_equal(text, "45 s");
    tic_scale_clock(text, 90, 30);
    assert_string_equal(text, "1:30");
    tic_scale_clock(text, 7261, 60);
    assert_string_equal(text, "2:01:01");
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
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_many_gaps), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_durations), cmocka_unit_test(test_clock),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
