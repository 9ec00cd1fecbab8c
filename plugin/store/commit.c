/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line becomes the newest one, or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/failpoint.h"
#include "store/linefile.h"
#include "store/schema.h"
#include "store/store.h"

enum { NAME_SIZE = 64, SYNC_PIECE = 8 << 20 /* bytes */ };

static int mark(void *arg, const struct tic_line_reference *reference)
{
    struct tic_store *store = arg;

    tic_rows_mark(&store->rows, (struct tic_row){*reference->extent, *reference->row});
    return 0;
}

void tic_store_mark_kept(struct tic_store *store)
{
    for (unsigned i = 0; i < store->kept_count; i++)
        tic_line_each(&store->kept[i], mark, store);
    tic_index_mark(&store->index, &store->rows);
}

/* In pieces, as nobody can interrupt fdatasync(), and a process does not end before it returns. */
static int write_back(const struct tic_store *store, int fd)
{
    struct stat info;
    int status = fstat(fd, &info) == 0 ? 0 : -errno;

    for (off_t at = 0; status == 0 && at < info.st_size; at += SYNC_PIECE) {
        if (sync_file_range(fd, at, SYNC_PIECE, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER))
            status = errno == ENOSYS || errno == EINVAL ? 0 : -errno; /* no such call there */
        if (atomic_load_explicit(&store->ending, memory_order_relaxed))
            status = -ECANCELED;
    }
    return status;
}

static int force(const struct tic_store *store, int fd)
{
    int status = write_back(store, fd);

    if (status == 0 && fdatasync(fd) != 0)
        status = -errno;
    /* What was written may never reach the disk although the next call succeeds. */
    return status == 0 || status == -ECANCELED ? status : -ENOTRECOVERABLE;
}

int tic_store_sync_names(struct tic_store *store)
{
    if (store->nameless && fsync(store->directory) != 0)
        return -errno;
    store->nameless = false;
    return 0;
}

int tic_store_sync(struct tic_store *store)
{
    int status = 0;

    for (unsigned long i = 0; i < store->segment_count && status == 0; i++)
        status = force(store, store->segments[i].fd);
    return status ? status : tic_store_sync_names(store);
}

static void retire_oldest(struct tic_store *store)
{
    char name[NAME_SIZE];
    struct tic_line *oldest = &store->kept[store->keep - 1];

    if (store->kept_count < store->keep)
        return;
    snprintf(name, sizeof(name), TIC_FILE_LINE, store->process, (unsigned long long)oldest->number);
    unlinkat(store->directory, name, 0); /* if it stays, its rows are reused: it reads as damaged */
    tic_line_clear(oldest);
    store->kept_count--;
    tic_failpoint(TIC_FAIL_LINE_RETIRED);
}

/* What was written can be read: nothing replaces a good line that was not seen to be good. */
static int verify(struct tic_store *store, const char *name, uint64_t *bytes)
{
    struct tic_line again = {0};
    int status = tic_linefile_read(store->directory, name, store->h5, &again);
    *bytes = again.file.bytes;
    tic_line_clear(&again);
    return status;
}

static int write_and_rename(struct tic_store *store, struct tic_line *line)
{
    char fresh[NAME_SIZE], name[NAME_SIZE];
    unsigned long long number = line->number;

    snprintf(fresh, sizeof(fresh), TIC_FILE_LINE_NEW, store->process, number);
    snprintf(name, sizeof(name), TIC_FILE_LINE, store->process, number);
    int status = tic_linefile_write(store->directory, fresh, store->h5, line, store->sync);
    status = status ? status : verify(store, fresh, &line->file.bytes);
    if (status == 0) {
        tic_failpoint(TIC_FAIL_LINE_WRITTEN);
        if (renameat(store->directory, fresh, store->directory, name) != 0)
            status = -errno;
    }
    if (status) {
        unlinkat(store->directory, fresh, 0);
        return status;
    }
    if (store->sync && fsync(store->directory) != 0) {
        status = -errno;
        unlinkat(store->directory, name, 0); /* its rows are not kept */
        return status;
    }
    tic_failpoint(TIC_FAIL_LINE_RENAMED);
    return 0;
}

static int confirm(struct tic_store *store, uint64_t number)
{
    char name[NAME_SIZE];

    if (!store->confirm)
        return 0;
    snprintf(name, sizeof(name), TIC_FILE_LINE, store->process, (unsigned long long)number);
    int status = store->confirm(store->confirm_arg, name);
    if (status < 0)
        unlinkat(store->directory, name, 0); /* its rows are not kept */
    return status > 0 ? -ECANCELED : status;
}

/* Its path leads elsewhere, or nowhere; where it cannot be followed, nobody knows. Threads of the
 * program do not wait for the answer. */
bool tic_store_is_moved(const struct tic_store *store)
{
    struct stat here, there;

    if (!tic_apart_is_here() || fstat(store->directory, &here) != 0)
        return false;
    return stat(store->path, &there) != 0
               ? errno == ENOENT || errno == ENOTDIR
               : here.st_dev != there.st_dev || here.st_ino != there.st_ino;
}

/* A line would refer to what nobody finds again. */
static int check_names(const struct tic_store *store)
{
    struct stat info;

    for (unsigned long i = 0; i < store->segment_count; i++)
        if (fstat(store->segments[i].fd, &info) != 0 || info.st_nlink == 0)
            return -ENOTRECOVERABLE;
    return 0;
}

bool tic_store_has_newest(const struct tic_store *store)
{
    char name[NAME_SIZE];

    if (store->kept_count == 0 || !tic_apart_is_here())
        return true;
    snprintf(name, sizeof(name), TIC_FILE_LINE, store->process,
             (unsigned long long)store->kept[0].number);
    return faccessat(store->directory, name, F_OK, 0) == 0 || errno != ENOENT;
}

bool tic_store_is_there(const struct tic_store *store)
{
    return check_names(store) == 0 && tic_store_has_newest(store);
}

int tic_store_commit(struct tic_store *store, struct tic_line *line)
{
    line->number = store->next_line++;
    line->process = store->process;
    line->on.big_endian = tic_machine_is_big_endian();
    int status = check_names(store);
    if (status == 0 && tic_store_is_moved(store))
        status = -ENOENT;
    status = status ? status : tic_store_claim(store);
    status = status ? status : tic_rows_table(&store->rows, &line->extents, &line->extent_count);
    status = status ? status : tic_line_name_types(line);
    status = status || !store->sync ? status : tic_store_sync(store);
    status = status ? status : write_and_rename(store, line);
    status = status ? status : confirm(store, line->number);
    if (status)
        return status;
    retire_oldest(store);
    memmove(&store->kept[1], &store->kept[0], store->kept_count * sizeof(*line));
    store->kept[0] = *line;
    store->kept_count++;
    atomic_store_explicit(&store->has_line, true, memory_order_relaxed);
    memset(line, 0, sizeof(*line));
    return 0;
}
