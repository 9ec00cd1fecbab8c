/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a worker asks those first that are near in the tree of the machine. */
#include <starpu.h>

#include "lib/testing.h"
#include "sched/near.h"

/* Two packages of two cores of two threads. */
enum { PACKAGES = 2, CORES = 4, WORKERS = 8 };
static struct starpu_tree machine, packages[PACKAGES], cores[CORES], threads[WORKERS];
static const struct starpu_tree *nodes[WORKERS];

static int build(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WORKERS; i++) {
        packages[i / 4].father = &machine;
        cores[i / 2].father = &packages[i / 4];
        threads[i].father = &cores[i / 2];
        nodes[i] = &threads[i];
    }
    return 0;
}

static void check(unsigned worker, const unsigned *wanted)
{
    unsigned order[WORKERS];

    tic_near_order(nodes, WORKERS, worker, order);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(order[i], wanted[i]);
}

static void test_nearest_first(void **state)
{
    (void)state;
    check(0, (unsigned[]){0, 1, 2, 3, 4, 5, 6, 7});
    check(3, (unsigned[]){3, 2, 0, 1, 4, 5, 6, 7});
    check(5, (unsigned[]){5, 4, 6, 7, 0, 1, 2, 3});
}

/* Workers of one processor have the same node. */
static void test_shared_places(void **state)
{
    (void)state;
    nodes[7] = nodes[0];
    check(0, (unsigned[]){0, 7, 1, 2, 3, 4, 5, 6});
    check(7, (unsigned[]){7, 0, 1, 2, 3, 4, 5, 6});
}

static void test_unknown_places_come_last(void **state)
{
    (void)state;
    nodes[2] = NULL;
    check(0, (unsigned[]){0, 1, 3, 4, 5, 6, 7, 2});
    check(2, (unsigned[]){2, 3, 4, 5, 6, 7, 0, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nearest_first, build),
        cmocka_unit_test_setup(test_shared_places, build),
        cmocka_unit_test_setup(test_unknown_places_come_last, build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
