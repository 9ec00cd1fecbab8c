/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task writes, kept before its kernel, put back, and compared. */
#include "interpose/undo.h"

#include <stdlib.h>
#include <string.h>

#include "graph/family.h"
#include "interpose/shape.h"
#include "real/real.h"
#include "session/context.h"
#include "session/lookup.h"

static bool is_written(enum starpu_data_access_mode mode)
{
    return (mode & (STARPU_W | STARPU_REDUX)) != 0;
}

/* False: there is none that is known. */
static bool describe(struct starpu_task *task, unsigned buffer, void *buffers[],
                     struct tic_layout *layout)
{
    return tic_interface_layout(
        tic_real.starpu_data_get_interface_id(STARPU_TASK_GET_HANDLE(task, buffer)),
        buffers[buffer], layout);
}

/* Of data that the program has registered several times, tasks may write parts at the same time.
 * StarPU keeps them from that in planned partitions. */
static bool is_shared(const struct tic_handle *handle)
{
    const struct tic_family *family = atomic_load(&handle->family);

    if (!family)
        return false;
    tic_lock(&tic_session->graph.lock);
    bool is_planned = family->planned;
    tic_unlock(&tic_session->graph.lock);
    return !is_planned;
}

/* Arguments that belong to StarPU, and go with the task: others the kernel may have given away. */
static bool has_arguments(const struct starpu_task *task)
{
    return task->cl_arg && task->cl_arg_size > 0 && task->cl_arg_free;
}

static void add_arguments(struct tic_undo *undo, const struct starpu_task *task)
{
    const struct tic_shape shape = {
        .element_size = 1, .ndim = 1, .dims = {task->cl_arg_size, 1, 1, 1}};

    undo->values[undo->count++] =
        (struct tic_undo_value){.layout = tic_layout_packed(&shape, task->cl_arg),
                                .id = TIC_UNDO_NO_ID,
                                .buffer = TIC_UNDO_ARGUMENTS};
}

static const char *list_values(struct tic_undo *undo, struct starpu_task *task, void *buffers[],
                               bool is_known)
{
    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
        struct tic_undo_value value = {.id = TIC_UNDO_NO_ID, .buffer = i};
        if (!is_written(STARPU_TASK_GET_MODE(task, i)))
            continue;
        const struct tic_handle *handle =
            is_known ? tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)) : NULL;
        value.id = handle ? handle->id : TIC_UNDO_NO_ID;
        if (!describe(task, i, buffers, &value.layout))
            return "it writes data of an interface whose memory is not known";
        if (handle && is_shared(handle))
            return "it writes data that shares memory with other data";
        if (tic_shape_bytes(&value.layout.shape) > 0)
            undo->values[undo->count++] = value;
    }
    if (has_arguments(task))
        add_arguments(undo, task);
    return NULL;
}

static uint64_t sum_bytes(const struct tic_undo *undo)
{
    uint64_t bytes = 1; /* never nothing to malloc() */

    for (unsigned i = 0; i < undo->count; i++)
        bytes += tic_shape_bytes(&undo->values[i].layout.shape);
    return bytes;
}

/* Copies all values into new memory, one behind the other. NULL when out of memory. */
static char *copy_values(const struct tic_undo *undo)
{
    char *bytes = malloc(sum_bytes(undo)), *at = bytes;

    for (unsigned i = 0; bytes && i < undo->count; i++) {
        const struct tic_layout *layout = &undo->values[i].layout;
        struct tic_layout packed = tic_layout_packed(&layout->shape, at);
        tic_layout_copy(&packed, layout);
        at += tic_shape_bytes(&layout->shape);
    }
    return bytes;
}

const char *tic_undo_begin(struct tic_undo *undo, struct starpu_task *task, void *buffers[],
                           bool is_known)
{
    unsigned most = STARPU_TASK_GET_NBUFFERS(task) + 1;
    const char *why = "out of memory";

    undo->count = 0;
    undo->before = undo->results[0] = undo->results[1] = NULL;
    undo->values =
        most <= STARPU_NMAXBUFS + 1 ? undo->few : calloc(most, sizeof(struct tic_undo_value));
    if (undo->values)
        why = list_values(undo, task, buffers, is_known);
    if (!why)
        undo->before = copy_values(undo);
    char *at = undo->before;
    for (unsigned i = 0; at && i < undo->count; i++) {
        undo->values[i].before = at;
        at += tic_shape_bytes(&undo->values[i].layout.shape);
    }
    if (!why && !undo->before)
        why = "out of memory";
    if (why)
        tic_undo_end(undo);
    return why;
}

void tic_undo_end(struct tic_undo *undo)
{
    free(undo->before);
    free(undo->results[0]);
    free(undo->results[1]);
    if (undo->values != undo->few)
        free(undo->values);
    undo->values = undo->few;
    undo->before = undo->results[0] = undo->results[1] = NULL;
    undo->count = 0;
}

static bool has_moved(const struct tic_undo_value *value, struct starpu_task *task, void *buffers[])
{
    struct tic_layout now;

    if (value->buffer == TIC_UNDO_ARGUMENTS)
        return task->cl_arg != value->layout.base;
    return !describe(task, value->buffer, buffers, &now) || now.base != value->layout.base ||
           !tic_shape_equal(&now.shape, &value->layout.shape) ||
           memcmp(now.stride, value->layout.stride, sizeof(now.stride)) != 0;
}

bool tic_undo_has_moved(const struct tic_undo *undo, struct starpu_task *task, void *buffers[])
{
    bool moved = false;

    for (unsigned i = 0; i < undo->count && !moved; i++)
        moved = has_moved(&undo->values[i], task, buffers);
    return moved;
}

bool tic_undo_put_back(const struct tic_undo *undo, struct starpu_task *task, void *buffers[])
{
    if (tic_undo_has_moved(undo, task, buffers))
        return false;
    for (unsigned i = 0; i < undo->count; i++) {
        const struct tic_undo_value *value = &undo->values[i];
        struct tic_layout packed = tic_layout_packed(&value->layout.shape, value->before);
        tic_layout_copy(&value->layout, &packed);
    }
    return true;
}

bool tic_undo_keep(struct tic_undo *undo, enum tic_undo_result which)
{
    char *at = copy_values(undo);

    if (!at)
        return false;
    undo->results[which] = at;
    for (unsigned i = 0; i < undo->count; i++) {
        undo->values[i].results[which] = at;
        at += tic_shape_bytes(&undo->values[i].layout.shape);
    }
    return true;
}

static bool is_kept(const struct tic_undo_value *value, unsigned which)
{
    struct tic_layout kept = tic_layout_packed(&value->layout.shape, value->results[which]);

    return tic_layout_same(&kept, &value->layout);
}

bool tic_undo_is(const struct tic_undo *undo, enum tic_undo_result which)
{
    bool same = true;

    for (unsigned i = 0; i < undo->count && same; i++)
        same = is_kept(&undo->values[i], which);
    return same;
}

/* ---- the first difference -------------------------------------------------------------------- */

struct search {
    const char *kept; /* what the next run is compared with */
    uint64_t passed;  /* bytes before it */
    const char *now;  /* the element in memory, when it is found */
    uint64_t element_size;
};

static int compare_run(char *run, uint64_t bytes, void *arg)
{
    struct search *search = arg;

    for (uint64_t at = 0; at < bytes; at += search->element_size)
        if (memcmp(run + at, search->kept + at, search->element_size) != 0) {
            search->now = run + at;
            search->kept += at;
            search->passed += at;
            return 1;
        }
    search->kept += bytes;
    search->passed += bytes;
    return 0;
}

/* Of a large element, from its first byte that differs on. */
static void show(struct tic_undo_difference *difference, const char *kept, const char *now,
                 uint32_t size)
{
    uint32_t at = 0;

    while (size > TIC_UNDO_SHOWN && kept[at] == now[at])
        at++;
    difference->offset = at;
    difference->bytes = size - at < TIC_UNDO_SHOWN ? size - at : TIC_UNDO_SHOWN;
    memcpy(difference->kept, kept + at, difference->bytes);
    memcpy(difference->now, now + at, difference->bytes);
}

bool tic_undo_find_difference(const struct tic_undo *undo, struct tic_undo_difference *difference)
{
    unsigned i = 0;

    while (i < undo->count && is_kept(&undo->values[i], 0))
        i++;
    if (i == undo->count)
        return false;
    const struct tic_undo_value *value = &undo->values[i];
    const uint32_t size = value->layout.shape.element_size;
    struct search search = {.kept = value->results[0], .element_size = size};
    if (tic_layout_visit(&value->layout, compare_run, &search) == 0)
        return false;
    difference->value = value;
    difference->element = search.passed / size;
    difference->elements = tic_shape_bytes(&value->layout.shape) / size;
    show(difference, search.kept, search.now, size);
    return true;
}
