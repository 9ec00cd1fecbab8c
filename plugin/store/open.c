/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The store: opening and locking its directory. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "store/claim.h"
#include "store/same.h"
#include "store/schema.h"

enum { NAME_SIZE = 64, LEAST_SPACE = 4096 };

/* What file systems without locks say, each in its way: -ENOLCK. */
static int why_no_lock(int error)
{
    enum { KERNEL_ENOTSUPP = 524 }; /* DVS and others let it out of the kernel */
    return error == EOPNOTSUPP || error == ENOSYS || error == KERNEL_ENOTSUPP ? -ENOLCK : -error;
}

/* A run that was killed keeps its lock until its memory was given back. */
static int lock_patiently(int file, struct flock *lock)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    enum { TRIES = 20 };

    for (int i = 1; fcntl(file, F_SETLK, lock) != 0; i++) {
        if (errno != EACCES && errno != EAGAIN)
            return why_no_lock(errno);
        if (i == TRIES)
            return -EBUSY;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* A POSIX record lock: gone when the process is gone, not inherited by its children. -ENOENT: a run
 * that has just ended has removed it. */
static int take_lock(struct tic_store *store)
{
    char name[NAME_SIZE];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat info;

    snprintf(name, sizeof(name), TIC_FILE_LOCK, store->process);
    store->lock.file =
        openat(store->directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (store->lock.file < 0)
        return errno == ELOOP || errno == EISDIR ? -EISNAM : -errno;
    int status = lock_patiently(store->lock.file, &lock);
    if (status)
        return status;
    if (fstat(store->lock.file, &info) != 0)
        return -errno;
    return info.st_nlink == 0 ? -ENOENT : !S_ISREG(info.st_mode) ? -EISNAM : 0;
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
    store->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

int tic_store_claim(struct tic_store *store)
{
    if (store->lock.claimed)
        return 0;
    if (store->space > 0 && store->space < LEAST_SPACE)
        return -EDQUOT; /* nor will there be a line */
    int status = tic_claim_write(store->lock.file);
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
    free(store->extra.numbers);
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
