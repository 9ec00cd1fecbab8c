/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segment and log files: making them, and finding their rows again. */
#include "store/segment.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/types.h"
#include "store/payload.h"
#include "store/sanity.h"
#include "store/schema.h"
#include "store/store.h"

enum { SMALLEST_HEADER = 4096, TITLE_SIZE = 256, ENTRY_SIZE = 160 };

/* HDF5 wants a power of two; at least a page, so that payload begins at one. */
static size_t header_size(size_t count)
{
    size_t size = SMALLEST_HEADER;

    while (size < TITLE_SIZE + ENTRY_SIZE * count)
        size *= 2;
    return size;
}

static size_t print_entry(char *text, const struct tic_line_extent *extent)
{
    return (size_t)snprintf(text, ENTRY_SIZE, TIC_SEGMENT_ENTRY_FORMAT "\n", extent->element_size,
                            extent->ndim, (unsigned long long)extent->dims[0],
                            (unsigned long long)extent->dims[1],
                            (unsigned long long)extent->dims[2],
                            (unsigned long long)extent->dims[3], (unsigned long long)extent->rows,
                            (unsigned long long)extent->offset, (unsigned long long)extent->keys);
}

/* Of the entries that have one, as far as there is room. */
static void print_types(char *text, size_t room, const struct tic_line_extent *extents,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = tic_type_name(extents[i].type);
        size_t length =
            (size_t)snprintf(NULL, 0, TIC_SEGMENT_TYPE_FORMAT, (unsigned long long)i, name);
        if (!name[0] || length >= room)
            continue;
        snprintf(text, room, TIC_SEGMENT_TYPE_FORMAT, (unsigned long long)i, name);
        text[length] = '\n';
        text += length;
        room -= length;
    }
}

static int write_header(int fd, const struct tic_line_extent *extents, size_t count)
{
    size_t size = header_size(count), length = 0;
    char *header = malloc(size), *table = malloc(ENTRY_SIZE * count + 1);
    int status = header && table ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && status == 0; i++)
        length += print_entry(table + length, &extents[i]);
    if (status == 0) {
        XXH128_hash_t hash = XXH3_128bits(table, length);
        memset(header, '\n', size);
        int title =
            snprintf(header, TITLE_SIZE, TIC_SEGMENT_HEADER_FORMAT, TIC_FORMAT_SEGMENT_MAJOR,
                     TIC_FORMAT_SEGMENT_MINOR, (unsigned long long)count,
                     (unsigned long long)hash.high64, (unsigned long long)hash.low64);
        memcpy(header + title, table, length);
        size_t used = (size_t)title + length;
        print_types(header + used, size - used, extents, count);
        ssize_t written = pwrite(fd, header, size, 0);
        status = written < 0 ? -errno : written == (ssize_t)size ? 0 : -ENOSPC;
    }
    free(table);
    free(header);
    return status;
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* A node of a version 1 B-tree, as HDF5's file format specification (III.A.1) has it: rows are few
 * enough for one. It has no checksum, so its keys can be written without HDF5. */
struct node {
    char signature[4]; /* TREE */
    uint8_t type;      /* 1: of chunks */
    uint8_t level;     /* 0: a leaf */
    uint16_t entries;
    uint64_t left, right;
    /* then, by turns, keys, and addresses from the end of the user block on */
};

_Static_assert(sizeof(struct node) == 24, "no gaps");

/* address: of the first chunk; HDF5 may or may not count the user block. */
static bool is_node(const char *bytes, size_t size, const struct tic_line_extent *extent,
                    size_t base)
{
    const size_t stride = tic_chunk_key_stride(extent->ndim);
    struct node node;
    uint64_t address;

    if (size < sizeof(node) + extent->rows * stride)
        return false;
    memcpy(&node, bytes, sizeof(node));
    memcpy(&address, bytes + sizeof(node) + stride - sizeof(address), sizeof(address));
    address = le64toh(address);
    return memcmp(node.signature, "TREE", 4) == 0 && node.type == 1 && node.level == 0 &&
           le16toh(node.entries) == extent->rows &&
           (address == extent->keys || address + base == extent->keys);
}

/* Leads the key of each row to its place, with what is there now: bytes as they are. */
static void lead_to_rows(char *bytes, const struct tic_line_extent *extent, size_t base)
{
    const size_t stride = tic_chunk_key_stride(extent->ndim);
    struct tic_shape shape = tic_line_extent_shape(extent);
    const struct tic_chunk_key key = {htole32((uint32_t)tic_shape_bytes(&shape)),
                                      htole32(TIC_CHUNK_PLAIN)};

    for (uint64_t row = 0; row < extent->rows; row++) {
        char *at = bytes + row * stride;
        uint64_t address = htole64(extent->offset + row * tic_shape_bytes(&shape) - base);
        memcpy(at, &key, sizeof(key));
        memcpy(at + stride - sizeof(address), &address, sizeof(address));
    }
}

/* Looks for the node in [from, to) of the file. 0 when it is done; -ENOENT not there. */
static int lead_in(int fd, struct tic_line_extent *extent, size_t base, uint64_t from, uint64_t to)
{
    const size_t size = to - from;
    char *bytes = malloc(size + 1), *at = bytes;
    int status = !bytes ? -ENOMEM : pread(fd, bytes, size, (off_t)from) < 0 ? -errno : -ENOENT;

    while (status == -ENOENT && (at = memmem(at, size - (size_t)(at - bytes), "TREE", 4)) != NULL) {
        if (!is_node(at, size - (size_t)(at - bytes), extent, base)) {
            at++;
            continue;
        }
        at += sizeof(struct node);
        size_t keys = extent->rows * tic_chunk_key_stride(extent->ndim);
        extent->keys = from + (uint64_t)(at - bytes);
        lead_to_rows(at, extent, base);
        ssize_t written = pwrite(fd, at, keys, (off_t)extent->keys);
        status = written < 0 ? -errno : written == (ssize_t)keys ? 0 : -ENOSPC;
    }
    free(bytes);
    return status;
}

/* The node is in one of the gaps between the spaces of rows, which ascend. */
static int lead_keys(int fd, struct tic_line_extent *extents, size_t count, size_t base)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return -errno;
    for (size_t i = 0; i < count; i++) {
        uint64_t from = base;
        int status = extents[i].keys ? -ENOENT : 0;
        for (size_t k = 0; k <= count && status == -ENOENT; k++) {
            uint64_t to = k < count ? extents[k].offset : (uint64_t)info.st_size;
            if (to > from)
                status = lead_in(fd, &extents[i], base, from, to);
            struct tic_shape shape = tic_line_extent_shape(&extents[k < count ? k : 0]);
            from = to + (k < count ? extents[k].rows * tic_shape_bytes(&shape) : 0);
        }
        if (status)
            return status;
    }
    return 0;
}

/* ---- making --------------------------------------------------------------------------------- */

/* The file is made by us, for its mode, and so that nobody else's is opened; HDF5 gets it by its
 * descriptor, wherever the directory has been moved to. */
int tic_segment_create(int directory, const char *name, const struct tic_h5_ops *h5,
                       struct tic_line_extent *extents, size_t count)
{
    char path[64];
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
    int status = h5->segment_format(path, header_size(count), extents, count);
    status = status ? status : lead_keys(fd, extents, count, header_size(count));
    status = status ? status : write_header(fd, extents, count);
    if (status) {
        close(fd);
        unlinkat(directory, name, 0);
        return status;
    }
    return fd;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The bytes [0, size) of the file as text; NULL when it has fewer, or there is no memory. */
static char *read_text(int fd, size_t size)
{
    char *text = malloc(size + 1);

    if (text && pread(fd, text, size, 0) != (ssize_t)size) {
        free(text);
        return NULL;
    }
    if (text)
        text[size] = '\0';
    return text;
}

static bool read_entry(const char **text, struct tic_line_extent *extent)
{
    unsigned long long dims[TIC_MAX_DIMS], rows, offset, keys;
    int used = 0;

    if (sscanf(*text, TIC_SEGMENT_ENTRY_FORMAT "%n", &extent->element_size, &extent->ndim, &dims[0],
               &dims[1], &dims[2], &dims[3], &rows, &offset, &keys, &used) != 9 ||
        used == 0 || (*text)[used] != '\n')
        return false;
    for (unsigned i = 0; i < TIC_MAX_DIMS; i++)
        extent->dims[i] = dims[i];
    extent->rows = rows;
    extent->offset = offset;
    extent->keys = keys;
    *text += used + 1;
    return tic_extent_is_sane(extent);
}

/* What is not readable was not declared. */
static void read_types(const char *text, struct tic_line_extent *extents, size_t count)
{
    const char *end;

    for (; strncmp(text, "type ", 5) == 0 && (end = strchr(text, '\n')); text = end + 1) {
        char *at;
        unsigned long long entry = strtoull(text + 5, &at, 10);
        if (*at != ' ' || entry >= count)
            return;
        struct tic_shape shape = tic_line_extent_shape(&extents[entry]);
        uint64_t type = tic_type_find_stored(at + 1, (size_t)(end - at - 1));
        extents[entry].type = tic_type_fits(type, &shape) ? type : TIC_TYPE_UNKNOWN;
    }
}

static int read_table(const char *table, struct tic_line_extent *extents, size_t count,
                      const XXH128_hash_t *hash)
{
    const char *at = table;

    for (size_t i = 0; i < count; i++) {
        extents[i].dataset = (uint32_t)i;
        if (!read_entry(&at, &extents[i]))
            return -EBADMSG;
    }
    if (!XXH128_isEqual(XXH3_128bits(table, (size_t)(at - table)), *hash))
        return -EBADMSG;
    read_types(at, extents, count);
    return 0;
}

static bool fits(const struct tic_line_extent *extents, size_t count, uint64_t size)
{
    for (size_t i = 0; i < count; i++) {
        struct tic_shape shape = tic_line_extent_shape(&extents[i]);
        uint64_t keys =
            extents[i].keys == 0
                ? 0
                : extents[i].keys + extents[i].rows * tic_chunk_key_stride(extents[i].ndim);
        if (extents[i].offset + extents[i].rows * tic_shape_bytes(&shape) > size || keys > size)
            return false;
    }
    return true;
}

int tic_segment_read(int fd, struct tic_line_extent **extents, size_t *count)
{
    unsigned long long entries = 0, high, low;
    unsigned major, minor;
    struct stat info;
    int title = 0;

    if (fstat(fd, &info) != 0)
        return -errno;
    char *text = read_text(fd, SMALLEST_HEADER);
    if (!text ||
        sscanf(text, TIC_SEGMENT_HEADER_SCAN "%n", &major, &minor, &entries, &high, &low, &title) !=
            5 ||
        title == 0 || major != TIC_FORMAT_SEGMENT_MAJOR || entries >= UINT16_MAX) {
        free(text);
        return -EBADMSG;
    }
    free(text);
    text = read_text(fd, header_size(entries));
    struct tic_line_extent *found = calloc(entries + 1, sizeof(*found));
    const XXH128_hash_t hash = {.low64 = low, .high64 = high};
    int status = !found  ? -ENOMEM
                 : !text ? -EBADMSG
                         : read_table(text + title, found, entries, &hash);
    if (status == 0 && !fits(found, entries, (uint64_t)info.st_size))
        status = -EBADMSG;
    free(text);
    if (status) {
        free(found);
        return status;
    }
    *extents = found;
    *count = entries;
    return 0;
}
