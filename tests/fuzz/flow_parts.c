/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Partitions and planned partitions of random programs. */
#include "flow.h"

static struct starpu_data_filter filter_of(const struct flow_item *item, bool second,
                                           unsigned count)
{
    struct starpu_data_filter filter = {.nchildren = count};

    switch (item->kind) {
    case FLOW_MATRIX:
        filter.filter_func =
            second ? starpu_matrix_filter_vertical_block : starpu_matrix_filter_block;
        break;
    case FLOW_BLOCK:
        filter.filter_func =
            second ? starpu_block_filter_vertical_block : starpu_block_filter_block;
        break;
    default:
        filter.filter_func = starpu_vector_filter_block;
    }
    return filter;
}

static bool has_parts(const struct flow_item *item)
{
    return item->kind != FLOW_VARIABLE && item->filled && !item->frozen && flow_item_is_whole(item);
}

static void set_methods(const struct flow_item *item, starpu_data_handle_t part)
{
    if (item->reduces)
        starpu_data_set_reduction_methods(part, &flow_fold_codelet, &flow_init_codelet);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static void add_leaf(struct flow_item *item, starpu_data_handle_t part)
{
    set_methods(item, part);
    item->parts[item->part_count++] = part;
}

/* Sometimes a partition of a part. */
static void partition_again(struct flow_item *item, starpu_data_handle_t part)
{
    struct starpu_data_filter filter = filter_of(item, item->kind != FLOW_VECTOR, 2);

    starpu_data_partition(part, &filter);
    for (int i = 0; i < 2; i++)
        add_leaf(item, starpu_data_get_sub_data(part, 1, i));
}

void flow_parts_partition(struct flow_item *item)
{
    unsigned count = 2 + flow_below(3);
    struct starpu_data_filter filter = filter_of(item, false, count);

    if (!has_parts(item))
        return;
    starpu_data_partition(item->data, &filter);
    for (unsigned i = 0; i < count; i++) {
        starpu_data_handle_t part = starpu_data_get_sub_data(item->data, 1, i);
        bool again = item->kind == FLOW_VECTOR ? item->nx / count >= 4 : true;
        if (again && flow_below(3) == 0)
            partition_again(item, part);
        else
            add_leaf(item, part);
    }
}

void flow_parts_unpartition(struct flow_item *item)
{
    if (!item->part_count)
        return;
    item->part_count = 0;
    starpu_data_unpartition(item->data, STARPU_MAIN_RAM);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void plan(struct flow_item *item, struct flow_plan *plan, starpu_data_handle_t of,
                 bool second, unsigned count)
{
    struct starpu_data_filter filter = filter_of(item, second, count);

    starpu_data_partition_plan(of, &filter, plan->parts);
    plan->count = count;
    plan->submitted = false;
    for (unsigned i = 0; i < count; i++)
        set_methods(item, plan->parts[i]);
}

/* StarPU 1.3 may end a reduction later, on a worker, and switches plans as it does. */
static void end_reduction(const struct flow_item *item)
{
    starpu_data_acquire(item->data, STARPU_RW);
    starpu_data_release(item->data);
}

/* StarPU 1.3 takes a part that no task has used for one without a value. */
static void plan_again(struct flow_item *item)
{
    starpu_data_handle_t part = item->plans[0].parts[0];

    plan(item, &item->nested, part, item->kind != FLOW_VECTOR, 2);
    flow_task_submit(flow_task_update(part, 5));
}

void flow_parts_plan(struct flow_item *item)
{
    unsigned count = 2 + flow_below(3);

    if (!has_parts(item) || item->excluded || item->homeless) /* StarPU gathers at home only */
        return;
    if (item->reduces)
        end_reduction(item);
    plan(item, &item->plans[0], item->data, false, count);
    item->nested.count = 0;
    if (flow_below(2))
        plan(item, &item->plans[1], item->data, item->kind != FLOW_VECTOR, 2);
    if (!item->explicit_plans && flow_below(2) && (item->kind != FLOW_VECTOR || item->nx >= 16))
        plan_again(item);
}

static struct flow_plan *submitted(const struct flow_item *item)
{
    for (int i = 0; i < FLOW_PLANS; i++)
        if (item->plans[i].count && item->plans[i].submitted)
            return (struct flow_plan *)&item->plans[i];
    return NULL;
}

void flow_parts_switch(struct flow_item *item)
{
    struct flow_plan *now = submitted(item);
    struct flow_plan *next = &item->plans[item->plans[1].count ? flow_below(2) : 0];

    if (!item->explicit_plans || !item->plans[0].count)
        return;
    if (now) {
        starpu_data_unpartition_submit(item->data, now->count, now->parts, STARPU_MAIN_RAM);
        now->submitted = false;
    } else {
        starpu_data_partition_submit(item->data, next->count, next->parts);
        next->submitted = true;
    }
}

void flow_parts_clean(struct flow_item *item)
{
    if (!item->plans[0].count)
        return;
    if (submitted(item))
        flow_parts_switch(item);
    else if (!item->explicit_plans) {
        struct flow_work work = {.salt = 1};
        struct starpu_task *task = flow_task(&work);
        flow_task_add(task, item->data, STARPU_RW, FLOW_UPDATE);
        flow_task_submit(task);
    }
    if (item->nested.count)
        starpu_data_partition_clean(item->plans[0].parts[0], item->nested.count,
                                    item->nested.parts);
    for (int i = FLOW_PLANS - 1; i >= 0; i--) {
        if (item->plans[i].count)
            starpu_data_partition_clean(item->data, item->plans[i].count, item->plans[i].parts);
        item->plans[i].count = 0;
    }
    item->nested.count = 0;
}

starpu_data_handle_t flow_parts_pick(const struct flow_item *item)
{
    const struct flow_plan *now = submitted(item);
    const struct flow_plan *any = &item->plans[item->plans[1].count ? flow_below(2) : 0];

    if (item->explicit_plans)
        return now ? now->parts[flow_below(now->count)] : item->data;
    if (item->nested.count && flow_below(3) == 0)
        return item->nested.parts[flow_below(item->nested.count)];
    return flow_below(3) ? any->parts[flow_below(any->count)] : item->data;
}
