/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks looked at, given back in a restart. */
#ifndef TIC_INTERPOSE_LOOKS_REPLAY_H
#define TIC_INTERPOSE_LOOKS_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct tic_handle;
struct tic_handle_list;

/* A task that writes it (may be NULL) is skipped, in a replay. Under the submission lock. */
void tic_looks_note_skipped_locked(struct tic_handle *handle);
/* main() sees what it saw at this wait; a callback what it saw: its wait is TIC_LOOK_CALLBACK and
 * the key of its task. In a restart, under the submission lock. */
void tic_looks_give_main_back_locked(uint64_t wait);
void tic_looks_give_callback_back_locked(uint64_t wait);
/* main() has waited: data that its interface packs, and that skipped tasks write, is in the list
 * from now on, for who empties it. Before the call above; under the submission lock. The list is
 * the owner thread's. */
void tic_looks_await_packed_locked(void);
struct tic_handle_list *tic_looks_packed_skipped(void);
/* Is the value of the line the one that main() has come to? No task that was done writes the data
 * later. */
bool tic_looks_has_its_value(struct tic_handle *handle);
/* The data leaves. */
void tic_looks_forget_skipped_locked(const struct tic_handle *handle);

#endif
