/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/turns.h"

#include <stdbool.h>
#include <stddef.h>

#include "interpose/runner.h"
#include "session/task.h"

static struct {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t ended;
    struct tic_turn *first; /* guarded by mutex */
} turns = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

static bool runs_elsewhere_locked(uint64_t key)
{
    const struct tic_turn *turn = turns.first;

    while (turn && (turn->key != key || pthread_equal(turn->thread, pthread_self())))
        turn = turn->next;
    return turn != NULL;
}

/* Whether the key is that of a prologue of pop, or of a callback, the ones before it differ from it
 * by these bits. Nothing else has such a key while it runs. */
static bool is_early_locked(uint64_t key)
{
    return runs_elsewhere_locked(key ^ TIC_PROLOGUE_FIRST ^ TIC_PROLOGUE_POP) ||
           runs_elsewhere_locked(key ^ TIC_PROLOGUE_FIRST) ||
           runs_elsewhere_locked(key ^ TIC_PROLOGUE_POP);
}

void tic_turn_begin(struct tic_turn *turn, uint64_t key)
{
    pthread_mutex_lock(&turns.mutex);
    if (is_early_locked(key)) {
        tic_runner_enter_application();
        while (is_early_locked(key))
            pthread_cond_wait(&turns.ended, &turns.mutex);
        tic_runner_leave_application();
    }
    *turn = (struct tic_turn){key, pthread_self(), turns.first, &turns.first};
    if (turn->next)
        turn->next->link = &turn->next;
    turns.first = turn;
    pthread_mutex_unlock(&turns.mutex);
}

void tic_turn_end(struct tic_turn *turn)
{
    pthread_mutex_lock(&turns.mutex);
    *turn->link = turn->next;
    if (turn->next)
        turn->next->link = turn->link;
    pthread_cond_broadcast(&turns.ended);
    pthread_mutex_unlock(&turns.mutex);
}
