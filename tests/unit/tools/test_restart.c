/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the rules by which a supervised program is started again, how long that waits, and which
 * tasks count as those that may make it crash. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/testing.h"
#include "tools/culprit.h"
#include "tools/restart.h"

static const struct tic_restart_rules rules = {.most = 100, .backoff = 2};
static const struct tic_restart_rules on_exit_rules = {.most = 100, .on_exit = true};

static struct tic_restart_end end_of(int status, uint64_t tasks, double seconds)
{
    struct tic_restart_end end = tic_restart_end_of(status);

    end.progress = (struct tic_progress){.line = 1, .tasks_done = tasks};
    end.seconds = seconds;
    return end;
}

static int exited(int status)
{
    return status << 8; /* as waitpid() gives it */
}

static enum tic_restart_verdict first(const struct tic_restart_rules *by, int status, bool asked)
{
    struct tic_restart restart = {0};
    struct tic_restart_end end = end_of(status, 0, 1);

    end.asked = asked;
    assert_int_equal(tic_restart_may_follow(by, &end),
                     tic_restart_decide(&restart, by, &end) == TIC_RESTART_AGAIN);
    return tic_restart_decide(&(struct tic_restart){0}, by, &end);
}

/* checks which ends are crashes, and which statuses are final */
static void test_ends(void **state)
{
    (void)state;
    assert_int_equal(first(&rules, exited(0), false), TIC_RESTART_ENDED);
    assert_int_equal(first(&rules, exited(3), false), TIC_RESTART_ENDED);
    assert_int_equal(first(&rules, SIGKILL, false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, SIGABRT, false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, SIGTERM, false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, exited(128 + SIGSEGV), false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, exited(255), false), TIC_RESTART_ENDED);
    assert_int_equal(first(&rules, exited(128 + SIGTTOU), false), TIC_RESTART_ENDED);
    assert_int_equal(first(&on_exit_rules, exited(128 + SIGTTOU), false), TIC_RESTART_AGAIN);
    assert_false(tic_restart_end_of(exited(128 + SIGTTOU)).by_signal);
    assert_int_equal(first(&on_exit_rules, exited(0), false), TIC_RESTART_ENDED);
    assert_int_equal(first(&on_exit_rules, exited(3), false), TIC_RESTART_AGAIN);
    for (const int *status = (const int[]){70, 75, 78, 126, 127, 0}; *status; status++)
        assert_int_equal(first(&on_exit_rules, exited(*status), false), TIC_RESTART_FINAL);
    /* The run has stopped itself, because of a task. */
    assert_int_equal(first(&rules, exited(76), false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, exited(79), false), TIC_RESTART_AGAIN);
    assert_int_equal(first(&rules, SIGTERM, true), TIC_RESTART_ASKED);
    assert_int_equal(first(&on_exit_rules, exited(3), true), TIC_RESTART_ASKED);
    assert_int_equal(first(&rules, exited(0), true), TIC_RESTART_ENDED);
}

/* checks that the exit status is that of the program, or 128 and its signal */
static void test_status(void **state)
{
    (void)state;
    assert_int_equal(tic_restart_end_of(exited(42)).status, 42);
    assert_int_equal(tic_restart_end_of(SIGKILL).status, 137);
    assert_int_equal(tic_restart_end_of(SIGABRT | 0x80).status, 134); /* with a core */
}

static enum tic_restart_verdict crash(struct tic_restart *restart, struct tic_progress progress)
{
    struct tic_restart_end end = end_of(SIGKILL, 0, 1);

    end.progress = progress;
    return tic_restart_decide(restart, &rules, &end);
}

/* checks that three restarts with nothing new are the end; a line with another number that holds no
 * more is nothing new, and what was further once is not forgotten */
static void test_progress(void **state)
{
    struct tic_restart restart = {0};

    (void)state;
    assert_int_equal(crash(&restart, (struct tic_progress){0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){1, 10, 30, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){2, 10, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){2, 10, 31, 1}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){3, 11, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){2, 10, 31, 9}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){4, 11, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){4, 12, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){4, 12, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){4, 12, 31, 0}), TIC_RESTART_AGAIN);
    assert_int_equal(crash(&restart, (struct tic_progress){5, 12, 31, 0}), TIC_RESTART_STUCK);
}

/* The restarts until it is the end, where none brings anything, and the last pause. */
static unsigned long restarts_of(const struct tic_restart_rules *by, int status, double *wait)
{
    struct tic_restart restart = {0};
    struct tic_restart_end end = end_of(status, 0, 7);
    enum tic_restart_verdict verdict;

    while ((verdict = tic_restart_decide(&restart, by, &end)) == TIC_RESTART_AGAIN)
        *wait = restart.wait;
    assert_int_equal(verdict, TIC_RESTART_STUCK);
    assert_int_equal(restart.idle, restart.restarts);
    return restart.restarts;
}

/* checks that a signal from outside is not taken for a crash of the program, which comes again at
 * the same place; that the user's number counts for all; and that pauses grow after long runs, too
 */
static void test_idle(void **state)
{
    const struct tic_restart_rules short_wait = {.most = 100, .backoff = 0.5};
    const struct tic_restart_rules five = {.most = 100, .backoff = 0.5, .idle = 5};
    double wait;

    (void)state;
    assert_int_equal(restarts_of(&short_wait, SIGKILL, &wait), 3);
    assert_true(wait == 2);
    assert_int_equal(restarts_of(&short_wait, exited(128 + SIGKILL), &wait), 3);
    assert_int_equal(restarts_of(&short_wait, SIGSEGV, &wait), 1);
    assert_true(wait == 0.5);
    assert_int_equal(restarts_of(&short_wait, exited(79), &wait), 1);
    assert_int_equal(restarts_of(&five, SIGKILL, &wait), 5);
    assert_true(wait == 8);
    assert_int_equal(restarts_of(&five, SIGSEGV, &wait), 5);
}

/* checks that there are no more restarts than are allowed */
static void test_most(void **state)
{
    const struct tic_restart_rules two = {.most = 2};
    struct tic_restart restart = {0};
    struct tic_restart_end ends[] = {end_of(SIGKILL, 1, 1), end_of(SIGKILL, 2, 1),
                                     end_of(SIGKILL, 3, 1)};

    (void)state;
    assert_int_equal(tic_restart_decide(&restart, &two, &ends[0]), TIC_RESTART_AGAIN);
    assert_int_equal(tic_restart_decide(&restart, &two, &ends[1]), TIC_RESTART_AGAIN);
    assert_int_equal(tic_restart_decide(&restart, &two, &ends[2]), TIC_RESTART_SPENT);
    assert_int_equal(restart.restarts, 2);
}

/* checks that the wait doubles after short runs, up to a bound, and starts anew after a long one */
static void test_backoff(void **state)
{
    const struct tic_restart_rules slow = {.most = 100, .backoff = 100}, none = {.most = 100};
    struct tic_restart restart = {0}, idle = {0}, slowly = {0};
    double expected[] = {2, 4, 8, 16, 32, 60, 60, 2, 4};

    (void)state;
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct tic_restart_end end = end_of(SIGKILL, i, i == 7 ? 10 : 9.9);
        assert_int_equal(tic_restart_decide(&restart, &rules, &end), TIC_RESTART_AGAIN);
        assert_true(restart.wait == expected[i]);
        tic_restart_decide(&idle, &none, &end);
        assert_true(idle.wait == 0);
        tic_restart_decide(&slowly, &slow, &end);
        assert_true(slowly.wait == 100);
    }
}

static void run_task(struct tic_beacon *beacon, unsigned slot, uint64_t number, const char *name)
{
    tic_beacon_begin(beacon, slot, number, name);
}

/* checks that tasks that were running both times are named, wherever they ran */
static void test_culprits(void **state)
{
    static struct tic_beacon beacon;
    static struct tic_culprits before, now;
    char text[512];

    (void)state;
    run_task(&beacon, 0, 58, "potrf");
    run_task(&beacon, 1, 59, "gemm");
    run_task(&beacon, 7, TIC_BEACON_NO_NUMBER, "child");
    run_task(&beacon, 8, 3, "trsm");
    tic_beacon_end(&beacon, 8);
    tic_culprits_read(&before, &beacon);
    assert_int_equal(before.count, 3);
    memset(&beacon, 0, sizeof(beacon));
    run_task(&beacon, 0, 60, "gemm");
    run_task(&beacon, 3, TIC_BEACON_NO_NUMBER, "child");
    run_task(&beacon, 255, 58, "potrf");
    tic_culprits_read(&now, &beacon);
    tic_culprits_intersect(&now, &before);
    tic_culprits_describe(&now, text, sizeof(text));
    assert_string_equal(text,
                        " Running at both crashes: task \"child\", \"potrf\" (submission 57).");
    now.count = 0;
    tic_culprits_describe(&now, text, sizeof(text));
    assert_string_equal(text, "");
}

/* checks that names of any length fit, and that many tasks are not all named */
static void test_long_names(void **state)
{
    static struct tic_beacon beacon;
    static struct tic_culprits culprits;
    char name[200], text[512];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (unsigned i = 0; i < TIC_BEACON_TASKS; i++)
        run_task(&beacon, i, i + 1, name);
    memset(beacon.running[0].name, 'y', TIC_BEACON_NAME); /* it died while writing the name */
    tic_culprits_read(&culprits, &beacon);
    assert_int_equal(strlen(culprits.tasks[0].name), TIC_BEACON_NAME - 1);
    tic_culprits_describe(&culprits, text, sizeof(text));
    assert_non_null(strstr(text, "(submission 3) and 252 more."));
    tic_culprits_describe(&culprits, text, 100);
    assert_int_equal(strlen(text), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),     cmocka_unit_test(test_status),
        cmocka_unit_test(test_progress), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_most),     cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_culprits), cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
