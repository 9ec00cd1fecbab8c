/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that phi is the published one for the programs of Fialho 2011, and stays in its limits. */
#include "interval/phi.h"
#include "unit/interval/near.h"

enum { MOST_PROCESSES = 128 };

/* Processes in groups that stall the same number of processes each. */
struct group {
    size_t processes, stalled;
};

static double global(const struct group *groups, size_t count)
{
    size_t stalled[MOST_PROCESSES], processes = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < groups[i].processes; k++)
            stalled[processes++] = groups[i].stalled;
    return tic_interval_phi_global(stalled, processes);
}

/* checks table 3.3: a master and seven workers */
static void test_table_3_3(void **state)
{
    static const struct group groups[] = {{1, 8}, {7, 2}};

    (void)state;
    assert_near(tic_interval_phi_of(8, 8), 1, 1e-12);
    assert_near(tic_interval_phi_of(2, 8), 0.25, 1e-12);
    assert_near(global(groups, TIC_COUNT(groups)), 0.34375, 1e-12);
}

/* checks table 4.9: NAS LU on 4 to 128 processes, by corners, edges and inside of the mesh */
static void test_table_4_9(void **state)
{
    static const struct {
        struct group groups[3];
        double phi;
    } rows[] = {
        {{{4, 3}}, 0.75000},
        {{{4, 4}, {4, 5}}, 0.56250},
        {{{4, 5}, {8, 6}, {4, 7}}, 0.37500},
        {{{4, 6}, {16, 7}, {12, 8}}, 0.22656},
        {{{4, 7}, {24, 8}, {36, 9}}, 0.13281},
        {{{4, 8}, {40, 9}, {84, 10}}, 0.07520},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++)
        assert_near(global(rows[i].groups, 3), rows[i].phi, 5.1e-6);
}

/* checks table 4.12: NAS CG, whose processes all stall log2(N) + 2 processes */
static void test_table_4_12(void **state)
{
    static const struct {
        size_t processes, stalled;
        double phi;
    } rows[] = {
        {4, 4, 1.00000},  {8, 5, 0.62500},  {16, 6, 0.37500},
        {32, 7, 0.21875}, {64, 8, 0.12500}, {128, 9, 0.07031},
    };

    (void)state;
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct group group = {rows[i].processes, rows[i].stalled};
        assert_near(global(&group, 1), rows[i].phi, 5.1e-6);
    }
}

/* checks that phi is never below 1/N and never above 1 */
static void test_limits(void **state)
{
    (void)state;
    assert_near(tic_interval_phi_of(0, 8), 0.125, 0);
    assert_near(tic_interval_phi_of(9, 8), 1, 0);
    assert_near(tic_interval_phi_of(1, 1), 1, 0);
    assert_near(tic_interval_phi_clamp(0, 4), 0.25, 0);
    assert_near(tic_interval_phi_clamp(0.5, 4), 0.5, 0);
    assert_near(tic_interval_phi_clamp(2, 4), 1, 0);
    assert_near(tic_interval_phi_clamp(0.01, 0), 0.01, 0);
    assert_near(tic_interval_phi_clamp(0.01, 1), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_3_3),
        cmocka_unit_test(test_table_4_9),
        cmocka_unit_test(test_table_4_12),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
