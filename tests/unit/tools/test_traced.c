/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what is read of a trace: runs that belong together, tasks that crashes took, and their
 * cost. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "tools/traced.h"

static struct tic_traced traced;
static struct tic_tmpdir dir;
static char path[300];

static int set_up(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    snprintf(path, sizeof(path), "%s/trace", dir.path);
    memset(&traced, 0, sizeof(traced));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_traced_clear(&traced);
    tic_tmpdir_remove(&dir);
    return 0;
}

static int read_text(const char *text, const char *directory)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    int status = tic_traced_read(path, directory, &traced);
    return status ? status : tic_traced_derive(&traced);
}

static bool is_near(double x, double y)
{
    return fabs(x - y) < 1e-5;
}

#define RUN(time, line)                                                                            \
    "{\"kind\": \"run\", \"at\": 0.0, \"time\": " time ", \"process\": 7}\n"                       \
    "{\"kind\": \"directory\", \"at\": 0.1, \"path\": \"/store\"}\n"                               \
    "{\"kind\": \"start\", \"at\": 0.1, \"program\": \"p\", \"workers\": 2, \"line\": " line       \
    ", \"tasks_done\": 0, \"protocol\": \"tic\", \"period\": 1.0}\n"
#define TASK(number, begin, end)                                                                   \
    "{\"kind\": \"task\", \"worker\": 0, \"name\": \"k\", \"begin\": " begin ", \"end\": " end     \
    ", \"task\": " number "}\n"
#define CUT(line, begin, at, bytes)                                                                \
    "{\"kind\": \"checkpoint\", \"at\": " at ", \"line\": " line ", \"begin\": " begin             \
    ", \"tasks_done\": 1, \"bytes\": " bytes "}\n"

/* checks that a task that ran again was lost, and that a crash costs the time since the cut, until
 * the next run, and until its first task */
static void test_crash(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(RUN("100.0", "0") TASK("0", "1.0", "1.5") CUT("1", "2.0", "2.2", "10")
                      TASK("1", "2.1",
                           "2.9") "{\"kind\": \"task\", \"worker\": 1, \"name\": \"k\", "
                                  "\"begin\": 2.8, \"task\": 2}\n"
                                  "{\"kind\": \"ended\", \"time\": 103.0, \"status\": "
                                  "137, \"signal\": 9}\n" RUN("104.0", "1") TASK("1", "0.5", "0.9")
                                      TASK("2", "1.0", "1.1") "{\"kind\": \"end\", \"at\": 1.2, "
                                                              "\"status\": 0}\n",
                  NULL),
        0);
    assert_int_equal(traced.runs.count, 2);
    assert_int_equal(traced.crashes.count, 1);
    assert_int_equal(traced.workers, 2);
    assert_true(is_near(traced.end, 5.2));
    const struct tic_traced_crash *crash = &traced.crashes.items[0];
    assert_true(is_near(crash->work, 1));
    assert_true(is_near(crash->down, 1));
    assert_true(is_near(crash->restart, 0.5));
    assert_int_equal(crash->tasks, 2); /* 1, which ran again, and 2, in which it died */
    assert_int_equal(traced.tasks.count, 5);
    for (unsigned long i = 0; i < traced.tasks.count; i++) {
        const struct tic_traced_task *task = &traced.tasks.items[i];
        assert_int_equal(task->lost, task->run == 0 && task->number > 0);
        assert_int_equal(task->unfinished, task->run == 0 && task->number == 2);
    }
}

/* checks that a task that was written when it ran, and when it had, is one */
static void test_twice(void **state)
{
    (void)state;
    assert_int_equal(read_text(RUN("100.0", "0") "{\"kind\": \"task\", \"worker\": 0, \"name\": "
                                                 "\"k\", \"begin\": 1.0, \"task\": 0}\n"
                                                 "{\"kind\": \"task\", \"worker\": 0, \"name\": "
                                                 "\"k\", \"begin\": 1.0, \"end\": 2.0, \"task\": "
                                                 "0, \"victim\": 1}\n",
                               NULL),
                     0);
    assert_int_equal(traced.tasks.count, 1);
    assert_false(traced.tasks.items[0].unfinished);
    assert_int_equal(traced.tasks.items[0].victim, 1);
    assert_int_equal(traced.crashes.count, 0); /* it may run */
}

/* checks that the runs before one that was over do not count, nor those of another directory */
static void test_belongs(void **state)
{
    (void)state;
    static const char text[] =
        RUN("100.0", "0") "{\"kind\": \"end\", \"at\": 1.0, \"status\": 0}\n" RUN("200.0", "0")
            TASK("0", "1.0", "1.5");
    assert_int_equal(read_text(text, NULL), 0);
    assert_int_equal(traced.runs.count, 1);
    assert_true(is_near(traced.origin, 200));
    tic_traced_clear(&traced);
    assert_int_equal(read_text(text, "/store"), 0);
    assert_string_equal(traced.directory, "/store");
    tic_traced_clear(&traced);
    assert_int_equal(read_text(text, "/other"), -ENOENT);
    assert_int_equal(traced.runs.count, 0);
}

#define OTHER(time)                                                                                \
    "{\"kind\": \"run\", \"at\": 0.0, \"time\": " time ", \"process\": 8}\n"                       \
    "{\"kind\": \"directory\", \"at\": 0.1, \"path\": \"/other\"}\n"

/* checks that runs of two directories in one trace do not count for each other */
static void test_mixed(void **state)
{
    (void)state;
    static const char text[] = RUN("100.0", "0") TASK("0", "1.0", "1.5") OTHER("110.0") TASK(
        "0", "1.0", "1.5") "{\"kind\": \"stall\", \"worker\": 0, \"begin\": 0.5, \"end\": 0.6}\n"
                           "{\"kind\": \"message\", \"at\": 0.1, \"level\": 1, \"text\": \"m\"}\n"
                           "{\"kind\": \"end\", \"at\": 2.0, \"status\": 0}\n" RUN("120.0", "1")
                               TASK("1", "1.0", "1.5");
    assert_int_equal(read_text(text, NULL), 0); /* the last one's */
    assert_int_equal(traced.runs.count, 2);
    assert_int_equal(traced.tasks.count, 2);
    assert_int_equal(traced.tasks.items[1].run, 1);
    assert_int_equal(traced.stalls.count, 0);
    assert_int_equal(traced.messages.count, 0);
    assert_true(is_near(traced.runs.items[1].begin, 20));
    tic_traced_clear(&traced);
    assert_int_equal(read_text(text, "/other"), 0);
    assert_int_equal(traced.runs.count, 1);
    assert_int_equal(traced.stalls.count, 1);
    assert_int_equal(traced.messages.count, 1);
    assert_true(is_near(traced.origin, 110));
    assert_true(is_near(traced.tasks.items[0].begin, 1));
}

/* checks that what a kill has left of a line, and what nobody knows, is passed over */
static void test_torn(void **state)
{
    (void)state;
    assert_int_equal(read_text("garbage\n\n{\"kind\": \"task\", \"worker\": 0}\n" RUN("100.0", "0")
                                   TASK("0", "1.0", "1.5") "{\"kind\": \"task\", \"wor\n"
                                                           "{\"kind\": \"new\"}\n[1]\n"
                                                           "{\"kind\": \"task\", "
                                                           "\"worker\": -5, "
                                                           "\"begin\": 1.0}\n"
                                                           "{\"kind\": \"checkpoint\"}\n",
                               NULL),
                     0);
    assert_int_equal(traced.tasks.count, 1);
    assert_int_equal(traced.checkpoints.count, 0);
    assert_int_equal(traced.bad_lines, 2);
    tic_traced_clear(&traced);
    assert_int_equal(read_text("", NULL), -ENOENT);
    assert_int_equal(tic_traced_read("/nowhere/trace", NULL, &traced), -ENOENT);
}

/* checks that the volume of a checkpoint is what came since the one before in the same run */
static void test_volumes(void **state)
{
    (void)state;
    assert_int_equal(read_text(RUN("100.0", "0") CUT("1", "1.0", "1.1", "100")
                                   CUT("2", "2.0", "2.1", "150") RUN("110.0", "2")
                                       CUT("3", "1.0", "1.1", "30"),
                               NULL),
                     0);
    assert_int_equal(traced.checkpoints.count, 3);
    assert_int_equal(traced.checkpoints.items[0].bytes, 100);
    assert_int_equal(traced.checkpoints.items[1].bytes, 50);
    assert_int_equal(traced.checkpoints.items[2].bytes, 30);
    assert_int_equal(traced.crashes.count, 1); /* another run followed, so the first one died */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_belongs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mixed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_volumes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
