/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A vector and its parts, for scenarios of tests/lib/orders.c. */
#include "lib/orders_items.h"

uint64_t items[ITEMS];
starpu_data_handle_t whole, parts[PARTS];
struct starpu_data_filter part_filter = {.filter_func = starpu_vector_filter_block,
                                         .nchildren = PARTS};

static void step_items(void *buffers[], void *arg)
{
    uint64_t *own = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        own[i] = own[i] * 31 + (uint64_t)number;
}

static void add_items(void *buffers[], void *arg)
{
    uint64_t *own = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        own[i] += (uint64_t)number * (i + 1);
}

static void clear_items(void *buffers[], void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0,
           STARPU_VECTOR_GET_NX(buffers[0]) * sizeof(uint64_t));
}

static void fold_items(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint64_t *from = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] += from[i];
}

struct starpu_codelet step_items_codelet = {
    .cpu_funcs = {step_items}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_items"};
struct starpu_codelet add_items_codelet = {
    .cpu_funcs = {add_items}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_items"};
struct starpu_codelet reduce_items_codelet = {
    .cpu_funcs = {add_items}, .nbuffers = 1, .modes = {STARPU_REDUX}, .name = "reduce_items"};
struct starpu_codelet clear_items_codelet = {
    .cpu_funcs = {clear_items}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear_items"};
static struct starpu_codelet fold_items_codelet = {
    .cpu_funcs = {fold_items}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold_items"};

void make_items_reducible(starpu_data_handle_t handle)
{
    starpu_data_set_reduction_methods(handle, &fold_items_codelet, &clear_items_codelet);
}

void open_whole(void)
{
    for (int i = 0; i < ITEMS; i++)
        items[i] = (uint64_t)i;
    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)items, ITEMS, sizeof(items[0]));
    make_items_reducible(whole);
}

void close_whole(void)
{
    starpu_data_unregister(whole);
    for (int i = 0; i < ITEMS; i++)
        note(items[i]);
}

void step_parts(void)
{
    for (int i = 0; i < PARTS; i++)
        submit(&step_items_codelet, parts[i], i + 1);
}
