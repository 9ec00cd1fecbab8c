/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: one directory with the recovery lines and segments of one process. Knows nothing of
 * StarPU. Values may be saved and read from any thread; everything else by one thread at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "store/h5.h"
#include "store/index.h"
#include "store/rows.h"

struct tic_eventlog;

/* An open segment file, and how it was found by the last reviews; compact.h. */
struct tic_store_segment {
    uint64_t number;
    int fd;
    unsigned age, empty, sparse; /* reviews: of it; in a row with nothing, or little, in use */
    unsigned closed;             /* 0: open; else 1 + reviews since something was moved */
    unsigned spared;             /* reviews that it is left alone */
    uint64_t left;               /* bytes in use at the last review */
};

enum { TIC_KEPT_DEFAULT = 2, TIC_KEPT_MOST = 100 };

/* same.h */
struct tic_same_entry;
struct tic_same {
    struct tic_lock lock;
    struct tic_same_entry *entries; /* guarded by lock */
};

/* Values that are read. */
struct tic_reading {
    _Atomic unsigned long begun, ended; /* reads to be used, ended after begun */
    _Atomic uint64_t bytes;             /* of these, and */
    _Atomic uint64_t bytes_verified;    /* only to be checked; relaxed: statistics */
};

struct tic_store_lock {
    int file;     /* fd; immutable after open */
    bool claimed; /* it tells that this process uses the store; as next_line below, but before the
                     first commit the thread that opened it */
};

/* Segments that no line knows, and that stay. */
struct tic_store_extra {
    uint64_t *numbers;
    unsigned long count, capacity;
};

/* Statistics; relaxed. */
struct tic_store_counts {
    _Atomic uint64_t bytes_written, values_written;
    _Atomic uint64_t bytes_spared;  /* by compression, of those written */
    _Atomic uint64_t bytes_shared;  /* not written, as they were there */
    _Atomic uint64_t values_shared; /* the same */
    _Atomic uint64_t values_moved;
    uint64_t segments_removed; /* committing thread only */
};

struct tic_store {
    char *path;    /* immutable after open */
    int directory; /* fd; immutable after open */
    struct tic_store_lock lock;
    unsigned process;            /* immutable after open */
    bool sync;                   /* immutable after open */
    int level;                   /* of compression, 0: none; immutable once there is a segment */
    _Atomic bool idle;           /* protection has ended: what is saved goes into no line */
    _Atomic bool hurry;          /* somebody waits: what is being compressed is written as it is */
    _Atomic bool ending;         /* no line is wanted any more: none is forced to the disk */
    const struct tic_h5_ops *h5; /* immutable after open; called by one thread at a time */
    struct tic_rows rows;
    struct tic_same same;
    uint64_t next_line, next_segment; /* committing thread only */
    bool nameless;                    /* committing thread only: a new file's name is not durable */
    struct tic_store_segment *segments; /* committing thread only */
    unsigned long segment_count, segment_capacity;
    /* committing thread only: the last lines, newest first */
    struct tic_line kept[TIC_KEPT_MOST];
    unsigned kept_count;
    _Atomic bool has_line;        /* there is one; relaxed: for messages */
    struct tic_index index;       /* committing thread only */
    struct tic_eventlog *log;     /* immutable after init; its owner's; NULL: none */
    unsigned damaged_logs;        /* as the last walk of the log found */
    struct tic_store_extra extra; /* before adoption */
    unsigned keep;                /* so many of them; immutable once there is one */
    /* Of a line that is on the disk, before older ones go: 0; -errno: it is removed; 1: it stays,
     * and nobody knows whether it counts. NULL: it counts. Immutable after open. */
    int (*confirm)(void *arg, const char *name);
    void *confirm_arg;
    uint64_t space;               /* bytes that the directory may take, 0: any; the same */
    unsigned formatted;           /* committing thread only: segments since the last sweep */
    struct tic_store_counts counts;
    struct tic_reading reading;
};

enum tic_store_mode {
    TIC_STORE_READ,   /* only look; a run may use it meanwhile */
    TIC_STORE_USE,    /* take the lock of process 0 */
    TIC_STORE_CREATE, /* make the directory if need be, and take the lock */
};
/* 0; -ENOENT when the directory is not there; -EBUSY when another run holds the lock; -EISNAM
 * when the lock is no regular file; -EPERM when it belongs to another user, or others may write to
 * it (not TIC_STORE_READ); other -errno. */
int tic_store_open(struct tic_store *store, const char *path, enum tic_store_mode mode, bool sync,
                   const struct tic_h5_ops *h5);
void tic_store_close(struct tic_store *store);
/* Lets the lock file tell that this process uses the store (claim.h): no line is committed before.
 * 0 or -errno; once is enough. */
int tic_store_claim(struct tic_store *store);

/* Why a line cannot be used, in words. */
const char *tic_store_reason(int status);

/* Called with every line file, newest first, complete; `status` as tic_linefile_read gives it. The
 * visitor may take over a good line (and clear the struct). Returning true ends the walk. */
typedef bool (*tic_store_visit)(void *arg, const char *name, int status, struct tic_line *line);
/* 0 or -errno of reading the directory. */
int tic_store_walk(struct tic_store *store, tic_store_visit visit, void *arg);
/* Reads what lies in blocks: afterwards the tables of the line hold all their entries. 0; -EBADMSG
 * damaged; other -errno. tic_store_walk has done it. */
int tic_store_complete(struct tic_store *store, struct tic_line *line);
/* The same for those tables that tell which rows the line refers to, and no more. */
int tic_store_complete_rows(struct tic_store *store, struct tic_line *line);
/* Is it a name as this format makes it, of process 0? Then its number. */
bool tic_store_parse_name(const char *name, const char *format, uint64_t *number);
/* Numbers of the files with such a name, descending (malloc'ed). 0 or -errno. */
int tic_store_list(struct tic_store *store, const char *format, uint64_t **numbers,
                   unsigned long *count);
/* Calls each(name) for every entry of the directory, until it gives something else than 0. That, or
 * -errno. */
int tic_store_each_name(struct tic_store *store, int (*each)(void *arg, const char *name),
                        void *arg);
/* When something was last written to files of the store, seconds since 1970; 0: unknown. */
double tic_store_last_written(struct tic_store *store);
/* Before adoption: this segment stays, too, though the line may not know it. 0 or -ENOMEM. */
int tic_store_keep_segment(struct tic_store *store, uint64_t number);
/* Opens a segment for reading, before a line is adopted: the descriptor is the caller's; -errno. */
int tic_store_peek_segment(const struct tic_store *store, uint64_t number);
/* Checks every row that a complete line refers to, but for blocks: 0, -EBADMSG damaged, other
 * -errno. */
int tic_store_check(struct tic_store *store, const struct tic_line *line);

/* The same for one row. */
int tic_store_check_row(const struct tic_store *store, const struct tic_line *line,
                        const struct tic_line_reference *reference);

/* Makes `line`, found by a walk, the one the run starts from, and keeps the older ones (newest
 * first; empty ones do not count) as long as usual: opens segments, protects rows, removes all
 * other files. Takes over all of them. 0 or -errno. */
int tic_store_adopt(struct tic_store *store, struct tic_line *line, struct tic_line *older,
                    unsigned older_count);
/* Starts empty: removes what an unfinished first checkpoint may have left. */
int tic_store_clean(struct tic_store *store);

/* Rows wanted of a shape. */
struct tic_demand {
    struct tic_shape shape;
    uint64_t rows;
};
/* Formats a segment so that every demand finds its rows free. 0 or -errno. */
int tic_store_provide(struct tic_store *store, const struct tic_demand *demands, size_t count);

/* Writes a value to a free row; the row stays busy until tic_rows_settle.
 * 0; -EAGAIN when no row of this shape is free; other -errno. */
int tic_store_save(struct tic_store *store, const struct tic_layout *layout,
                   struct tic_saved *saved);
/* The same, compressed if rows of this shape are. */
int tic_store_save_compressed(struct tic_store *store, const struct tic_layout *layout,
                              struct tic_saved *saved);
/* Reads a value and checks it. 0; -EBADMSG when the checksum differs; other -errno. */
int tic_store_read(struct tic_store *store, const struct tic_saved *saved,
                   const struct tic_layout *layout);

/* Is a value as it was saved? 0; -EBADMSG when not; other -errno. */
int tic_store_verify(struct tic_store *store, const struct tic_saved *saved);

/* Completes the line (number, extents), writes it, forces data to the disk as configured, renames
 * it into place and retires the oldest. On success the store owns the arrays of the line. */
int tic_store_commit(struct tic_store *store, struct tic_line *line);
/* Marks what kept lines refer to; between tic_rows_sweep_begin and _end. */
void tic_store_mark_kept(struct tic_store *store);
/* Closes the i-th open segment and removes its file; none of its rows is in use. */
void tic_store_remove_segment(struct tic_store *store, unsigned long i);
/* Adds an open segment. 0 or -ENOMEM. */
int tic_store_add_segment(struct tic_store *store, uint64_t number, int fd);
/* fd of an open segment, opening it at need; -errno. */
int tic_store_open_segment(struct tic_store *store, uint64_t number);
/* False when somebody has removed the newest line or a segment: what is written would be lost.
 * Committing thread. */
bool tic_store_is_there(const struct tic_store *store);
/* Has the newest line a file still? */
bool tic_store_has_newest(const struct tic_store *store);
/* The directory was moved away: nobody who starts again finds it. Committing thread. */
bool tic_store_is_moved(const struct tic_store *store);
/* Forces all segments to the disk. Committing thread. 0 or -errno. */
int tic_store_sync(struct tic_store *store);
int tic_store_sync_names(struct tic_store *store);
/* Removes the files of all lines. Any thread. */
void tic_store_remove_lines(struct tic_store *store);
/* Removes lines, segments, lock and, if then empty, the directory. */
void tic_store_remove(struct tic_store *store);
