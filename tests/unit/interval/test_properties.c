/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the models against their published polynomials and properties, on random costs: optima are
 * optima, phi 1 without a log is the coordinated model, monotone dependences, limits. */
#include "interval/classic.h"
#include "interval/fialho.h"
#include "interval/models.h"
#include "lib/random.h"
#include "unit/interval/near.h"

enum { CASES = 2000 };

static double between(struct tic_random *random, double low, double high)
{
    double share = (double)tic_random_below(random, UINT64_C(1) << 53) / 0x1p53;

    return low + share * (high - low);
}

/* Costs in the range of the models: recovery takes up to a fifth of the MTBF, and phi is large
 * enough for recovery at the optimum to be shorter than the MTBF. */
static struct tic_interval_costs random_costs(struct tic_random *random)
{
    double mtbf = exp(between(random, 4, 14)); /* a minute to two weeks */
    double t_c = mtbf * exp(between(random, -10, -3.5));
    struct tic_interval_costs costs =
        tic_test_costs(t_c, t_c * between(random, 0.5, 2), mtbf * between(random, 0, 0.05), mtbf);

    return tic_test_logged(costs, between(random, 0.1, 1), mtbf * between(random, 0, 0.4),
                           mtbf * between(random, 0, 0.05));
}

static struct tic_interval_costs without_log(struct tic_interval_costs costs)
{
    costs.phi = 1;
    costs.log_rate = 0;
    costs.t_replay = 0;
    return costs;
}

/* checks overheads and bound against eq. 3.6, 3.14 and 3.23 as they are printed */
static void test_polynomials(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 1);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double s = between(&random, 0.001, 1.5) * costs.mtbf, t_c = costs.t_c, t_d = costs.t_d;
        double t_l = costs.t_l, a = costs.mtbf, phi = costs.phi, r = costs.t_replay;
        double log = costs.log_rate * a, divisor = 2 * s + 2 * t_c;
        double last = 2 * t_c * (phi * (t_d + t_l + r) + a - t_d - t_l - r + log);
        double e36 = (s * s + 2 * (s * t_d + s * t_l + a * t_c)) / divisor;
        double linear = 2 * phi * (t_d + t_l + r) + phi * t_c - t_c + 2 * log;
        double e314 = (phi * s * s + s * linear + last) / divisor;
        double e323 = (2 * phi * s * s + s * (linear + phi * t_c) + last) / divisor;
        assert_near(tic_interval_coordinated_overhead(&costs, s), e36, 1e-9 * a);
        assert_near(tic_interval_uncoordinated_overhead(&costs, s), e314, 1e-9 * a);
        assert_near(tic_interval_uncoordinated_bound(&costs, s), e323, 1e-9 * a);
    }
}

/* checks that phi 1 without a log is the coordinated model, whatever the costs */
static void test_phi_one_is_coordinated(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 2);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs logged = random_costs(&random), plain = without_log(logged);
        double interval = between(&random, 0.001, 1.5) * plain.mtbf;
        double tolerance = 1e-9 * plain.mtbf;
        assert_near(tic_interval_uncoordinated(&plain), tic_interval_coordinated(&plain),
                    tolerance);
        assert_near(tic_interval_uncoordinated_wall(&plain, interval, plain.mtbf),
                    tic_interval_coordinated_wall(&plain, interval, plain.mtbf), tolerance);
        assert_near(tic_interval_coordinated(&logged), tic_interval_coordinated(&plain), 0);
        assert_near(tic_interval_coordinated_wall(&logged, interval, 1),
                    tic_interval_coordinated_wall(&plain, interval, 1), 0);
    }
}

/* Overhead at the optimum, s per MTBF: eq. 3.14 with the interval of eq. 3.15. */
static double least_overhead(const struct tic_interval_costs *costs)
{
    double fixed = costs->t_d + costs->t_l + costs->t_replay, t_c = costs->t_c;
    double k = t_c + 2 * costs->mtbf - 2 * fixed;

    return costs->phi * (fixed - t_c / 2) - t_c / 2 + sqrt(costs->phi * t_c * k) +
           costs->log_rate * costs->mtbf;
}

/* checks that the overhead at the optimum is the closed form */
static void test_least_overhead(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 3);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double interval = tic_interval_uncoordinated(&costs);
        assert_near(tic_interval_uncoordinated_overhead(&costs, interval), least_overhead(&costs),
                    1e-9 * costs.mtbf);
    }
}

/* checks that the choice between both kinds of checkpoints is that of the closed forms, and that
 * both are chosen at times */
static void test_preference(void **state)
{
    struct tic_random random;
    unsigned apart = 0;

    (void)state;
    tic_random_init(&random, 11);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random), plain = without_log(costs);
        costs.log_rate /= 20;
        bool wanted = least_overhead(&costs) < least_overhead(&plain);
        assert_int_equal(tic_interval_prefers_uncoordinated(&costs), wanted);
        apart += wanted;
    }
    assert_in_range(apart, CASES / 10, CASES * 9 / 10);
}

/* checks that no other interval has a shorter wall time than the optimum of Gropp and of Fialho;
 * than that of Young and Daly, which are approximations, by at most 1 % */
static void test_optima(void **state)
{
    static const double slack[TIC_INTERVAL_MODELS] = {
        [TIC_INTERVAL_YOUNG] = 0.01, [TIC_INTERVAL_DALY] = 0.01};
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 4);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double work = 100 * costs.mtbf;
        for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
            double best = tic_interval_choose(model, &costs).interval;
            double least = tic_interval_wall(model, &costs, best, work) * (1 - slack[model]);
            for (double factor = 0.1; factor < 1.9; factor += 0.1)
                assert_false(tic_interval_wall(model, &costs, best * factor, work) <
                             least * (1 - 1e-12));
        }
    }
}

/* checks that no wall time is shorter than the work, and that the waste is a share */
static void test_wall_is_not_below_work(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 5);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double interval = costs.mtbf * exp(between(&random, -8, 0.4));
        double work = interval * between(&random, 1, 100);
        for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
            double wall = tic_interval_wall(model, &costs, interval, work);
            assert_true(wall >= work);
            assert_true(tic_interval_waste(wall, work) >= 0);
            assert_true(tic_interval_waste(wall, work) < 1);
            assert_near(wall * (1 - tic_interval_waste(wall, work)), work, 1e-9 * work);
        }
    }
}

static double least_waste(int model, const struct tic_interval_costs *costs, double work)
{
    double interval = tic_interval_choose(model, costs).interval;

    return tic_interval_waste(tic_interval_wall(model, costs, interval, work), work);
}

/* checks that a longer MTBF makes intervals longer and wastes less */
static void test_monotone_in_mtbf(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 6);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random), rarer = costs;
        double work = 1000 * costs.mtbf;
        rarer.mtbf *= between(&random, 1.1, 3);
        for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
            assert_true(tic_interval_choose(model, &rarer).interval >
                        tic_interval_choose(model, &costs).interval);
            assert_true(least_waste(model, &rarer, work) < least_waste(model, &costs, work));
        }
    }
}

/* checks that dearer checkpoints make intervals longer and waste more, far from the MTBF */
static void test_monotone_in_checkpoint(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 7);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random), dearer = costs;
        double work = 1000 * costs.mtbf;
        dearer.t_c *= between(&random, 1.1, 2);
        for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
            assert_true(tic_interval_choose(model, &dearer).interval >
                        tic_interval_choose(model, &costs).interval);
            assert_true(least_waste(model, &dearer, work) > least_waste(model, &costs, work));
        }
    }
}

/* checks that weaker dependencies make uncoordinated intervals longer and waste less, and that
 * logging costs time without changing the interval */
static void test_monotone_in_phi_and_log(void **state)
{
    const int model = TIC_INTERVAL_UNCOORDINATED;
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 8);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random), weaker = costs, logged = costs;
        weaker.phi *= between(&random, 0.8, 0.95);
        logged.log_rate += between(&random, 0.01, 0.5);
        assert_true(tic_interval_uncoordinated(&weaker) > tic_interval_uncoordinated(&costs));
        assert_true(least_waste(model, &weaker, 1) < least_waste(model, &costs, 1));
        assert_near(tic_interval_uncoordinated(&logged), tic_interval_uncoordinated(&costs), 0);
        assert_true(least_waste(model, &logged, 1) > least_waste(model, &costs, 1));
    }
}

/* checks that slower recovery makes the intervals of Fialho shorter */
static void test_monotone_in_recovery(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 9);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double more = costs.mtbf * between(&random, 0.01, 0.1);
        struct tic_interval_costs detection = costs, load = costs, replay = costs;
        detection.t_d += more;
        load.t_l += more;
        replay.t_replay += more;
        assert_true(tic_interval_coordinated(&detection) < tic_interval_coordinated(&costs));
        assert_true(tic_interval_coordinated(&load) < tic_interval_coordinated(&costs));
        assert_near(tic_interval_coordinated(&replay), tic_interval_coordinated(&costs), 0);
        assert_true(tic_interval_uncoordinated(&replay) < tic_interval_uncoordinated(&costs));
        assert_near(tic_interval_uncoordinated(&detection), tic_interval_uncoordinated(&replay),
                    1e-9 * costs.mtbf);
    }
}

/* checks that all models agree where faults are rare, and that the waste then goes to 0 as
 * sqrt(2 t_c / mtbf) does */
static void test_rare_faults(void **state)
{
    (void)state;
    for (double mtbf = 1e6; mtbf < 1e12; mtbf *= 10) {
        struct tic_interval_costs costs = tic_test_costs(1, 1, 0, mtbf);
        double first = sqrt(2 / mtbf);
        for (int model = 0; model < TIC_INTERVAL_MODELS; model++) {
            struct tic_interval_choice choice = tic_interval_choose(model, &costs);
            assert_near(choice.interval * first, 2, 2 * first);
            assert_near(least_waste(model, &costs, 1000 * mtbf) / first, 1, 2 * first);
        }
    }
}

/* checks that an MTBF of 30 million years costs checkpoints only, to the last digits */
static void test_digits(void **state)
{
    struct tic_interval_costs costs = tic_test_costs(1, 1, 0, 1e15);

    (void)state;
    assert_near(tic_interval_young_wall(&costs, 10, 1000), 1100, 1e-6);
    assert_near(tic_interval_daly_wall(&costs, 10, 1000), 1099, 1e-6);
}

/* checks that phi 1/N is one process with an MTBF of N times the system's: Young's interval */
static void test_independent_processes(void **state)
{
    struct tic_interval_costs costs = tic_test_costs(1, 1, 0, 1e6);

    (void)state;
    costs.phi = 0;
    for (costs.processes = 1; costs.processes <= 4096; costs.processes *= 2) {
        double own = sqrt(2 * costs.t_c * (double)costs.processes * costs.mtbf);
        assert_near(tic_interval_uncoordinated(&costs) / own, 1, 1e-3);
    }
}

/* checks that the interval is longest where a checkpoint takes (1 - 1/sqrt 2) of the MTBF, for t_l
 * = t_c and no detection time; it is (sqrt 2 - 1) of the MTBF there */
static void test_longest_optimum(void **state)
{
    const double mtbf = 3600, peak = mtbf * (1 - sqrt(0.5));
    struct tic_interval_costs costs = tic_test_costs(peak, peak, 0, mtbf);
    double longest = tic_interval_coordinated(&costs);

    (void)state;
    assert_near(longest, mtbf * (sqrt(2) - 1), 1e-9);
    for (double factor = 0.5; factor < 1.6; factor += 0.2) {
        costs.t_c = costs.t_l = peak * factor;
        assert_true(tic_interval_coordinated(&costs) < longest);
    }
}

/* checks that Young's wall time is the one at which the predicted run has the faults */
static void test_young_is_a_fixed_point(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 10);
    for (unsigned i = 0; i < CASES; i++) {
        struct tic_interval_costs costs = random_costs(&random);
        double interval = costs.mtbf * exp(between(&random, -6, 0));
        double wall = tic_interval_young_wall(&costs, interval, 1000);
        assert_near(tic_interval_young_wall_of(&costs, interval, 1000, wall), wall, 1e-9 * wall);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomials),
        cmocka_unit_test(test_phi_one_is_coordinated),
        cmocka_unit_test(test_least_overhead),
        cmocka_unit_test(test_preference),
        cmocka_unit_test(test_optima),
        cmocka_unit_test(test_wall_is_not_below_work),
        cmocka_unit_test(test_monotone_in_mtbf),
        cmocka_unit_test(test_monotone_in_checkpoint),
        cmocka_unit_test(test_monotone_in_phi_and_log),
        cmocka_unit_test(test_monotone_in_recovery),
        cmocka_unit_test(test_rare_faults),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_independent_processes),
        cmocka_unit_test(test_longest_optimum),
        cmocka_unit_test(test_young_is_a_fixed_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
