/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs about a vector and planned parts of it. */
#include <stddef.h>

#include "programs.h"

enum { ITEMS = 4, PARTS = 2 };

static const char *const trusted[] = {"STARPU_TIC_VERIFY", "0", NULL};
static uint64_t items[ITEMS];
static starpu_data_handle_t whole, parts[PARTS];

static void step_items(void *buffers[], void *arg)
{
    uint64_t *own = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        own[i] = own[i] * 31 + *(uint64_t *)arg;
}

static void see_items(void *buffers[], void *arg)
{
    const uint64_t *own = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        tic_seen = tic_seen * 31 + own[i];
}

static struct starpu_codelet step = {
    .cpu_funcs = {step_items}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_items"};
static struct starpu_codelet see = {
    .cpu_funcs = {see_items}, .nbuffers = 1, .modes = {STARPU_R}, .name = "see_items"};

static void open_parts(unsigned workers)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};

    tic_open(workers, 0);
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = i + 1;
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)items, ITEMS, sizeof(items[0]));
    starpu_data_partition_plan(whole, &filter, parts);
}

static void clean_up(uint64_t *result)
{
    starpu_data_partition_clean(whole, PARTS, parts);
    starpu_data_unregister(whole);
    tic_close(result);
    for (unsigned i = 0; i < ITEMS; i++)
        result[5 + i] = items[i];
}

static void close_parts(uint64_t *result)
{
    starpu_task_wait_for_all();
    clean_up(result);
}

static void split(void)
{
    starpu_data_partition_submit(whole, PARTS, parts);
}

static void gather(void)
{
    starpu_data_unpartition_submit(whole, PARTS, parts, STARPU_MAIN_RAM);
}

/* Tasks change the whole, each part, and the whole. Who overwrites one of them late saves the
 * others, which are the same memory. */
static void plan(uint64_t *result)
{
    open_parts(1);
    tic_submit(&step, whole, 3);
    split();
    tic_submit(&step, parts[0], 5);
    tic_submit(&step, parts[1], 7);
    gather();
    tic_submit(&step, whole, 9);
    close_parts(result);
}

/* The whole is changed, then one part. With a line in between, their values are of different age,
 * and come back in that order. */
static void plan_part(uint64_t *result)
{
    open_parts(1);
    tic_submit(&step, whole, 3);
    split();
    tic_submit(&step, parts[0], 5);
    tic_submit(&step, parts[0], 7);
    gather();
    close_parts(result);
}

/* A task without output reads a part, which is changed afterwards. */
static void plan_sees(uint64_t *result)
{
    open_parts(1);
    split();
    tic_submit(&see, parts[1], 0);
    tic_submit(&step, parts[1], 7);
    gather();
    tic_submit(&step, whole, 9);
    close_parts(result);
}

/* The plan is given up before the tasks that use it have ended: StarPU does that later. */
static void plan_cleaned(uint64_t *result)
{
    open_parts(1);
    split();
    tic_submit(&step, parts[0], 5);
    gather();
    clean_up(result);
}

const struct tic_program tic_programs_parts[] = {
    {"plan", plan, NULL, false, NULL, 0, 0, 1, 1, false},
    {"plan-trusted", plan, trusted, false, NULL, 0, 0, 1, 1, false},
    {"plan-late", plan, NULL, false, "checkpoint-cut", 0, 0, 1, 1, false},
    {"plan-late-trusted", plan, trusted, false, "checkpoint-cut", 0, 0, 1, 1, false},
    {"plan-part", plan_part, trusted, false, "checkpoint-cut", 0, 0, 1, 1, false},
    {"plan-two-lines", plan_part, NULL, false, NULL, 0, 0, 2, 1, false},
    {"plan-two-lines-trusted", plan_part, trusted, false, NULL, 0, 0, 2, 1, false},
    {"plan-two-lines-late", plan_part, trusted, false, "checkpoint-cut:2", 0, 0, 2, 1, false},
    {"plan-twice", plan, NULL, false, NULL, 0, 0, 1, 2, true},
    {"plan-cleaned", plan_cleaned, NULL, false, NULL, 0, 0, 1, 1, false},
    {"plan-sees", plan_sees, NULL, false, NULL, 0, 0, 1, 1, false},
    {"plan-sees-trusted", plan_sees, trusted, false, NULL, 0, 0, 1, 1, false},
    {NULL, NULL, NULL, false, NULL, 0, 0, 0, 0, false},
};
