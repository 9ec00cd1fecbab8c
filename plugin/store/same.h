/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that are stored already: content that was saved lately is not written again. What is found
 * by a sample of its bytes is compared whole with what the file holds, so no hash is trusted. */
#pragma once

#include "store/store.h"

int tic_same_init(struct tic_same *same);
void tic_same_fini(struct tic_same *same);

/* Looks for a row that holds the value. True: *saved names it, and the row stays busy until
 * tic_rows_settle, as one that was written. Else *key is for tic_same_note. Any thread. */
bool tic_same_find(struct tic_store *store, const struct tic_layout *layout,
                   struct tic_saved *saved, uint64_t *key);
/* The value with this key was written there. Any thread. */
void tic_same_note(struct tic_store *store, uint64_t key, const struct tic_saved *saved);
/* A row that was noted under this key may have been written over, in part. Any thread. */
void tic_same_forget(struct tic_store *store, uint64_t key);
