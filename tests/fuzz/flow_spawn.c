/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that kernels, callbacks and a second thread submit: each has a lane of its own, adds to
 * sinks, and reads what is frozen. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "flow.h"

/* ---- kernels --------------------------------------------------------------------------------- */

static struct starpu_task *lane_task(const struct flow_work *work, unsigned lane)
{
    struct starpu_task *task = flow_task(work);

    flow_task_add(task, flow_lanes[lane], STARPU_RW, FLOW_UPDATE);
    return task;
}

static struct starpu_task *sink_task(const struct flow_work *work, unsigned sink)
{
    struct starpu_task *task = flow_task(work);

    flow_task_add(task, flow_sinks[sink], STARPU_RW | STARPU_COMMUTE, FLOW_ADD);
    return task;
}

/* The children use the lane in turn; only the last one has children, so that theirs come after. */
void flow_spawn_children(const struct flow_work *parent)
{
    for (unsigned i = 0; i < parent->children; i++) {
        struct flow_work work = {.salt = parent->salt * 31 + i, .us = parent->us / 2};
        bool last = i + 1 == parent->children;
        if (last && parent->depth > 0) {
            work.depth = (uint8_t)(parent->depth - 1);
            work.children = parent->children;
            work.lane = parent->lane;
            work.sink = parent->sink;
        }
        flow_task_submit(i % 2 || last ? lane_task(&work, parent->lane)
                                       : sink_task(&work, parent->sink));
        if (i == 0 && parent->salt % 3 == 0) { /* its effect is elsewhere */
            work = (struct flow_work){.salt = parent->salt + i, .effect = FLOW_SUM};
            flow_task_submit(flow_task(&work));
        }
    }
}

void flow_spawn_parent(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;
    unsigned lane = flow_lane_take();

    if (lane == FLOW_LANES)
        return;
    work->children = (uint8_t)(1 + flow_below(4));
    work->depth = (uint8_t)flow_below(4);
    work->lane = (uint16_t)lane;
    work->sink = (uint16_t)flow_below(FLOW_SINKS);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

struct chain {
    struct flow_work work;
    unsigned lane, left;
    bool hears; /* from its second call on, what its task has left in the lane */
    bool called;
    starpu_data_handle_t frozen; /* or NULL */
};

static struct chain *chain_create(void)
{
    struct chain *chain = calloc(1, sizeof(*chain));

    if (!chain)
        flow_fail("out of memory");
    chain->lane = flow_lane_take();
    chain->left = flow_below(4);
    chain->work = (struct flow_work){.salt = (uint32_t)flow_random(), .us = flow_us / 2};
    chain->work.sink = (uint16_t)flow_below(FLOW_SINKS);
    struct flow_item *item = &flow_items[flow_below(flow_item_count)];
    chain->frozen = item->data && item->frozen && !item->excluded ? item->data : NULL;
    return chain;
}

/* The callback of the task that it submits is itself, a few times. */
static void chain_callback(void *arg)
{
    struct chain *chain = arg;

    atomic_fetch_add(&flow_calls, 1);
    chain->work.salt++;
    if (chain->hears && chain->called)
        chain->work.salt += (uint32_t)flow_hear(flow_lanes[chain->lane], 1);
    chain->called = true;
    flow_task_submit(sink_task(&chain->work, chain->work.sink));
    struct starpu_task *task = lane_task(&chain->work, chain->lane);
    if (chain->frozen)
        flow_task_add(task, chain->frozen, STARPU_R, FLOW_READ);
    if (chain->left > 0) {
        chain->left--;
        task->callback_func = chain_callback;
        task->callback_arg = chain;
        flow_task_submit(task);
    } else {
        flow_task_submit(task);
        free(chain);
    }
}

void flow_spawn_callback(struct starpu_task *task, bool alone)
{
    struct chain *chain = chain_create();

    chain->hears = alone && flow_has(FLOW_HEAR);
    if (chain->lane == FLOW_LANES) {
        free(chain);
        return;
    }
    task->callback_func = chain_callback;
    task->callback_arg = chain;
}

/* ---- a thread -------------------------------------------------------------------------------- */

static pthread_t thread;
static bool thread_runs;
static struct chain *thread_chain;

static void *thread_main(void *arg)
{
    struct chain *chain = arg;

    for (unsigned i = 0; i < 6; i++) {
        chain->work.salt++;
        flow_task_submit(i % 2 ? lane_task(&chain->work, chain->lane)
                               : sink_task(&chain->work, chain->work.sink));
    }
    return NULL;
}

void flow_spawn_thread(void)
{
    if (thread_runs)
        return;
    thread_chain = chain_create();
    if (thread_chain->lane == FLOW_LANES) {
        free(thread_chain);
        return;
    }
    if (pthread_create(&thread, NULL, thread_main, thread_chain) != 0)
        flow_fail("no thread");
    thread_runs = true;
}

void flow_spawn_join(void)
{
    if (!thread_runs)
        return;
    pthread_join(thread, NULL);
    thread_runs = false;
    free(thread_chain);
}

/* ---- in an order that main() sets ---------------------------------------------------------------
 */

/* What the first task submits comes after what main() submits before it lets the task go. */
static void submit_late(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;
    unsigned lane = FLOW_LANES;

    if (flow_chance(FLOW_CHILDREN, 2)) {
        flow_spawn_parent(task);
        lane = work->children ? work->lane : FLOW_LANES;
    } else if (flow_has(FLOW_CALLBACK)) {
        flow_spawn_callback(task, false);
        lane = task->callback_arg ? ((struct chain *)task->callback_arg)->lane : FLOW_LANES;
    }
    flow_task_submit(task);
    for (unsigned n = 1 + flow_below(4); n > 0 && lane != FLOW_LANES; n--)
        flow_task_submit(flow_task_update(flow_lanes[lane], n));
}

static void hold_by_acquire(void)
{
    unsigned lane = flow_lane_take();

    if (lane == FLOW_LANES)
        return;
    starpu_data_acquire(flow_lanes[lane], STARPU_RW);
    unsigned next = flow_chance(FLOW_BETWEEN, 2) ? flow_lane_take() : FLOW_LANES;
    if (next != FLOW_LANES) { /* the first task waits for another, which a restart may skip */
        struct starpu_task *between = flow_task_update(flow_lanes[lane], 5);
        flow_task_add(between, flow_lanes[next], STARPU_RW, FLOW_UPDATE);
        flow_task_submit(between);
    }
    submit_late(flow_task_update(flow_lanes[next != FLOW_LANES ? next : lane], 7));
    starpu_data_release(flow_lanes[lane]);
}

static void hold_by_tag(void)
{
    static starpu_tag_t tags = 1u << 20;
    unsigned lane = flow_lane_take();
    starpu_tag_t own = tags++, key = tags++;

    if (lane == FLOW_LANES)
        return;
    struct starpu_task *task = flow_task_update(flow_lanes[lane], 9);
    task->use_tag = 1;
    task->tag_id = own;
    starpu_tag_declare_deps(own, 1, key);
    submit_late(task);
    starpu_tag_notify_from_apps(key);
}

static void hold_by_pause(void)
{
    unsigned lane = flow_lane_take();

    if (lane == FLOW_LANES)
        return;
    starpu_task_wait_for_all(); /* nobody is between two tasks */
    starpu_pause();
    submit_late(flow_task_update(flow_lanes[lane], 11));
    starpu_resume();
}

void flow_spawn_late(void)
{
    if (flow_chance(FLOW_PAUSE, 3))
        hold_by_pause();
    else if (flow_chance(FLOW_TAG, 2))
        hold_by_tag();
    else if (flow_has(FLOW_HOLD))
        hold_by_acquire();
}
