/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks that look at data of their task by its address, and submit tasks whose arguments come
 * of what they found; main() waits for the task in many ways. And accesses by a callback that end
 * in the callback of another task. */
#include <stdatomic.h>
#include <stdlib.h>

#include "flow.h"

enum { SMALL = 4096 }; /* bytes: what larger data callbacks look at is not logged */

/* ---- callbacks that look --------------------------------------------------------------------- */

struct hearer {
    unsigned item;
    unsigned left; /* tasks that it submits, one in the callback of the other */
    uint32_t salt;
};

uint64_t flow_hear(starpu_data_handle_t data, uint64_t state)
{
    struct flow_bytes bytes =
        flow_bytes_of(starpu_data_get_interface_on_node(data, STARPU_MAIN_RAM));

    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++)
            for (size_t i = 0; i < bytes.row; i++)
                state = (state ^ bytes.base[k * bytes.plane_stride + j * bytes.row_stride + i]) *
                        UINT64_C(1099511628211);
    return state;
}

/* Nobody else uses the item until main() has waited. */
static void hear(void *arg)
{
    struct hearer *hearer = arg;
    starpu_data_handle_t data = flow_items[hearer->item].data;

    flow_linger();
    uint64_t found = flow_hear(data, hearer->salt);
    flow_trace("heard", hearer->salt, found);
    atomic_fetch_add(&flow_sum, found);
    if (hearer->left == 0) {
        free(hearer);
        return;
    }
    hearer->left--;
    hearer->salt = hearer->salt * 5 + 1;
    bool last = hearer->left == 0;
    struct starpu_task *task = flow_task_update(data, (uint32_t)(found >> 32));
    if (!last) {
        task->callback_func = hear;
        task->callback_arg = hearer;
    }
    flow_task_submit(task); /* its callback may be over now */
    if (last)
        free(hearer);
    flow_linger();
}

static bool may_hear(const struct flow_item *item)
{
    return flow_look_may(item) && item->bytes <= SMALL && !item->lent;
}

/* Main() comes back when the callback has; only tasks that this submits without a callback of
 * their own may be left. */
static void wait_for_it(struct starpu_task *task)
{
    bool destroy = flow_below(2);

    task->detach = 0;
    task->destroy = destroy;
    flow_task_submit(task);
    if (starpu_task_wait(task) != 0)
        flow_fail("StarPU does not wait for a task");
    if (!destroy)
        starpu_task_destroy(task);
}

static void submit_heard(unsigned item)
{
    struct starpu_task *task = flow_task_update(flow_items[item].data, (uint32_t)flow_random());
    struct hearer *hearer = malloc(sizeof(*hearer));
    unsigned how = flow_below(3);

    if (!hearer)
        flow_fail("out of memory");
    *hearer = (struct hearer){item, flow_below(how == 0 ? 5 : 2), (uint32_t)flow_random()};
    task->callback_func = hear;
    task->callback_arg = hearer;
    if (flow_below(2)) { /* nothing else runs */
        starpu_task_wait_for_all();
        flow_linger();
    }
    if (how == 1)
        task->synchronous = 1;
    if (how == 2) {
        wait_for_it(task);
    } else {
        flow_task_submit(task);
        if (how == 0)
            starpu_task_wait_for_all();
    }
}

/* ---- accesses that another callback ends ----------------------------------------------------- */

struct lend {
    starpu_data_handle_t data;
    starpu_tag_t key;
    uint64_t seen;
};

static void granted(void *arg)
{
    struct lend *lend = arg;

    flow_linger();
    lend->seen = flow_hear(lend->data, 7);
    flow_trace("lent", lend->key, lend->seen);
    starpu_tag_notify_from_apps(lend->key);
    flow_linger();
}

static void give_back(void *arg)
{
    struct lend *lend = arg;

    flow_linger();
    uint64_t again = flow_hear(lend->data, 7);
    flow_trace("given back", lend->key, again);
    atomic_fetch_add(&flow_sum, lend->seen * 3 + again);
    starpu_data_release(lend->data);
    free(lend);
}

/* A tag has the task come after the access was granted, as StarPU need not. */
static void lend(struct flow_item *item)
{
    unsigned lane = flow_lane_take();
    struct lend *lend = lane == FLOW_LANES ? NULL : malloc(sizeof(*lend));

    if (!lend)
        return;
    *lend = (struct lend){.data = item->data, .key = flow_tag_take()};
    item->lent = true;
    struct starpu_task *task = flow_task_update(flow_lanes[lane], (uint32_t)flow_random());
    task->use_tag = 1;
    task->tag_id = flow_tag_take();
    starpu_tag_declare_deps(task->tag_id, 1, lend->key);
    task->callback_func = give_back;
    task->callback_arg = lend;
    starpu_data_acquire_cb(item->data, STARPU_R, granted, lend);
    flow_task_submit(task);
}

void flow_hear_random(void)
{
    unsigned which = flow_below(flow_item_count);

    if (!may_hear(&flow_items[which]))
        return;
    if (flow_chance(FLOW_ACQUIRE_CB, 3) && flow_has(FLOW_TAG))
        lend(&flow_items[which]);
    else
        submit_heard(which);
}
