/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of one row: as they are, or compressed. */
#include "store/payload.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/apart.h"

enum { CHUNK = 1 << 20, PAGE = 4096, WORTH = 16 /* one part in so many */ };

struct tic_place tic_payload_place(const struct tic_line_extent *extent, uint32_t row, int fd)
{
    struct tic_place place = {.fd = fd, .shape = tic_line_extent_shape(extent)};

    place.offset = (int64_t)(extent->offset + row * tic_shape_bytes(&place.shape));
    if (extent->keys)
        place.key = (int64_t)(extent->keys + row * tic_chunk_key_stride(extent->ndim));
    return place;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static struct tic_layout buffer_layout(void *bytes, uint64_t size)
{
    const struct tic_shape shape = {1, 1, {size, 1, 1, 1}, 0};

    return tic_layout_packed(&shape, bytes);
}

static int write_bytes(int fd, int64_t offset, const void *bytes, uint64_t size)
{
    struct tic_layout layout = buffer_layout((void *)bytes, size);
    uint64_t checksum;

    return tic_layout_write(&layout, fd, offset, &checksum);
}

static int read_bytes(int fd, int64_t offset, void *bytes, uint64_t size)
{
    struct tic_layout layout = buffer_layout(bytes, size);
    uint64_t checksum;

    return tic_layout_read(&layout, fd, offset, &checksum);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static int write_key(const struct tic_place *place, uint64_t bytes, uint32_t skipped)
{
    const struct tic_chunk_key key = {htole32((uint32_t)bytes), htole32(skipped)};

    return place->key ? write_bytes(place->fd, place->key, &key, sizeof(key)) : 0;
}

static bool is_plain(const struct tic_chunk_key *key)
{
    return le32toh(key->skipped) == TIC_CHUNK_PLAIN;
}

int tic_payload_size(const struct tic_place *place, struct tic_chunk_key *key, uint64_t *bytes)
{
    uint64_t whole = tic_shape_bytes(&place->shape);

    *key = (struct tic_chunk_key){htole32((uint32_t)whole), htole32(TIC_CHUNK_PLAIN)};
    *bytes = whole;
    if (!place->key)
        return 0;
    int status = read_bytes(place->fd, place->key, key, sizeof(*key));
    if (status)
        return status;
    *bytes = le32toh(key->bytes);
    return is_plain(key) ? (*bytes == whole ? 0 : -EBADMSG)
                         : (key->skipped == 0 && *bytes < whole ? 0 : -EBADMSG);
}

/* ---- HDF5's filters ------------------------------------------------------------------------- */

/* First the first bytes of all elements, then the second ones ...; and back. */
static void shuffle(const unsigned char *from, unsigned char *to, uint64_t elements, uint32_t size)
{
    for (uint32_t byte = 0; byte < size; byte++)
        for (uint64_t i = 0; i < elements; i++)
            to[byte * elements + i] = from[i * size + byte];
}

static void unshuffle(const unsigned char *from, unsigned char *to, uint64_t elements,
                      uint32_t size)
{
    for (uint32_t byte = 0; byte < size; byte++)
        for (uint64_t i = 0; i < elements; i++)
            to[i * size + byte] = from[byte * elements + i];
}

/* 0; -E2BIG when it is not worth it; -ENOMEM. */
static int compress_bytes(const struct tic_h5_ops *h5, const struct tic_shape *shape,
                          struct tic_compression how, const unsigned char *bytes, unsigned char *to,
                          size_t *size)
{
    uint64_t whole = tic_shape_bytes(shape);
    unsigned char *shuffled = malloc(whole);

    if (!shuffled)
        return -ENOMEM;
    shuffle(bytes, shuffled, whole / shape->element_size, shape->element_size);
    *size = whole - whole / WORTH;
    int status = h5->deflate(shuffled, whole, how.level, to, size, how.stop);
    free(shuffled);
    return status;
}

static int decompress_bytes(const struct tic_h5_ops *h5, const struct tic_shape *shape,
                            const unsigned char *from, size_t size, unsigned char *bytes)
{
    uint64_t whole = tic_shape_bytes(shape);
    unsigned char *shuffled = malloc(whole);

    if (!shuffled)
        return -ENOMEM;
    int status = h5->inflate(from, size, shuffled, whole);
    if (status == 0)
        unshuffle(shuffled, bytes, whole / shape->element_size, shape->element_size);
    free(shuffled);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* What an earlier value left behind these bytes takes no space any more, if the file system can do
 * that. */
static void free_rest(const struct tic_place *place, uint64_t written)
{
    int64_t from = (place->offset + (int64_t)written + PAGE - 1) / PAGE * PAGE;
    int64_t to = (place->offset + (int64_t)tic_shape_bytes(&place->shape)) / PAGE * PAGE;

    if (from < to)
        fallocate(place->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

/* 0; -E2BIG: nothing was written. */
static int write_compressed(const struct tic_h5_ops *h5, const struct tic_place *place,
                            const struct tic_layout *layout, struct tic_compression how,
                            uint64_t *checksum, uint64_t *written)
{
    uint64_t whole = tic_shape_bytes(&place->shape);
    char *bytes = malloc(whole);
    unsigned char *to = malloc(whole);
    size_t size = 0;
    int status = bytes && to ? 0 : -ENOMEM;

    if (status == 0)
        status = tic_layout_pack(layout, bytes, checksum);
    if (status == 0) {
        status = compress_bytes(h5, &place->shape, how, (unsigned char *)bytes, to, &size);
    }
    status = status ? status : write_bytes(place->fd, place->offset, to, size);
    status = status ? status : write_key(place, size, 0);
    if (status == 0)
        free_rest(place, size);
    *written = size;
    free(bytes);
    free(to);
    return status;
}

int tic_payload_write(const struct tic_h5_ops *h5, const struct tic_place *place,
                      const struct tic_layout *layout, struct tic_compression how,
                      uint64_t *checksum, uint64_t *written)
{
    int status = how.level > 0 && place->key
                     ? write_compressed(h5, place, layout, how, checksum, written)
                     : -E2BIG;

    if (status != -E2BIG && status != -ENOMEM)
        return status;
    *written = tic_shape_bytes(&place->shape);
    status = tic_layout_write(layout, place->fd, place->offset, checksum);
    return status ? status : write_key(place, *written, TIC_CHUNK_PLAIN);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_compressed(const struct tic_h5_ops *h5, const struct tic_place *place,
                           uint64_t size, char *bytes)
{
    unsigned char *from = malloc(size + 1);
    int status = from ? read_bytes(place->fd, place->offset, from, size) : -ENOMEM;

    if (status == 0)
        status = decompress_bytes(h5, &place->shape, from, size, (unsigned char *)bytes);
    free(from);
    return status;
}

/* *bytes: the packed bytes of the row (malloc'ed), if it is compressed; else NULL, as on failure.
 */
static int load_compressed(const struct tic_h5_ops *h5, const struct tic_place *place, char **bytes)
{
    struct tic_chunk_key key;
    uint64_t size;
    int status = tic_payload_size(place, &key, &size);

    *bytes = NULL;
    if (status || is_plain(&key))
        return status;
    *bytes = malloc(tic_shape_bytes(&place->shape));
    status = *bytes ? read_compressed(h5, place, size, *bytes) : -ENOMEM;
    if (status) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

int tic_payload_read(const struct tic_h5_ops *h5, const struct tic_place *place,
                     const struct tic_layout *layout, uint64_t *checksum)
{
    char *bytes;
    int status = load_compressed(h5, place, &bytes);

    if (status)
        return status;
    if (!bytes)
        return tic_layout_read(layout, place->fd, place->offset, checksum);
    struct tic_layout packed = tic_layout_packed(&place->shape, bytes);
    tic_layout_copy(layout, &packed);
    *checksum = XXH3_64bits(bytes, tic_shape_bytes(&place->shape));
    free(bytes);
    return 0;
}

static int check_plain(int fd, uint64_t offset, uint64_t bytes, uint64_t checksum)
{
    XXH3_state_t *state = XXH3_createState();
    const size_t room = bytes < CHUNK ? bytes : CHUNK; /* rows are many, and mostly small */
    char *chunk = malloc(room + 1);
    int status = state && chunk ? 0 : -ENOMEM;

    if (status == 0)
        XXH3_64bits_reset(state);
    while (status == 0 && bytes > 0) {
        ssize_t got = pread(fd, chunk, bytes < room ? bytes : room, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            status = got < 0 ? -errno : -EBADMSG;
            break;
        }
        XXH3_64bits_update(state, chunk, (size_t)got);
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    if (status == 0 && XXH3_64bits_digest(state) != checksum)
        status = -EBADMSG;
    free(chunk);
    XXH3_freeState(state);
    return status;
}

struct checking {
    const struct tic_h5_ops *h5;
    const struct tic_place *place;
    uint64_t checksum;
    int status;
};

static void check_apart(void *arg)
{
    struct checking *checking = arg;
    const struct tic_place *place = checking->place;
    uint64_t whole = tic_shape_bytes(&place->shape);
    char *bytes;
    int status = load_compressed(checking->h5, place, &bytes);

    if (status == -ENODATA)
        status = -EBADMSG;
    else if (status == 0 && !bytes)
        status = check_plain(place->fd, (uint64_t)place->offset, whole, checking->checksum);
    else if (status == 0 && XXH3_64bits(bytes, whole) != checking->checksum)
        status = -EBADMSG;
    free(bytes);
    checking->status = status;
}

int tic_payload_check(const struct tic_h5_ops *h5, const struct tic_place *place, uint64_t checksum)
{
    struct checking checking = {h5, place, checksum, 0};

    tic_apart_call(check_apart, &checking);
    return checking.status;
}

bool tic_payload_equals(const struct tic_h5_ops *h5, const struct tic_place *place,
                        const struct tic_layout *layout)
{
    char *bytes;

    if (load_compressed(h5, place, &bytes) != 0)
        return false;
    if (!bytes)
        return tic_layout_equals(layout, place->fd, place->offset);
    struct tic_layout packed = tic_layout_packed(&place->shape, bytes);
    bool same = tic_layout_same(layout, &packed);
    free(bytes);
    return same;
}
