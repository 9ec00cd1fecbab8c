/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What callbacks and prologues may read, in memory, of the data that their task declares: shown
 * again in a restart. Of tasks that run nowhere (nowhere.c), and prologues of others. */
#ifndef TIC_INTERPOSE_DECLARED_H
#define TIC_INTERPOSE_DECLARED_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"

/* May this be read, with a value to be shown? */
bool tic_declared_has_content(const struct tic_handle *handle);
/* A task of main() is about to be submitted in a restart, under the submission lock: what was
 * logged of this buffer, if it was, is to be shown. key: of the task, or of its first prologue.
 * inside: while the task has its data. False: it was not logged. */
bool tic_declared_expect_locked(uint64_t key, unsigned buffer, struct tic_handle *handle,
                                bool inside);
/* Is something to be shown to callbacks of this key? */
bool tic_declared_has(uint64_t key);
/* Their task does not wait for those that are still to come. */
void tic_declared_leave(uint64_t key);
/* Shows it, before each of them, where there is something; stops the restart where that cannot be.
 */
void tic_declared_show(uint64_t key);

#endif
