/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that failpoints are armed by name and kill the process at exactly the n-th pass. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/failpoint.h"
#include "lib/child.h"
#include "lib/testing.h"

struct rehearsal {
    const char *spec;
    int passes;
    int *survived; /* shared with the child: passes that returned */
};

static int rehearse(void *arg)
{
    struct rehearsal *rehearsal = arg;
    if (tic_failpoint_arm(rehearsal->spec, 0) != 0)
        return 1;
    for (int i = 0; i < rehearsal->passes; i++) {
        tic_failpoint(TIC_FAIL_TASK_BEGIN);
        tic_failpoint(TIC_FAIL_TASK_END);
        ++*rehearsal->survived;
    }
    return 0;
}

static void expect(const char *spec, int passes, int status, int survived)
{
    int *shared =
        mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct rehearsal rehearsal = {spec, passes, shared};

    assert_ptr_not_equal(shared, MAP_FAILED);
    assert_int_equal(tic_child_run(rehearse, &rehearsal, NULL, 0), status);
    assert_int_equal(*shared, survived);
    munmap(shared, sizeof(int));
}

static void test_counts_passes(void **state)
{
    (void)state;
    expect("task-end", 5, TIC_CHILD_KILLED + SIGKILL, 0);
    expect("task-end:1", 5, TIC_CHILD_KILLED + SIGKILL, 0);
    expect("task-end:4", 3, 0, 3);
    expect("task-end:4", 4, TIC_CHILD_KILLED + SIGKILL, 3);
    expect("task-end:4", 100, TIC_CHILD_KILLED + SIGKILL, 3);
}

static void test_other_points_do_nothing(void **state)
{
    (void)state;
    expect("line-renamed", 10, 0, 10);
    expect("", 10, 0, 10);
}

static void test_every_name_can_be_armed(void **state)
{
    (void)state;
    for (int i = 0; i < TIC_FAIL_COUNT; i++) {
        char spec[64];
        assert_int_equal(tic_failpoint_arm(tic_failpoint_rows[i].name, 0), 0);
        assert_int_equal(tic_failpoint_armed, i);
        snprintf(spec, sizeof(spec), "%s:12", tic_failpoint_rows[i].name);
        assert_int_equal(tic_failpoint_arm(spec, 0), 0);
        assert_int_equal(tic_failpoint_armed, i);
        assert_true(strlen(tic_failpoint_rows[i].where) > 0);
    }
    assert_int_equal(tic_failpoint_arm("", 0), 0);
    assert_int_equal(tic_failpoint_armed, -1);
}

static void test_bad_specs_arm_nothing(void **state)
{
    static const char *const specs[] = {
        "x",           "task",        "task-end ",    "task-end:", "task-end:0",
        "task-end:-1", "task-end:x",  "task-end:1x",  ":1",        "task-end:99999999999999999999",
        "task-end@",   "task-end@-1", "task-end@0:1", "task-end,", "task-end,stopped"};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(specs); i++) {
        assert_int_equal(tic_failpoint_arm("task-end:1000", 0), 0);
        assert_int_equal(tic_failpoint_arm(specs[i], 0), -EINVAL);
        assert_int_equal(tic_failpoint_armed, -1);
    }
}

static void test_of_several_ranks_one_is_armed(void **state)
{
    (void)state;
    expect("task-end:4@0", 5, TIC_CHILD_KILLED + SIGKILL, 3);
    expect("task-end:4@1", 5, 0, 5);
    assert_int_equal(tic_failpoint_arm("task-end@12,stop", 12), 0);
    assert_int_equal(tic_failpoint_armed, TIC_FAIL_TASK_END);
    assert_int_equal(tic_failpoint_arm("", 0), 0);
}

static void test_passes_are_counted(void **state)
{
    (void)state;
    tic_failpoint(TIC_FAIL_TASK_END);
    assert_int_equal(tic_failpoint_passes(), 0);
    assert_int_equal(tic_failpoint_arm("task-end:1000", 0), 0);
    for (int i = 0; i < 7; i++)
        tic_failpoint(TIC_FAIL_TASK_END);
    tic_failpoint(TIC_FAIL_TASK_BEGIN);
    assert_int_equal(tic_failpoint_passes(), 7);
    assert_int_equal(tic_failpoint_arm("", 0), 0);
    assert_int_equal(tic_failpoint_passes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_passes),
        cmocka_unit_test(test_other_points_do_nothing),
        cmocka_unit_test(test_every_name_can_be_armed),
        cmocka_unit_test(test_bad_specs_arm_nothing),
        cmocka_unit_test(test_of_several_ranks_one_is_armed),
        cmocka_unit_test(test_passes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
