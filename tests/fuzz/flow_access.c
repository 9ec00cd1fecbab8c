/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() of random programs does with data while tasks run. */
#include <stdatomic.h>
#include <stdlib.h>

#include "flow.h"

static struct flow_item *any_item(void)
{
    return &flow_items[flow_below(flow_item_count)];
}

static void *memory_of(starpu_data_handle_t data)
{
    return starpu_data_get_interface_on_node(data, STARPU_MAIN_RAM);
}

static void look(starpu_data_handle_t data)
{
    struct flow_bytes bytes = flow_bytes_of(memory_of(data));

    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++)
            flow_fold(bytes.base + k * bytes.plane_stride + j * bytes.row_stride, bytes.row);
}

static void change(starpu_data_handle_t data, bool all)
{
    struct flow_bytes bytes = flow_bytes_of(memory_of(data));

    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++) {
            unsigned char *row = bytes.base + k * bytes.plane_stride + j * bytes.row_stride;
            for (size_t i = 0; i < bytes.row; i += all ? 1 : 3)
                row[i] = (unsigned char)flow_below(256);
        }
}

static void acquire(starpu_data_handle_t data, enum starpu_data_access_mode mode)
{
    if (flow_chance(FLOW_TRY, 2))
        while (starpu_data_acquire_try(data, mode) != 0)
            ;
    else if (flow_below(3))
        starpu_data_acquire(data, mode);
    else
        starpu_data_acquire_on_node(data, STARPU_MAIN_RAM, mode);
}

void flow_access_random(void)
{
    static const enum starpu_data_access_mode modes[] = {STARPU_R, STARPU_R, STARPU_RW, STARPU_W};
    struct flow_item *item = any_item();
    enum starpu_data_access_mode mode = modes[flow_below(4)];

    if (!item->data || (item->frozen && mode != STARPU_R))
        return;
    if (!flow_item_is_readable(item) || (mode == STARPU_W && !flow_item_is_whole(item)))
        mode = item->filled ? STARPU_RW : STARPU_W;
    starpu_data_handle_t data = flow_item_pick(item);
    flow_trace("acquire", (uint64_t)(item - flow_items), mode);
    acquire(data, mode);
    flow_linger();
    if (mode & STARPU_R)
        look(data);
    if (mode & STARPU_W)
        change(data, mode == STARPU_W);
    flow_linger();
    starpu_data_release(data);
    item->filled = true;
    if (flow_has(FLOW_DECIDE)) /* what it saw decides what it does */
        flow_stir();
}

/* ---- by callback ------------------------------------------------------------------------------
 */

static void granted(void *arg)
{
    starpu_data_handle_t data = arg;
    struct flow_bytes bytes = flow_bytes_of(memory_of(data));
    uint64_t seen = 0;

    flow_linger();
    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++)
            for (size_t i = 0; i < bytes.row; i++)
                seen = seen * 31 + bytes.base[k * bytes.plane_stride + j * bytes.row_stride + i];
    starpu_data_release(data);
    flow_trace("granted", 0, seen);
    atomic_fetch_add(&flow_sum, seen);
}

struct promise {
    starpu_data_handle_t data;
    unsigned char first, step; /* of what it adds */
    bool all;
};

static void granted_to_write(void *arg)
{
    const struct promise promise = *(struct promise *)arg;
    struct flow_bytes bytes = flow_bytes_of(memory_of(promise.data));
    unsigned char add = promise.first;
    uint64_t seen = 0;

    free(arg);
    flow_linger();
    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++)
            for (size_t i = 0; i < bytes.row; i++, add = (unsigned char)(add + promise.step)) {
                unsigned char *byte =
                    &bytes.base[k * bytes.plane_stride + j * bytes.row_stride + i];
                *byte = (unsigned char)(promise.all ? add : *byte * 5 + add);
                seen = seen * 31 + *byte;
            }
    flow_trace("granted to write", 0, seen);
    flow_linger();
    atomic_fetch_add(&flow_sum, seen);
    starpu_data_release(promise.data);
    flow_linger();
}

static void ask_to_write(struct flow_item *item)
{
    struct promise *promise = malloc(sizeof(*promise));

    if (!promise)
        flow_fail("out of memory");
    promise->data = item->data;
    promise->all = !item->filled || flow_below(3) == 0;
    promise->first = (unsigned char)flow_below(256);
    promise->step = (unsigned char)flow_below(256);
    item->filled = true;
    starpu_data_acquire_cb(item->data, promise->all ? STARPU_W : STARPU_RW, granted_to_write,
                           promise);
}

void flow_access_callback(void)
{
    struct flow_item *item = any_item();

    if (!item->data || item->excluded || !flow_item_is_whole(item))
        return;
    if (flow_chance(FLOW_CALLBACK_WRITES, 2) && !item->frozen) {
        item->lent = true;
        ask_to_write(item);
        return;
    }
    if (!item->filled)
        return;
    item->lent = true;
    starpu_data_acquire_cb(item->data, STARPU_R, granted, item->data);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copied(void *arg)
{
    atomic_fetch_add(&flow_calls, (uintptr_t)arg);
}

static bool is_same_shape(const struct flow_item *a, const struct flow_item *b)
{
    return a->kind == b->kind && a->element == b->element && a->nx == b->nx && a->ny == b->ny &&
           a->nz == b->nz;
}

void flow_access_copy(void)
{
    struct flow_item *to = any_item();

    for (unsigned i = 0; i < flow_item_count; i++) {
        struct flow_item *from = &flow_items[i];
        if (from == to || !from->data || !to->data || !from->filled || to->frozen ||
            !flow_item_is_whole(from) || !flow_item_is_whole(to) || !is_same_shape(from, to))
            continue;
        starpu_data_cpy(to->data, from->data, flow_below(3) > 0, copied, (void *)(uintptr_t)17);
        to->filled = true;
        return;
    }
}
