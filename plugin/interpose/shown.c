/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/shown.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"
#include "interpose/tasks.h"

/* What the memory of a datum holds, as far as it matters here. */
enum content { OF_MAIN, OF_TASKS, UNKNOWN };

struct memory {
    uint64_t id; /* of the handle */
    enum content content;
    uint64_t checksum; /* OF_TASKS */
    unsigned users;    /* running tasks that use it in place */
    unsigned initial;  /* aliases for what main() has put there, whose tasks have not begun */
    char *kept;        /* what main() had put there, packed, if it is there no longer */
    uint64_t given_at; /* submissions of main() when it was shown a value last */
};

struct alias {
    starpu_data_handle_t data;
    struct tic_handle *original;
    struct memory *memory;
    struct tic_saved saved;
    bool recorded; /* saved counts; else what main() has put there does */
    bool in_place; /* its task runs, and counts among the users */
    char *copy;    /* its task runs on this instead */
    struct alias *next;
};

static struct {
    struct tic_lock lock;
    void *memories, *aliases; /* tsearch(3), by id, by handle */
    unsigned paused;
    unsigned users;
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

/* The end of a task with end dependencies comes late. Parts of a family have values of different
 * times. */
bool tic_shown_may(const struct tic_handle *handle, const struct starpu_task *task)
{
    return tic_position_is_ahead() && handle->imaged && !handle->restored && !handle->family &&
           task->nb_termination_call_required == 0;
}

static starpu_data_handle_t register_alias(const struct tic_handle *handle)
{
    const struct tic_layout *layout = &handle->layout;
    const uint64_t *dims = layout->shape.dims, *stride = layout->stride;
    const uint32_t n[3] = {(uint32_t)dims[0], (uint32_t)dims[1], (uint32_t)dims[2]};
    const size_t size = layout->shape.element_size;
    uintptr_t at = (uintptr_t)layout->base;
    starpu_data_handle_t alias = NULL;

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

starpu_data_handle_t tic_shown_register(struct tic_handle *handle, const struct tic_saved *saved)
{
    struct alias *alias = calloc(1, sizeof(*alias));

    if (!alias)
        stop_without_memory();
    alias->data = register_alias(handle);
    alias->original = handle;
    alias->recorded = saved != NULL;
    if (saved)
        alias->saved = *saved;
    tic_lock(&shown.lock);
    alias->memory = add_memory_locked(handle->id);
    alias->memory->initial += !saved;
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

    return alias->recorded
               ? memory->content == OF_TASKS && memory->checksum == alias->saved.checksum
               : memory->content == OF_MAIN || !memory->kept;
}

/* main() may be looking at it: a task that it has submitted before had ended by then. */
static bool is_late(const struct alias *alias, uint64_t sequence)
{
    return sequence & TIC_SPAWN_KEY || sequence < alias->memory->given_at;
}

static void keep_content_of_main_locked(struct memory *memory, const struct tic_handle *handle)
{
    if (memory->content != OF_MAIN || memory->initial == 0 || memory->kept)
        return;
    memory->kept = malloc(tic_shape_bytes(&handle->layout.shape));
    if (!memory->kept)
        stop_without_memory();
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, memory->kept);
    tic_layout_copy(&packed, &handle->layout);
}

/* Writes the wanted value, with the handle's layout, to another address. */
static void write_wanted(const struct alias *alias, char *base)
{
    struct tic_layout to = alias->original->layout;

    to.base = base;
    if (alias->recorded) {
        tic_data_write_to(alias->original, &alias->saved, &to);
    } else if (alias->memory->kept) {
        struct tic_layout packed = tic_layout_packed(&to.shape, alias->memory->kept);
        tic_layout_copy(&to, &packed);
    }
}

static void switch_locked(struct alias *alias)
{
    struct memory *memory = alias->memory;

    keep_content_of_main_locked(memory, alias->original);
    if (!alias->recorded ||
        tic_layout_checksum(&alias->original->layout) != alias->saved.checksum) {
        tic_data_require_writable(alias->original);
        write_wanted(alias, alias->original->layout.base);
    }
    memory->content = alias->recorded ? OF_TASKS : OF_MAIN;
    memory->checksum = alias->saved.checksum;
}

static bool use_in_place_locked(struct alias *alias, uint64_t sequence)
{
    struct memory *memory = alias->memory;
    const struct tic_handle *handle = alias->original;

    if (shown.paused > 0 || !tic_position_is_ahead() || !handle->data || handle->restored ||
        !tic_layout_is_mapped(&handle->layout))
        return false;
    if (!holds_wanted(alias)) {
        if (memory->users > 0 || atomic_load(&handle->holds) > 0 || is_late(alias, sequence))
            return false;
        switch_locked(alias);
    }
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
        ((struct starpu_block_interface *)interface)->ptr = at;
    }
}

/* What lies between its rows is as it is. */
static void use_copy_locked(struct alias *alias, void *interface)
{
    const struct tic_layout *layout = &alias->original->layout;
    const uint64_t span = tic_layout_span(layout);
    bool mapped = tic_layout_is_mapped(layout);

    alias->copy = calloc(1, span);
    if (!alias->copy)
        stop_without_memory();
    if (mapped && (!alias->recorded || span > tic_shape_bytes(&layout->shape)))
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
        alias->memory->initial -= !alias->recorded;
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

/* Its own task's callback comes after its end. */
void tic_shown_pause(void)
{
    const struct timespec pause = {.tv_nsec = 50000};
    const uint64_t second = 1000000000, end = tic_nanoseconds(CLOCK_MONOTONIC) + second;

    tic_lock(&shown.lock);
    shown.paused++;
    tic_unlock(&shown.lock);
    while (is_used() && tic_nanoseconds(CLOCK_MONOTONIC) < end)
        nanosleep(&pause, NULL);
}

void tic_shown_resume(void)
{
    tic_lock(&shown.lock);
    shown.paused--;
    tic_unlock(&shown.lock);
}

void tic_shown_note_given(const struct tic_handle *handle, bool main)
{
    tic_lock(&shown.lock);
    struct memory *memory = find_memory_locked(handle->id);
    if (memory)
        memory->content = UNKNOWN;
    if (memory && main)
        memory->given_at = tic_session->graph.signature.position;
    tic_unlock(&shown.lock);
}
