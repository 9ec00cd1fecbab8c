/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of the event log by which a restart extends a recovery line. */
#include "store/extension.h"

#include <string.h>

/* ---- a task has ended ----------------------------------------------------------------------- */

enum { ENDED_FIXED = 9, OUTPUT_WORDS = sizeof(struct tic_ended_output) / 8 };

_Static_assert(sizeof(struct tic_ended) == TIC_ENDED_WORDS * 8, "a record is the structure");

size_t tic_ended_encode(const struct tic_ended *ended, uint64_t *words)
{
    size_t count = ENDED_FIXED + OUTPUT_WORDS * ended->count;

    memcpy(words, ended, count * 8);
    return count;
}

bool tic_ended_decode(const struct tic_log_record *record, struct tic_ended *ended)
{
    if (record->kind != TIC_LOGGED_ENDED || record->count < ENDED_FIXED)
        return false;
    memset(ended, 0, sizeof(*ended));
    memcpy(ended, record->words, ENDED_FIXED * 8);
    if (ended->count > TIC_ENDED_OUTPUTS ||
        record->count != ENDED_FIXED + OUTPUT_WORDS * ended->count) {
        memset(ended, 0, sizeof(*ended));
        return false;
    }
    memcpy(ended->outputs, record->words + ENDED_FIXED, OUTPUT_WORDS * ended->count * 8);
    return true;
}

/* ---- a kernel has submitted one ---------------------------------------------------------------
 */

enum { SUBMITTED_FIXED = 12, BUFFER_WORDS = sizeof(struct tic_line_buffer) / 8 };

_Static_assert(sizeof(struct tic_line_buffer) % 8 == 0, "buffers are words");

/* The names, each with its NUL byte, and the arguments. */
struct tail {
    size_t codelet, callback, bytes;
};

static size_t words_of(const struct tail *tail, uint64_t buffers)
{
    return SUBMITTED_FIXED + BUFFER_WORDS * buffers +
           (tail->codelet + tail->callback + tail->bytes + 7) / 8;
}

size_t tic_submitted_encode(const struct tic_submitted *submitted, uint64_t *words)
{
    const struct tic_line_kept *task = &submitted->task;
    struct tail tail = {strlen(submitted->codelet) + 1,
                        submitted->callback ? strlen(submitted->callback) + 1 : 0, task->arguments};
    const uint64_t fixed[SUBMITTED_FIXED] = {submitted->run,
                                             submitted->epoch,
                                             submitted->parent,
                                             submitted->order,
                                             task->root,
                                             task->id,
                                             task->tag,
                                             task->callback_argument,
                                             (uint64_t)task->priority,
                                             (uint64_t)task->buffers << 32 | task->flags,
                                             (uint64_t)tail.codelet << 32 | tail.callback,
                                             tail.bytes};

    if (task->buffers > TIC_LOG_MOST_WORDS || tail.bytes > 8 * TIC_LOG_MOST_WORDS ||
        words_of(&tail, task->buffers) > TIC_LOG_MOST_WORDS)
        return 0;
    memset(words, 0, words_of(&tail, task->buffers) * 8);
    memcpy(words, fixed, sizeof(fixed));
    unsigned char *at = (unsigned char *)(words + SUBMITTED_FIXED);
    memcpy(at, submitted->buffers, task->buffers * sizeof(*submitted->buffers));
    at += task->buffers * sizeof(*submitted->buffers);
    memcpy(at, submitted->codelet, tail.codelet);
    if (tail.callback > 0)
        memcpy(at + tail.codelet, submitted->callback, tail.callback);
    memcpy(at + tail.codelet + tail.callback, submitted->bytes, tail.bytes);
    return words_of(&tail, task->buffers);
}

static bool is_text(const char *text, size_t size)
{
    return size > 0 && strnlen(text, size) == size - 1;
}

bool tic_submitted_decode(const struct tic_log_record *record, struct tic_submitted *submitted)
{
    const uint64_t *words = record->words;

    if (record->kind != TIC_LOGGED_SUBMITTED || record->count < SUBMITTED_FIXED)
        return false;
    struct tail tail = {words[10] >> 32, (uint32_t)words[10], (size_t)words[11]};
    uint64_t buffers = words[9] >> 32;
    if (buffers > record->count || tail.bytes > record->count * 8 ||
        words_of(&tail, buffers) != record->count)
        return false;
    const struct tic_line_buffer *list = (const void *)(words + SUBMITTED_FIXED);
    const char *names = (const char *)(list + buffers);
    if (!is_text(names, tail.codelet) ||
        (tail.callback > 0 && !is_text(names + tail.codelet, tail.callback)))
        return false;
    *submitted = (struct tic_submitted){
        .run = words[0],
        .epoch = words[1],
        .parent = words[2],
        .order = words[3],
        .task = {.root = words[4],
                 .id = words[5],
                 .tag = words[6],
                 .callback_argument = words[7],
                 .priority = (int64_t)words[8],
                 .flags = (uint32_t)words[9],
                 .buffers = (uint32_t)buffers,
                 .arguments = (uint32_t)tail.bytes},
        .codelet = names,
        .callback = tail.callback > 0 ? names + tail.codelet : NULL,
        .buffers = list,
        .bytes = (const unsigned char *)names + tail.codelet + tail.callback,
    };
    return true;
}
