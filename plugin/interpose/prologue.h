/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prologues of tasks, run as application code. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_accesses;

/* Why a task that main() does not submit ends protection; or NULL. */
const char *tic_prologue_refuse(const struct starpu_task *task,
                                const struct tic_accesses *accesses);
/* Makes the prologues of a task of this key run as application code, not as StarPU's. False when
 * out of memory. */
bool tic_prologue_wrap(struct starpu_task *task, uint64_t key);
/* tic_nowhere_begin is called when the task of this key has its data. False when out of memory. */
bool tic_prologue_watch_begin(struct starpu_task *task, uint64_t key);
/* Gives a copy of a wrapped task its own prologues back. */
void tic_prologue_unwrap(struct starpu_task *copy);

/* ---- for prologue_redo.c --------------------------------------------------------------------- */

struct tic_wrapped_prologue {
    struct starpu_task *task;
    void (*function)(void *);
    void *argument;
    uint64_t key;   /* of the prologue */
    bool held;      /* it runs, or ran, at another time */
    bool logs;      /* the first one of a task that runs nowhere, and may read */
    uint64_t reads; /* key of a task that runs nowhere, and whose callbacks may read; or 0 */
};

/* Where a task has it. */
struct tic_prologue_place {
    void (**function)(void *);
    void **argument;
    void (*run)(void *);
    uint64_t bit;
};

struct tic_prologue_place tic_prologue_place_of_first(struct starpu_task *task);
struct tic_prologue_place tic_prologue_place_of_pop(struct starpu_task *task);
/* NULL: out of memory. key: of the task. */
struct tic_wrapped_prologue *tic_prologue_wrap_one(struct starpu_task *task,
                                                   const struct tic_prologue_place *place,
                                                   uint64_t key);
