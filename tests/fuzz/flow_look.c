/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prologues that look at data of their task by its address, and kernels that use what they found:
 * of tasks that write the data, so each finds what the one before has left. */
#include <stdlib.h>

#include "flow.h"

static uint64_t found[FLOW_ITEMS]; /* whoever has the item for writing */

struct look {
    unsigned item;
    uint64_t salt;
};

static uint64_t mix(uint64_t state, uint64_t value)
{
    return (state ^ value) * UINT64_C(1099511628211) + (state >> 47);
}

static void look(void *arg)
{
    const struct look *look = arg;
    const struct flow_item *item = &flow_items[look->item];
    uint64_t state = mix(found[look->item], look->salt);

    for (unsigned j = 0; j < item->ny * item->nz; j++)
        for (size_t i = 0; i < item->nx * item->element; i++)
            state = mix(state, item->memory[j * item->ld * item->element + i]);
    found[look->item] = state;
    flow_trace("look", look->salt, state);
}

static struct look *create(unsigned item)
{
    struct look *look = malloc(sizeof(*look));

    if (!look)
        flow_fail("out of memory");
    *look = (struct look){item, flow_random()};
    return look;
}

bool flow_look_may(const struct flow_item *item)
{
    return item->filled && !item->homeless && !item->frozen && !item->reduces && !item->excluded &&
           flow_item_is_whole(item);
}

/* The item whose value the task updates in this buffer; or flow_item_count. */
static unsigned find_item(struct starpu_task *task, int buffer)
{
    const struct flow_work *work = task->cl_arg;
    unsigned i = 0;

    while (i < flow_item_count && flow_items[i].data != task->handles[buffer])
        i++;
    return i < flow_item_count && work->uses[buffer] == FLOW_UPDATE && flow_look_may(&flow_items[i])
               ? i
               : flow_item_count;
}

static void set_first(struct starpu_task *task, unsigned item)
{
    task->prologue_callback_func = look;
    task->prologue_callback_arg = create(item);
    task->prologue_callback_arg_free = 1;
}

static void set_pop(struct starpu_task *task, unsigned item)
{
    task->prologue_callback_pop_func = look;
    task->prologue_callback_pop_arg = create(item);
    task->prologue_callback_pop_arg_free = 1;
}

void flow_look_set(struct starpu_task *task, unsigned item)
{
    unsigned which = flow_below(3);

    if (which != 0)
        set_first(task, item);
    if (which != 1)
        set_pop(task, item);
}

/* A task that has an effect of its own is executed again in a restart, after those that found what
 * came later. */
bool flow_look_add(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;
    unsigned item = flow_item_count;

    if (work->effect != FLOW_NO_EFFECT)
        return false;
    for (int i = 0; i < task->nbuffers && i < STARPU_NMAXBUFS && item == flow_item_count; i++)
        item = find_item(task, i);
    if (item == flow_item_count)
        return false;
    work->look = (uint8_t)(item + 1);
    flow_look_set(task, item);
    return true;
}

uint64_t flow_look_found(const struct flow_work *work, uint64_t state)
{
    return work->look ? mix(state, found[work->look - 1]) : state;
}

void flow_look_end_phase(void)
{
    for (unsigned i = 0; i < FLOW_ITEMS && flow_has(FLOW_LOOK); i++)
        flow_fold_number(found[i]);
}
