/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the adaptive period follows what checkpoints cost, within its bounds, whatever was
 * measured. */
#include "interval/adaptive.h"
#include "lib/random.h"
#include "unit/interval/near.h"

enum { CASES = 2000 };

#define DAY 86400.0

static struct tic_adaptive_sample sample_of(double t_c, double t_l)
{
    return (struct tic_adaptive_sample){
        .main_held = t_c, .workers = 1, .processors = 1, .duration = t_c + t_l, .latency = t_l};
}

static double period_of(double t_c, double t_l, struct tic_adaptive_bounds bounds)
{
    struct tic_adaptive_measured measured = {1, t_c, t_l};
    enum tic_interval_rule rule;

    return tic_adaptive_period(&measured, &bounds, &rule);
}

/* checks that waits of workers and processor time count by their share, those of main() whole, and
 * that no checkpoint costs less than nothing or more than it lasts */
static void test_cost(void **state)
{
    static const struct {
        struct tic_adaptive_sample sample;
        double cost;
    } rows[] = {
        {{.held = 2, .workers = 4, .processors = 8, .duration = 9}, 0.5},
        {{.workers = 4, .processor = 2, .processors = 8, .duration = 9}, 0.25},
        {{.main_held = 2, .workers = 4, .processors = 8, .duration = 9}, 2},
        {{2, 4, 2, 2, 8, 9, 9}, 2.75},
        {{2, 4, 2, 2, 8, 1, 9}, 1},
        {{.held = 2, .processor = 1, .duration = 9}, 3}, /* no count: one */
        {{.workers = 1, .processors = 1, .duration = 9}, 0},
        {{.main_held = -1, .workers = 1, .processors = 1, .duration = 9}, 0},
        {{.main_held = NAN, .workers = 1, .processors = 1, .duration = 9}, 0},
        {{.main_held = 1, .workers = 1, .processors = 1, .duration = -1}, 0},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++)
        assert_near(tic_adaptive_cost(&rows[i].sample), rows[i].cost, 1e-12);
}

/* checks that the newest checkpoint counts half, and that one during which the process was stopped
 * does not count for more than twice what was, and a period */
static void test_measure(void **state)
{
    struct tic_adaptive_measured measured = {0, 7, 7};
    struct tic_adaptive_sample small = sample_of(1, 4), large = sample_of(3, 8),
                               stopped = sample_of(3600, 3600), broken = sample_of(NAN, NAN);

    (void)state;
    tic_adaptive_measure(&measured, &small, 10);
    assert_int_equal(measured.checkpoints, 1);
    assert_near(measured.t_c, 1, 1e-12);
    assert_near(measured.t_l, 4, 1e-12);
    tic_adaptive_measure(&measured, &large, 10);
    assert_int_equal(measured.checkpoints, 2);
    assert_near(measured.t_c, 2, 1e-12);
    assert_near(measured.t_l, 6, 1e-12);
    tic_adaptive_measure(&measured, &stopped, 10);
    assert_near(measured.t_c, (2 + 14) / 2.0, 1e-12);
    assert_near(measured.t_l, (6 + 22) / 2.0, 1e-12);
    tic_adaptive_measure(&measured, &broken, 10);
    assert_near(measured.t_c, 4, 1e-12);
    assert_near(measured.t_l, 7, 1e-12);
}

/* checks the first period: the default, but no longer than a tenth of the MTBF and the bound, and
 * never 0 */
static void test_first(void **state)
{
    static const double least = TIC_ADAPTIVE_LEAST;
    static const struct {
        struct tic_adaptive_bounds bounds;
        double period;
    } rows[] = {
        {{DAY, 0, 0}, 10}, {{50, 0, 0}, 5},      {{DAY, 60, 0}, 10},    {{DAY, 4, 0}, 4},
        {{30, 4, 0}, 3},   {{DAY, 0, 0.01}, 10}, {{1e-9, 0, 0}, least}, {{DAY, 1e-9, 0}, least},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_adaptive_measured measured = {.t_c = 99, .t_l = 99};
        enum tic_interval_rule rule = TIC_INTERVAL_RULES;
        assert_near(tic_adaptive_period(&measured, &rows[i].bounds, &rule), rows[i].period, 1e-12);
        assert_int_equal(rule, TIC_INTERVAL_OPTIMUM);
    }
}

/* checks the edges of the model and each bound: the period is an interval and t_c */
static void test_edges(void **state)
{
    static const double least = TIC_ADAPTIVE_LEAST;
    static const struct {
        double t_c, t_l;
        struct tic_adaptive_bounds bounds;
        double period;
        enum tic_interval_rule rule;
    } rows[] = {
        /* as Fialho 2011, table 4.4: MTTI of 24, 6 and 1 hours, t_c and t_l of 5 minutes */
        {300, 300, {DAY, 0, 0}, 60 * 114.8958 + 300, TIC_INTERVAL_OPTIMUM},
        {300, 300, {DAY / 4, 0, 0}, 60 * 54.7913 + 300, TIC_INTERVAL_OPTIMUM},
        {300, 300, {3600, 0, 0}, 60 * 18.9792 + 300, TIC_INTERVAL_OPTIMUM},
        /* checkpoints that cost nothing; an MTBF that is no longer than a checkpoint takes */
        {0, 0, {DAY, 0, 0}, least, TIC_INTERVAL_FLOOR},
        {0, 5, {DAY, 0, 0}, least, TIC_INTERVAL_FLOOR},
        {5, 5, {5, 0, 0}, 5 + least, TIC_INTERVAL_FLOOR},
        {5, 5, {1, 0, 0}, 5 + least, TIC_INTERVAL_FLOOR},
        {1, 3600, {60, 0, 0}, 1 + least, TIC_INTERVAL_FLOOR},
        /* a checkpoint costs more than the MTBF, but loses little with a fault */
        {10, 1, {5, 0, 0}, sqrt(10 * (10 - 2 + 10.0)), TIC_INTERVAL_OPTIMUM},
        /* bound on recovery */
        {1, 5, {DAY, 1000, 0}, sqrt(1 - 10 + 2 * DAY), TIC_INTERVAL_OPTIMUM},
        {1, 5, {DAY, 65, 0}, 61, TIC_INTERVAL_CAPPED},
        {1, 5, {DAY, 5, 0}, 1 + least, TIC_INTERVAL_UNMET},
        {1, 5, {DAY, 1, 0}, 1 + least, TIC_INTERVAL_UNMET},
        /* bound on overhead: t_c is that share of the period */
        {1, 5, {DAY, 0, 0.01}, sqrt(1 - 10 + 2 * DAY), TIC_INTERVAL_OPTIMUM},
        {1, 5, {DAY, 0, 0.001}, 1000, TIC_INTERVAL_STRETCHED},
        {1, 5, {DAY, 0, 1}, sqrt(1 - 10 + 2 * DAY), TIC_INTERVAL_OPTIMUM},
        {5, 5, {1, 0, 0.05}, 100, TIC_INTERVAL_STRETCHED},
        {0, 5, {DAY, 0, 0.01}, least, TIC_INTERVAL_FLOOR},
        /* both: recovery wins */
        {1, 5, {DAY, 65, 0.05}, 61, TIC_INTERVAL_CAPPED},
        {1, 5, {DAY, 65, 0.01}, 61, TIC_INTERVAL_CONFLICT},
        {1, 5, {DAY, 4, 0.01}, 1 + least, TIC_INTERVAL_UNMET},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_adaptive_measured measured = {1, rows[i].t_c, rows[i].t_l};
        enum tic_interval_rule rule;
        assert_near(tic_adaptive_period(&measured, &rows[i].bounds, &rule), rows[i].period, 5e-3);
        assert_int_equal(rule, rows[i].rule);
    }
}

/* checks that a period is never shorter with a longer MTBF or costlier checkpoints, never longer
 * with a tighter bound on recovery, and positive and finite */
static void test_monotone(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 21);
    for (unsigned i = 0; i < CASES; i++) {
        double t_c = exp((double)tic_random_below(&random, 1500) / 100 - 10);
        double t_l = exp((double)tic_random_below(&random, 1500) / 100 - 10);
        double mtbf = exp((double)tic_random_below(&random, 2000) / 100 - 2);
        double share = (double)tic_random_below(&random, 101) / 100;
        double recovery = (double)tic_random_below(&random, 1000);
        struct tic_adaptive_bounds bounds = {mtbf, 0, share}, longer = {1.5 * mtbf, 0, share};
        struct tic_adaptive_bounds bound = {mtbf, recovery + 1, share},
                                   tighter = {mtbf, recovery / 2 + 0.5, share};
        double period = period_of(t_c, t_l, bounds), slack = 1e-9 * (period + t_c);
        assert_true(isfinite(period) && period >= TIC_ADAPTIVE_LEAST);
        assert_true(period_of(t_c, t_l, longer) >= period - slack);
        assert_true(period_of(1.5 * t_c, t_l, bounds) >= period - slack);
        assert_true(period_of(t_c, t_l, bound) >= period_of(t_c, t_l, tighter) - slack);
    }
}

/* checks that after data has doubled, the next choice is for longer, and that it settles at what
 * the new cost asks for */
static void test_follows(void **state)
{
    struct tic_adaptive_bounds bounds = {DAY, 0, 0};
    struct tic_adaptive_measured measured = {0};
    struct tic_adaptive_sample before = sample_of(0.5, 1), after = sample_of(1, 2);
    enum tic_interval_rule rule;

    (void)state;
    tic_adaptive_measure(&measured, &before, 10);
    double first = tic_adaptive_period(&measured, &bounds, &rule);
    assert_near(first, period_of(0.5, 1, bounds), 0);
    tic_adaptive_measure(&measured, &after, first);
    assert_true(tic_adaptive_period(&measured, &bounds, &rule) > 1.2 * first);
    for (int i = 0; i < 40; i++)
        tic_adaptive_measure(&measured, &after, first);
    assert_near(tic_adaptive_period(&measured, &bounds, &rule), period_of(1, 2, bounds), 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost),     cmocka_unit_test(test_measure),
        cmocka_unit_test(test_first),    cmocka_unit_test(test_edges),
        cmocka_unit_test(test_monotone), cmocka_unit_test(test_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
