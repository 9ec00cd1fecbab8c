/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of single tasks on disk. */
#include "store/forced.h"

#include <errno.h>
#include <string.h>


enum { FIXED_WORDS = 8, OUTPUT_WORDS = sizeof(struct tic_forced_output) / 8 };

_Static_assert(sizeof(struct tic_forced) == TIC_FORCED_WORDS * 8, "a record is the structure");

int tic_forced_describe(struct tic_store *store, const struct tic_saved *saved,
                        struct tic_forced_output *output)
{
    struct tic_line_extent extent;
    int status = saved->row.extent == TIC_HELD_EXTENT
                     ? -EBUSY /* or compressed by now: a record is of plain bytes */
                     : tic_rows_extent(&store->rows, saved->row, &extent);

    if (status)
        return status;
    output->bytes = tic_rows_bytes(&store->rows, saved->row);
    output->checksum = saved->checksum;
    output->segment = extent.segment;
    output->offset = extent.offset + saved->row.row * output->bytes;
    return 0;
}

size_t tic_forced_encode(const struct tic_forced *forced, uint64_t *words)
{
    size_t count = FIXED_WORDS + OUTPUT_WORDS * forced->count;

    memcpy(words, forced, count * 8);
    return count;
}

bool tic_forced_decode(const struct tic_log_record *record, struct tic_forced *forced)
{
    if (record->kind != TIC_LOGGED_FINISHED || record->count < FIXED_WORDS)
        return false;
    memset(forced, 0, sizeof(*forced));
    memcpy(forced, record->words, FIXED_WORDS * 8);
    if (forced->sequence >= TIC_LOG_MOST_TASKS || forced->count == 0 ||
        forced->count > TIC_FORCED_OUTPUTS ||
        record->count != FIXED_WORDS + OUTPUT_WORDS * forced->count)
        return false;
    memcpy(forced->outputs, record->words + FIXED_WORDS, OUTPUT_WORDS * forced->count * 8);
    return true;
}
