/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log: files, blocks, records. */
#include "store/eventlog.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "base/thread.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/store.h"

enum { NAME_SIZE = 64 };

struct head {
    uint64_t checksum; /* XXH3-64 of the rest of the record */
    uint32_t bytes;    /* of the whole record, a multiple of 8 */
    uint32_t kind;
    uint64_t time;
};

_Static_assert(sizeof(struct head) == TIC_LOG_HEAD_WORDS * 8, "no gaps");

struct tic_log_writer {
    uint64_t file; /* 0: none yet */
    int fd;
    int64_t at, end;
    _Atomic bool borrowed; /* acq_rel */
} __attribute__((aligned(64)));

struct tic_log_file {
    uint64_t number;
    int fd; /* -1: of an earlier run */
    uint64_t offset;
    unsigned next_block;
    unsigned held; /* writers whose block is in it */
    bool settled, marked;
};

static const struct tic_line_extent log_extent = {
    .element_size = 1, .ndim = 1, .dims = {TIC_LOG_BLOCK, 1, 1, 1}, .rows = TIC_LOG_BLOCKS};

static void name_file(const struct tic_store *store, uint64_t number, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, TIC_FILE_LOG, store->process, (unsigned long long)number);
}

int tic_eventlog_init(struct tic_eventlog *log, struct tic_store *store, unsigned writers,
                      unsigned lent)
{
    memset(log, 0, sizeof(*log));
    log->store = store;
    log->next_file = 1;
    tic_lock_init(&log->lock, TIC_RANK_LOG);
    log->writers =
        calloc(writers + lent + 1, sizeof(*log->writers)); /* the last: committing thread */
    log->writer_count = log->writers ? writers + lent : 0;
    log->lent_from = writers;
    return log->writers ? 0 : -ENOMEM;
}

void tic_eventlog_fini(struct tic_eventlog *log)
{
    for (unsigned long i = 0; i < log->file_count; i++)
        if (log->files[i].fd >= 0)
            tic_io_close(log->files[i].fd);
    free(log->files);
    free(log->writers);
    tic_lock_fini(&log->lock);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int add_file(struct tic_eventlog *log, const struct tic_log_file *file)
{
    tic_lock(&log->lock);
    int status = tic_append(log->files, log->file_count, log->file_capacity, file);
    tic_unlock(&log->lock);
    return status;
}

int tic_eventlog_keep(struct tic_eventlog *log, uint64_t number)
{
    const struct tic_log_file file = {
        .number = number, .fd = -1, .next_block = TIC_LOG_BLOCKS, .settled = true};

    if (number >= log->next_file)
        log->next_file = number + 1;
    return tic_eventlog_holds(log, number) ? 0 : add_file(log, &file);
}

void tic_eventlog_forget(struct tic_eventlog *log)
{
    log->file_count = 0;
}

bool tic_eventlog_holds(const struct tic_eventlog *log, uint64_t number)
{
    for (unsigned long i = 0; i < log->file_count; i++)
        if (log->files[i].number == number)
            return true;
    return false;
}

static unsigned long free_blocks(struct tic_eventlog *log)
{
    unsigned long free = 0;

    tic_lock(&log->lock);
    for (unsigned long i = 0; i < log->file_count; i++)
        free += TIC_LOG_BLOCKS - log->files[i].next_block;
    tic_unlock(&log->lock);
    return free;
}

int tic_eventlog_provide(struct tic_eventlog *log)
{
    char name[NAME_SIZE];
    struct tic_line_extent extent = log_extent;
    struct tic_log_file file = {.number = log->next_file};

    if (free_blocks(log) >= TIC_LOG_BLOCKS / 2)
        return 0;
    name_file(log->store, file.number, name);
    log->next_file++;
    unlinkat(log->store->directory, name, 0); /* what a killed run left without a record */
    file.fd = tic_segment_create(log->store->directory, name, log->store->h5, &extent, 1);
    if (file.fd < 0)
        return file.fd;
    file.offset = extent.offset;
    tic_io_map(file.fd);
    int status = add_file(log, &file);
    if (status) {
        tic_io_close(file.fd);
        unlinkat(log->store->directory, name, 0);
        return status;
    }
    log->store->nameless = true;
    tic_failpoint(TIC_FAIL_LOG_FORMAT);
    tic_eventlog_note_newest(log);
    return 0;
}

void tic_eventlog_settle(struct tic_eventlog *log)
{
    tic_lock(&log->lock);
    for (unsigned long i = 0; i < log->file_count; i++)
        log->files[i].settled =
            log->files[i].held == 0 && log->files[i].next_block == TIC_LOG_BLOCKS;
    tic_unlock(&log->lock);
}

void tic_eventlog_mark(struct tic_eventlog *log, uint64_t number)
{
    for (unsigned long i = 0; i < log->file_count; i++)
        if (log->files[i].number == number)
            log->files[i].marked = true; /* committing thread only */
}

/* If the file stays, its records are of tasks that are done. */
static void remove_file(const struct tic_eventlog *log, const struct tic_log_file *file)
{
    char name[NAME_SIZE];

    name_file(log->store, file->number, name);
    unlinkat(log->store->directory, name, 0);
    if (file->fd >= 0)
        tic_io_close(file->fd);
    tic_failpoint(TIC_FAIL_LOG_REMOVED);
}

/* Takes one that is not needed off the list. */
static bool take_needless(struct tic_eventlog *log, struct tic_log_file *taken)
{
    bool found = false;

    tic_lock(&log->lock);
    for (unsigned long i = 0; i < log->file_count && !found; i++) {
        *taken = log->files[i];
        found = taken->settled && !taken->marked;
        if (found)
            memmove(&log->files[i], &log->files[i + 1],
                    (--log->file_count - i) * sizeof(*log->files));
    }
    tic_unlock(&log->lock);
    return found;
}

void tic_eventlog_sweep(struct tic_eventlog *log)
{
    struct tic_log_file file;

    while (take_needless(log, &file)) /* nobody waits for the lock while a file is removed */
        remove_file(log, &file);
    for (unsigned long i = 0; i < log->file_count; i++)
        log->files[i].marked = false; /* committing thread only */
}

int tic_eventlog_sync(struct tic_eventlog *log)
{
    for (unsigned long i = 0; i < log->file_count; i++)
        if (log->files[i].fd >= 0 && fdatasync(log->files[i].fd) != 0)
            return -errno;
    return 0;
}

bool tic_eventlog_is_there(const struct tic_eventlog *log)
{
    struct stat info;
    bool there = true;

    for (unsigned long i = 0; i < log->file_count && there; i++)
        there = log->files[i].fd < 0 || (fstat(log->files[i].fd, &info) == 0 && info.st_nlink > 0);
    return there;
}

uint64_t tic_eventlog_volume(struct tic_eventlog *log)
{
    tic_lock(&log->lock);
    uint64_t files = log->file_count;
    tic_unlock(&log->lock);
    return files * TIC_LOG_BLOCKS * TIC_LOG_BLOCK;
}

uint64_t tic_eventlog_used(struct tic_eventlog *log)
{
    uint64_t bytes = 0;

    tic_lock(&log->lock);
    for (unsigned long i = 0; i < log->file_count; i++)
        bytes += log->files[i].offset + (uint64_t)log->files[i].next_block * TIC_LOG_BLOCK;
    tic_unlock(&log->lock);
    return bytes;
}

/* ---- appending ------------------------------------------------------------------------------ */

/* 0, or -EAGAIN. */
static int take_block(struct tic_eventlog *log, struct tic_log_writer *writer)
{
    int status = -EAGAIN;

    tic_lock(&log->lock);
    for (unsigned long i = 0; i < log->file_count && status; i++) {
        struct tic_log_file *file = &log->files[i];
        if (file->next_block == TIC_LOG_BLOCKS)
            continue;
        for (unsigned long k = 0; k < log->file_count; k++)
            log->files[k].held -= log->files[k].number == writer->file;
        file->held++;
        writer->file = file->number;
        writer->fd = file->fd;
        writer->at = (int64_t)(file->offset + (uint64_t)file->next_block++ * TIC_LOG_BLOCK);
        writer->end = writer->at + TIC_LOG_BLOCK;
        status = 0;
    }
    tic_unlock(&log->lock);
    return status;
}

static int append(struct tic_eventlog *log, struct tic_log_writer *writer, enum tic_logged kind,
                  const uint64_t *words, size_t count)
{
    uint64_t buffer[TIC_LOG_HEAD_WORDS + TIC_LOG_MOST_WORDS];
    struct head head = {.bytes = (uint32_t)(sizeof(head) + count * 8), .kind = kind};

    if ((writer->file == 0 || writer->end - writer->at < (int64_t)head.bytes) &&
        take_block(log, writer) != 0)
        return -EAGAIN;
    head.time = tic_nanoseconds(CLOCK_REALTIME);
    memcpy(buffer, &head, sizeof(head));
    if (count > 0)
        memcpy(buffer + TIC_LOG_HEAD_WORDS, words, count * 8);
    buffer[0] = XXH3_64bits(buffer + 1, head.bytes - 8);
    struct iovec piece = {.iov_base = buffer, .iov_len = head.bytes};
    int status = tic_io_write(writer->fd, &piece, 1, (uint64_t)writer->at);
    if (status == -ETIME)
        writer->at = writer->end; /* it may be written yet */
    if (status)
        return status;
    writer->at += head.bytes;
    atomic_fetch_add_explicit(&log->bytes, head.bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&log->records, 1, memory_order_relaxed);
    return 0;
}

int tic_eventlog_append(struct tic_eventlog *log, unsigned writer, enum tic_logged kind,
                        const uint64_t *words, size_t count, uint64_t *file)
{
    if (writer >= log->writer_count || count > TIC_LOG_MOST_WORDS)
        return -EINVAL;
    int status = append(log, &log->writers[writer], kind, words, count);
    if (status == 0 && file)
        *file = log->writers[writer].file;
    return status;
}

/* The first that is free, so that few of them have a block. */
unsigned tic_eventlog_borrow(struct tic_eventlog *log)
{
    unsigned i = log->lent_from;

    while (atomic_exchange_explicit(&log->writers[i].borrowed, true, memory_order_acq_rel))
        if (++i == log->writer_count) {
            i = log->lent_from;
            sched_yield();
        }
    return i;
}

void tic_eventlog_give_back(struct tic_eventlog *log, unsigned writer)
{
    atomic_store_explicit(&log->writers[writer].borrowed, false, memory_order_release);
}

void tic_eventlog_note_newest(struct tic_eventlog *log)
{
    const uint64_t newest = log->store->kept_count > 0 ? log->store->kept[0].number : 0;

    if (newest != log->noted &&
        append(log, &log->writers[log->writer_count], TIC_LOGGED_COMMITTED, &newest, 1) == 0)
        log->noted = newest; /* its file is held, so that it stays */
}

/* ---- reading -------------------------------------------------------------------------------- */

/* False when the visitor ends the walk. */
/* *whole: nothing but zeros follows the last record. */
static bool walk_block(const uint64_t *block, uint64_t file, tic_log_visit visit, void *arg,
                       bool *whole)
{
    const size_t words = TIC_LOG_BLOCK / 8;

    for (size_t at = 0; at + TIC_LOG_HEAD_WORDS <= words;) {
        struct head head;
        memcpy(&head, block + at, sizeof(head));
        if (head.bytes < sizeof(head) || head.bytes % 8 != 0 || head.bytes / 8 > words - at ||
            head.checksum != XXH3_64bits(block + at + 1, head.bytes - 8)) {
            *whole = (block[at] | block[at + 1] | block[at + 2]) == 0;
            return true;
        }
        struct tic_log_record record = {.file = file,
                                        .kind = (enum tic_logged)head.kind,
                                        .time = head.time,
                                        .words = block + at + TIC_LOG_HEAD_WORDS,
                                        .count = head.bytes / 8 - TIC_LOG_HEAD_WORDS};
        if (!visit(arg, &record))
            return false;
        at += head.bytes / 8;
    }
    return true;
}

/* Where its blocks begin; false: not a log file that was complete. */
static bool find_blocks(int fd, uint64_t *offset)
{
    struct tic_line_extent *extents;
    size_t count;

    if (tic_segment_read(fd, &extents, &count) != 0)
        return false;
    struct tic_shape expected = tic_line_extent_shape(&log_extent);
    struct tic_shape shape =
        count == 1 ? tic_line_extent_shape(&extents[0]) : (struct tic_shape){0};
    bool fine = tic_shape_equal(&shape, &expected) && extents[0].rows == TIC_LOG_BLOCKS;
    *offset = fine ? extents[0].offset : 0;
    free(extents);
    return fine;
}

/* Does the block begin with a record of the other byte order? */
static bool is_swapped(const uint64_t *block)
{
    struct head head;

    memcpy(&head, block, sizeof(head));
    const uint32_t bytes = __builtin_bswap32(head.bytes);
    return bytes >= sizeof(head) && bytes % 8 == 0 && bytes <= TIC_LOG_BLOCK &&
           __builtin_bswap64(head.checksum) == XXH3_64bits(block + 1, bytes - 8);
}

static bool walk_file(struct tic_store *store, uint64_t number, tic_log_visit visit, void *arg)
{
    char name[NAME_SIZE];
    uint64_t *block = malloc(TIC_LOG_BLOCK), offset;
    bool go_on = true, whole = true, found = false, swapped = false;

    name_file(store, number, name);
    int fd = openat(store->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    found = block && fd >= 0 && find_blocks(fd, &offset);
    for (unsigned i = 0; i < TIC_LOG_BLOCKS && go_on && found; i++) {
        bool fine = pread(fd, block, TIC_LOG_BLOCK,
                          (off_t)(offset + (uint64_t)i * TIC_LOG_BLOCK)) == TIC_LOG_BLOCK;
        swapped |= fine && is_swapped(block);
        if (fine)
            go_on = walk_block(block, number, visit, arg, &fine);
        whole &= fine;
    }
    if (swapped) {
        tic_log(TIC_LOG_WARN,
                "the event log %s/%s was written on a machine of the other byte order: its records "
                "are not read",
                store->path, name);
    } else if (!found || !whole) {
        store->damaged_logs++;
        tic_log(TIC_LOG_WARN,
                "the event log %s/%s is damaged, or was being written: tasks that it tells of are "
                "executed again",
                store->path, name);
    }
    if (fd >= 0)
        close(fd);
    free(block);
    return go_on;
}

int tic_eventlog_walk(struct tic_store *store, tic_log_visit visit, void *arg)
{
    uint64_t *numbers;
    unsigned long count;
    int status = tic_store_list(store, TIC_FILE_LOG, &numbers, &count);

    store->damaged_logs = 0;
    for (unsigned long i = count; status == 0 && i-- > 0;) /* the list descends */
        if (!walk_file(store, numbers[i], visit, arg))
            status = -ECANCELED;
    free(numbers);
    return status;
}
