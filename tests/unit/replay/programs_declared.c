/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that declare things by starpu_tic.h: data that no recovery line holds. */
#include <stddef.h>
#include <unistd.h>

#include "programs.h"
#include "starpu_tic.h"

#define TRUSTED "STARPU_TIC_VERIFY", "0"
static const char *const trusted[] = {TRUSTED, NULL};
static const char *const logged[] = {TRUSTED, "STARPU_TIC_PROTOCOL", "sel", NULL};

enum { EXIT_REFUSED = 92 };

/* The run that tells what is right is not protected. */
static void exclude(starpu_data_handle_t data)
{
    if (starpu_tic_data_exclude(data) != 0 && starpu_tic_get_status(NULL, 0) == 0)
        _exit(EXIT_REFUSED);
}

/* Written twice, and read in between. */
static void generate(uint64_t *result)
{
    tic_open(2, 3);
    exclude(tic_data[0]);
    tic_submit(&tic_assign, tic_data[0], 4);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_submit_pair(&tic_join, tic_data[2], tic_data[0]);
    tic_close(result);
}

/* Made of other data, which changes then, and of what main() has put there. */
static void derive(uint64_t *result)
{
    tic_open(2, 3);
    exclude(tic_data[0]);
    tic_submit(&tic_step, tic_data[1], 3);
    tic_submit_pair(&tic_join, tic_data[0], tic_data[1]);
    tic_submit(&tic_step, tic_data[1], 7);
    tic_submit_pair(&tic_join, tic_data[2], tic_data[0]);
    tic_close(result);
}

/* The same of what main() has put into other data, and without a home. */
static void derive_first(uint64_t *result)
{
    tic_open(1, 2);
    starpu_data_handle_t homeless = tic_register_homeless();
    exclude(homeless);
    tic_submit(&tic_assign, homeless, 4);
    tic_submit_pair(&tic_join, homeless, tic_data[0]);
    starpu_task_wait_for_all();
    tic_submit(&tic_step, tic_data[0], 7);
    tic_submit_pair(&tic_join, tic_data[1], homeless);
    starpu_data_unregister(homeless);
    tic_close(result);
}

/* main() reads it, goes on by it, and writes it. */
static void access_it(uint64_t *result)
{
    tic_open(1, 2);
    exclude(tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_acquire(tic_data[0], STARPU_R);
    result[5] = tic_values[0];
    starpu_data_release(tic_data[0]);
    tic_submit(&tic_step, tic_data[1], result[5]);
    tic_acquire(tic_data[0], STARPU_RW);
    result[6] = tic_values[0]++;
    starpu_data_release(tic_data[0]);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_close(result);
}

/* main() looks at it by its own pointer, and tasks without output look at it. */
static void look(uint64_t *result)
{
    tic_open(1, 2);
    exclude(tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_submit(&tic_see, tic_data[0], 0);
    starpu_task_wait_for_all();
    result[5] = tic_values[0];
    tic_submit(&tic_step, tic_data[1], result[5]);
    tic_submit(&tic_step, tic_data[0], 9);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_close(result);
}

/* One is made of the other, which changes then. */
static void chain(uint64_t *result)
{
    tic_open(2, 4);
    exclude(tic_data[0]);
    exclude(tic_data[1]);
    tic_submit(&tic_assign, tic_data[0], 4);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 7);
    tic_submit_pair(&tic_join, tic_data[2], tic_data[1]);
    tic_submit_pair(&tic_join, tic_data[3], tic_data[0]);
    tic_close(result);
}

/* A structure that stays with main() makes it, from what changes then. */
static void remake(uint64_t *result)
{
    tic_open(1, 3);
    exclude(tic_data[0]);
    struct starpu_task *task = tic_build_pair(&tic_join, tic_data[0], tic_data[1]);
    task->destroy = task->detach = 0;
    for (unsigned i = 0; i < 2; i++) {
        tic_submit(&tic_step, tic_data[1], 3 + i);
        tic_submit_built(task);
        if (starpu_task_wait(task) != 0)
            _exit(EXIT_REFUSED);
        tic_submit_pair(&tic_join, tic_data[2], tic_data[0]);
        starpu_task_wait_for_all();
    }
    starpu_task_destroy(task);
    tic_close(result);
}

const struct tic_program tic_programs_declared[] = {
    {"excluded", generate, NULL, false, NULL, 0, 0, 1, 1, false},
    {"excluded-trusted", generate, trusted, false, NULL, 0, 0, 1, 1, false},
    {"excluded-twice", generate, NULL, false, NULL, 0, 0, 1, 2, true},
    {"excluded-derived", derive, NULL, false, NULL, 0, 0, 1, 1, true},
    {"excluded-derived-trusted", derive, trusted, false, NULL, 0, 0, 1, 1, true},
    {"excluded-derived-logged", derive, logged, true, NULL, 0, 0, 1, 1, true},
    {"excluded-first", derive_first, NULL, false, NULL, 0, 0, 1, 1, false},
    {"excluded-first-trusted", derive_first, trusted, false, NULL, 0, 0, 1, 1, false},
    {"excluded-first-logged", derive_first, logged, true, NULL, 0, 0, 1, 1, true},
    {"excluded-access", access_it, NULL, false, NULL, 0, 0, 1, 1, false},
    {"excluded-access-trusted", access_it, trusted, false, NULL, 0, 0, 1, 1, true},
    {"excluded-look", look, NULL, false, NULL, 0, 0, 1, 1, false},
    {"excluded-look-twice", look, NULL, false, NULL, 0, 0, 1, 2, true},
    {"excluded-chain", chain, NULL, false, NULL, 0, 0, 1, 1, true},
    {"excluded-chain-trusted", chain, trusted, false, NULL, 0, 0, 1, 1, true},
    {"excluded-remade", remake, NULL, false, NULL, 0, 0, 1, 1, true},
    {"excluded-remade-trusted", remake, trusted, false, NULL, 0, 0, 1, 1, true},
    {NULL, NULL, NULL, false, NULL, 0, 0, 0, 0, false},
};
