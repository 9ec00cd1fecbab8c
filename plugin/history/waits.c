/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a restart that redoes a history could wait for ever. */
#include "history/waits.h"

/* main() goes on when it has passed. */
static bool lets_main_go_on(const struct tic_line_entry *entry)
{
    return entry->role == TIC_HISTORY_MAIN &&
           (entry->kind == TIC_HISTORY_RETURN || entry->kind == TIC_HISTORY_VALUE ||
            entry->kind == TIC_HISTORY_MERGE);
}

enum tic_history_trouble tic_history_find_cycle(const struct tic_line *line,
                                                struct tic_history_wait *wait)
{
    const uint64_t cut = tic_line_position(line);
    uint64_t reached = UINT64_MAX; /* as far as main() may be before one that stands behind */

    for (size_t i = line->history_count; i-- > 0;) {
        const struct tic_line_entry *entry = &line->history[i];
        wait->entry = i;
        if (entry->position > cut)
            return TIC_HISTORY_NO_MORE;
        if (entry->position > reached)
            return TIC_HISTORY_CYCLE;
        if (lets_main_go_on(entry) && entry->position < reached) {
            reached = entry->position;
            wait->other = i;
        }
    }
    return TIC_HISTORY_FINE;
}
