/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what counts as cost, latency and duration of a checkpoint, and the period that follows,
 * with a clock of its own. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "lib/testing.h"
#include "snapshot/pace.h"

#define SECOND UINT64_C(1000000000)

enum { WORKERS = 4, PROCESSORS = 8 };

static struct tic_pace pace;
static struct tic_pace_reading clocks; /* sums so far */

static int reset(void **state)
{
    (void)state;
    memset(&pace, 0, sizeof(pace));
    clocks = (struct tic_pace_reading){
        .now = 100 * SECOND, .held = SECOND, .main_held = SECOND, .processor = SECOND};
    return 0;
}

/* A checkpoint with its cut after one second. Seconds. */
static void checkpoint(uint64_t held, uint64_t main_held, uint64_t processor, uint64_t duration,
                       uint64_t waited, double period)
{
    tic_pace_begin(&pace, &clocks);
    uint64_t cut = clocks.now + SECOND;
    clocks.now += duration * SECOND;
    clocks.held += held * SECOND;
    clocks.main_held += main_held * SECOND;
    clocks.processor += processor * SECOND;
    tic_pace_end(&pace, &clocks, cut, waited * SECOND, period, WORKERS, PROCESSORS);
    clocks.now += SECOND; /* what happens between checkpoints costs nothing */
    clocks.held += SECOND;
    clocks.processor += SECOND;
}

static void expect(double cost, double latency, double took)
{
    assert_float_equal((double)atomic_load(&pace.cost_ns) * 1e-9, cost, 1e-8);
    assert_float_equal((double)atomic_load(&pace.latency_ns) * 1e-9, latency, 1e-8);
    assert_float_equal(pace.took, took, 1e-8);
}

static void test_nothing_yet(void **state)
{
    (void)state;
    expect(0, 0, 0);
    assert_int_equal(pace.measured.checkpoints, 0);
}

/* checks that each thread's wait counts by its share, and that waiting for tasks is latency, not
 * duration */
static void test_cost(void **state)
{
    (void)state;
    checkpoint(4, 2, 8, 11, 3, 10);
    expect(1 + 2 + 1, 10, 8);
    checkpoint(0, 0, 0, 11, 3, 10);
    expect(2, 10, 8);
    assert_int_equal(atomic_load(&pace.last_took_ns), 8 * SECOND);
}

/* A checkpoint of 10 s, for which our threads have processors for 8 s, and the others for so long,
 * who have had two of them for 20 s before. */
static void measure_beside(uint64_t others)
{
    reset(NULL);
    checkpoint(0, 0, 0, 1, 0, 10);
    clocks.now += 19 * SECOND;
    clocks.others += 40 * SECOND;
    pace.measured.checkpoints = 0;
    const uint64_t begun = clocks.now;
    tic_pace_begin(&pace, &clocks);
    clocks.now += 10 * SECOND;
    clocks.processor += 8 * SECOND;
    clocks.others += others * SECOND;
    tic_pace_end(&pace, &clocks, begun, 0, 10, WORKERS, PROCESSORS);
}

/* checks that processors that the program would not have used cost it nothing, and that no more
 * counts than was taken */
static void test_idle_processors(void **state)
{
    (void)state;
    measure_beside(20);
    expect(0, 10, 10);
    measure_beside(25);
    expect(0, 10, 10);
    measure_beside(16);
    expect(4. / PROCESSORS, 10, 10);
    measure_beside(0);
    expect(8. / PROCESSORS, 10, 10);
}

/* checks that a duration falls slowly and rises at once, but not beyond twice itself and a period
 */
static void test_took(void **state)
{
    (void)state;
    checkpoint(0, 0, 0, 8, 0, 10);
    assert_float_equal(pace.took, 8, 1e-9);
    checkpoint(0, 0, 0, 1, 0, 10);
    assert_float_equal(pace.took, 7, 1e-9);
    checkpoint(0, 0, 0, 9, 0, 10);
    assert_float_equal(pace.took, 9, 1e-9);
    checkpoint(0, 0, 0, 3600, 0, 10);
    assert_float_equal(pace.took, 28, 1e-9);
    assert_int_equal(atomic_load(&pace.last_took_ns), 3600 * SECOND);
}

/* checks that a restart begins with what the run before has measured, once, if it has, and if it is
 * no nonsense; and that its first checkpoint does not change it */
static void test_resume(void **state)
{
    (void)state;
    tic_pace_resume(&pace, 0, 0);
    tic_pace_resume(&pace, UINT64_MAX, SECOND);
    tic_pace_resume(&pace, SECOND, UINT64_MAX);
    assert_int_equal(pace.measured.checkpoints, 0);
    tic_pace_resume(&pace, SECOND, 4 * SECOND);
    expect(1, 4, 0);
    tic_pace_resume(&pace, 2 * SECOND, 2 * SECOND);
    expect(1, 4, 0);
    checkpoint(0, 3, 0, 11, 0, 10);
    expect(1, 4, 10); /* no longer than a period at first */
    checkpoint(0, 3, 0, 11, 0, 10);
    expect(2, 7, 11);
}

static struct tic_settings settings_of(double period, double mtbf, double max_recovery,
                                       unsigned long max_overhead)
{
    return (struct tic_settings){
        .period = period, .mtbf = mtbf, .max_recovery = max_recovery, .max_overhead = max_overhead};
}

/* checks that a period that is set stays, whatever checkpoints cost */
static void test_fixed_period(void **state)
{
    struct tic_settings settings = settings_of(7, 1, 0, 0);

    (void)state;
    assert_float_equal(tic_pace_init(&pace, &settings), 7, 0);
    checkpoint(0, 3, 0, 11, 0, 7);
    assert_float_equal(tic_pace_choose(&pace, 7), 7, 0);
}

/* checks that the first period stays until a checkpoint was measured, or an earlier run has, and
 * that the period is then interval, cost and duration */
static void test_auto_period(void **state)
{
    struct tic_settings settings = settings_of(TIC_PERIOD_AUTO, 1000, 0, 0);

    (void)state;
    assert_float_equal(tic_pace_init(&pace, &settings), 10, 0);
    assert_float_equal(tic_pace_choose(&pace, 10), 10, 0);
    checkpoint(0, 2, 0, 6, 1, 10); /* latency 5, duration 5 */
    assert_float_equal(tic_pace_choose(&pace, 10), sqrt(2 * (2 - 2 * 5 + 2 * 1000.)) + 5, 1e-6);
    reset(state);
    assert_float_equal(tic_pace_init(&pace, &settings), 10, 0);
    tic_pace_resume(&pace, 2 * SECOND, 5 * SECOND);
    assert_float_equal(tic_pace_choose(&pace, 10), sqrt(2 * (2 - 2 * 5 + 2 * 1000.)), 1e-6);
}

/* checks that no period is longer than a setting may be */
static void test_longest(void **state)
{
    struct tic_settings settings = settings_of(TIC_PERIOD_AUTO, 999999999, 0, 1);

    (void)state;
    double first = tic_pace_init(&pace, &settings);
    tic_pace_resume(&pace, UINT64_C(100000000) * SECOND, UINT64_C(100000000) * SECOND);
    assert_float_equal(tic_pace_choose(&pace, first), 1e9, 0);
}

/* checks that larger data makes the next period longer, one checkpoint later */
static void test_auto_follows(void **state)
{
    struct tic_settings settings = settings_of(TIC_PERIOD_AUTO, 1000, 0, 0);

    (void)state;
    double period = tic_pace_init(&pace, &settings);
    checkpoint(0, 1, 0, 3, 0, period);
    double first = tic_pace_choose(&pace, period);
    checkpoint(0, 1, 0, 3, 0, first);
    assert_float_equal(tic_pace_choose(&pace, first), first, 1e-6);
    checkpoint(0, 2, 0, 6, 0, first);
    assert_true(tic_pace_choose(&pace, first) > 1.2 * first);
}

/* checks that bounds reach the model: percent as a share, and what cannot be met ends nothing */
static void test_bounds(void **state)
{
    static const struct {
        double mtbf, max_recovery;
        unsigned long max_overhead;
        double period; /* without the duration */
        bool told;
    } rows[] = {
        {1000, 0, 1, 200, false},     {1000, 20, 0, 17, false}, {1000, 20, 1, 17, true},
        {1000, 5, 0, 2 + 0.1, true},  {4, 0, 0, 2 + 0.1, true}, {5, 0, 0, 2 + 0.1, true},
        {1000, 0, 50, 63.119, false},
    };

    (void)state;
    tic_log_set_level(-1);
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_settings settings =
            settings_of(TIC_PERIOD_AUTO, rows[i].mtbf, rows[i].max_recovery, rows[i].max_overhead);
        reset(state);
        double first = tic_pace_init(&pace, &settings);
        assert_true(first > 0 && first <= 10);
        checkpoint(0, 2, 0, 6, 0, 10);
        assert_float_equal(tic_pace_choose(&pace, first), rows[i].period + 6, 1e-3);
        assert_int_equal(pace.told_missed, rows[i].told);
    }
    tic_log_set_level(TIC_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_yet, reset),
        cmocka_unit_test_setup(test_cost, reset),
        cmocka_unit_test_setup(test_idle_processors, reset),
        cmocka_unit_test_setup(test_took, reset),
        cmocka_unit_test_setup(test_resume, reset),
        cmocka_unit_test_setup(test_fixed_period, reset),
        cmocka_unit_test_setup(test_auto_period, reset),
        cmocka_unit_test_setup(test_auto_follows, reset),
        cmocka_unit_test_setup(test_longest, reset),
        cmocka_unit_test_setup(test_bounds, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
