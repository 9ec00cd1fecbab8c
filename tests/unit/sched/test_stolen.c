/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a worker knows from whom it has stolen each of the tasks that it has. */
#include <starpu.h>

#include "lib/testing.h"
#include "sched/stolen.h"

static struct starpu_task tasks[TIC_STOLEN + 1];

static void test_several_at_once(void **state)
{
    struct tic_stolen stolen = {0};

    (void)state;
    for (unsigned i = 0; i < TIC_STOLEN; i++)
        tic_stolen_note(&stolen, &tasks[i], i % 2 ? (int)i : -1);
    for (unsigned i = 0; i < TIC_STOLEN; i++)
        assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[i]), i % 2 ? (int)i : -1);
}

/* The structure of a task that was stolen is used again for one that was not. */
static void test_same_structure(void **state)
{
    struct tic_stolen stolen = {0};

    (void)state;
    tic_stolen_note(&stolen, &tasks[0], 3);
    tic_stolen_note(&stolen, &tasks[0], -1);
    assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[0]), -1);
    tic_stolen_note(&stolen, &tasks[0], 2);
    assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[0]), 2);
}

static void test_the_oldest_is_forgotten(void **state)
{
    struct tic_stolen stolen = {0};

    (void)state;
    for (unsigned i = 0; i <= TIC_STOLEN; i++)
        tic_stolen_note(&stolen, &tasks[i], 1);
    assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[0]), -1);
    assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[1]), 1);
    assert_int_equal(tic_stolen_victim_of(&stolen, &tasks[TIC_STOLEN]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_same_structure),
        cmocka_unit_test(test_the_oldest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
