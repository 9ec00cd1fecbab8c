/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Line files: a checked text header (an HDF5 user block) before an HDF5 image. */
#include "store/linefile.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/sanity.h"
#include "store/schema.h"

static int write_all(int fd, const void *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes = (const char *)bytes + written;
            size -= (size_t)written;
        }
    }
    return 0;
}

static void make_header(char header[TIC_HEADER_SIZE], const void *image, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(image, size);
    memset(header, '\n', TIC_HEADER_SIZE);
    int length = snprintf(header, TIC_HEADER_SIZE, TIC_HEADER_FORMAT, TIC_FORMAT_MAJOR,
                          TIC_FORMAT_MINOR, (unsigned long long)size,
                          (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    header[length] = '\n';
}

int tic_linefile_write(int directory, const char *name, const struct tic_h5_ops *h5,
                       const struct tic_line *line, bool sync)
{
    char header[TIC_HEADER_SIZE];
    void *image;
    size_t size;
    int status = h5->line_encode(line, &image, &size);

    if (status)
        return status;
    unlinkat(directory, name, 0); /* what a killed run left */
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
    if (fd < 0)
        status = -errno;
    make_header(header, image, size);
    status = status ? status : write_all(fd, header, sizeof(header));
    status = status ? status : write_all(fd, image, size);
    if (status == 0 && sync && fsync(fd) != 0)
        status = -errno;
    if (fd >= 0 && close(fd) != 0 && status == 0)
        status = -errno;
    free(image);
    return status;
}

/* Opening a line with HDF5 to write, and closing it, changes three fields of HDF5's superblock
 * (version 0, 8 bytes an offset): status flags, base address, end of file. They are as in an image
 * that was just encoded before the checksum is computed: FORMAT.md. */
static void undo_opening(char *image, size_t size)
{
    static const char superblock[] = "\x89HDF\r\n\x1a\n"; /* and version 0 */
    enum { OFFSET_SIZE = 13, STATUS = 20, BASE = 24, END = 40, WHOLE = 96 };
    uint64_t end = htole64(size);

    if (size < WHOLE || memcmp(image, superblock, sizeof(superblock)) != 0 ||
        image[OFFSET_SIZE] != sizeof(end))
        return;
    memset(image + STATUS, 0, BASE - STATUS + sizeof(end));
    memcpy(image + END, &end, sizeof(end));
}

/* Undoes what opening the file has changed. */
static int check_header(char *file, size_t size, unsigned *major, const char **what)
{
    char header[TIC_HEADER_SIZE + 1] = {0};
    unsigned long long bytes, high, low;
    unsigned minor;

    *what = "it is shorter than its header";
    if (size <= TIC_HEADER_SIZE)
        return -EBADMSG;
    *what = "its text header is damaged";
    memcpy(header, file, TIC_HEADER_SIZE);
    if (sscanf(header, TIC_HEADER_MAGIC "\nformat %u.%u\n", major, &minor) != 2)
        return -EBADMSG;
    if (*major < TIC_FORMAT_OLDEST_MAJOR || *major > TIC_FORMAT_MAJOR)
        return -EPROTONOSUPPORT;
    if (sscanf(header, TIC_HEADER_SCAN, major, &minor, &bytes, &high, &low) != 5)
        return -EBADMSG;
    *what = "its size is not the one in its header";
    if (bytes != size - TIC_HEADER_SIZE)
        return -EBADMSG;
    *what = "its content does not have the checksum in its header: it was changed or damaged";
    undo_opening(file + TIC_HEADER_SIZE, size - TIC_HEADER_SIZE);
    XXH128_hash_t hash = XXH3_128bits(file + TIC_HEADER_SIZE, size - TIC_HEADER_SIZE);
    return hash.high64 == high && hash.low64 == low ? 0 : -EBADMSG;
}

static int read_file(int directory, const char *name, char **bytes, size_t *size)
{
    struct stat info;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int status = fstat(fd, &info) != 0 ? -errno : S_ISREG(info.st_mode) ? 0 : -EBADMSG;
    char *file = status ? NULL : malloc((size_t)info.st_size + 1);
    size_t got = 0;
    if (!status && !file)
        status = -ENOMEM;
    while (status == 0 && got < (size_t)info.st_size) {
        ssize_t n = read(fd, file + got, (size_t)info.st_size - got);
        if (n < 0 && errno != EINTR)
            status = -errno;
        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
    }
    close(fd);
    if (status) {
        free(file);
        return status;
    }
    *bytes = file;
    *size = got;
    return 0;
}

/* what: in words, which check failed; for -EBADMSG. */
static int read_and_explain(int directory, const char *name, const struct tic_h5_ops *h5,
                            struct tic_line *line, const char **what)
{
    struct tic_line read = {0};
    char *bytes = NULL;
    size_t size = 0;
    unsigned major = 0;
    int status = read_file(directory, name, &bytes, &size);

    *what = "it is no regular file";
    if (status)
        return status;
    status = check_header(bytes, size, &major, what);
    if (status == 0 &&
        h5->line_decode(bytes + TIC_HEADER_SIZE, size - TIC_HEADER_SIZE, &read) != 0) {
        *what = "HDF5 cannot read it, or a table is missing";
        status = -EBADMSG;
    }
    free(bytes);
    if (status)
        return status;
    *what = "an entry of a table refers to what is not there, or is out of order";
    status = tic_line_find_types(&read);
    if (status == 0 &&
        (!tic_line_is_sane(&read) || (read.block_count == 0 && !tic_line_tables_are_sane(&read))))
        status = -EBADMSG;
    read.file.bytes = size;
    read.file.without_history |= major < TIC_FORMAT_MAJOR;
    if (status)
        tic_line_clear(&read);
    else
        *line = read;
    return status;
}

int tic_linefile_read(int directory, const char *name, const struct tic_h5_ops *h5,
                      struct tic_line *line)
{
    const char *what;
    return read_and_explain(directory, name, h5, line, &what);
}

const char *tic_linefile_explain(int directory, const char *name, const struct tic_h5_ops *h5)
{
    struct tic_line line = {0};
    const char *what;
    int status = read_and_explain(directory, name, h5, &line, &what);

    tic_line_clear(&line);
    return status == -EBADMSG ? what : status ? strerror(-status) : NULL;
}

int tic_linefile_load(int directory, const char *name, char **bytes, size_t *size)
{
    const char *what;
    unsigned major;
    int status = read_file(directory, name, bytes, size);

    if (status == 0 && (status = check_header(*bytes, *size, &major, &what)) != 0)
        free(*bytes);
    return status;
}
