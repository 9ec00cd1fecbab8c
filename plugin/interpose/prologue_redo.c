/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/prologue_redo.h"

#include <stdlib.h>

#include "base/error.h"
#include "interpose/callback_redo.h"
#include "interpose/prologue.h"
#include "interpose/redo_values.h"
#include "replay/replay.h"
#include "session/context.h"
#include "session/task.h"

static bool frees_argument(const struct starpu_task *task, const struct tic_prologue_place *place)
{
    return place->bit == TIC_PROLOGUE_FIRST ? task->prologue_callback_arg_free
                                            : task->prologue_callback_pop_arg_free;
}

/* It comes without its task. */
static void leave_apart(struct starpu_task *task, const struct tic_prologue_place *place,
                        uint64_t key)
{
    struct tic_wrapped_prologue *wrapped = tic_or_stop(tic_prologue_wrap_one(task, place, key));

    wrapped->held = true;
    if (!frees_argument(task, place))
        return;
    wrapped->argument = NULL;
    if (place->bit == TIC_PROLOGUE_FIRST)
        task->prologue_callback_arg_free = 0;
    else
        task->prologue_callback_pop_arg_free = 0;
}

/* The values were logged before the first of a task, and once more where that runs nowhere. */
static struct tic_redone *describe(struct starpu_task *task, const struct tic_prologue_place *place,
                                   uint64_t key)
{
    bool nowhere = place->bit == TIC_PROLOGUE_POP && tic_nowhere_has_key(key);
    struct tic_redone *redone = tic_or_stop(malloc(sizeof(*redone)));

    *redone = (struct tic_redone){
        .key = key ^ place->bit,
        .run = *place->function,
        .argument = *place->argument,
        .free_argument = frees_argument(task, place),
        .task = task,
        .reader = tic_redo_note_reader(task, nowhere ? key : tic_prologue_key_of_reads(key))};
    return redone;
}

/* True: it had not begun. */
static bool redo_one(struct starpu_task *task, const struct tic_prologue_place *place, uint64_t key,
                     bool shows)
{
    if (!*place->function)
        return false;
    struct tic_redone *redone = describe(task, place, key);
    const struct tic_replay_actor actor = tic_redone_actor(redone, shows);
    if (tic_replay_add_actor(TIC_HISTORY_CALLBACK, redone->key, &actor, tic_is_owner)) {
        tic_redone_open_locked(redone);
        leave_apart(task, place, key);
        return false;
    }
    tic_redone_free(redone);
    return true;
}

bool tic_prologue_redo(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);
    bool has_first = *first.function != NULL, later = redo_one(task, &first, key, true);

    /* In a made history kernels that come after the task may have been shown later values. */
    bool shows = !has_first || tic_nowhere_has_key(key) || tic_replay_is_made();

    return redo_one(task, &pop, key, shows) || later;
}
