/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/shown.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"
#include "session/clock.h"
#include "interpose/constant.h"
#include "session/context.h"
#include "session/nodes.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "real/grids.h"
#include "real/real.h"

struct memory {
    uint64_t id;       /* of the handle */
    unsigned users;    /* running tasks that use it in place */
    uint64_t checksum; /* of what they read */
    uint64_t given_at; /* submissions of main() when it accessed it last */
    bool taken;        /* no task may use it in place */
};

struct alias {
    starpu_data_handle_t data;
    struct tic_handle *original;
    struct memory *memory;
    struct tic_saved saved; /* what the task reads */
    char *bytes;            /* this, packed, if it is in no file: what main() has put there */
    bool in_place;          /* its task runs, and counts among the users */
    char *copy;             /* its task runs on this instead */
    struct alias *next;
};

static struct {
    struct tic_lock lock;
    void *memories, *aliases; /* tsearch(3), by id, by handle */
    unsigned paused;
    unsigned users;
    uint64_t waited_at; /* submissions of main() when it came back from a wait last */
} shown = {.lock = {PTHREAD_MUTEX_INITIALIZER, TIC_RANK_SHOWN}}; /* all guarded by lock */

_Noreturn static void stop_without_memory(void)
{
    tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
}

static int by_id(const void *a, const void *b)
{
    const struct memory *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_data(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;

    return (x->data > y->data) - (x->data < y->data);
}

static struct memory *find_memory_locked(uint64_t id)
{
    const struct memory key = {.id = id};
    struct memory **found = tfind(&key, &shown.memories, by_id);

    return found ? *found : NULL;
}

static struct memory *add_memory_locked(uint64_t id)
{
    struct memory *memory = find_memory_locked(id);

    if (memory)
        return memory;
    memory = calloc(1, sizeof(*memory));
    if (!memory)
        stop_without_memory();
    memory->id = id;
    if (!tsearch(memory, &shown.memories, by_id))
        stop_without_memory();
    return memory;
}

/* ---- aliases --------------------------------------------------------------------------------- */

/* The end of a task with end dependencies comes late. In other memory no task finds data where it
 * was. Parts of a family have values of different times. */
bool tic_shown_may(const struct tic_handle *handle, const struct starpu_task *task)
{
    return tic_position_is_ahead() && handle->imaged && !handle->restored && !handle->family &&
           task->nb_termination_call_required == 0 && !tic_nodes_several;
}

static bool register_grid(const struct tic_handle *handle, starpu_data_handle_t *alias)
{
    const enum starpu_data_interface_id id = tic_real.starpu_data_get_interface_id(handle->data);
    struct tic_grid grid;

    if (!tic_grid_describe(
            id, tic_real.starpu_data_get_interface_on_node(handle->data, STARPU_MAIN_RAM), &grid))
        return false;
    grid.base = (uintptr_t)handle->layout.base;
    return tic_grid_register(id, &grid, alias);
}

static starpu_data_handle_t register_alias(const struct tic_handle *handle)
{
    const struct tic_layout *layout = &handle->layout;
    const uint64_t *dims = layout->shape.dims, *stride = layout->stride;
    const uint32_t n[3] = {(uint32_t)dims[0], (uint32_t)dims[1], (uint32_t)dims[2]};
    const size_t size = layout->shape.element_size;
    uintptr_t at = (uintptr_t)layout->base;
    starpu_data_handle_t alias = NULL;

    if (register_grid(handle, &alias))
        return alias;
    switch (tic_real.starpu_data_get_interface_id(handle->data)) {
    case STARPU_VARIABLE_INTERFACE_ID:
        tic_real.starpu_variable_data_register(&alias, STARPU_MAIN_RAM, at, size);
        break;
    case STARPU_VECTOR_INTERFACE_ID:
        tic_real.starpu_vector_data_register(&alias, STARPU_MAIN_RAM, at, n[0], size);
        break;
    case STARPU_MATRIX_INTERFACE_ID:
        tic_real.starpu_matrix_data_register(&alias, STARPU_MAIN_RAM, at, (uint32_t)stride[1], n[0],
                                             n[1], size);
        break;
    default:
        tic_real.starpu_block_data_register(&alias, STARPU_MAIN_RAM, at, (uint32_t)stride[1],
                                            (uint32_t)stride[2], n[0], n[1], n[2], size);
    }
    return alias;
}

/* main() may change it before the task begins. */
static void keep_bytes(struct alias *alias)
{
    const struct tic_layout *layout = &alias->original->layout;

    alias->bytes = malloc(tic_shape_bytes(&layout->shape));
    if (!alias->bytes)
        stop_without_memory();
    struct tic_layout packed = tic_layout_packed(&layout->shape, alias->bytes);
    tic_layout_copy(&packed, layout);
    alias->saved.checksum = tic_layout_checksum(&packed);
}

starpu_data_handle_t tic_shown_register(struct tic_handle *handle, const struct tic_saved *saved)
{
    struct alias *alias = calloc(1, sizeof(*alias));

    if (!alias)
        stop_without_memory();
    alias->data = register_alias(handle);
    alias->original = handle;
    if (saved)
        alias->saved = *saved;
    else
        keep_bytes(alias);
    tic_lock(&shown.lock);
    alias->memory = add_memory_locked(handle->id);
    if (!tsearch(alias, &shown.aliases, by_data))
        stop_without_memory();
    tic_unlock(&shown.lock);
    return alias->data;
}

static struct alias *take_alias_locked(starpu_data_handle_t data)
{
    const struct alias key = {.data = data};
    struct alias **found = tfind(&key, &shown.aliases, by_data), *alias = found ? *found : NULL;

    if (alias)
        tdelete(alias, &shown.aliases, by_data);
    return alias;
}

/* ---- in place -------------------------------------------------------------------------------- */

static bool holds_wanted(const struct alias *alias)
{
    const struct memory *memory = alias->memory;
    uint64_t there =
        memory->users > 0 ? memory->checksum : tic_layout_checksum(&alias->original->layout);

    return there == alias->saved.checksum;
}

/* main() may be reading or writing it: a task that it has submitted before had ended by then. */
static bool is_late(const struct alias *alias, uint64_t sequence)
{
    return sequence & TIC_SPAWN_KEY || sequence < shown.waited_at ||
           sequence < alias->memory->given_at;
}

/* Writes the wanted value, with the handle's layout, to another address. */
static void write_wanted(const struct alias *alias, char *base)
{
    struct tic_layout to = alias->original->layout;

    to.base = base;
    if (alias->bytes) {
        struct tic_layout packed = tic_layout_packed(&to.shape, alias->bytes);
        tic_layout_copy(&to, &packed);
    } else {
        tic_data_write_to(alias->original, &alias->saved, &to);
    }
}

static bool use_in_place_locked(struct alias *alias, uint64_t sequence)
{
    struct memory *memory = alias->memory;
    const struct tic_handle *handle = alias->original;

    if (shown.paused > 0 || memory->taken || !tic_position_is_ahead() || !handle->data ||
        handle->restored || !tic_handle_is_there(handle) || is_late(alias, sequence))
        return false;
    if (!holds_wanted(alias)) {
        if (memory->users > 0 || atomic_load(&handle->holds) > 0)
            return false;
        tic_constant_refuse(handle);
        write_wanted(alias, handle->layout.base);
    }
    memory->checksum = alias->saved.checksum;
    memory->users++;
    shown.users++;
    return alias->in_place = true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void set_pointer(void *interface, enum starpu_data_interface_id id, uintptr_t at)
{
    switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID:
        ((struct starpu_variable_interface *)interface)->ptr = at;
        break;
    case STARPU_VECTOR_INTERFACE_ID:
        ((struct starpu_vector_interface *)interface)->ptr = at;
        break;
    case STARPU_MATRIX_INTERFACE_ID:
        ((struct starpu_matrix_interface *)interface)->ptr = at;
        break;
    default:
        if (!tic_grid_point(id, interface, at))
            ((struct starpu_block_interface *)interface)->ptr = at;
    }
}

/* What lies between its rows is as it is. */
static void use_copy_locked(struct alias *alias, void *interface)
{
    const struct tic_layout *layout = &alias->original->layout;
    const uint64_t span = tic_layout_span(layout);

    alias->copy = calloc(1, span);
    if (!alias->copy)
        stop_without_memory();
    if (span > tic_shape_bytes(&layout->shape) && tic_layout_is_mapped(layout))
        memcpy(alias->copy, layout->base, span);
    write_wanted(alias, alias->copy);
    set_pointer(interface, tic_real.starpu_data_get_interface_id(alias->data),
                (uintptr_t)alias->copy);
}

/* ---- around a task --------------------------------------------------------------------------- */

void tic_shown_begin(struct starpu_task *task, struct tic_slot *slot)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    tic_lock(&shown.lock);
    for (unsigned i = 0; i < buffers && shown.aliases; i++) {
        struct alias *alias = take_alias_locked(STARPU_TASK_GET_HANDLE(task, i));
        if (!alias)
            continue;
        if (!use_in_place_locked(alias, slot->sequence))
            use_copy_locked(alias,
                            task->dyn_interfaces ? task->dyn_interfaces[i] : task->interfaces[i]);
        alias->next = slot->aliases;
        slot->aliases = alias;
    }
    tic_unlock(&shown.lock);
}

void tic_shown_end(struct tic_slot *slot)
{
    struct alias *alias = slot->aliases;

    slot->aliases = NULL;
    tic_lock(&shown.lock);
    while (alias) {
        struct alias *next = alias->next;
        alias->memory->users -= alias->in_place;
        shown.users -= alias->in_place;
        free(alias->copy);
        free(alias->bytes);
        free(alias);
        alias = next;
    }
    tic_unlock(&shown.lock);
}

/* ---- main() and callbacks -------------------------------------------------------------------- */

static bool is_used(void)
{
    tic_lock(&shown.lock);
    bool used = shown.users > 0;
    tic_unlock(&shown.lock);
    return used;
}

/* Runs a task on the memory that reads something else? Nothing else does from then on. */
static bool is_in_the_way(const struct tic_handle *handle, const struct tic_saved *saved)
{
    tic_lock(&shown.lock);
    struct memory *memory = find_memory_locked(handle->id);
    bool used = memory && memory->users > 0 && !(saved && saved->checksum == memory->checksum);
    if (memory && !used)
        memory->taken = true;
    tic_unlock(&shown.lock);
    return used;
}

/* Between looks at whether tasks have ended; one message when that takes long. */
struct delay {
    uint64_t told_at;
};

static struct delay begin_delay(void)
{
    uint64_t patience = (uint64_t)(tic_session->snapshot.options.patience * 1e9);

    return (struct delay){tic_nanoseconds(CLOCK_MONOTONIC) + patience};
}

static void delay(struct delay *delay)
{
    const struct timespec pause = {.tv_nsec = 50000};

    nanosleep(&pause, NULL);
    if (tic_nanoseconds(CLOCK_MONOTONIC) < delay->told_at)
        return;
    delay->told_at = UINT64_MAX;
    tic_log(TIC_LOG_WARN, "main(), or a callback, waits for a task that is executed again and "
                          "reads what it is to find later");
}

void tic_shown_take(const struct tic_handle *handle, const struct tic_saved *saved)
{
    struct delay between = begin_delay();

    while (is_in_the_way(handle, saved))
        delay(&between);
}

void tic_shown_give(const struct tic_handle *handle)
{
    tic_lock(&shown.lock);
    struct memory *memory = find_memory_locked(handle->id);
    if (memory) {
        memory->taken = false;
        memory->given_at = tic_session->graph.signature.position;
    }
    tic_unlock(&shown.lock);
}

void tic_shown_write(struct tic_handle *handle, const struct tic_saved *saved)
{
    tic_shown_take(handle, saved);
    tic_lock(&tic_session->submit);
    tic_data_expose_locked(handle, saved);
    tic_unlock(&tic_session->submit);
    tic_shown_give(handle);
}

/* Its own task's callback comes after its end. */
void tic_shown_pause(void)
{
    struct delay between = begin_delay();

    tic_lock(&shown.lock);
    shown.paused++;
    tic_unlock(&shown.lock);
    while (is_used())
        delay(&between);
}

void tic_shown_resume(bool waited)
{
    tic_lock(&shown.lock);
    shown.paused--;
    if (waited)
        shown.waited_at = tic_session->graph.signature.position;
    tic_unlock(&shown.lock);
}
