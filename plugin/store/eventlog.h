/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log: what happens to tasks and data, in files beside the recovery lines, so that what
 * was done after the newest line is known. Files are formatted before use; each writer appends to
 * a block of its own, by pwrite, without a lock. A record has a checksum: the first one that is
 * wrong ends its block. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

struct tic_store;

/* Kinds of records; the numbers are on disk. FORMAT.md tells their words. */
enum tic_logged {
    TIC_LOGGED_RUN = 1,
    TIC_LOGGED_CREATED = 2,
    TIC_LOGGED_STARTED = 3,
    TIC_LOGGED_FINISHED = 4,
    TIC_LOGGED_REGISTERED = 5,
    TIC_LOGGED_UNREGISTERED = 6,
    TIC_LOGGED_ACQUIRED = 7,
    TIC_LOGGED_EVENT = 8,
    TIC_LOGGED_RESTORED = 9,
    TIC_LOGGED_INPUT = 10,
    TIC_LOGGED_COMMITTED = 11,
    TIC_LOGGED_ENDED = 12,
    TIC_LOGGED_SUBMITTED = 13,
};

enum {
    TIC_LOG_BLOCK = 65536,          /* bytes */
    TIC_LOG_BLOCKS = 64,            /* in a file */
    TIC_LOG_HEAD_WORDS = 3,         /* before the words of a record */
    TIC_LOG_MOST_WORDS = 1000,      /* of one record */
    TIC_LOG_MOST_TASKS = INT32_MAX, /* numbers of tasks are below; of others no record counts */
    TIC_LOG_MODE_BITS = 16,         /* an access in one word: handle id above its mode */
};

struct tic_log_writer;
struct tic_log_file;

struct tic_eventlog {
    struct tic_store *store;
    struct tic_lock lock;
    struct tic_log_file *files; /* guarded by lock; changed by the committing thread only */
    unsigned long file_count, file_capacity;
    uint64_t next_file; /* committing thread only */
    uint64_t noted;     /* the same: the newest line that a record tells of, or 0 */
    struct tic_log_writer *writers;
    unsigned writer_count;           /* immutable after init; as the next */
    unsigned lent_from;              /* writers from this on are lent */
    _Atomic uint64_t bytes, records; /* relaxed: statistics */
};

/* `writers` threads append; and the committing one, and who borrows one of so many that are `lent`.
 * 0 or -errno. */
int tic_eventlog_init(struct tic_eventlog *log, struct tic_store *store, unsigned writers,
                      unsigned lent);
void tic_eventlog_fini(struct tic_eventlog *log);

/* Appends a record of `count` words. One thread at a time per writer. *file, if not NULL: where it
 * is. 0; -EAGAIN when no block is free; other -errno. */
int tic_eventlog_append(struct tic_eventlog *log, unsigned writer, enum tic_logged kind,
                        const uint64_t *words, size_t count, uint64_t *file);

/* A writer for a record or more; waits while as many threads as there are have one. */
unsigned tic_eventlog_borrow(struct tic_eventlog *log);
void tic_eventlog_give_back(struct tic_eventlog *log, unsigned writer);

/* ---- committing thread ---------------------------------------------------------------------- */
/* Formats a file when less than half of one is free. 0 or -errno. */
int tic_eventlog_provide(struct tic_eventlog *log);
/* Records which line is the newest, if the log has files: results of before are removed from then
 * on, and the others are of no use to a restart from an older one. */
void tic_eventlog_note_newest(struct tic_eventlog *log);
/* A file of an earlier run, which stays until it is swept. 0 or -ENOMEM. */
int tic_eventlog_keep(struct tic_eventlog *log, uint64_t file);
/* No file of an earlier run does. */
void tic_eventlog_forget(struct tic_eventlog *log);
bool tic_eventlog_holds(const struct tic_eventlog *log, uint64_t file);
/* Files that nobody writes any more: before a cut is taken. */
void tic_eventlog_settle(struct tic_eventlog *log);
/* The file holds a record that a restart may need. */
void tic_eventlog_mark(struct tic_eventlog *log, uint64_t file);
/* Removes files that were settled and are not marked; forgets the marks. */
void tic_eventlog_sweep(struct tic_eventlog *log);
/* Forces them to the disk. 0 or -errno. */
int tic_eventlog_sync(struct tic_eventlog *log);
/* False when a file of this run was removed by somebody else. */
bool tic_eventlog_is_there(const struct tic_eventlog *log);
/* Bytes of its files. */
uint64_t tic_eventlog_volume(struct tic_eventlog *log);
/* Bytes of blocks that somebody writes, or has written. */
uint64_t tic_eventlog_used(struct tic_eventlog *log);

/* ---- reading -------------------------------------------------------------------------------- */
struct tic_log_record {
    uint64_t file;
    enum tic_logged kind;
    uint64_t time; /* nanoseconds since 1970 UTC */
    const uint64_t *words;
    size_t count;
};
/* False ends the walk with -ECANCELED. */
typedef bool (*tic_log_visit)(void *arg, const struct tic_log_record *record);
/* Every record that is whole: file by file, the older one first, and block by block. Files that are
 * not logs, or not complete, hold none. Outside of the committing thread only when no run uses the
 * directory. 0 or -errno. */
int tic_eventlog_walk(struct tic_store *store, tic_log_visit visit, void *arg);
