/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks: entries of a line's tables that lie in payload rows, which many lines share. */
#pragma once

#include "store/store.h"
#include "store/table.h"

/* Writes entries of a table into a free row, formatting some if there is none. The row is busy
 * until it is settled. Committing thread. 0 or -errno. */
int tic_block_save(struct tic_store *store, uint32_t number, const void *items, uint32_t count,
                   struct tic_line_block *block);
/* Formats rows for so many more blocks of a table. Committing thread. 0 or -errno. */
int tic_block_provide(struct tic_store *store, uint32_t number, uint64_t count);
