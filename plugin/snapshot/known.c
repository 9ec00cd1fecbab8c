/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the event log tells of main() beyond the line. */
#include "snapshot/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/eventlog.h"
#include "store/line.h"

/* A record of as many words does not hold all accesses of its task. */
enum { MOST_ACCESSES = TIC_LOG_MOST_WORDS - 16 };

static int note_task(struct tic_known *known, const struct tic_log_record *record, uint64_t order)
{
    uint64_t count = record->count < 2 ? UINT64_MAX : record->words[1];

    if (count > MOST_ACCESSES || count > record->count - 2 ||
        record->words[0] >= TIC_LOG_MOST_TASKS)
        return 0; /* it is one of those that nothing is known of */
    const struct tic_known_task task = {record->words[0], order, known->access_count,
                                        (uint32_t)count};
    if (tic_reserve(known->accesses, known->access_capacity, known->access_count + count) != 0 ||
        tic_append(known->tasks, known->task_count, known->task_capacity, &task) != 0)
        return -ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        known->accesses[known->access_count++] =
            (struct tic_known_access){record->words[2 + i] >> TIC_LOG_MODE_BITS,
                                      record->words[2 + i] & ((1u << TIC_LOG_MODE_BITS) - 1)};
    return 0;
}

static int note_use(struct tic_known *known, const struct tic_log_record *record)
{
    if (record->count != 3)
        return 0;
    return tic_append(
        known->uses, known->use_count, known->use_capacity,
        &(struct tic_known_use){record->words[2], record->words[0], (record->words[1] & 2) != 0});
}

int tic_known_note(struct tic_known *known, const struct tic_log_record *record, uint64_t order)
{
    return record->kind == TIC_LOGGED_CREATED    ? note_task(known, record, order)
           : record->kind == TIC_LOGGED_ACQUIRED ? note_use(known, record)
                                                 : 0;
}

void tic_known_sort(struct tic_known *known)
{
    unsigned long kept = 0;

    tic_sort(known->tasks, known->task_count, tic_line_by_two_numbers);
    tic_sort(known->uses, known->use_count, tic_line_by_number);
    for (unsigned long i = 0; i < known->task_count; i++) {
        kept -= kept > 0 && known->tasks[kept - 1].sequence == known->tasks[i].sequence;
        known->tasks[kept++] = known->tasks[i];
    }
    known->task_count = kept;
}

void tic_known_clear(struct tic_known *known)
{
    free(known->tasks);
    free(known->accesses);
    free(known->uses);
    memset(known, 0, sizeof(*known));
}
