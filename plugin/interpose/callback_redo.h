/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When callbacks come in a restart. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "interpose/looks_list.h"
#include "interpose/redo_values.h"
#include "replay/replay.h"

/* A callback, or a prologue, that a replay runs when the history says so. */
struct tic_redone {
    uint64_t key;
    void (*run)(void *);
    void *argument;
    bool free_argument;           /* when it has run */
    struct starpu_task *task;     /* whose it is; NULL: run itself notes that it begins */
    bool owned;                   /* StarPU needs the task no more: it goes after its callback */
    bool inside;                  /* who makes a call waits for it (tic_replay_count_inside) */
    struct tic_small small;       /* data that the callback may look at */
    struct tic_redo_user *reader; /* who is shown what it reads before it runs; or NULL */
    TAILQ_ENTRY(tic_redone) open; /* among callbacks of tasks that have not returned */
};

/* What runs it, and frees it then; shows: what it read before. */
struct tic_replay_actor tic_redone_actor(struct tic_redone *redone, bool shows);
void tic_redone_free(struct tic_redone *redone);
/* It may look at its task, whose structure StarPU would free at its end, and which stays. Who waits
 * for the task waits until it has returned. Under the submission lock. */
void tic_redone_open_locked(struct tic_redone *redone);

/* Has the replay run the callback: tic_replay_add_actor. If it had begun by the cut and not
 * returned, StarPU has a task without a kernel in this context until it returns, as it had not
 * ended the task: who waits in any way waits for this. ends: a task that StarPU is to get, and
 * whose end comes after that, with what depends on it; or NULL. */
bool tic_callback_add_actor(uint64_t key, struct tic_replay_actor *actor, bool inside,
                            unsigned context, struct starpu_task *ends);
void tic_callback_let_go(void *stand);

/* The callback of a task, if it has one, does not run at its end, but when the history says so; if
 * it had not begun by the cut, when the queue is played: of a task of ours, as its own has ended.
 * The structure stays until it has run. small: what it may look at, of a task that is at its end in
 * StarPU, whose data may be gone, or (begins) that StarPU is to get; NULL: StarPU does not see the
 * task, which goes after its callback. Under the submission lock. False: it has none. */
bool tic_callback_redo_locked(struct starpu_task *task, uint64_t key, const struct tic_small *small,
                              bool begins);
/* One that had not returned by the cut, of a task without a kernel that StarPU is to get now: that
 * ends when it has, as StarPU calls it before it lets go who depends on such a task. Not of a
 * structure that stays with the program, which may submit it again in its callback. False: it is
 * none. Under the submission lock. */
bool tic_callback_begin_open_locked(struct starpu_task *task, uint64_t key);
/* Who has waited for a task has waited for its callback, too. */
void tic_callback_await(const struct starpu_task *task);
/* main() is at the cut: what callbacks of tasks that have not returned had looked at is named. */
void tic_callback_name_looks(void);
/* Of something else than a task: run, which notes itself what begins, comes when the history says
 * so (false: it had not begun by the cut); or when the queue has been played. Any thread. */
bool tic_callback_redo(uint64_t key, void (*run)(void *), void *argument);
void tic_callback_play(void (*run)(void *), void *argument);
/* The task whose callback this thread runs without it; or NULL. */
struct starpu_task *tic_callback_current_task(void);
/* The one before. */
struct starpu_task *tic_callback_set_current(struct starpu_task *task);
