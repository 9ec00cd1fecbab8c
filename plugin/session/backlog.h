/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callbacks, and what else waits until main() has come as far as it had: kept by the clock of
 * main() at which each becomes due. Adding and taking one costs a logarithm of their number. */
#ifndef TIC_SESSION_BACKLOG_H
#define TIC_SESSION_BACKLOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tic_postponed {
    uint64_t clock;
    bool known;    /* it had run by the recovered cut; else it waits for that, too */
    uint64_t rank; /* its place among those that had run; UINT64_MAX: it had not */
};

/* Takes it over, until it is taken. False when out of memory. Any thread. */
bool tic_backlog_add(struct tic_postponed *postponed);
/* Of those that are due, the one that had run first; then the one that was added first. NULL: none.
 * ahead: main() has not come to the recovered cut. */
struct tic_postponed *tic_backlog_take(uint64_t now, bool ahead);
bool tic_backlog_has_due(uint64_t now, bool ahead);

/* No clock in the backlog is less; 0: something is due; UINT64_MAX: it is empty. */
extern _Atomic uint64_t tic_backlog_earliest;

#endif
