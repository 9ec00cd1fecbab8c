/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that costs out of their range are named, that intervals stay within their limits, and that
 * a model tells where it does not hold. */
#include <errno.h>

#include "interval/classic.h"
#include "interval/fialho.h"
#include "interval/models.h"
#include "unit/interval/near.h"

static struct tic_interval_costs usual(void)
{
    return tic_test_costs(5, 4, 1, 3600);
}

static void check_choice(enum tic_interval_model model, const struct tic_interval_costs *costs,
                         double interval, enum tic_interval_rule rule)
{
    struct tic_interval_choice choice = tic_interval_choose(model, costs);

    assert_near(choice.interval, interval, 1e-9);
    assert_int_equal(choice.rule, rule);
}

/* checks that each field is refused, by its name, when it is no number or out of its range */
static void test_check(void **state)
{
    struct tic_interval_costs costs = usual();
    const struct {
        double *field, bad;
        const char *name;
    } rows[] = {
        {&costs.t_c, -1, "t_c"},
        {&costs.t_l, -1, "t_l"},
        {&costs.t_d, -1, "t_d"},
        {&costs.mtbf, 0, "mtbf"},
        {&costs.mtbf, -1, "mtbf"},
        {&costs.phi, -0.1, "phi"},
        {&costs.phi, 0, "phi"},
        {&costs.log_rate, -0.1, "log_rate"},
        {&costs.log_rate, 1.1, "log_rate"},
        {&costs.t_replay, -1, "t_replay"},
        {&costs.least, 0, "least"},
        {&costs.max_recovery, -1, "max_recovery"},
        {&costs.max_overhead, -0.1, "max_overhead"},
        {&costs.max_overhead, 1.1, "max_overhead"},
    };
    const char *field = NULL;

    (void)state;
    assert_int_equal(tic_interval_costs_check(&costs, &field), 0);
    assert_null(field);
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        const double bad[] = {rows[i].bad, NAN, INFINITY};
        for (size_t k = 0; k < TIC_COUNT(bad); k++) {
            costs = usual();
            *rows[i].field = bad[k];
            field = NULL;
            assert_int_equal(tic_interval_costs_check(&costs, &field), -EINVAL);
            assert_string_equal(field, rows[i].name);
        }
    }
}

/* checks that phi 0 is 1/N where N is known, and that one process has phi 1 */
static void test_phi_is_clamped(void **state)
{
    struct tic_interval_costs costs = usual(), eighth = usual(), one = usual(), whole = usual();
    const char *field;

    (void)state;
    costs.processes = 8;
    costs.phi = 0;
    eighth.phi = 0.125;
    assert_int_equal(tic_interval_costs_check(&costs, &field), 0);
    assert_near(tic_interval_uncoordinated(&costs), tic_interval_uncoordinated(&eighth), 0);
    assert_near(tic_interval_uncoordinated_overhead(&costs, 100),
                tic_interval_uncoordinated_overhead(&eighth, 100), 0);
    one.processes = 1;
    one.phi = 0.3;
    assert_near(tic_interval_uncoordinated(&one), tic_interval_uncoordinated(&whole), 0);
    whole.phi = 1.2;
    assert_int_equal(tic_interval_costs_check(&whole, &field), 0);
    assert_near(tic_interval_uncoordinated(&one), tic_interval_uncoordinated(&whole), 0);
}

/* checks that the optimum is the choice where nothing limits it */
static void test_optimum(void **state)
{
    struct tic_interval_costs costs = tic_test_logged(usual(), 0.3, 30, 2);

    (void)state;
    check_choice(TIC_INTERVAL_YOUNG, &costs, tic_interval_young(&costs), TIC_INTERVAL_OPTIMUM);
    check_choice(TIC_INTERVAL_GROPP, &costs, tic_interval_young(&costs), TIC_INTERVAL_OPTIMUM);
    check_choice(TIC_INTERVAL_DALY, &costs, tic_interval_daly(&costs), TIC_INTERVAL_OPTIMUM);
    check_choice(TIC_INTERVAL_COORDINATED, &costs, tic_interval_coordinated(&costs),
                 TIC_INTERVAL_OPTIMUM);
    check_choice(TIC_INTERVAL_UNCOORDINATED, &costs, tic_interval_uncoordinated(&costs),
                 TIC_INTERVAL_OPTIMUM);
}

/* checks that the wall time of a model is its own, not that of another one */
static void test_wall(void **state)
{
    struct tic_interval_costs costs = tic_test_logged(usual(), 0.3, 30, 2);

    (void)state;
    assert_near(tic_interval_wall(TIC_INTERVAL_YOUNG, &costs, 100, 1000),
                tic_interval_young_wall(&costs, 100, 1000), 0);
    assert_near(tic_interval_wall(TIC_INTERVAL_GROPP, &costs, 100, 1000),
                tic_interval_gropp_wall(&costs, 100, 1000), 0);
    assert_near(tic_interval_wall(TIC_INTERVAL_DALY, &costs, 100, 1000),
                tic_interval_daly_wall(&costs, 100, 1000), 0);
    assert_near(tic_interval_wall(TIC_INTERVAL_COORDINATED, &costs, 100, 1000),
                tic_interval_coordinated_wall(&costs, 100, 1000), 0);
    assert_near(tic_interval_wall(TIC_INTERVAL_UNCOORDINATED, &costs, 100, 1000),
                tic_interval_uncoordinated_wall(&costs, 100, 1000), 0);
}

/* checks that checkpoints without cost are taken at the shortest interval, at a finite wall time */
static void test_free_checkpoints(void **state)
{
    struct tic_interval_costs costs = tic_test_costs(0, 0, 0, 3600);

    (void)state;
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
        check_choice(model, &costs, TIC_INTERVAL_LEAST, TIC_INTERVAL_FLOOR);
        double wall = tic_interval_wall(model, &costs, TIC_INTERVAL_LEAST, 1e5);
        assert_near(wall, 1e5, 0.1);
        assert_true(wall >= 1e5);
    }
}

/* checks that no interval is shorter than the longest task */
static void test_floor(void **state)
{
    struct tic_interval_costs costs = usual();

    (void)state;
    costs.least = 500;
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++)
        check_choice(model, &costs, 500, TIC_INTERVAL_FLOOR);
}

/* checks that an MTBF no longer than detection and loading gives the shortest interval and no wall
 * time by Fialho, and that Daly has no positive optimum where a checkpoint takes two MTBFs */
static void test_short_mtbf(void **state)
{
    const double mtbf[] = {5, 4.9, 1};

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(mtbf); i++) {
        struct tic_interval_costs costs = tic_test_costs(5, 4, 1, mtbf[i]);
        for (int model = TIC_INTERVAL_COORDINATED; model <= TIC_INTERVAL_UNCOORDINATED; model++) {
            check_choice(model, &costs, TIC_INTERVAL_LEAST, TIC_INTERVAL_FLOOR);
            assert_true(isnan(tic_interval_wall(model, &costs, TIC_INTERVAL_LEAST, 100)));
        }
    }
    struct tic_interval_costs slow = tic_test_costs(10, 4, 1, 5);
    check_choice(TIC_INTERVAL_DALY, &slow, TIC_INTERVAL_LEAST, TIC_INTERVAL_FLOOR);
    slow.mtbf = 5.1;
    assert_int_equal(tic_interval_choose(TIC_INTERVAL_DALY, &slow).rule, TIC_INTERVAL_OPTIMUM);
    assert_int_equal(tic_interval_choose(TIC_INTERVAL_COORDINATED, &slow).rule,
                     TIC_INTERVAL_OPTIMUM);
}

/* checks that the bound on recovery shortens an interval to exactly the longest that meets it, and
 * that a bound which nothing meets is told */
static void test_max_recovery(void **state)
{
    struct tic_interval_costs costs = tic_test_logged(usual(), 1, 0, 2);

    (void)state;
    costs.max_recovery = 1000;
    check_choice(TIC_INTERVAL_YOUNG, &costs, tic_interval_young(&costs), TIC_INTERVAL_OPTIMUM);
    costs.max_recovery = 60;
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++)
        check_choice(model, &costs, model == TIC_INTERVAL_UNCOORDINATED ? 53 : 55,
                     TIC_INTERVAL_CAPPED);
    costs.max_recovery = 6;
    check_choice(TIC_INTERVAL_COORDINATED, &costs, 1, TIC_INTERVAL_CAPPED);
    check_choice(TIC_INTERVAL_UNCOORDINATED, &costs, costs.least, TIC_INTERVAL_UNMET);
    costs.least = 2;
    check_choice(TIC_INTERVAL_COORDINATED, &costs, 2, TIC_INTERVAL_UNMET);
}

/* checks that the bound on overhead lengthens an interval to exactly the shortest that meets it,
 * also where there is no optimum, and yields to the bound on recovery */
static void test_max_overhead(void **state)
{
    struct tic_interval_costs costs = usual();

    (void)state;
    costs.max_overhead = 0.5;
    check_choice(TIC_INTERVAL_YOUNG, &costs, tic_interval_young(&costs), TIC_INTERVAL_OPTIMUM);
    costs.max_overhead = 0.01;
    for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
        check_choice(model, &costs, 495, TIC_INTERVAL_STRETCHED);
        costs.max_recovery = 400;
        check_choice(model, &costs, 395, TIC_INTERVAL_CONFLICT);
        costs.max_recovery = 0;
    }
    costs.mtbf = 1;
    check_choice(TIC_INTERVAL_COORDINATED, &costs, 495, TIC_INTERVAL_STRETCHED);
    costs.least = 500;
    check_choice(TIC_INTERVAL_COORDINATED, &costs, 500, TIC_INTERVAL_FLOOR);
    assert_near(tic_interval_shortest(&costs), 495, 1e-9);
    costs.max_overhead = 0;
    assert_near(tic_interval_shortest(&costs), 0, 0);
}

/* checks that models give no wall time where they do not hold: Fialho where recovery takes longer
 * than the MTBF, Daly where the run ends before its first checkpoint */
static void test_no_wall(void **state)
{
    struct tic_interval_costs costs = usual();
    double last = 2 * (costs.mtbf - costs.t_d - costs.t_l);

    (void)state;
    assert_true(isfinite(tic_interval_coordinated_wall(&costs, last, 1)));
    assert_true(isnan(tic_interval_coordinated_wall(&costs, last + 1, 1)));
    assert_true(isnan(tic_interval_uncoordinated_wall(&costs, last + 1, 1)));
    assert_true(isnan(tic_interval_uncoordinated_bound(&costs, last + 1)));
    assert_true(isnan(tic_interval_daly_wall(&costs, 100, 99)));
    assert_true(tic_interval_daly_wall(&costs, 100, 100) >= 100);
    assert_true(isnan(tic_interval_waste(NAN, 100)));
    assert_near(tic_interval_waste(INFINITY, 100), 1, 0);
    assert_true(isinf(tic_interval_young_wall(&costs, 1e7, 1e8)));
    costs.mtbf = 5;
    assert_false(tic_interval_prefers_uncoordinated(&costs));
}

/* checks that phi so small that the optimum is beyond two MTBFs leaves the interval as it is, and
 * gives no wall time: eq. 3.20 would give less than the work */
static void test_tiny_phi(void **state)
{
    struct tic_interval_costs costs = tic_test_costs(5, 5, 0, 100);

    (void)state;
    costs.phi = 0;
    costs.processes = 1000;
    double optimum = tic_interval_uncoordinated(&costs);
    assert_true(optimum > 2 * costs.mtbf);
    check_choice(TIC_INTERVAL_UNCOORDINATED, &costs, optimum, TIC_INTERVAL_OPTIMUM);
    assert_true(isnan(tic_interval_wall(TIC_INTERVAL_UNCOORDINATED, &costs, optimum, 1000)));
    assert_false(tic_interval_prefers_uncoordinated(&costs));
    costs.processes = 30;
    optimum = tic_interval_uncoordinated(&costs);
    assert_true(tic_interval_wall(TIC_INTERVAL_UNCOORDINATED, &costs, optimum, 1000) > 1000);
}

/* checks that every model has a name and a source, each name once */
static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        assert_true(tic_interval_sources[i][0] != '\0');
        for (int k = 0; k < i; k++)
            assert_string_not_equal(tic_interval_names[i], tic_interval_names[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_phi_is_clamped),
        cmocka_unit_test(test_optimum),
        cmocka_unit_test(test_wall),
        cmocka_unit_test(test_free_checkpoints),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_short_mtbf),
        cmocka_unit_test(test_max_recovery),
        cmocka_unit_test(test_max_overhead),
        cmocka_unit_test(test_no_wall),
        cmocka_unit_test(test_tiny_phi),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
