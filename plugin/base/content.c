/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/apart.h"

struct content {
    const char *path;
    char *bytes; /* NULL: none, for this reason */
    size_t size;
    int error;
};

static void read_whole(void *arg)
{
    struct content *content = arg;
    FILE *whole = open_memstream(&content->bytes, &content->size);
    int fd = whole ? open(content->path, O_RDONLY | O_CLOEXEC) : -1;
    char piece[4096];
    ssize_t got = fd < 0 ? -1 : 1;

    while (got > 0 && (got = read(fd, piece, sizeof(piece))) > 0)
        fwrite(piece, 1, (size_t)got, whole);
    content->error = got < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (whole && fclose(whole) != 0 && content->error == 0)
        content->error = ENOMEM;
}

char *tic_content_read(const char *path, size_t *size)
{
    struct content content = {.path = path};

    tic_apart_call(read_whole, &content);
    if (content.error) {
        free(content.bytes);
        content.bytes = NULL;
    }
    errno = content.error;
    *size = content.size;
    return content.bytes;
}

/* The stream frees the memory that it has allocated itself. */
FILE *tic_content_open(const char *path)
{
    size_t size;
    char *bytes = tic_content_read(path, &size);
    FILE *stream = bytes ? fmemopen(NULL, size + 1, "w+") : NULL;
    int error = errno;

    if (stream && fwrite(bytes, 1, size, stream) == size)
        rewind(stream);
    free(bytes);
    errno = error;
    return stream;
}

static void map_whole(void *arg)
{
    struct content *content = arg;
    int fd = open(content->path, O_RDONLY | O_CLOEXEC);
    struct stat info;

    if (fd < 0)
        return;
    content->size = fstat(fd, &info) == 0 ? (size_t)info.st_size : 0;
    void *bytes =
        content->size > 0 ? mmap(NULL, content->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    content->bytes = bytes == MAP_FAILED ? NULL : bytes;
    close(fd);
}

const char *tic_content_map(const char *path, size_t *size)
{
    struct content content = {.path = path};

    tic_apart_call(map_whole, &content);
    *size = content.size;
    return content.bytes;
}

int tic_content_hash(const char *path, uint64_t *size, uint64_t *hash)
{
    size_t found;
    const char *bytes = tic_content_map(path, &found);

    if (!bytes)
        return -EIO;
    *size = found;
    *hash = XXH3_64bits(bytes, found);
    munmap((void *)bytes, found);
    return 0;
}
