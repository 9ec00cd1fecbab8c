/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Submissions of main() with random properties. */
#include <stdatomic.h>
#include <stdlib.h>

#include "flow.h"

static void count_call(void *arg)
{
    atomic_fetch_add(&flow_calls, (uintptr_t)arg);
}

static void wait_for(struct starpu_task *task)
{
    if (starpu_task_wait(task) != 0)
        flow_fail("StarPU does not wait for a task");
}

/* ---- properties ------------------------------------------------------------------------------ */

static starpu_tag_t last_tag = 1, first_tag = 2, lone_tag = 1u << 24;

/* StarPU forgets its tags when it shuts down. */
void flow_submit_begin_life(void)
{
    first_tag = last_tag + 1;
}

starpu_tag_t flow_tag_take(void)
{
    return ++lone_tag;
}

static void set_tag(struct starpu_task *task)
{
    task->use_tag = 1;
    task->tag_id = ++last_tag;
    if (last_tag > first_tag && flow_below(2))
        starpu_tag_declare_deps(last_tag, 1,
                                first_tag + flow_below((unsigned)(last_tag - first_tag)));
}

static void set_prologue(struct starpu_task *task)
{
    task->prologue_callback_func = count_call;
    task->prologue_callback_arg = (void *)(uintptr_t)3;
    if (flow_below(2)) {
        task->prologue_callback_pop_func = count_call;
        task->prologue_callback_pop_arg = (void *)(uintptr_t)5;
    }
}

static void set_callback(struct starpu_task *task)
{
    if (flow_below(2)) {
        task->callback_func = count_call;
        task->callback_arg = (void *)(uintptr_t)(1 + flow_below(9));
    } else {
        flow_spawn_callback(task, true);
    }
}

static void set_properties(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;

    if (flow_below(4) == 0)
        task->priority = (int)flow_below(11) - 5;
    if (flow_chance(FLOW_TAG, 8))
        set_tag(task);
    if (flow_chance(FLOW_LOOK, 3) && flow_look_add(task))
        ;
    else if (flow_chance(FLOW_PROLOGUE, 10))
        set_prologue(task);
    if (flow_chance(FLOW_CALLBACK, 10))
        set_callback(task);
    if (flow_chance(FLOW_CHILDREN, 12) && work->effect == FLOW_NO_EFFECT)
        flow_spawn_parent(task);
    if (flow_chance(FLOW_SYNCHRONOUS, 60))
        task->synchronous = 1;
}

/* ---- kinds of submission --------------------------------------------------------------------- */

/* Waits for it; main() destroys the structure, or StarPU does. */
static void submit_and_wait(struct starpu_task *task)
{
    bool destroy = flow_below(8) > 0;

    task->detach = 0;
    task->synchronous = 0;
    task->destroy = destroy;
    flow_task_submit(task);
    if (flow_below(2))
        flow_task_submit(flow_task_random());
    wait_for(task);
    if (!destroy)
        starpu_task_destroy(task);
}

/* It has not ended before main() says so. */
static void submit_with_end(struct starpu_task *task, unsigned lane)
{
    struct starpu_task *held = flow_task_update(flow_lanes[lane], 3);

    held->destroy = 0;
    held->detach = 0;
    starpu_task_end_dep_add(held, 1);
    flow_task_submit(held);
    task->synchronous = 0;
    flow_task_submit(task);
    starpu_task_end_dep_release(held);
    wait_for(held);
    starpu_task_destroy(held);
}

/* The last one has not ended before the others have. */
static void submit_ended_by_others(struct starpu_task *task, unsigned lane)
{
    struct starpu_task *others[2] = {task, flow_task_random()};
    struct starpu_task *last = flow_task_update(flow_lanes[lane], 5);

    last->destroy = 0;
    last->detach = 0;
    starpu_task_declare_end_deps_array(last, 2, others);
    for (int i = 0; i < 2; i++)
        flow_task_submit(others[i]);
    flow_task_submit(last);
    wait_for(last);
    starpu_task_destroy(last);
}

static void submit_end_dependencies(struct starpu_task *task)
{
    unsigned lane = flow_lane_take();

    if (lane == FLOW_LANES)
        flow_task_submit(task);
    else if (flow_below(2))
        submit_with_end(task, lane);
    else
        submit_ended_by_others(task, lane);
}

static void submit_bundle(struct starpu_task *task)
{
    starpu_task_bundle_t bundle;
    struct starpu_task *other = flow_task_random();

    task->synchronous = 0;
    starpu_task_bundle_create(&bundle);
    starpu_task_bundle_insert(bundle, task);
    starpu_task_bundle_insert(bundle, other);
    starpu_task_bundle_close(bundle);
    flow_task_submit(task);
    flow_task_submit(other);
}

/* Its prologues look at its data, which no other task has then; main() may wait for it. */
static bool submit_nowhere_looking(void)
{
    static struct starpu_codelet nowhere = {
        .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_RW}, .name = "nowhere_looking"};
    unsigned item = flow_below(flow_item_count);

    if (!flow_look_may(&flow_items[item]))
        return false;
    struct starpu_task *task = starpu_task_create();
    task->cl = &nowhere;
    task->handles[0] = flow_items[item].data;
    flow_look_set(task, item);
    if (flow_has(FLOW_CALLBACK))
        set_callback(task);
    if (!flow_chance(FLOW_WAIT, 2)) {
        flow_task_submit(task);
        return true;
    }
    task->destroy = 0;
    task->detach = 0;
    flow_task_submit(task);
    wait_for(task);
    starpu_task_destroy(task);
    return true;
}

/* Nothing runs, but its callback comes when its data is there. */
static void submit_nowhere(void)
{
    static struct starpu_codelet nowhere = {
        .where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_R}, .name = "nowhere"};
    struct flow_item *item = &flow_items[flow_below(flow_item_count)];
    struct starpu_task *task = starpu_task_create();

    if (!flow_item_is_readable(item)) {
        task->destroy = 0;
        starpu_task_destroy(task);
        return;
    }
    task->cl = &nowhere;
    task->handles[0] = flow_item_pick(item);
    if (flow_has(FLOW_CALLBACK))
        set_callback(task);
    flow_task_submit(task);
}

void flow_tasks_submit_random(void)
{
    struct starpu_task *task;

    if (flow_chance(FLOW_NOWHERE, 25)) {
        if (!flow_chance(FLOW_LOOK, 2) || !submit_nowhere_looking())
            submit_nowhere();
        return;
    }
    task = flow_task_random();
    set_properties(task);
    if (flow_chance(FLOW_WAIT, 40))
        submit_and_wait(task);
    else if (flow_chance(FLOW_END_DEPENDENCIES, 30))
        submit_end_dependencies(task);
    else if (flow_chance(FLOW_BUNDLE, 30))
        submit_bundle(task);
    else
        flow_task_submit(task);
}

/* ---- sequential consistency off ----------------------------------------------------------------
 */

enum { GROUP = 6 };

/* In a random order; the last one is StarPU's to keep until it was waited for. */
static void submit_shuffled(struct starpu_task **tasks, unsigned count)
{
    struct starpu_task *last = tasks[count - 1];

    last->destroy = 0;
    last->detach = 0;
    while (count > 0) {
        unsigned at = flow_below(count);
        flow_task_submit(tasks[at]);
        tasks[at] = tasks[--count];
    }
    wait_for(last);
    starpu_task_destroy(last);
}

/* A chain of tasks on one item that only explicit dependencies order. */
void flow_tasks_submit_detached(void)
{
    struct flow_item *item = &flow_items[flow_below(flow_item_count)];
    struct starpu_task *tasks[GROUP];
    unsigned count = 2 + flow_below(GROUP - 1);

    if (!item->data || item->excluded || !item->filled || item->frozen || !flow_item_is_whole(item))
        return;
    starpu_data_acquire(item->data, STARPU_RW);
    starpu_data_release(item->data);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0 && flow_chance(FLOW_READER, 3)) {
            struct flow_work work = {.salt = i, .us = flow_us, .effect = FLOW_SUM};
            tasks[i] = flow_task(&work);
            flow_task_add(tasks[i], item->data, STARPU_R, FLOW_READ);
        } else {
            tasks[i] = flow_task_update(item->data, (uint32_t)flow_random());
        }
        tasks[i]->sequential_consistency = 0;
        if (i > 0)
            starpu_task_declare_deps_array(tasks[i], 1, &tasks[i - 1]);
    }
    submit_shuffled(tasks, count);
}

/* ---- the same structure again ------------------------------------------------------------------
 */

void flow_tasks_resubmit(void)
{
    struct flow_item *item = &flow_items[flow_below(flow_item_count)];
    bool bare = flow_below(3) == 0 || !item->data || !item->filled || item->frozen;
    struct flow_work work = {.salt = (uint32_t)flow_random(), .us = flow_us, .effect = FLOW_SUM};
    struct starpu_task *task =
        bare ? flow_task(&work) : flow_task_update(flow_item_pick(item), work.salt);

    task->destroy = 0;
    task->detach = 0;
    task->cl_arg_free = 0;
    for (unsigned n = 1 + flow_below(4); n > 0; n--) {
        starpu_task_wait_for_all(); /* StarPU takes no dependencies of a task that has run */
        flow_task_submit(task);
        wait_for(task);
    }
    free(task->cl_arg);
    task->cl_arg = NULL;
    starpu_task_destroy(task);
}
