/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that layouts of any shape and stride are packed, unpacked and hashed as a naive copy does
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/layout.h"
#include "lib/random.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"

enum { ROUNDS = 400, GUARD = 0xa5, FILE_OFFSET = 123 };

static struct tic_tmpdir dir;
static int fd;

static char *changed; /* it changes with each write to the file, just before that */

/* Where offsets of 64 bits have calls of their own, it is the second that is called. */
#define WRAP(name)                                                                                 \
    ssize_t __real_##name(int file, const struct iovec *pieces, int count, off_t offset);          \
    ssize_t __wrap_##name(int file, const struct iovec *pieces, int count, off_t offset);          \
    ssize_t __wrap_##name(int file, const struct iovec *pieces, int count, off_t offset)           \
    {                                                                                              \
        if (changed)                                                                               \
            ++*changed;                                                                            \
        return __real_##name(file, pieces, count, offset);                                         \
    }
WRAP(pwritev)
WRAP(pwritev64)

/* A layout in an array of its own. */
struct piece {
    struct tic_layout layout;
    size_t size; /* bytes from base to the end of the last element */
};

static struct tic_shape make_shape(uint32_t element_size, uint32_t ndim, const uint64_t *dims)
{
    struct tic_shape shape = {element_size, ndim, {1, 1, 1, 1}, 0};
    memcpy(shape.dims, dims, ndim * sizeof(*dims));
    return shape;
}

/* padding[d]: elements between rows, planes ... of dimension d. */
static struct piece make_piece(const struct tic_shape *shape, const uint64_t *padding)
{
    struct piece piece = {.layout = {.shape = *shape, .stride = {1}}};
    uint64_t last = 0;

    for (uint32_t d = 1; d < shape->ndim; d++)
        piece.layout.stride[d] = piece.layout.stride[d - 1] * shape->dims[d - 1] + padding[d - 1];
    for (uint32_t d = 0; d < shape->ndim; d++)
        last += (shape->dims[d] - 1) * piece.layout.stride[d];
    piece.size = (last + 1) * shape->element_size;
    piece.layout.base = malloc(piece.size);
    memset(piece.layout.base, GUARD, piece.size);
    return piece;
}

static char *element(const struct tic_layout *layout, const uint64_t *index)
{
    uint64_t at = 0;
    for (uint32_t d = 0; d < layout->shape.ndim; d++)
        at += index[d] * layout->stride[d];
    return layout->base + at * layout->shape.element_size;
}

/* False after the last element. */
static bool step(const struct tic_shape *shape, uint64_t *index)
{
    for (uint32_t d = 0; d < shape->ndim; d++) {
        if (++index[d] < shape->dims[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* Copies element by element between the piece and packed bytes. */
static void naive_copy(const struct tic_layout *layout, char *packed, bool pack)
{
    uint64_t index[TIC_MAX_DIMS] = {0};
    size_t bytes = layout->shape.element_size;
    do {
        char *at = element(layout, index);
        memcpy(pack ? packed : at, pack ? at : packed, bytes);
        packed += bytes;
    } while (step(&layout->shape, index));
}

static void check_write(const struct tic_layout *layout, const char *packed, size_t bytes)
{
    char *file = malloc(bytes + 1);
    assert_int_equal(ftruncate(fd, 0), 0);
    uint64_t checksum;
    assert_int_equal(tic_layout_write(layout, fd, FILE_OFFSET, &checksum), 0);
    assert_int_equal(checksum, XXH3_64bits(packed, bytes));
    assert_int_equal(lseek(fd, 0, SEEK_END), FILE_OFFSET + (off_t)bytes);
    assert_int_equal(pread(fd, file, bytes, FILE_OFFSET), bytes);
    assert_memory_equal(file, packed, bytes);
    free(file);
}

/* Reads into a piece with other gaps: elements arrive, gaps stay as they were. */
static void check_read(const struct tic_shape *shape, const uint64_t *padding, char *packed)
{
    struct piece got = make_piece(shape, padding), wanted = make_piece(shape, padding);
    naive_copy(&wanted.layout, packed, false);
    uint64_t checksum;
    assert_int_equal(tic_layout_read(&got.layout, fd, FILE_OFFSET, &checksum), 0);
    assert_int_equal(checksum, XXH3_64bits(packed, tic_shape_bytes(&got.layout.shape)));
    assert_memory_equal(got.layout.base, wanted.layout.base, got.size);
    free(got.layout.base);
    free(wanted.layout.base);
}

/* Copies between two pieces with different gaps. */
static void check_copy(const struct tic_layout *from, const uint64_t *padding, char *packed)
{
    struct piece got = make_piece(&from->shape, padding);
    struct piece wanted = make_piece(&from->shape, padding);
    naive_copy(&wanted.layout, packed, false);
    tic_layout_copy(&got.layout, from);
    assert_memory_equal(got.layout.base, wanted.layout.base, got.size);
    free(got.layout.base);
    free(wanted.layout.base);
}

static void check_shape(struct tic_random *random, const struct tic_shape *shape,
                        const uint64_t *padding, const uint64_t *other_padding)
{
    struct piece piece = make_piece(shape, padding);
    size_t bytes = tic_shape_bytes(shape);
    char *packed = malloc(bytes);

    tic_random_fill(random, packed, bytes);
    naive_copy(&piece.layout, packed, false);
    assert_int_equal(tic_layout_checksum(&piece.layout), XXH3_64bits(packed, bytes));
    check_write(&piece.layout, packed, bytes);
    check_read(shape, other_padding, packed);
    check_copy(&piece.layout, other_padding, packed);
    free(packed);
    free(piece.layout.base);
}

static void test_random_shapes(void **state)
{
    static const uint32_t element_sizes[] = {1, 2, 3, 4, 8, 12, 16};
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t dims[TIC_MAX_DIMS], padding[TIC_MAX_DIMS], other[TIC_MAX_DIMS];
        for (int d = 0; d < TIC_MAX_DIMS; d++) {
            dims[d] = 1 + tic_random_below(&random, 9);
            padding[d] = tic_random_below(&random, 2) * tic_random_below(&random, 5);
            other[d] = tic_random_below(&random, 2) * tic_random_below(&random, 5);
        }
        struct tic_shape shape =
            make_shape(element_sizes[tic_random_below(&random, TIC_COUNT(element_sizes))],
                       1 + (uint32_t)tic_random_below(&random, TIC_MAX_DIMS), dims);
        check_shape(&random, &shape, padding, other);
    }
}

/* More runs than one call to the system takes, at, below and above the multiples. */
static void test_many_runs(void **state)
{
    static const uint64_t rows[] = {255, 256, 257, 512, 1025};
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 2);
    for (size_t i = 0; i < TIC_COUNT(rows); i++) {
        struct tic_shape shape = make_shape(4, 2, (uint64_t[]){3, rows[i]});
        check_shape(&random, &shape, (uint64_t[]){2, 0, 0, 0}, (uint64_t[]){0, 0, 0, 0});
        check_shape(&random, &shape, (uint64_t[]){0, 0, 0, 0}, (uint64_t[]){5, 0, 0, 0});
    }
}

static void test_large_runs(void **state)
{
    struct tic_random random;
    struct tic_shape shape = make_shape(8, 3, (uint64_t[]){1000, 50, 3});
    (void)state;
    tic_random_init(&random, 3);
    check_shape(&random, &shape, (uint64_t[]){24, 1000, 0, 0}, (uint64_t[]){0, 7, 0, 0});
}

/* Is the checksum that of what is in the file, when the last byte changed while it was written? */
static bool agrees(struct tic_layout layout)
{
    const size_t bytes = tic_shape_bytes(&layout.shape);
    char *packed = malloc(bytes);
    uint64_t checksum;

    changed = layout.base + tic_layout_span(&layout) - 1;
    assert_int_equal(tic_layout_write(&layout, fd, 0, &checksum), 0);
    changed = NULL;
    assert_int_equal(pread(fd, packed, bytes, 0), bytes);
    bool same = XXH3_64bits(packed, bytes) == checksum;
    free(packed);
    return same;
}

static void test_what_changes_while_it_is_written(void **state)
{
    struct tic_shape shape = make_shape(8, 3, (uint64_t[]){1000, 50, 3});
    (void)state;
    for (uint64_t gap = 0; gap < 10; gap += 3) {
        struct piece piece = make_piece(&shape, (uint64_t[]){gap, 0, 0, 0});
        assert_false(agrees(piece.layout)); /* it does change */
        piece.layout.unsteady = true;
        assert_true(agrees(piece.layout));
        free(piece.layout.base);
    }
}

static void test_pack(void **state)
{
    struct tic_shape shape = make_shape(8, 3, (uint64_t[]){1000, 50, 3});
    struct piece piece = make_piece(&shape, (uint64_t[]){24, 1000, 0, 0});
    const size_t bytes = tic_shape_bytes(&shape);
    char *packed = malloc(bytes), *written = malloc(bytes);
    uint64_t checksum, other;
    _Atomic bool stop = false;
    (void)state;

    piece.layout.stop = &stop;
    assert_int_equal(tic_layout_pack(&piece.layout, packed, &checksum), 0);
    assert_int_equal(tic_layout_write(&piece.layout, fd, 0, &other), 0);
    assert_int_equal(checksum, other);
    assert_int_equal(pread(fd, written, bytes, 0), bytes);
    assert_memory_equal(packed, written, bytes);
    atomic_store(&stop, true);
    assert_int_equal(tic_layout_pack(&piece.layout, packed, &checksum), -EINTR);
    assert_int_equal(tic_layout_write(&piece.layout, fd, 0, &checksum), -EINTR);
    free(piece.layout.base);
    free(packed);
    free(written);
}

static void test_short_files(void **state)
{
    struct tic_shape shape = make_shape(4, 2, (uint64_t[]){5, 300});
    struct piece piece = make_piece(&shape, (uint64_t[]){3, 0, 0, 0});
    size_t bytes = tic_shape_bytes(&shape);
    uint64_t checksum;
    (void)state;
    assert_int_equal(tic_layout_write(&piece.layout, fd, 0, &checksum), 0);
    for (size_t kept = 0; kept < bytes; kept += 1 + kept / 3) {
        assert_int_equal(ftruncate(fd, (off_t)kept), 0);
        assert_int_equal(tic_layout_read(&piece.layout, fd, 0, &checksum), -ENODATA);
    }
    free(piece.layout.base);
}

static void test_errors_are_passed_on(void **state)
{
    char byte = 1;
    struct tic_layout layout = {
        .shape = make_shape(1, 1, (uint64_t[]){1}), .base = &byte, .stride = {1}};
    int read_only = open(dir.path, O_RDONLY | O_DIRECTORY);
    uint64_t checksum;
    (void)state;
    assert_int_equal(tic_layout_write(&layout, read_only, 0, &checksum), -EBADF);
    assert_int_equal(tic_layout_read(&layout, read_only, 0, &checksum), -EISDIR);
    close(read_only);
}

static void test_nothing(void **state)
{
    char byte = 1;
    struct tic_layout layout = {
        .shape = make_shape(8, 2, (uint64_t[]){0, 5}), .base = &byte, .stride = {1, 9}};
    (void)state;
    assert_int_equal(tic_shape_bytes(&layout.shape), 0);
    assert_int_equal(tic_layout_checksum(&layout), XXH3_64bits(&byte, 0));
    assert_int_equal(ftruncate(fd, 0), 0);
    uint64_t checksum;
    assert_int_equal(tic_layout_write(&layout, fd, 0, &checksum), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    assert_int_equal(tic_layout_read(&layout, fd, 0, &checksum), 0);
    assert_int_equal(checksum, XXH3_64bits(&checksum, 0));
}

static void test_shape_equal(void **state)
{
    const struct tic_shape shape = make_shape(4, 2, (uint64_t[]){3, 5});
    struct tic_shape other = shape;
    (void)state;
    assert_true(tic_shape_equal(&shape, &other));
    other.element_size = 8;
    assert_false(tic_shape_equal(&shape, &other));
    other = make_shape(4, 2, (uint64_t[]){5, 3});
    assert_false(tic_shape_equal(&shape, &other));
    other = make_shape(4, 3, (uint64_t[]){3, 5, 1});
    assert_false(tic_shape_equal(&shape, &other));
}

struct visited {
    char *first;
    unsigned count, last; /* runs; the visit ends with this one */
    uint64_t bytes;
};

static int note_run(char *run, uint64_t bytes, void *arg)
{
    struct visited *visited = arg;

    if (visited->count++ == 0)
        visited->first = run;
    assert_ptr_equal(run, visited->first + (visited->count - 1) * 20);
    visited->bytes = bytes;
    return visited->count == visited->last ? 7 : 0;
}

static void test_visit(void **state)
{
    char bytes[1];
    struct tic_layout layout = {
        .shape = make_shape(4, 2, (uint64_t[]){3, 5}), .base = bytes, .stride = {1, 5}};
    struct visited all = {.last = 0}, some = {.last = 2}, none = {.last = 0};
    (void)state;
    assert_int_equal(tic_layout_visit(&layout, note_run, &all), 0);
    assert_ptr_equal(all.first, bytes);
    assert_int_equal(all.count, 5);
    assert_int_equal(all.bytes, 12);
    assert_int_equal(tic_layout_visit(&layout, note_run, &some), 7);
    assert_int_equal(some.count, 2);
    layout.stride[1] = 3;
    some = (struct visited){.last = 1};
    assert_int_equal(tic_layout_visit(&layout, note_run, &some), 7);
    assert_int_equal(some.bytes, 60);
    layout.shape.dims[1] = 0;
    assert_int_equal(tic_layout_visit(&layout, note_run, &none), 0);
    assert_int_equal(none.count, 0);
}

static int set_up(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    fd = open(dir.path, O_RDWR | O_TMPFILE, 0600);
    return fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(fd);
    tic_tmpdir_remove(&dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_many_runs),
        cmocka_unit_test(test_large_runs),
        cmocka_unit_test(test_what_changes_while_it_is_written),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_short_files),
        cmocka_unit_test(test_errors_are_passed_on),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_shape_equal),
        cmocka_unit_test(test_visit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
