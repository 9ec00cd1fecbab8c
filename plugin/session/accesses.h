/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a task accesses: on the path of every submission, hence inline. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "session/lookup.h"

struct tic_access {
    struct tic_handle *handle; /* NULL: data that protection does not know */
    enum starpu_data_access_mode mode;
};

struct tic_accesses {
    unsigned count;
    enum starpu_data_access_mode modes; /* of all of them */
    bool simple;                        /* nothing is to be said of their data but that it is used:
                                           it is known, mentioned before, can be saved, has a value
                                           and shares its memory with nobody */
    struct tic_access *items;           /* `few`, or owned */
    struct tic_access few[STARPU_NMAXBUFS];
};

static inline bool tic_access_is_simple(const struct tic_handle *handle)
{
    return handle && handle->is_value && handle->use.mentioned &&
           !atomic_load_explicit(&handle->use.invalid, memory_order_relaxed) && !handle->family;
}

/* False when out of memory. To be given to tic_accesses_drop. */
static inline bool tic_accesses_list(struct starpu_task *task, struct tic_accesses *accesses)
{
    unsigned count = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;

    accesses->items =
        count <= STARPU_NMAXBUFS ? accesses->few : calloc(count, sizeof(struct tic_access));
    accesses->count = accesses->items ? count : 0;
    accesses->modes = STARPU_NONE;
    accesses->simple = false;
    for (unsigned i = 0; i < accesses->count; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        __builtin_prefetch(handle, 1); /* it is written soon, and was used long ago */
        accesses->items[i] = (struct tic_access){handle, mode};
        accesses->modes |= mode;
    }
    return accesses->items != NULL;
}

/* Under the submission lock. */
static inline bool tic_accesses_are_simple(const struct tic_accesses *accesses)
{
    bool simple = true;

    for (unsigned i = 0; i < accesses->count; i++)
        simple &= tic_access_is_simple(accesses->items[i].handle);
    return simple;
}

/* Nothing but tokens, known data all of it. */
static inline bool tic_accesses_declare_nothing(const struct tic_accesses *accesses)
{
    unsigned i = 0;

    while (i < accesses->count && accesses->items[i].handle &&
           tic_handle_is_empty(accesses->items[i].handle) &&
           !tic_handle_is_excluded(accesses->items[i].handle))
        i++;
    return i == accesses->count;
}

static inline void tic_accesses_drop(struct tic_accesses *accesses)
{
    if (accesses->items != accesses->few)
        free(accesses->items);
}
