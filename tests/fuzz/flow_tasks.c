/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels of random programs, and tasks of main(). */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

_Atomic uint64_t flow_sum, flow_calls;
uint64_t flow_chain;

/* ---- kernels --------------------------------------------------------------------------------- */

static unsigned char next_byte(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned char)(*state >> 56);
}

static unsigned char use_byte(unsigned char byte, enum flow_use use, uint64_t *state)
{
    switch (use) {
    case FLOW_READ:
        *state = (*state ^ byte) * UINT64_C(1099511628211);
        return byte;
    case FLOW_UPDATE:
        return (unsigned char)(byte * 31 + next_byte(state));
    case FLOW_SET:
        return 1;
    case FLOW_ADD:
        return (unsigned char)(byte + next_byte(state));
    default:
        return next_byte(state);
    }
}

/* Over all bytes of a buffer, in their order. */
static void use_buffer(void *interface, enum flow_use use, uint64_t *state)
{
    struct flow_bytes bytes = flow_bytes_of(interface);

    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++) {
            unsigned char *row = bytes.base + k * bytes.plane_stride + j * bytes.row_stride;
            for (size_t i = 0; i < bytes.row; i++) {
                unsigned char byte = use_byte(row[i], use, state);
                if (use != FLOW_READ)
                    row[i] = byte;
            }
        }
}

static void take_time(uint32_t us)
{
    double end = starpu_timing_now() + us;
    while (us && starpu_timing_now() < end)
        ;
}

/* Of a run that is preloaded with starpu-tic. */
extern int starpu_tic_task_failed(void) __attribute__((weak));

/* What it writes is spoilt. */
static bool fails(const struct flow_work *work, void *buffers[])
{
    if (!starpu_tic_task_failed || !flow_is_to_fail())
        return false;
    for (unsigned i = 0; i < work->count; i++) {
        uint64_t wrong = 666 + i;
        if (work->uses[i] != FLOW_READ && work->uses[i] != FLOW_NOTHING)
            use_buffer(buffers[i], FLOW_UPDATE, &wrong);
    }
    return starpu_tic_task_failed() == 0;
}

static void kernel(void *buffers[], void *arg)
{
    struct flow_work work;

    flow_jitter();

    if (flow_has(FLOW_RAW))
        work = *(struct flow_work *)arg;
    else
        starpu_codelet_unpack_args(arg, &work);
    uint64_t state = work.salt;

    for (unsigned i = 0; i < work.count; i++)
        if (work.uses[i] == FLOW_READ || work.uses[i] == FLOW_UPDATE)
            use_buffer(buffers[i], FLOW_READ, &state);
    state = flow_look_found(&work, flow_behind_read(&work, state));
    take_time(work.us);
    if (fails(&work, buffers))
        return;
    uint64_t seen = state;
    for (unsigned i = 0; i < work.count; i++) {
        uint64_t own = seen + i;
        if (work.uses[i] != FLOW_READ && work.uses[i] != FLOW_NOTHING)
            use_buffer(buffers[i], (enum flow_use)work.uses[i], &own);
    }
    flow_behind_write(&work, seen);
    flow_trace(work.effect == FLOW_NO_EFFECT ? "seen" : "effect", work.salt, seen);
    if (work.effect == FLOW_SUM)
        atomic_fetch_add(&flow_sum, seen);
    else if (work.effect == FLOW_CHAIN)
        flow_chain = flow_chain * 31 + seen;
    if (work.children)
        flow_spawn_children(&work);
}

struct starpu_codelet flow_codelet = {
    .cpu_funcs = {kernel},
    .cpu_funcs_name = {"kernel"},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "flow",
};

static void init_kernel(void *buffers[], void *arg)
{
    struct flow_bytes bytes = flow_bytes_of(buffers[0]);

    (void)arg;
    for (unsigned k = 0; k < bytes.planes; k++)
        for (unsigned j = 0; j < bytes.rows; j++)
            memset(bytes.base + k * bytes.plane_stride + j * bytes.row_stride, 0, bytes.row);
}

static void fold_kernel(void *buffers[], void *arg)
{
    struct flow_bytes to = flow_bytes_of(buffers[0]), from = flow_bytes_of(buffers[1]);

    (void)arg;
    for (unsigned k = 0; k < to.planes; k++)
        for (unsigned j = 0; j < to.rows; j++)
            for (size_t i = 0; i < to.row; i++)
                to.base[k * to.plane_stride + j * to.row_stride + i] +=
                    from.base[k * from.plane_stride + j * from.row_stride + i];
}

struct starpu_codelet flow_init_codelet = {
    .cpu_funcs = {init_kernel},
    .cpu_funcs_name = {"init_kernel"},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "flow_init",
};

struct starpu_codelet flow_fold_codelet = {
    .cpu_funcs = {fold_kernel},
    .cpu_funcs_name = {"fold_kernel"},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .name = "flow_fold",
};

/* ---- tasks ----------------------------------------------------------------------------------- */

struct starpu_task *flow_task(const struct flow_work *work)
{
    struct starpu_task *task = starpu_task_create();
    struct flow_work *copy = malloc(sizeof(*copy));

    if (!task || !copy)
        flow_fail("out of memory");
    *copy = *work;
    task->cl = &flow_codelet;
    task->cl_arg = copy;
    task->cl_arg_size = sizeof(*copy);
    task->cl_arg_free = 1;
    task->nbuffers = 0;
    return task;
}

/* Tasks with many buffers have arrays of their own. */
static void grow(struct starpu_task *task)
{
    task->dyn_handles = calloc(FLOW_BUFFERS, sizeof(*task->dyn_handles));
    task->dyn_modes = calloc(FLOW_BUFFERS, sizeof(*task->dyn_modes));
    if (!task->dyn_handles || !task->dyn_modes)
        flow_fail("out of memory");
    memcpy(task->dyn_handles, task->handles, sizeof(task->handles));
    memcpy(task->dyn_modes, task->modes, sizeof(task->modes));
}

void flow_task_add(struct starpu_task *task, starpu_data_handle_t data,
                   enum starpu_data_access_mode mode, enum flow_use use)
{
    struct flow_work *work = task->cl_arg;
    int at = task->nbuffers++;

    if (at == STARPU_NMAXBUFS)
        grow(task);
    if (at < STARPU_NMAXBUFS) {
        task->handles[at] = data;
        task->modes[at] = mode;
    } else {
        task->dyn_handles[at] = data;
        task->dyn_modes[at] = mode;
    }
    work->uses[at] = (uint8_t)use;
    work->count = (uint8_t)(at + 1);
}

/* As starpu_task_insert does; once, also when the structure is submitted again. */
static void pack_work(struct starpu_task *task)
{
    void *packed = NULL;
    size_t size = 0;

    if (flow_has(FLOW_RAW) || task->cl_arg_size != sizeof(struct flow_work))
        return;
    starpu_codelet_pack_args(&packed, &size, STARPU_VALUE, task->cl_arg, sizeof(struct flow_work),
                             0);
    free(task->cl_arg);
    task->cl_arg = packed;
    task->cl_arg_size = size;
}

void flow_task_submit(struct starpu_task *task)
{
    pack_work(task);
    flow_jitter();
    if (starpu_task_submit(task) != 0)
        flow_fail("StarPU refuses a task");
    flow_jitter();
}

struct starpu_task *flow_task_update(starpu_data_handle_t data, uint32_t salt)
{
    struct flow_work work = {.salt = salt, .us = flow_us};
    struct starpu_task *task = flow_task(&work);

    flow_task_add(task, data, STARPU_RW, FLOW_UPDATE);
    return task;
}

/* ---- random tasks ---------------------------------------------------------------------------- */

/* StarPU 1.3 switches plans for a reduction as if it only read. */
static bool may_reduce(const struct flow_item *item)
{
    return item->reduces && !item->on_twin && (item->filled || !item->fresh) &&
           (item->explicit_plans || !item->plans[0].count);
}

static void add_item(struct starpu_task *task, struct flow_item *item)
{
    bool whole = flow_item_is_whole(item);
    unsigned dice = flow_below(10);
    starpu_data_handle_t data = flow_item_pick(item);

    if (!item->filled) {
        if (may_reduce(item) && flow_chance(FLOW_SUM_FIRST, 2))
            flow_task_add(task, data, STARPU_REDUX, FLOW_ADD); /* to what StarPU sets to zero */
        else
            flow_task_add(task, data, item->fresh && flow_below(2) ? STARPU_RW : STARPU_W,
                          FLOW_WRITE);
        item->filled = true;
    } else if (item->frozen || dice < 4)
        flow_task_add(task, data, STARPU_R, FLOW_READ);
    else if (dice < 7 && may_reduce(item))
        flow_task_add(task, data, STARPU_REDUX, FLOW_ADD);
    else if (flow_has(FLOW_COMMUTE) && dice < 8)
        flow_task_add(task, data, STARPU_RW | STARPU_COMMUTE, FLOW_ADD);
    else if (dice < 9 || !whole)
        flow_task_add(task, data, STARPU_RW, FLOW_UPDATE);
    else
        flow_task_add(task, data, STARPU_W, flow_chance(FLOW_CLEAR, 2) ? FLOW_SET : FLOW_WRITE);
}

/* Like the others, but only read. */
static void make_reader(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;

    work->effect = FLOW_SUM;
    if (flow_chance(FLOW_VOID, 2)) {
        flow_task_add(task, flow_gate, STARPU_RW, FLOW_NOTHING);
        work->effect = FLOW_CHAIN;
    }
    unsigned first = flow_below(flow_item_count), count = 1 + flow_below(2);
    for (unsigned i = 0; i < count; i++) {
        struct flow_item *item = &flow_items[(first + i) % flow_item_count];
        if (flow_item_is_readable(item))
            flow_task_add(task, flow_item_pick(item), STARPU_R, FLOW_READ);
    }
}

/* Of data that no line holds; from others, of any kind. */
static void make_maker(struct starpu_task *task)
{
    unsigned first = flow_below(flow_item_count), made = 1 + flow_below(2), read = flow_below(3);

    for (unsigned i = 0; i < flow_item_count && made + read > 0; i++) {
        struct flow_item *item = &flow_items[(first + i) % flow_item_count];
        if (item->data && item->excluded && !item->frozen && made > 0) {
            bool writes = !item->filled || (flow_item_is_whole(item) && flow_below(3) == 0);
            flow_task_add(task, flow_item_pick(item), writes ? STARPU_W : STARPU_RW,
                          writes ? FLOW_WRITE : FLOW_UPDATE);
            item->filled = true;
            made--;
        } else if (flow_item_is_readable(item) && read > 0) {
            flow_task_add(task, flow_item_pick(item), STARPU_R, FLOW_READ);
            read--;
        }
    }
    if (flow_below(3) == 0) /* it is executed again in any case */
        ((struct flow_work *)task->cl_arg)->effect = FLOW_SUM;
}

static void make_writer(struct starpu_task *task)
{
    unsigned most = flow_chance(FLOW_LARGE, 15) ? 14 : 5;
    unsigned first = flow_below(flow_item_count), step = 1 + flow_below(2);

    for (unsigned n = 1 + flow_below(most), i = 0; i < n && i * step < flow_item_count; i++) {
        struct flow_item *item = &flow_items[(first + i * step) % flow_item_count];
        if (item->data && !item->excluded)
            add_item(task, item);
        else if (item->excluded && flow_item_is_readable(item))
            flow_task_add(task, flow_item_pick(item), STARPU_R, FLOW_READ);
    }
    if (flow_chance(FLOW_SCRATCH, 6)) {
        struct flow_item *item = &flow_items[flow_below(flow_item_count)];
        if (item->homeless && item->data && !item->filled)
            flow_task_add(task, item->data, STARPU_SCRATCH, FLOW_SCRATCH_USE);
    }
    if (flow_chance(FLOW_VOID, 8))
        flow_task_add(task, flow_gate, STARPU_RW, FLOW_NOTHING);
}

/* A task that writes nothing has an effect, and only such a task: others may be skipped. */
static void set_effect(struct starpu_task *task)
{
    struct flow_work *work = task->cl_arg;
    bool writes = false;

    for (unsigned i = 0; i < work->count; i++)
        writes |= work->uses[i] != FLOW_READ && work->uses[i] != FLOW_NOTHING &&
                  work->uses[i] != FLOW_SCRATCH_USE;
    if (!writes && work->effect == FLOW_NO_EFFECT)
        work->effect = FLOW_SUM;
}

struct starpu_task *flow_task_random(void)
{
    struct flow_work work = {.salt = (uint32_t)flow_random(),
                             .us = flow_us ? flow_below(2 * flow_us) : 0};
    struct starpu_task *task = flow_task(&work);

    if (flow_chance(FLOW_EXCLUDE, 6)) {
        make_maker(task); /* what it does not declare must be the same again */
        set_effect(task);
        return task;
    }
    if (flow_chance(FLOW_BARE, 20))
        ;
    else if (flow_chance(FLOW_READER, 8))
        make_reader(task);
    else
        make_writer(task);
    set_effect(task);
    if (flow_chance(FLOW_UNDECLARED, 6))
        flow_behind_add(task);
    return task;
}
