/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is the program protected? One state, and the moves between states that are legal. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* From TIC_PROTECTION_ENDED on there is no way back: nothing is saved, nobody waits for a save. */
enum tic_protection_state {
    TIC_PROTECTION_ACTIVE,    /* lines are taken, or will be once the checkpoint thread runs */
    TIC_PROTECTION_SUSPENDED, /* the store cannot be written: the last line stays, trials go on */
    TIC_PROTECTION_ENDED,     /* the program runs on unprotected */
    TIC_PROTECTION_ABANDONED, /* ended, and a call still holds the checkpoint thread */
    TIC_PROTECTION_STATES
};

struct tic_protection {
    _Atomic int state;     /* enum tic_protection_state; changed by tic_protection_move only */
    char reason[256];      /* why it has ended; whoever ended it writes it, then: */
    _Atomic bool explains; /* it is there; release */
};

/* Why protection has ended; empty: nobody has said so yet. Any thread. */
static inline const char *tic_protection_reason(const struct tic_protection *protection)
{
    return atomic_load_explicit(&protection->explains, memory_order_acquire) ? protection->reason
                                                                             : "";
}

/* True when the state was another one and is this one now. False, and without effect, where the
 * move is not legal or changes nothing. Any thread. */
bool tic_protection_move(struct tic_protection *protection, enum tic_protection_state to);

static inline bool tic_protection_is_over(const struct tic_protection *protection)
{
    return atomic_load_explicit(&protection->state, memory_order_acquire) >= TIC_PROTECTION_ENDED;
}

/* A hint: protection may be suspended or go on at any time. */
static inline bool tic_protection_is_suspended(const struct tic_protection *protection)
{
    return atomic_load_explicit(&protection->state, memory_order_relaxed) ==
           TIC_PROTECTION_SUSPENDED;
}
