/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes of one task, one after the other: its first prologue, that of pop, its callback. One
 * that waits for somebody in the application's code keeps its runner, and what was held back after
 * it goes on: not what comes of the same task. */
#ifndef TIC_INTERPOSE_TURNS_H
#define TIC_INTERPOSE_TURNS_H

#include <pthread.h>
#include <stdint.h>

struct tic_turn {
    uint64_t key;
    pthread_t thread;
    struct tic_turn *next, **link;
};

/* Around what was held back, by its key. Waits for what comes before it of its task, unless that
 * is what has called this thread; as in the application's code, so that it keeps nobody else. */
void tic_turn_begin(struct tic_turn *turn, uint64_t key);
void tic_turn_end(struct tic_turn *turn);

#endif
