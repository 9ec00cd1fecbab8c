/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data of random programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "flow.h"
#include "starpu_tic.h"

/* Of a run that is preloaded with starpu-tic. */
#pragma weak starpu_tic_data_exclude

struct flow_item flow_items[FLOW_ITEMS];
unsigned flow_item_count;
starpu_data_handle_t flow_sinks[FLOW_SINKS], flow_lanes[FLOW_LANES], flow_gate;

static uint64_t sink_values[FLOW_SINKS], lane_values[FLOW_LANES];
static unsigned lanes_taken;

/* ---- layout ---------------------------------------------------------------------------------- */

struct flow_bytes flow_bytes_of(void *interface)
{
    const struct starpu_variable_interface *variable = interface;
    const struct starpu_vector_interface *vector = interface;
    const struct starpu_matrix_interface *matrix = interface;
    const struct starpu_block_interface *block = interface;

    switch (*(enum starpu_data_interface_id *)interface) {
    case STARPU_VARIABLE_INTERFACE_ID:
        return (struct flow_bytes){(unsigned char *)variable->ptr, variable->elemsize, 1, 1, 0, 0};
    case STARPU_VECTOR_INTERFACE_ID:
        return (struct flow_bytes){
            (unsigned char *)vector->ptr, vector->nx * vector->elemsize, 1, 1, 0, 0};
    case STARPU_MATRIX_INTERFACE_ID:
        return (struct flow_bytes){(unsigned char *)matrix->ptr,
                                   matrix->nx * matrix->elemsize,
                                   matrix->ny,
                                   1,
                                   matrix->ld * matrix->elemsize,
                                   0};
    case STARPU_BLOCK_INTERFACE_ID:
        return (struct flow_bytes){
            (unsigned char *)block->ptr,  block->nx * block->elemsize, block->ny, block->nz,
            block->ldy * block->elemsize, block->ldz * block->elemsize};
    default:
        return (struct flow_bytes){NULL, 0, 0, 0, 0, 0};
    }
}

static void choose_shape(struct flow_item *item)
{
    static const size_t elements[] = {1, 2, 4, 8, 24};

    item->kind = (enum flow_kind)flow_below(FLOW_KINDS);
    item->element = elements[flow_below(5)];
    item->nx = item->kind == FLOW_VARIABLE ? 1 : 4 + flow_below(20);
    item->ny = item->kind >= FLOW_MATRIX ? 2 + flow_below(8) : 1;
    item->nz = item->kind == FLOW_BLOCK ? 2 + flow_below(3) : 1;
    item->ld = item->nx + (item->kind >= FLOW_MATRIX && !item->homeless ? flow_below(4) : 0);
    item->bytes = item->element * item->ld * item->ny * item->nz;
}

/* ---- items ----------------------------------------------------------------------------------- */

static void fill_memory(struct flow_item *item)
{
    for (size_t i = 0; i < item->bytes; i++)
        item->memory[i] = (unsigned char)flow_below(256);
    item->fresh = false;
}

/* As malloc may give it: nothing may depend on it. */
static void leave_memory(struct flow_item *item)
{
    if (getrandom(item->memory, item->bytes, 0) != (ssize_t)item->bytes)
        flow_fail("no random bytes");
    item->fresh = true;
}

void flow_item_create(void)
{
    struct flow_item *item = &flow_items[flow_item_count];

    if (flow_item_count == FLOW_ITEMS)
        return;
    flow_item_count++;
    memset(item, 0, sizeof(*item));
    item->homeless = flow_chance(FLOW_HOMELESS, 3);
    item->excluded = flow_chance(FLOW_EXCLUDE, 3);
    choose_shape(item);
    item->memory = malloc(item->bytes);
    if (!item->memory)
        flow_fail("out of memory");
    if (!item->homeless && item->ld == item->nx && flow_chance(FLOW_FRESH, 3))
        leave_memory(item);
    else
        fill_memory(item);
    flow_item_register(item);
}

static void exclude(const struct flow_item *item)
{
    int status = starpu_tic_data_exclude ? starpu_tic_data_exclude(item->data) : 0;

    if (status != 0 && status != -ENOTCONN)
        flow_fail("data cannot be excluded");
}

void flow_item_register(struct flow_item *item)
{
    int home = item->homeless ? -1 : STARPU_MAIN_RAM;
    uintptr_t at = item->homeless ? 0 : (uintptr_t)item->memory;

    if (item->kind == FLOW_VARIABLE)
        starpu_variable_data_register(&item->data, home, at, item->element);
    else if (item->kind == FLOW_VECTOR)
        starpu_vector_data_register(&item->data, home, at, item->nx, item->element);
    else if (item->kind == FLOW_MATRIX)
        starpu_matrix_data_register(&item->data, home, at, item->ld, item->nx, item->ny,
                                    item->element);
    else
        starpu_block_data_register(&item->data, home, at, item->ld, item->ld * item->ny, item->nx,
                                   item->ny, item->nz, item->element);
    if (item->excluded)
        exclude(item);
    item->filled = !item->homeless && !item->fresh;
    item->on_twin = false;
    item->explicit_plans = flow_chance(FLOW_EXPLICIT, 2);
    item->reduces = !item->excluded && flow_chance(FLOW_REDUX, 2);
    if (item->reduces)
        starpu_data_set_reduction_methods(item->data, &flow_fold_codelet, &flow_init_codelet);
}

void flow_item_join(struct flow_item *item)
{
    flow_parts_unpartition(item);
    flow_parts_clean(item);
}

static void drop_twin(struct flow_item *item)
{
    if (!item->twin)
        return;
    starpu_task_wait_for_all();
    starpu_data_unregister(item->twin);
    item->twin = NULL;
}

void flow_item_unregister(struct flow_item *item)
{
    flow_item_join(item);
    drop_twin(item);
    starpu_data_unregister(item->data);
    item->data = NULL;
    flow_trace("unregister", (uint64_t)(item - flow_items), item->filled);
    if (!item->homeless && item->filled) {
        flow_fold(item->memory, item->bytes);
        item->fresh = false;
    }
    if (flow_below(2))
        fill_memory(item);
}

void flow_item_vanish(struct flow_item *item)
{
    if (!item->homeless || item->twin)
        return;
    flow_item_join(item);
    starpu_data_unregister_submit(item->data);
    item->data = NULL;
}

/* Nobody may use both at once. */
void flow_item_twin(struct flow_item *item)
{
    if (item->homeless || item->excluded || !item->filled || item->part_count ||
        item->plans[0].count || item->kind > FLOW_VECTOR)
        return;
    starpu_data_acquire(item->on_twin ? item->twin : item->data, STARPU_RW);
    starpu_data_release(item->on_twin ? item->twin : item->data);
    if (item->twin) {
        item->on_twin = !item->on_twin;
        return;
    }
    starpu_task_wait_for_all();
    starpu_vector_data_register(&item->twin, STARPU_MAIN_RAM, (uintptr_t)item->memory,
                                item->nx > 1 && flow_below(2) ? item->nx / 2 : item->nx,
                                item->element);
}

bool flow_item_is_whole(const struct flow_item *item)
{
    return item->data && !item->part_count && !item->plans[0].count && !item->twin;
}

starpu_data_handle_t flow_item_pick(const struct flow_item *item)
{
    if (item->on_twin)
        return item->twin;
    if (item->part_count)
        return item->parts[flow_below(item->part_count)];
    return item->plans[0].count ? flow_parts_pick(item) : item->data;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void open_variables(starpu_data_handle_t *handles, uint64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
                                      sizeof(values[i]));
}

void flow_data_open(void)
{
    open_variables(flow_sinks, sink_values, FLOW_SINKS);
    open_variables(flow_lanes, lane_values, FLOW_LANES);
    starpu_void_data_register(&flow_gate);
    flow_behind_open();
    for (unsigned i = 0; i < flow_item_count; i++)
        flow_item_register(&flow_items[i]);
    for (unsigned i = 6 + flow_below(10); i > flow_item_count;)
        flow_item_create();
}

static void close_variables(starpu_data_handle_t *handles, uint64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        starpu_data_unregister(handles[i]);
        flow_fold_number(values[i]);
    }
}

void flow_data_close(void)
{
    close_variables(flow_sinks, sink_values, FLOW_SINKS);
    close_variables(flow_lanes, lane_values, FLOW_LANES);
    starpu_data_unregister(flow_gate);
    flow_behind_close();
    for (unsigned i = 0; i < flow_item_count; i++)
        if (flow_items[i].data)
            flow_item_unregister(&flow_items[i]);
}

/* Main() looks at some of the sinks, and freezes some items. */
void flow_data_begin_phase(void)
{
    unsigned sink = flow_below(FLOW_SINKS);

    starpu_data_acquire(flow_sinks[sink], STARPU_R);
    flow_fold_number(sink_values[sink]);
    starpu_data_release(flow_sinks[sink]);
    lanes_taken = 0;
    for (unsigned i = 0; i < flow_item_count; i++) {
        flow_items[i].lent = false;
        flow_items[i].frozen = flow_items[i].data && flow_items[i].filled &&
                               flow_item_is_whole(&flow_items[i]) && flow_below(5) == 0;
    }
}

unsigned flow_lane_take(void)
{
    return lanes_taken < FLOW_LANES ? lanes_taken++ : FLOW_LANES;
}
