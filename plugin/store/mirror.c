/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line with all rows that it refers to, copied into another directory. */
#include "store/mirror.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "store/linefile.h"
#include "store/schema.h"

enum { NAME_SIZE = 64, CHUNK = 1 << 20 };

char *tic_mirror_path(const char *directory, unsigned copy)
{
    char *path;
    return asprintf(&path, TIC_COPY_PATH, directory, 'a' + copy) < 0 ? NULL : path;
}

int tic_mirror_init(struct tic_mirror *mirror, const struct tic_h5_ops *h5, const char *path)
{
    memset(mirror, 0, sizeof(*mirror));
    mirror->h5 = h5;
    mirror->directory = -1;
    mirror->path = strdup(path);
    return mirror->path ? 0 : -ENOMEM;
}

static void forget(struct tic_mirror *mirror)
{
    free(mirror->known.items);
    memset(&mirror->known, 0, sizeof(mirror->known));
    mirror->line = 0;
    if (mirror->directory >= 0)
        close(mirror->directory);
    mirror->directory = -1;
}

void tic_mirror_fini(struct tic_mirror *mirror)
{
    forget(mirror);
    free(mirror->path);
}

/* ---- which rows ----------------------------------------------------------------------------- */

struct list {
    const struct tic_line *line;
    struct tic_mirror_rows *rows;
};

static int add_row(void *arg, const struct tic_line_reference *reference)
{
    struct list *list = arg;
    const struct tic_line_extent *extent = &list->line->extents[*reference->extent];
    struct tic_place place = tic_payload_place(extent, *reference->row, -1);
    struct tic_mirror_rows *rows = list->rows;
    return tic_append(rows->items, rows->count, rows->capacity,
                      &(struct tic_mirror_row){.segment = extent->segment,
                                               .offset = (uint64_t)place.offset,
                                               .bytes = tic_shape_bytes(&place.shape),
                                               .checksum = reference->checksum,
                                               .row = {*reference->extent, *reference->row},
                                               .place = place});
}

int tic_mirror_list(const struct tic_line *line, struct tic_mirror_rows *rows)
{
    struct list list = {line, rows};
    int status = tic_line_each(line, add_row, &list);

    rows->count = tic_sort_once(rows->items, rows->count, tic_line_by_two_numbers);
    return status;
}

static bool is_known(const struct tic_mirror *mirror, const struct tic_mirror_row *row)
{
    const struct tic_mirror_rows *known = &mirror->known;
    const struct tic_mirror_row *found =
        tic_find(row, known->items, known->count, tic_line_by_two_numbers);

    return found && found->bytes == row->bytes && found->checksum == row->checksum;
}

static bool has_segment(const struct tic_mirror_rows *rows, uint64_t segment)
{
    for (unsigned long i = 0; i < rows->count; i++)
        if (rows->items[i].segment == segment)
            return true;
    return false;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

struct copy {
    int from, to; /* to: -1: only the checksum is wanted */
    struct tic_mirror_work *work;
    XXH3_state_t *state;
    char *chunk; /* of CHUNK bytes */
};

static int write_chunk(const struct copy *copy, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (copy->to >= 0 && done < size) {
        ssize_t n = pwrite(copy->to, copy->chunk + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int copy_range(const struct copy *copy, uint64_t offset, uint64_t bytes, uint64_t *checksum)
{
    XXH3_64bits_reset(copy->state);
    while (bytes > 0) {
        if (atomic_load(&copy->work->stop))
            return -ECANCELED;
        ssize_t got =
            pread(copy->from, copy->chunk, bytes < CHUNK ? (size_t)bytes : CHUNK, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ESTALE;
        XXH3_64bits_update(copy->state, copy->chunk, (size_t)got);
        int status = write_chunk(copy, (size_t)got, offset);
        if (status)
            return status;
        atomic_fetch_add(&copy->work->progress, 1);
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    *checksum = XXH3_64bits_digest(copy->state);
    return 0;
}

/* ---- a segment ------------------------------------------------------------------------------ */

static int by_offset(const void *a, const void *b)
{
    const struct tic_line_extent *x = a, *y = b;
    return tic_order(x->offset, y->offset);
}

/* What is not payload: our header and what HDF5 has made. */
static int copy_frame(const struct copy *copy, const struct tic_line *line, uint64_t segment)
{
    struct tic_line_extent *extents = calloc(line->extent_count + 1, sizeof(*extents));
    struct stat info;
    size_t count = 0;
    uint64_t at = 0, checksum;
    int status = !extents ? -ENOMEM : fstat(copy->from, &info) != 0 ? -errno : 0;

    for (size_t i = 0; i < line->extent_count && extents; i++)
        if (line->extents[i].segment == segment)
            extents[count++] = line->extents[i];
    if (status == 0 && ftruncate(copy->to, info.st_size) != 0)
        status = -errno;
    if (status == 0)
        tic_sort(extents, count, by_offset);
    for (size_t i = 0; i < count && status == 0; i++) {
        struct tic_shape shape = tic_line_extent_shape(&extents[i]);
        if (extents[i].offset > at)
            status = copy_range(copy, at, extents[i].offset - at, &checksum);
        at = extents[i].offset + extents[i].rows * tic_shape_bytes(&shape);
    }
    if (status == 0 && at < (uint64_t)info.st_size)
        status = copy_range(copy, at, (uint64_t)info.st_size - at, &checksum);
    free(extents);
    return status;
}

/* Bytes of a row that may be compressed, and its key; -EBADMSG when they are not what was saved. */
static int copy_keyed(const struct tic_h5_ops *h5, const struct copy *copy,
                      const struct tic_mirror_row *row, uint64_t *bytes)
{
    struct tic_place place = row->place;
    struct tic_chunk_key key;
    uint64_t checksum;

    place.fd = copy->from;
    int status = tic_payload_size(&place, &key, bytes);
    if (status == 0 && copy->to >= 0) {
        status = copy_range(copy, row->offset, *bytes, &checksum);
        memcpy(copy->chunk, &key, sizeof(key));
        status = status ? status : write_chunk(copy, sizeof(key), (uint64_t)place.key);
        place.fd = copy->to;
    }
    return status ? status : tic_payload_check(h5, &place, row->checksum);
}

static int copy_plain(const struct copy *copy, const struct tic_mirror_row *row, uint64_t *bytes)
{
    uint64_t checksum;
    int status = copy_range(copy, row->offset, row->bytes, &checksum);

    *bytes = row->bytes;
    return status == 0 && checksum != row->checksum ? -EBADMSG : status;
}

/* Those rows that the copy does not have; counts their bytes, if asked. `damaged` when one is not
 * what was saved. */
static int copy_unknown(const struct tic_mirror *mirror, const struct copy *copy,
                        const struct tic_mirror_row *rows, unsigned long count, int damaged,
                        _Atomic uint64_t *sum)
{
    int status = 0;

    for (unsigned long i = 0; i < count && status == 0; i++) {
        if (is_known(mirror, &rows[i]))
            continue;
        uint64_t bytes;
        status = rows[i].place.key ? copy_keyed(mirror->h5, copy, &rows[i], &bytes)
                                   : copy_plain(copy, &rows[i], &bytes);
        if (status == -EBADMSG)
            status = damaged;
        if (status == 0 && sum)
            atomic_fetch_add(sum, bytes);
    }
    return status;
}

/* Rows of one segment, those in [first, last); and again from what was written, so that it is seen
 * to be there. */
static int copy_rows(struct tic_mirror *mirror, struct copy *copy,
                     const struct tic_mirror_rows *rows, unsigned long first, unsigned long last)
{
    const struct tic_mirror_row *wanted = &rows->items[first];
    int status = copy_unknown(mirror, copy, wanted, last - first, -ESTALE, &copy->work->bytes);

    if (status == 0 && fdatasync(copy->to) != 0)
        status = -errno;
    posix_fadvise(copy->to, 0, 0, POSIX_FADV_DONTNEED);
    copy->from = copy->to;
    copy->to = -1;
    return status ? status : copy_unknown(mirror, copy, wanted, last - first, -EIO, NULL);
}

static int copy_segment(struct tic_mirror *mirror, int source, struct copy *copy,
                        const struct tic_line *line, const struct tic_mirror_rows *rows,
                        unsigned long first, unsigned long last)
{
    char name[NAME_SIZE];
    uint64_t segment = rows->items[first].segment;
    bool known = has_segment(&mirror->known, segment);

    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, 0u, (unsigned long long)segment);
    int from = openat(source, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (from < 0)
        return errno == ENOENT ? -ESTALE : -errno;
    int to = openat(mirror->directory, name,
                    O_RDWR | O_CLOEXEC | O_NOFOLLOW | (known ? 0 : O_CREAT | O_EXCL), 0600);
    int status = to < 0 ? -errno : 0;
    copy->from = from;
    copy->to = to;
    if (status == 0 && !known)
        status = copy_frame(copy, line, segment);
    status = status ? status : copy_rows(mirror, copy, rows, first, last);
    close(from);
    if (to >= 0 && close(to) != 0 && status == 0)
        status = -errno;
    return status;
}

static int copy_segments(struct tic_mirror *mirror, int source, const struct tic_line *line,
                         const struct tic_mirror_rows *rows, struct tic_mirror_work *work)
{
    struct copy copy = {
        .work = work, .state = XXH3_createState(), .chunk = malloc(CHUNK), .from = -1, .to = -1};
    int status = copy.state && copy.chunk ? 0 : -ENOMEM;
    unsigned long last;

    for (unsigned long first = 0; first < rows->count && status == 0; first = last) {
        for (last = first + 1;
             last < rows->count && rows->items[last].segment == rows->items[first].segment;)
            last++;
        status = copy_segment(mirror, source, &copy, line, rows, first, last);
    }
    XXH3_freeState(copy.state);
    free(copy.chunk);
    return status;
}

/* ---- the directory -------------------------------------------------------------------------- */

static int open_directory(struct tic_mirror *mirror)
{
    struct stat info;

    if (mirror->directory >= 0)
        return 0;
    if (mkdir(mirror->path, 0700) != 0 && errno != EEXIST)
        return -errno;
    mirror->directory = open(mirror->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (mirror->directory < 0 || fstat(mirror->directory, &info) != 0)
        return -errno;
    return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 ? 0 : -EPERM;
}

static bool is_line(const char *name)
{
    uint64_t number;
    return tic_store_parse_name(name, TIC_FILE_LINE, &number) ||
           tic_store_parse_name(name, TIC_FILE_LINE_NEW, &number);
}

static bool is_payload(const char *name)
{
    uint64_t number;
    return tic_store_parse_name(name, TIC_FILE_SEGMENT, &number) ||
           tic_store_parse_name(name, TIC_FILE_LOG, &number);
}

static bool is_segment_of(const char *name, const struct tic_mirror_rows *rows)
{
    uint64_t number;
    return rows && tic_store_parse_name(name, TIC_FILE_SEGMENT, &number) &&
           has_segment(rows, number);
}

/* Lines, or the files that they need; but for segments of these rows. */
static int remove_files(struct tic_mirror *mirror, bool (*which)(const char *name),
                        const struct tic_mirror_rows *but)
{
    int fd = openat(mirror->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        status = -errno;
        if (fd >= 0)
            close(fd);
        return status;
    }
    while (status == 0 && (entry = readdir(dir)))
        if (which(entry->d_name) && !is_segment_of(entry->d_name, but) &&
            unlinkat(mirror->directory, entry->d_name, 0) != 0 && errno != ENOENT)
            status = -errno;
    closedir(dir);
    return status;
}

/* Until its line has its name again, the directory holds none. */
static int begin(struct tic_mirror *mirror)
{
    bool fresh = mirror->directory < 0;
    int status = open_directory(mirror);

    status = status ? status : remove_files(mirror, is_line, NULL);
    if (status == 0 && fresh)
        status = remove_files(mirror, is_payload, NULL);
    mirror->line = 0;
    return status;
}

static int write_line(struct tic_mirror *mirror, const char *fresh, const char *bytes, size_t size)
{
    size_t done = 0;
    int status = 0;
    int fd = openat(mirror->directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0400);

    if (fd < 0)
        return -errno;
    while (status == 0 && done < size) {
        ssize_t n = write(fd, bytes + done, size - done);
        if (n < 0 && errno != EINTR)
            status = -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    if (status == 0 && fsync(fd) != 0)
        status = -errno;
    if (close(fd) != 0 && status == 0)
        status = -errno;
    return status;
}

static int publish(struct tic_mirror *mirror, uint64_t number, const char *bytes, size_t size)
{
    char fresh[NAME_SIZE], name[NAME_SIZE];
    char *again = NULL;
    size_t read;

    snprintf(fresh, sizeof(fresh), TIC_FILE_LINE_NEW, 0u, (unsigned long long)number);
    snprintf(name, sizeof(name), TIC_FILE_LINE, 0u, (unsigned long long)number);
    int status = write_line(mirror, fresh, bytes, size);
    if (status == 0 && fsync(mirror->directory) != 0) /* names of segments before its own */
        status = -errno;
    status = status ? status : tic_linefile_load(mirror->directory, fresh, &again, &read);
    if (status == 0) {
        status = read == size && memcmp(again, bytes, size) == 0 ? 0 : -EIO;
        free(again);
    }
    if (status == 0 && (renameat(mirror->directory, fresh, mirror->directory, name) != 0 ||
                        fsync(mirror->directory) != 0))
        status = -errno;
    return status;
}

int tic_mirror_update(struct tic_mirror *mirror, int source, uint64_t number,
                      const struct tic_mirror_rows *rows, const struct tic_line *line,
                      struct tic_mirror_work *work)
{
    char name[NAME_SIZE];
    char *bytes = NULL;
    size_t size = 0;

    snprintf(name, sizeof(name), TIC_FILE_LINE, 0u, (unsigned long long)number);
    int status = tic_linefile_load(source, name, &bytes, &size);
    if (status)
        return status == -ENOENT ? -ESTALE : status;
    status = begin(mirror);
    status = status ? status : copy_segments(mirror, source, line, rows, work);
    status = status ? status : remove_files(mirror, is_payload, rows);
    status = status ? status : publish(mirror, number, bytes, size);
    free(bytes);
    if (status) { /* what it holds now is not known: from the start, the next time */
        forget(mirror);
        return status;
    }
    free(mirror->known.items);
    mirror->known = *rows;
    mirror->line = number;
    return 0;
}

int tic_mirror_remove(struct tic_mirror *mirror, struct tic_mirror_work *work)
{
    struct stat info;

    if (stat(mirror->path, &info) != 0)
        return errno == ENOENT ? 0 : -errno;
    int status = open_directory(mirror);
    status = status ? status : remove_files(mirror, is_line, NULL);
    atomic_fetch_add(&work->progress, 1);
    status = status ? status : remove_files(mirror, is_payload, NULL);
    if (status == 0)
        rmdir(mirror->path); /* stays when something that is not ours lies in it */
    forget(mirror);
    return status;
}
