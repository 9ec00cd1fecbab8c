/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What StarPU does not see: kernels and main() use the memory of registered data by its address.
 *
 * Hidden data is registered, but tasks declare a token instead, which orders them, and use the
 * memory. Frozen items are read without being declared. When no task runs, main() reads, changes
 * and clears memory without an acquire. */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

enum { HIDDEN = 4, SMALL = 4096, LARGE = 20000 };

struct hidden {
    unsigned char *memory;
    unsigned size; /* bytes */
    starpu_data_handle_t data, token;
    uint64_t token_value;
};

static struct hidden hidden[HIDDEN];

/* ---- all of them ----------------------------------------------------------------------------- */

static void create(struct hidden *it)
{
    it->size = flow_below(2) ? 8 + flow_below(SMALL - 7) : SMALL + flow_below(LARGE - SMALL);
    it->memory = malloc(it->size);
    if (!it->memory)
        flow_fail("out of memory");
    for (unsigned i = 0; i < it->size; i++)
        it->memory[i] = (unsigned char)flow_below(256);
}

void flow_behind_open(void)
{
    if (!flow_has(FLOW_UNDECLARED))
        return;
    for (unsigned i = 0; i < HIDDEN; i++) {
        struct hidden *it = &hidden[i];
        if (!it->memory)
            create(it);
        starpu_vector_data_register(&it->data, STARPU_MAIN_RAM, (uintptr_t)it->memory, it->size, 1);
        if (i % 2)
            starpu_void_data_register(&it->token);
        else
            starpu_variable_data_register(&it->token, STARPU_MAIN_RAM, (uintptr_t)&it->token_value,
                                          sizeof(it->token_value));
    }
}

void flow_behind_close(void)
{
    if (!flow_has(FLOW_UNDECLARED))
        return;
    for (unsigned i = 0; i < HIDDEN; i++) {
        starpu_data_unregister(hidden[i].data);
        starpu_data_unregister(hidden[i].token);
        flow_fold(hidden[i].memory, hidden[i].size);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* StarPU may have the value of a reduction elsewhere. */
static bool may_peek(const struct flow_item *item)
{
    return item->data && item->frozen && !item->homeless && !item->reduces;
}

/* Tasks with an effect of their own are executed again in a restart, when undeclared memory may
 * hold a later value: only the bare ones, which have one for want of anything else, get this
 * instead. */
void flow_behind_add(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;
    unsigned which = flow_below(flow_item_count);
    bool bare = work->count == 0;

    if (work->effect != FLOW_NO_EFFECT && !bare)
        return;
    work->effect = FLOW_NO_EFFECT;
    if (!bare && flow_below(2) && may_peek(&flow_items[which])) {
        work->peek = (uint8_t)(which + 1);
        return;
    }
    which = flow_below(HIDDEN);
    work->hidden = (uint8_t)(which + 1);
    work->changes = bare || flow_below(3) > 0;
    flow_task_add(task, hidden[which].token, work->changes ? STARPU_RW : STARPU_R, FLOW_NOTHING);
}

static uint64_t sum(const unsigned char *at, size_t size, uint64_t state)
{
    for (size_t i = 0; i < size; i++)
        state = (state ^ at[i]) * UINT64_C(1099511628211);
    return state;
}

/* All that tasks may read of an item: what lies between its rows is not registered. */
static uint64_t peek(const struct flow_item *item, uint64_t state)
{
    for (unsigned j = 0; j < item->ny * item->nz; j++)
        state = sum(item->memory + j * item->ld * item->element, item->nx * item->element, state);
    return state;
}

uint64_t flow_behind_read(const struct flow_work *work, uint64_t state)
{
    if (work->peek)
        state = peek(&flow_items[work->peek - 1], state);
    if (work->hidden)
        state = sum(hidden[work->hidden - 1].memory, hidden[work->hidden - 1].size, state);
    return state;
}

void flow_behind_write(const struct flow_work *work, uint64_t state)
{
    struct hidden *it = &hidden[work->hidden ? work->hidden - 1 : 0];

    if (!work->hidden || !work->changes)
        return;
    flow_trace("change", work->hidden, state);
    for (unsigned i = 0; i < it->size; i++) {
        it->memory[i] = (unsigned char)(it->memory[i] * 31 + (state >> 56));
        state = state * UINT64_C(6364136223846793005) + 1;
    }
}

/* ---- main(), while no task runs -------------------------------------------------------------- */

static void rescale(unsigned char *at, size_t size)
{
    unsigned char add = (unsigned char)flow_below(256);

    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(at[i] * 5 + add);
}

static void look_at_hidden(struct hidden *it)
{
    if (it->size <= SMALL) {
        flow_fold(it->memory, it->size);
    } else if (flow_below(2)) { /* what is larger is not logged when main() has waited */
        starpu_data_acquire(it->data, STARPU_R);
        flow_fold(it->memory, it->size);
        starpu_data_release(it->data);
    }
    if (flow_chance(FLOW_MEDDLE, 3))
        rescale(it->memory, it->size);
}

/* Tasks may set it again to what main() has seen. */
static void clear(struct flow_item *item)
{
    for (unsigned j = 0; j < item->ny * item->nz; j++)
        memset(item->memory + j * item->ld * item->element, 0, item->nx * item->element);
}

static void meddle_with_item(struct flow_item *item)
{
    if (item->homeless || !item->filled || item->reduces || item->lent || !flow_item_is_whole(item))
        return;
    if (item->bytes <= SMALL && flow_below(2))
        flow_fold(item->memory, item->bytes);
    if (item->bytes <= SMALL && flow_chance(FLOW_CLEAR, 2))
        clear(item);
    else if (flow_below(2))
        for (unsigned j = 0; j < item->ny * item->nz; j++)
            rescale(item->memory + j * item->ld * item->element, item->nx * item->element);
}

void flow_behind_end_phase(void)
{
    for (unsigned i = 0; i < HIDDEN && flow_has(FLOW_UNDECLARED); i++)
        look_at_hidden(&hidden[i]);
    for (unsigned i = 0; i < flow_item_count && flow_has(FLOW_MEDDLE); i++)
        if (flow_below(3) == 0)
            meddle_with_item(&flow_items[i]);
}
