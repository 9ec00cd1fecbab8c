/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that small programs come to the right result whatever the order of events, wherever the
 * recovery line is cut, wherever they are killed, and in whatever order they are restarted. */
#include "lib/testing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "programs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

enum { MOST = 96 };

static const struct tic_program *const tables[] = {tic_programs_tasks, tic_programs_main,
                                                   tic_programs_parts, tic_programs_callbacks,
                                                   tic_programs_declared};

static bool is_deep; /* all programs, and a preemption more in each run */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_program(void **state)
{
    const struct tic_program *program = *state;
    struct tic_explored explored;
    double start = seconds();
    bool right = tic_explore(program, is_deep ? 1 : 0, &explored);

    printf("# %s: %lu recorded runs, %lu stores, %lu restarts with %lu of %lu tasks, %.1f s\n",
           program->name, explored.runs, explored.stores, explored.restarts, explored.executed,
           explored.tasks, seconds() - start);
    assert_true(right);
    assert_true(explored.executed < explored.tasks);
}

/* wanted: NULL, "name" or "name/choices/choices". */
static bool is_wanted(const struct tic_program *program, const char *wanted)
{
    if (!wanted || is_deep)
        return is_deep || !program->deep;
    size_t length = strcspn(wanted, "/");
    return strlen(program->name) == length && strncmp(program->name, wanted, length) == 0;
}

/* TIC_REPLAY names one program, or one of its runs; unset: those that take seconds;
 * deep: all, with a preemption more in each run. */
int main(void)
{
    const char *wanted = getenv("TIC_REPLAY");
    struct CMUnitTest tests[MOST];
    size_t count = 0;

    is_deep = wanted && strcmp(wanted, "deep") == 0;
    if (IS_SANITIZED) {
        printf("1..0 # SKIP sanitizers have their own functions for threads\n");
        return 0;
    }
    for (size_t i = 0; i < TIC_COUNT(tables); i++)
        for (const struct tic_program *program = tables[i]; program->name; program++)
            if (count < MOST && is_wanted(program, wanted))
                tests[count++] =
                    (struct CMUnitTest){program->name, test_program, NULL, NULL, (void *)program};
    if (wanted && strchr(wanted, '/') && count == 1)
        return tic_explore_one(tests[0].initial_state, strchr(wanted, '/') + 1) ? 0 : 1;
    return _cmocka_run_group_tests("replay", tests, count, NULL, NULL);
}
