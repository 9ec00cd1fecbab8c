/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks looked at, given back in a restart. */
#ifndef TIC_INTERPOSE_LOOKS_REPLAY_H
#define TIC_INTERPOSE_LOOKS_REPLAY_H

#include <stdint.h>

struct tic_handle;

/* A task that writes it (may be NULL) is skipped, in a replay. Under the submission lock. */
void tic_looks_note_skipped_locked(struct tic_handle *handle);
/* main() sees what it saw at this wait; a callback what it saw: its wait is TIC_LOOK_CALLBACK and
 * the key of its task. In a restart, under the submission lock. */
void tic_looks_give_main_back_locked(uint64_t wait);
void tic_looks_give_callback_back_locked(uint64_t wait);
/* The data leaves. */
void tic_looks_forget_skipped_locked(const struct tic_handle *handle);

#endif
