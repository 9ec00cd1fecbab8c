/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: opening, locking, segments, values. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/io.h"
#include "store/claim.h"
#include "store/held.h"
#include "store/same.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/space.h"

enum { NAME_SIZE = 64, MIN_ROWS = 4, MOST_BYTES_MORE = 1 << 26, LEAST_SPACE = 4096 };
/* In one node of a B-tree of HDF5. */
enum { MOST_CHUNKS = 65534 };

/* ---- open and close ------------------------------------------------------------------------- */

/* A POSIX record lock: gone when the process is gone, not inherited by its children. -ENOENT: a run
 * that has just ended has removed it. */
/* A run that was killed keeps its lock until its memory was given back. */
static int lock_patiently(int file, struct flock *lock)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    enum { TRIES = 20 };

    for (int i = 1; fcntl(file, F_SETLK, lock) != 0; i++) {
        if (errno != EACCES && errno != EAGAIN)
            return -errno;
        if (i == TRIES)
            return -EBUSY;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int take_lock(struct tic_store *store)
{
    char name[NAME_SIZE];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat info;

    snprintf(name, sizeof(name), TIC_FILE_LOCK, store->process);
    store->lock.file = tic_store_keep_fd(
        openat(store->directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (store->lock.file < 0)
        return errno == ELOOP || errno == EISDIR ? -EISNAM : -errno;
    int status = lock_patiently(store->lock.file, &lock);
    if (status)
        return status;
    if (fstat(store->lock.file, &info) != 0)
        return -errno;
    return info.st_nlink == 0 ? -ENOENT : !S_ISREG(info.st_mode) ? -EISNAM : 0;
}

/* Programs that close all descriptors get low numbers for what they open next: ours stay away, and
 * take no more than a quarter of those that a process may have. False: they may be anywhere. */
static bool find_lowest(rlim_t *lowest, rlim_t *most)
{
    enum { LOWEST = 400 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    *lowest = limit.rlim_cur / 4 * 3 < LOWEST ? limit.rlim_cur / 4 * 3 : LOWEST;
    *most = limit.rlim_cur / 4;
    return true;
}

int tic_store_keep_fd(int fd)
{
    rlim_t lowest, most;

    if (fd < 0 || !find_lowest(&lowest, &most))
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)lowest), error = errno;
    close(fd);
    if (high >= 0 && (rlim_t)high >= lowest + most) {
        close(high);
        high = -1;
        error = EMFILE;
    }
    errno = error;
    return high;
}

void tic_store_make_room_for_fds(void)
{
    int fd = tic_store_keep_fd(open("/", O_PATH | O_CLOEXEC));

    if (fd >= 0)
        close(fd);
}

/* Makes the directory's own name durable. */
static int sync_parent(int directory)
{
    int parent = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = parent < 0 || fsync(parent) != 0 ? -errno : 0;
    if (parent >= 0)
        close(parent);
    return status == -EACCES || status == -EINVAL ? 0 : status; /* not ours to sync */
}

/* What others can change is not to be trusted, and not to be written to. */
static int check_owner(int directory)
{
    struct stat info;

    if (fstat(directory, &info) != 0)
        return -errno;
    return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 ? 0 : -EPERM;
}

/* What a link of the user's names may have gone: the end of a run removes the directory, and leaves
 * the link. */
static int make_linked(const char *path)
{
    char target[PATH_MAX], whole[2 * PATH_MAX];
    struct stat info;

    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode) || info.st_uid != geteuid())
        return 0;
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length <= 0)
        return -errno;
    target[length] = '\0';
    const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
    snprintf(whole, sizeof(whole), "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, target);
    return mkdir(whole, 0700) != 0 && errno != EEXIST ? -errno : 0;
}

static int make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0)
        return 0;
    return errno == EEXIST ? make_linked(path) : -errno;
}

static int open_directory(struct tic_store *store, const char *path, enum tic_store_mode mode)
{
    int status = mode == TIC_STORE_CREATE ? make_directory(path) : 0;

    if (status)
        return status;
    store->directory = tic_store_keep_fd(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (store->directory < 0)
        return -errno;
    if (mode == TIC_STORE_READ)
        return 0;
    status = check_owner(store->directory);
    if (status == 0 && store->sync && mode == TIC_STORE_CREATE)
        status = sync_parent(store->directory);
    return status ? status : take_lock(store);
}

static void close_directory(struct tic_store *store)
{
    if (store->lock.file >= 0)
        close(store->lock.file);
    store->lock.claimed = false;
    if (store->directory >= 0)
        close(store->directory);
    store->directory = store->lock.file = -1;
}

/* A program that closes all descriptors may have files of its own under these numbers. */
static bool has_lock_file(const struct tic_store *store)
{
    char name[NAME_SIZE];
    struct stat here, there;

    snprintf(name, sizeof(name), TIC_FILE_LOCK, store->process);
    return fstat(store->lock.file, &here) == 0 &&
           fstatat(store->directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

int tic_store_claim(struct tic_store *store)
{
    if (store->lock.claimed)
        return 0;
    if (store->space > 0 && store->space < LEAST_SPACE)
        return -EDQUOT; /* nor will there be a line */
    int status = has_lock_file(store) ? tic_claim_write(store->lock.file) : -EBADF;
    store->lock.claimed = status == 0;
    return status;
}

int tic_store_open(struct tic_store *store, const char *path, enum tic_store_mode mode, bool sync,
                   const struct tic_h5_ops *h5)
{
    enum { TRIES = 100 };

    memset(store, 0, sizeof(*store));
    int status = tic_same_init(&store->same);
    store->directory = store->lock.file = -1;
    store->sync = sync;
    store->h5 = h5;
    store->next_line = store->next_segment = 1;
    store->keep = TIC_KEPT_DEFAULT;
    tic_rows_init(&store->rows);
    tic_index_init(&store->index);
    store->index.rows = &store->rows;
    status = status ? status : open_directory(store, path, mode);
    for (int i = 0; status == -ENOENT && mode == TIC_STORE_CREATE && i < TRIES; i++) {
        close_directory(store); /* a run that has just ended may have removed it */
        status = open_directory(store, path, mode);
    }
    if (status == 0 && !(store->path = realpath(path, NULL)))
        status = -errno;
    if (status)
        tic_store_close(store);
    return status;
}

void tic_store_close(struct tic_store *store)
{
    for (unsigned long i = 0; i < store->segment_count; i++)
        tic_io_close(store->segments[i].fd);
    free(store->segments);
    free(store->extra);
    for (unsigned i = 0; i < store->kept_count; i++)
        tic_line_clear(&store->kept[i]);
    tic_index_fini(&store->index);
    tic_same_fini(&store->same);
    tic_rows_fini(&store->rows);
    close_directory(store);
    free(store->path);
    memset(store, 0, sizeof(*store));
    store->directory = store->lock.file = -1;
}

const char *tic_store_reason(int status)
{
    switch (status) {
    case 0:
        return "good";
    case -EBADMSG:
        return "damaged";
    case -EPROTONOSUPPORT:
        return "written by another version of starpu-tic, in a format that this one does not read";
    case -ENOTSUP:
        return "written on a machine with the other byte order, and does not tell what another one "
               "must know";
    case -ETIME:
        return "not answering";
    case -EISDIR:
    case -ELOOP:
    case -ESPIPE:
        return "not a regular file";
    default:
        return strerror(-status);
    }
}

/* ---- segments ------------------------------------------------------------------------------- */

static int add_segment(struct tic_store *store, uint64_t number, int fd)
{
    void *grown = tic_grow(store->segments, &store->segment_capacity, store->segment_count + 1,
                           sizeof(*store->segments));
    if (!grown)
        return -ENOMEM;
    store->segments = grown;
    store->segments[store->segment_count++] =
        (struct tic_store_segment){.number = number, .fd = fd};
    if (number >= store->next_segment)
        store->next_segment = number + 1;
    return 0;
}

int tic_store_open_segment(struct tic_store *store, uint64_t number)
{
    char name[NAME_SIZE];

    for (unsigned long i = 0; i < store->segment_count; i++)
        if (store->segments[i].number == number)
            return store->segments[i].fd;
    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process, (unsigned long long)number);
    int fd = tic_store_keep_fd(openat(store->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd < 0)
        return -errno;
    int status = add_segment(store, number, fd);
    if (status)
        close(fd);
    return status ? status : fd;
}

void tic_store_remove_segment(struct tic_store *store, unsigned long i)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process,
             (unsigned long long)store->segments[i].number);
    tic_io_close(store->segments[i].fd);
    unlinkat(store->directory, name, 0); /* if it stays, the next restart removes it */
    store->segments[i] = store->segments[--store->segment_count];
    store->segments_removed++;
    tic_failpoint(TIC_FAIL_SEGMENT_REMOVED);
}

/* As many rows as are missing; more of a shape that runs short again and again, so that there are
 * few segments, however many values come one by one. */
static uint64_t rows_to_format(struct tic_store *store, const struct tic_demand *demand,
                               uint64_t available)
{
    uint64_t bytes = tic_shape_bytes(&demand->shape), rows = demand->rows - available;
    uint64_t more = tic_rows_total(&store->rows, &demand->shape) / 2;

    if (more > MOST_BYTES_MORE / bytes)
        more = MOST_BYTES_MORE / bytes;
    if (more < MIN_ROWS && bytes < (1 << 20))
        more = MIN_ROWS;
    return rows > more ? rows : more;
}

/* Are values of this shape worth it, and is compression wanted? */
static bool compresses(const struct tic_store *store, const struct tic_shape *shape)
{
    const uint64_t bytes = tic_shape_bytes(shape);

    return store->level > 0 && bytes >= TIC_COMPRESS_LEAST && bytes <= UINT32_MAX;
}

static size_t plan_extents(struct tic_store *store, const struct tic_demand *demands, size_t count,
                           struct tic_line_extent *extents)
{
    size_t planned = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t available = tic_rows_available(&store->rows, &demands[i].shape);
        if (available >= demands[i].rows)
            continue;
        struct tic_line_extent *extent = &extents[planned];
        memset(extent, 0, sizeof(*extent));
        extent->segment = store->next_segment;
        extent->dataset = (uint32_t)planned++;
        extent->element_size = demands[i].shape.element_size;
        extent->ndim = demands[i].shape.ndim;
        memcpy(extent->dims, demands[i].shape.dims, sizeof(extent->dims));
        extent->type = demands[i].shape.type;
        extent->rows = rows_to_format(store, &demands[i], available);
        extent->keys = compresses(store, &demands[i].shape);
        if (extent->keys && extent->rows > MOST_CHUNKS)
            extent->rows = MOST_CHUNKS; /* the others are asked for when they are missed */
    }
    return planned;
}

static int format_segment(struct tic_store *store, struct tic_line_extent *extents, size_t count)
{
    char name[NAME_SIZE];
    uint64_t number = store->next_segment++;

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, store->process, (unsigned long long)number);
    int fd = tic_segment_create(store->directory, name, store->h5, extents, count);
    if (fd < 0)
        return fd;
    int status = add_segment(store, number, fd);
    if (status) {
        close(fd);
        unlinkat(store->directory, name, 0);
        return status;
    }
    store->nameless = true;
    store->formatted++;
    tic_failpoint(TIC_FAIL_SEGMENT_FORMAT);
    return fd;
}

int tic_store_provide(struct tic_store *store, const struct tic_demand *demands, size_t count)
{
    struct tic_line_extent *extents = calloc(count ? count : 1, sizeof(*extents));
    if (!extents)
        return -ENOMEM;
    size_t planned = plan_extents(store, demands, count, extents);
    int status = planned ? tic_space_check(store, extents, planned) : 0;
    int fd = planned && status == 0 ? format_segment(store, extents, planned) : status;
    status = fd < 0 ? fd : 0;
    for (size_t i = 0; i < planned && status == 0; i++) {
        long index = tic_rows_add(&store->rows, &extents[i], fd);
        status = index < 0 ? (int)index : 0;
    }
    free(extents);
    return status;
}

/* ---- values --------------------------------------------------------------------------------- */

/* What changes while it is saved is neither the old value nor the new one. */
static void check_steady(const struct tic_store *store, const struct tic_layout *layout,
                         uint64_t checksum)
{
#ifdef TIC_DEBUG
    if (layout->unsteady || tic_layout_checksum(layout) == checksum || atomic_load(&store->idle))
        return;
    tic_log(TIC_LOG_ERROR, "internal error: a value changed while it was saved");
    abort();
#else
    (void)store;
    (void)layout;
    (void)checksum;
#endif
}

static int save(struct tic_store *store, const struct tic_layout *layout, int level,
                struct tic_saved *saved)
{
    uint64_t bytes = tic_shape_bytes(&layout->shape);
    struct tic_place place;
    uint64_t key, written;

    if (tic_same_find(store, layout, saved, &key)) {
        atomic_fetch_add_explicit(&store->bytes_shared, bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&store->values_shared, 1, memory_order_relaxed);
        return 0;
    }
    int status = tic_rows_take(&store->rows, &layout->shape, &saved->row);
    if (status)
        return status;
    status = tic_rows_locate(&store->rows, saved->row, bytes, &place);
    if (status == 0)
        status = tic_payload_write(store->h5, &place, layout,
                                   (struct tic_compression){level, &store->hurry}, &saved->checksum,
                                   &written);
    if (status) {
        tic_same_forget(store, key);
        if (status != -ETIME) /* else it may be written yet, and stays busy */
            tic_rows_settle(&store->rows, saved->row);
        return status;
    }
    check_steady(store, layout, saved->checksum);
    tic_same_note(store, key, saved);
    atomic_fetch_add_explicit(&store->bytes_written, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->values_written, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->bytes_spared, bytes - written, memory_order_relaxed);
    tic_failpoint(TIC_FAIL_ROW_WRITE);
    return 0;
}

int tic_store_save(struct tic_store *store, const struct tic_layout *layout,
                   struct tic_saved *saved)
{
    return save(store, layout, 0, saved);
}

int tic_store_save_compressed(struct tic_store *store, const struct tic_layout *layout,
                              struct tic_saved *saved)
{
    return save(store, layout, store->level, saved);
}

/* One that this run has saved may be in memory still, and be written meanwhile. */
static int read_row(struct tic_store *store, struct tic_row row, const struct tic_layout *layout,
                    uint64_t *checksum)
{
    struct tic_place place;

    int status = row.extent == TIC_HELD_EXTENT
                     ? tic_held_read(&store->rows, row.row, layout, checksum)
                     : -ENOENT;
    if (status != -ENOENT)
        return status;
    status = tic_rows_locate(&store->rows, row, tic_shape_bytes(&layout->shape), &place);
    return status ? status : tic_payload_read(store->h5, &place, layout, checksum);
}

int tic_store_read(struct tic_store *store, const struct tic_saved *saved,
                   const struct tic_layout *layout)
{
    uint64_t checksum;

    atomic_fetch_add(&store->reading.begun, 1);
    int status = read_row(store, saved->row, layout, &checksum);
    atomic_fetch_add(&store->reading.ended, 1);
    if (status == 0)
        atomic_fetch_add_explicit(&store->reading.bytes, tic_shape_bytes(&layout->shape),
                                  memory_order_relaxed);
    if (status == 0 && checksum != saved->checksum)
        status = -EBADMSG;
    return status;
}
