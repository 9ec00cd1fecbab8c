/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the models give the published numbers: Fialho 2011, chapters 3 and 4. Intervals agree
 * within 0.01 s and wall times within 0.5 s. */
#include "interval/classic.h"
#include "interval/fialho.h"
#include "interval/models.h"
#include "unit/interval/near.h"

/* checks the intervals that follow from table 4.2 (MTBF 100 s, no detection time) by eq. 3.7 */
static void test_table_4_2(void **state)
{
    static const struct {
        double t_c, t_l, coordinated;
    } rows[] = {
        {0.034, 0.025, 2.5736},
        {0.182, 0.188, 5.8483},
        {0.532, 0.517, 9.7701},
        {1.086, 0.998, 13.6181},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_interval_costs costs = tic_test_costs(rows[i].t_c, rows[i].t_l, 0, 100);
        assert_near(tic_interval_coordinated(&costs), rows[i].coordinated, NEAR_INTERVAL);
    }
}

/* checks the intervals of table 4.3, where eq. 3.8 was used: eq. 3.7 with t_l = t_c */
static void test_table_4_3_intervals(void **state)
{
    struct tic_interval_costs costs = tic_test_costs(0.530, 0.505, 0, 100);
    struct tic_interval_costs reduced = tic_test_costs(0.530, 0.530, 0, 100);

    (void)state;
    assert_near(tic_interval_coordinated(&reduced), 9.752, 0.001);
    assert_near(tic_interval_coordinated(&costs), 9.7533, 0.005);
    assert_near(tic_interval_daly(&costs), 9.766, 0.001);
    assert_near(tic_interval_young(&costs), 10.2956, 0.005);
}

/* checks the differences between the columns of table 4.3: relative errors of the predicted run
 * time in percent. The measured time follows from the column of Fialho. */
static void test_table_4_3_errors(void **state)
{
    static const struct {
        double interval, fialho, daly, young, gropp;
    } rows[] = {
        {7, 2.6, 1.2, 1.5, 1.8},  {8, 2.1, 0.8, 1.2, 1.5},  {9, 1.8, 0.6, 1.0, 1.3},
        {10, 1.8, 0.6, 1.0, 1.3}, {11, 1.7, 0.5, 0.9, 1.2}, {12, 1.9, 0.7, 1.0, 1.5},
        {13, 2.1, 0.8, 1.2, 1.7},
    };
    const double work = 62830, tolerance = 0.1 + 1e-3;
    struct tic_interval_costs costs = tic_test_costs(0.530, 0.505, 0, 100);

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        double interval = rows[i].interval;
        double fialho = tic_interval_coordinated_wall(&costs, interval, work);
        double measured = fialho / (1 - rows[i].fialho / 100);
        double daly = tic_interval_daly_wall(&costs, interval, work);
        double gropp = tic_interval_gropp_wall(&costs, interval, work);
        double young = tic_interval_young_wall_of(&costs, interval, work, measured);
        assert_near(100 * (daly - fialho) / measured, rows[i].fialho - rows[i].daly, tolerance);
        assert_near(100 * (gropp - fialho) / measured, rows[i].fialho - rows[i].gropp, tolerance);
        assert_near(100 * (young - fialho) / measured, rows[i].fialho - rows[i].young, tolerance);
    }
}

/* checks the intervals of table 4.4, in minutes: 0.01 of a minute, as its columns are printed */
static void test_table_4_4_intervals(void **state)
{
    static const struct {
        double mtbf, young, daly, coordinated;
    } rows[] = {
        {1440, 120, 115, 114.8958},
        {360, 60, 55, 54.7913},
        {60, 24.4949, 19.4949, 18.9792},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_interval_costs costs = tic_test_costs(5, 5, 0, rows[i].mtbf);
        assert_near(tic_interval_young(&costs), rows[i].young, 0.005);
        assert_near(tic_interval_daly(&costs), rows[i].daly, 0.005);
        assert_near(tic_interval_coordinated(&costs), rows[i].coordinated, 0.005);
    }
}

/* checks the run times of table 4.4 over the work; for 500 days, in minutes */
static void test_table_4_4_walls(void **state)
{
    static const struct {
        double mtbf, interval, fialho, gropp, daly;
    } rows[] = {
        {1440, 114.89, 1.08326, 1.08688, 1.09197},
        {360, 55, 1.16609, 1.18119, 1.20368},
        {60, 21, 1.40096, 1.49643, 1.68435},
    };
    const double work = 500 * 1440;

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_interval_costs costs = tic_test_costs(5, 5, 0, rows[i].mtbf);
        double interval = rows[i].interval;
        assert_near(tic_interval_coordinated_wall(&costs, interval, work) / work, rows[i].fialho,
                    1e-5);
        assert_near(tic_interval_gropp_wall(&costs, interval, work) / work, rows[i].gropp, 1e-5);
        assert_near(tic_interval_daly_wall(&costs, interval, work) / work, rows[i].daly, 2e-5);
    }
}

/* NAS LU of tables 4.5 to 4.8 and 4.11: 8 processes, t_d 0.5 s, MTBF 100 s, phi 1 */
static struct tic_interval_costs lu_b(void)
{
    return tic_test_logged(tic_test_costs(0.605, 0.559, 0.5, 100), 1, 38.257, 0.005);
}

static struct tic_interval_costs lu_c(void)
{
    return tic_test_logged(tic_test_costs(2.057, 2.102, 0.5, 100), 1, 13.961, 0.007);
}

/* checks the intervals of tables 4.5 and 4.8 */
static void test_tables_4_5_and_4_8(void **state)
{
    struct tic_interval_costs b = lu_b(), c = lu_c();

    (void)state;
    assert_near(tic_interval_uncoordinated(&b), 10.3530, 0.005);
    assert_near(tic_interval_uncoordinated(&c), 18.0651, 0.005);
    assert_near(tic_interval_daly(&b), 10.395, 0.005);
    assert_near(tic_interval_young(&b), 11.000, 0.005);
    assert_near(tic_interval_daly(&c), 18.226, 0.005);
}

/* checks the intervals of table 4.5 by the reduced eq. 3.16: t_d = 0 and t_l = t_c */
static void test_reduced_uncoordinated(void **state)
{
    struct tic_interval_costs b = lu_b(), c = lu_c();

    (void)state;
    b.t_d = c.t_d = 0;
    b.t_l = b.t_c;
    c.t_l = c.t_c;
    assert_near(tic_interval_uncoordinated(&b), 10.378, 0.005);
    assert_near(tic_interval_uncoordinated(&c), 18.121, 0.005);
}

struct predicted {
    double work, interval, measured;       /* s */
    double fialho, daly, gropp, young;     /* wall times, s */
    double fialho_, daly_, gropp_, young_; /* waste, percent */
};

static void check_predicted(const struct tic_interval_costs *costs, const struct predicted *row)
{
    double work = row->work, interval = row->interval;
    double fialho = tic_interval_uncoordinated_wall(costs, interval, work);
    double daly = tic_interval_daly_wall(costs, interval, work);
    double gropp = tic_interval_gropp_wall(costs, interval, work);
    double young = tic_interval_young_wall_of(costs, interval, work, row->measured);

    assert_near(fialho, row->fialho, NEAR_WALL);
    assert_near(daly, row->daly, NEAR_WALL);
    assert_near(gropp, row->gropp, NEAR_WALL);
    assert_near(young, row->young, NEAR_WALL);
    assert_near(100 * tic_interval_waste(fialho, work), row->fialho_, 0.06);
    assert_near(100 * tic_interval_waste(daly, work), row->daly_, 0.06);
    assert_near(100 * tic_interval_waste(gropp, work), row->gropp_, 0.06);
    assert_near(100 * tic_interval_waste(young, work), row->young_, 0.06);
}

/* checks all predictions of table 4.6 */
static void test_table_4_6(void **state)
{
    static const struct predicted row_b = {68469, 10,   107374, 102484, 77030, 76418,
                                           79868, 33.2, 11.1,   10.4,   14.3};
    static const struct predicted row_c = {36093, 18,   48948, 48594, 45478, 44225,
                                           45371, 25.7, 20.6,  18.4,  20.4};
    struct tic_interval_costs b = lu_b(), c = lu_c();

    (void)state;
    check_predicted(&b, &row_b);
    check_predicted(&c, &row_c);
}

/* checks table 4.7: measured less predicted waste of LU B, in points. The measured wastes follow
 * from the columns of Fialho, Daly and Gropp, which agree on them. */
static void test_table_4_7(void **state)
{
    static const struct {
        double interval, measured, fialho, daly, gropp, young;
    } rows[] = {
        {7, 36.87, 3.35, 24.96, 25.59, 21.56},  {8, 36.57, 3.24, 25.10, 25.76, 21.82},
        {9, 36.35, 3.12, 25.13, 25.81, 21.93},  {10, 36.25, 3.06, 25.14, 25.85, 21.97},
        {11, 36.32, 3.12, 25.21, 25.96, 22.04}, {12, 36.48, 3.24, 25.31, 26.08, 22.09},
        {13, 36.66, 3.36, 25.36, 26.18, 22.09}, {14, 36.80, 3.41, 25.34, 26.18, 22.01},
    };
    const double work = 68469, tolerance = 0.02;
    struct tic_interval_costs costs = lu_b();

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        double interval = rows[i].interval, percent = rows[i].measured;
        double measured = work / (1 - percent / 100);
        double fialho = tic_interval_uncoordinated_wall(&costs, interval, work);
        double daly = tic_interval_daly_wall(&costs, interval, work);
        double gropp = tic_interval_gropp_wall(&costs, interval, work);
        double young = tic_interval_young_wall_of(&costs, interval, work, measured);
        assert_near(percent - 100 * tic_interval_waste(fialho, work), rows[i].fialho, tolerance);
        assert_near(percent - 100 * tic_interval_waste(daly, work), rows[i].daly, tolerance);
        assert_near(percent - 100 * tic_interval_waste(gropp, work), rows[i].gropp, tolerance);
        assert_near(percent - 100 * tic_interval_waste(young, work), rows[i].young, tolerance);
    }
}

/* The synthetic program of table 4.10: MTBF 100 s, t_d 0.5 s, no replay; phi = stalled / N. */
static const struct spmd {
    double stalled;
    unsigned long processes;
    double t_c, t_l, log_time;      /* s, s, s per MTBF */
    double fialho, daly, young;     /* intervals, s */
    double uncoordinated, together; /* wall time over work, each at its optimum */
} spmd[] = {
    {4, 4, 1.630, 1.643, 2.771, 16.3052, 16.425, 18.055, 1.21219, 1.18448},
    {5, 9, 1.622, 1.596, 2.763, 22.3867, 16.389, 18.011, 1.16004, 1.18369},
    {5, 16, 1.691, 1.610, 2.765, 30.9978, 16.699, 18.390, 1.12530, 1.18693},
    {5, 25, 1.650, 1.634, 2.779, 38.7035, 16.516, 18.166, 1.10286, 1.18531},
    {5, 16, 4.954, 5.131, 4.188, 50.4586, 26.523, 31.477, 1.20013, 1.31654},
    {5, 36, 5.032, 5.199, 4.160, 78.7262, 26.692, 31.724, 1.13719, 1.31882},
    {5, 64, 4.981, 5.287, 4.399, 106.0641, 26.582, 31.563, 1.10841, 1.31844},
    {5, 100, 5.284, 5.330, 4.328, 137.7621, 27.224, 32.508, 1.08998, 1.32532},
};

static struct tic_interval_costs spmd_costs(const struct spmd *row)
{
    struct tic_interval_costs costs = tic_test_costs(row->t_c, row->t_l, 0.5, 100);

    costs = tic_test_logged(costs, row->stalled / (double)row->processes, row->log_time, 0);
    costs.processes = row->processes;
    return costs;
}

/* checks all intervals of table 4.10 */
static void test_table_4_10_intervals(void **state)
{
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(spmd); i++) {
        struct tic_interval_costs costs = spmd_costs(&spmd[i]);
        assert_near(tic_interval_uncoordinated(&costs), spmd[i].fialho, 0.005);
        assert_near(tic_interval_daly(&costs), spmd[i].daly, 0.005);
        assert_near(tic_interval_young(&costs), spmd[i].young, 0.005);
    }
}

/* checks the wall times at both optima of table 4.10, and that the better kind of checkpoint flips
 * between 4 and 9 processes */
static void test_table_4_10_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(spmd); i++) {
        struct tic_interval_costs costs = spmd_costs(&spmd[i]);
        double apart = tic_interval_uncoordinated(&costs);
        double together = tic_interval_coordinated(&costs);
        assert_near(tic_interval_uncoordinated_wall(&costs, apart, 1), spmd[i].uncoordinated, 1e-5);
        assert_near(tic_interval_coordinated_wall(&costs, together, 1), spmd[i].together, 1e-5);
        assert_int_equal(tic_interval_prefers_uncoordinated(&costs), spmd[i].processes > 4);
    }
}

/* checks the inputs of table 4.11 with the phi of its caption: the table itself has phi 1 */
static void test_table_4_11(void **state)
{
    struct tic_interval_costs b = lu_b(), c = lu_c();

    (void)state;
    b.phi = c.phi = 0.5625;
    assert_near(tic_interval_uncoordinated(&b), 14.006, NEAR_INTERVAL);
    assert_near(tic_interval_uncoordinated(&c), 24.772, NEAR_INTERVAL);
    assert_near(tic_interval_uncoordinated_wall(&b, 10, 68469), 100668, NEAR_WALL);
    assert_near(tic_interval_uncoordinated_wall(&c, 18, 36093), 46761, NEAR_WALL);
}

/* checks the intervals of tables 4.14 and 4.15 (MTBF 3600 s, t_d 1 s, t_l = t_c). The tables do not
 * print t_c: the values here solve eq. 3.15. The next checkpoint begins t_c and an interval later.
 */
static void test_tables_4_14_and_4_15(void **state)
{
    static const struct {
        double t_c, interval;
    } rows[] = {
        {17.895, 340.56}, {110.998, 775.93}, {112.062, 779.04}, {112.189, 779.41},
        {3.601, 157.35},  {84.209, 689.77},  {85.207, 693.29},  {85.372, 693.87},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_interval_costs costs = tic_test_costs(rows[i].t_c, rows[i].t_c, 1, 3600);
        assert_near(tic_interval_uncoordinated(&costs), rows[i].interval, 0.02);
    }
    assert_near(17.895 + rows[0].interval, 358.45, NEAR_INTERVAL);
    assert_near(3.601 + rows[4].interval, 160.95, NEAR_INTERVAL);
}

/* The t_c below `most` seconds that gives an interval, t_l = t_c: by bisection, as the interval
 * grows with t_c there. */
static double checkpoint_for(double interval, double phi, double most)
{
    double low = 0, high = most;

    for (unsigned i = 0; i < 100; i++) {
        double t_c = (low + high) / 2;
        struct tic_interval_costs costs = tic_test_costs(t_c, t_c, 1, 3600);
        costs.phi = phi;
        if (tic_interval_uncoordinated(&costs) < interval)
            low = t_c;
        else
            high = t_c;
    }
    return low;
}

/* checks the dependence on phi by tables 4.16 and 4.17: one t_c fits the interval before phi was
 * measured (0.34375) and the one after. Printed intervals follow checkpoints of varying length. */
static void test_tables_4_16_and_4_17(void **state)
{
    double master = checkpoint_for(2949.62, 0.34375, 1000);
    double worker = checkpoint_for(286.52, 0.34375, 1000);
    struct tic_interval_costs costs = tic_test_costs(master, master, 1, 3600);

    (void)state;
    assert_near(master, 709.2, 0.05);
    assert_near(tic_interval_uncoordinated(&costs), 1436.16, 1);
    assert_near(worker, 4.034, 0.0005);
    costs = tic_test_costs(worker, worker, 1, 3600);
    costs.phi = 0.25;
    assert_near(tic_interval_uncoordinated(&costs), 336.68, 0.05);
}

/* checks overheads, their least values and the bound on the recovery time */
static void test_vectors(void **state)
{
    struct tic_interval_costs b = lu_b();
    struct tic_interval_costs nine = spmd_costs(&spmd[1]), hundred = spmd_costs(&spmd[7]);

    (void)state;
    assert_near(tic_interval_coordinated_overhead(&b, 10), 11.4182, 0.005);
    assert_near(tic_interval_uncoordinated_overhead(&b, tic_interval_uncoordinated(&b)), 49.67404,
                1e-5);
    assert_near(tic_interval_uncoordinated_overhead(&nine, tic_interval_uncoordinated(&nine)),
                16.00404, 1e-5);
    assert_near(tic_interval_uncoordinated_overhead(&hundred, tic_interval_uncoordinated(&hundred)),
                8.99770, 1e-5);
    b.max_recovery = 8;
    assert_near(tic_interval_longest(TIC_INTERVAL_UNCOORDINATED, &b), 6.936, 1e-9);
    assert_near(tic_interval_longest(TIC_INTERVAL_COORDINATED, &b), 6.941, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_4_2),
        cmocka_unit_test(test_table_4_3_intervals),
        cmocka_unit_test(test_table_4_3_errors),
        cmocka_unit_test(test_table_4_4_intervals),
        cmocka_unit_test(test_table_4_4_walls),
        cmocka_unit_test(test_tables_4_5_and_4_8),
        cmocka_unit_test(test_reduced_uncoordinated),
        cmocka_unit_test(test_table_4_6),
        cmocka_unit_test(test_table_4_7),
        cmocka_unit_test(test_table_4_10_intervals),
        cmocka_unit_test(test_table_4_10_choice),
        cmocka_unit_test(test_table_4_11),
        cmocka_unit_test(test_tables_4_14_and_4_15),
        cmocka_unit_test(test_tables_4_16_and_4_17),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
