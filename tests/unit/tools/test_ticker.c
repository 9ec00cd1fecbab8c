/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the line that tells how far a supervised program is. */
#include <stdio.h>
#include <string.h>

#include "lib/child.h"
#include "lib/testing.h"
#include "tools/ticker.h"

#define SECOND UINT64_C(1000000000)

static struct tic_ticker ticker;
static struct tic_beacon_counts counts;
static char text[256];

static const char *at(double seconds)
{
    tic_ticker_format(&ticker, &counts, seconds, 100 * SECOND, text, sizeof(text));
    return text;
}

static int set_up(void **state)
{
    (void)state;
    memset(&ticker, 0, sizeof(ticker));
    memset(&counts, 0, sizeof(counts));
    return 0;
}

/* checks that nothing is told before there is something to tell */
static void test_nothing(void **state)
{
    (void)state;
    assert_string_equal(at(3), "");
}

/* checks that the time left is by the rate since tasks began, and only if there is a rate */
static void test_first_run(void **state)
{
    (void)state;
    counts.submitted = 200;
    assert_string_equal(at(1), "0 of 200 tasks; no checkpoint yet");
    counts.executed = 50;
    assert_string_equal(at(11), "50 of 200 tasks, 30 s left; no checkpoint yet");
    counts.executed = 203; /* more were submitted since */
    assert_string_equal(at(31), "200 of 200 tasks; no checkpoint yet");
}

/* checks that a restart tells what it skips, and that what it skips is no rate */
static void test_restart(void **state)
{
    (void)state;
    ticker.restarts = 2;
    counts.submitted = 40;
    counts.skipped = 40;
    counts.to_skip = 100;
    assert_string_equal(at(1), "40 of 100 done tasks skipped; no checkpoint yet; restart 2");
    counts.skipped = 100;
    counts.submitted = 200;
    counts.executed = 20;
    assert_string_equal(at(2), "120 of 200 tasks; no checkpoint yet; restart 2");
    counts.executed = 40;
    counts.checkpoints = 1;
    counts.line_ns = 93 * SECOND;
    counts.took_ns = SECOND / 4;
    assert_string_equal(
        at(4), "140 of 200 tasks, 6 s left; last checkpoint 7 s ago, took 0.2 s; restart 2");
}

/* checks that a short buffer is not written past */
static void test_short(void **state)
{
    char small[16];

    (void)state;
    counts.submitted = 123456789;
    tic_ticker_format(&ticker, &counts, 1, 0, small, sizeof(small));
    assert_string_equal(small, "0 of 123456789 ");
}

static int tick_for_two_minutes(void *quiet)
{
    static struct tic_beacon beacon;

    ticker.quiet = quiet != NULL;
    tic_ticker_tick(&ticker, NULL, 60); /* no memory for a beacon */
    beacon.counts.submitted = 7;
    for (int seconds = 1; seconds <= 121; seconds++)
        tic_ticker_tick(&ticker, &beacon, seconds);
    tic_ticker_end(&ticker);
    return 0;
}

/* checks that without a terminal there is a message a minute, and none for who wants none */
static void test_messages(void **state)
{
    static char message[] = "starpu-tic: 0 of 7 tasks; no checkpoint yet\n";
    char expected[2 * sizeof(message)];

    snprintf(expected, sizeof(expected), "%s%s", message, message);
    assert_int_equal(tic_child_run(tick_for_two_minutes, NULL, text, sizeof(text)), 0);
    assert_string_equal(text, expected);
    assert_int_equal(tic_child_run(tick_for_two_minutes, state, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing), TEST(test_first_run), TEST(test_restart),
        TEST(test_short),   TEST(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
