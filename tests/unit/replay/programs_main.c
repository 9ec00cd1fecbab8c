/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs about main(): what it reads and writes by its pointers, and tasks that only read. */
#include <stddef.h>

#include "programs.h"

static const char *const trusted[] = {"STARPU_TIC_VERIFY", "0", NULL};

/* main() clears a flag before each wait, and a task sets it to what it was: what main() saw then
 * has not changed between waits, and a restart gives it back all the same. */
static void clears_flag(uint64_t *result)
{
    tic_open(1, 2);
    for (unsigned round = 0; round < 2; round++) {
        tic_values[0] = 0;
        tic_submit(&tic_assign, tic_data[0], 1);
        starpu_task_wait_for_all();
        result[5] = result[5] * 31 + tic_values[0];
        tic_submit(&tic_step, tic_data[1], round);
    }
    tic_close(result);
}

/* main() changes a variable by its pointer between tasks, when it has waited. A value that came
 * back before main() is where it was at the cut would be changed twice. */
static void writes_after_wait(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    starpu_task_wait_for_all();
    tic_values[0] += 50;
    tic_submit(&tic_step, tic_data[0], 5);
    starpu_task_wait_for_all();
    tic_values[0] *= 3;
    tic_submit(&tic_step, tic_data[0], 7);
    tic_close(result);
}

/* A task without output reads a value that the next one overwrites. A restart that executes it
 * again delivers what it read. */
static void sees(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_submit(&tic_see, tic_data[0], 0);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

static void see_own(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    tic_seen = tic_seen * 31 + tic_values[0];
}

static struct starpu_codelet see_own_codelet = {
    .cpu_funcs = {see_own}, .nbuffers = 1, .modes = {STARPU_R}, .name = "see_own"};

/* The same, and the kernel reads what it declares by a pointer of its own. */
static void sees_own(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_submit(&see_own_codelet, tic_data[0], 0);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

/* Accesses of main() between tasks. */
static void acquires(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_acquire(tic_data[0], STARPU_R);
    result[5] = tic_values[0];
    starpu_data_release(tic_data[0]);
    tic_submit(&tic_step, tic_data[0], result[5]);
    tic_acquire(tic_data[0], STARPU_RW);
    result[6] = tic_values[0]++;
    starpu_data_release(tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

const struct tic_program tic_programs_main[] = {
    {"clears-flag", clears_flag, NULL, false, NULL, 0, 1, 1, 1, false},
    {"writes-after-wait", writes_after_wait, NULL, false, NULL, 1, 1, 1, 1, false},
    {"sees", sees, NULL, false, NULL, 0, 1, 1, 1, false},
    {"sees-trusted", sees, trusted, false, NULL, 0, 0, 1, 1, true},
    {"sees-own", sees_own, NULL, false, NULL, 0, 1, 1, 1, false},
    {"clears-flag-two-lines", clears_flag, NULL, false, NULL, 0, 0, 2, 1, true},
    {"writes-two-lines", writes_after_wait, NULL, false, NULL, 0, 0, 2, 1, false},
    {"sees-two-lines", sees, NULL, false, NULL, 0, 0, 2, 1, false},
    {"clears-flag-twice", clears_flag, NULL, false, NULL, 0, 0, 1, 2, true},
    {"writes-twice", writes_after_wait, NULL, false, NULL, 0, 0, 1, 2, false},
    {"sees-twice", sees, NULL, false, NULL, 0, 0, 1, 2, false},
    {"acquires-twice", acquires, NULL, false, NULL, 0, 0, 1, 2, true},
    {"acquires", acquires, NULL, false, NULL, 1, 1, 1, 1, false},
    {"acquires-trusted", acquires, trusted, false, NULL, 1, 1, 1, 1, false},
    {NULL, NULL, NULL, false, NULL, 0, 0, 0, 0, false},
};
