/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a restart has come in the history that it redoes. */
#include "replay/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/history.h"

int tic_cursor_init(struct tic_cursor *cursor, const struct tic_line_entry *entries, size_t count,
                    uint64_t cut)
{
    const uint64_t last = tic_history_find_main(entries, count, cut);
    uint64_t reach = 0;

    *cursor = (struct tic_cursor){.entries = malloc((count + 1) * sizeof(*entries)),
                                  .count = count,
                                  .reach = calloc(count + 1, sizeof(*cursor->reach))};
    if (!cursor->entries || !cursor->reach)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        cursor->entries[i] = entries[i];
        if (entries[i].position > last)
            cursor->entries[i].position = last;
        reach = cursor->entries[i].position > reach ? cursor->entries[i].position : reach;
        cursor->reach[i] = reach;
    }
    return 0;
}

void tic_cursor_fini(struct tic_cursor *cursor)
{
    free(cursor->entries);
    free(cursor->reach);
    memset(cursor, 0, sizeof(*cursor));
}

bool tic_cursor_returns(const struct tic_line_entry *entry)
{
    return entry->role == TIC_HISTORY_MAIN &&
           (entry->kind == TIC_HISTORY_RETURN || entry->kind == TIC_HISTORY_VALUE ||
            entry->kind == TIC_HISTORY_MERGE);
}

size_t tic_cursor_count_before(const struct tic_cursor *cursor, uint64_t position)
{
    return tic_first_from(position, cursor->reach, cursor->count);
}

bool tic_cursor_find_return(const struct tic_cursor *cursor, uint64_t position, size_t *entry)
{
    size_t i = tic_cursor_count_before(cursor, position);

    while (i < cursor->count &&
           !(tic_cursor_returns(&cursor->entries[i]) && cursor->entries[i].position >= position))
        i++;
    *entry = i;
    return i < cursor->count && cursor->entries[i].position == position;
}

bool tic_cursor_find_end(const struct tic_cursor *cursor, uint64_t position, size_t *entry)
{
    bool found = tic_cursor_find_return(cursor, position, entry);

    while (found && *entry < cursor->count && cursor->entries[*entry].kind != TIC_HISTORY_RETURN)
        ++*entry;
    return found && *entry < cursor->count && cursor->entries[*entry].position == position;
}

bool tic_cursor_waits(const struct tic_cursor *cursor, uint64_t position)
{
    size_t i;

    return tic_cursor_find_return(cursor, position, &i) ||
           (i < cursor->count &&
            cursor->entries[i].position >> TIC_WAIT_BITS == position >> TIC_WAIT_BITS);
}
