/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks looked at, given back in a restart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tic_handle;
struct tic_handle_list;
struct tic_saved;

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
/* Writes the value of the line if main() has come to it: no task that was done writes the data
 * later. Else it is told of that. False: main() may want it when it has waited again. */
bool tic_looks_show(struct tic_handle *handle, bool tells,
                    void (*write)(struct tic_handle *handle, const struct tic_saved *saved));
/* The data leaves. */
void tic_looks_forget_skipped_locked(const struct tic_handle *handle);
