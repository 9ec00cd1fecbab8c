/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a restart has come in the history that it redoes, and what main() waits for there. It
 * passes the entries one after the other, each when main() has come to its position. Pure data
 * structure; the caller synchronises. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/line.h"

struct tic_cursor {
    struct tic_line_entry *entries; /* in their order */
    size_t count;
    size_t next;     /* entries before it have passed */
    uint64_t *reach; /* of each entry, the highest position of it and of those before it */
};

/* Takes a copy, in which nobody needs main() further on than tic_history_find_main. 0 or -ENOMEM.
 */
int tic_cursor_init(struct tic_cursor *cursor, const struct tic_line_entry *entries, size_t count,
                    uint64_t cut);
void tic_cursor_fini(struct tic_cursor *cursor);

/* Does main() come back from a call by this entry? */
bool tic_cursor_returns(const struct tic_line_entry *entry);
/* So many entries pass before main() begins the operation at this position. */
size_t tic_cursor_count_before(const struct tic_cursor *cursor, uint64_t position);
/* Finds the entry by which main() comes back from the operation at this position, or is granted its
 * access. False: at the cut it had not. */
bool tic_cursor_find_return(const struct tic_cursor *cursor, uint64_t position, size_t *entry);
/* Finds the entry by which main() comes back from the operation at this position, which waits, when
 * it has been granted what it asked for. False: at the cut it had not. */
bool tic_cursor_find_end(const struct tic_cursor *cursor, uint64_t position, size_t *entry);

/* Did main() wait in the operation at this position? A wait of its own may lie within another one.
 */
bool tic_cursor_waits(const struct tic_cursor *cursor, uint64_t position);
