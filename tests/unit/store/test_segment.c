/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the rows of a segment are found again where HDF5 has put them, and that no byte of
 * what tells so can change without notice. */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/segment.h"

enum { MANY = 40 }; /* their entries need more than the smallest header */

static struct tic_tmpdir dir;
static struct tic_line_extent made[MANY];
static int directory, segment;

static int setup(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    directory = open(dir.path, O_RDONLY | O_DIRECTORY);
    for (uint32_t i = 0; i < MANY; i++)
        made[i] = (struct tic_line_extent){.dataset = i,
                                           .element_size = 1 + i % 9,
                                           .ndim = 1 + i % 4,
                                           .dims = {3 + i, 1, 1, 1},
                                           .rows = 2 + i};
    segment = tic_segment_create(directory, "segment", &tic_h5_ops, made, MANY);
    assert_true(segment >= 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(segment);
    close(directory);
    tic_tmpdir_remove(&dir);
    return 0;
}

static void expect_found(int fd, const struct tic_line_extent *extents, size_t expected)
{
    struct tic_line_extent *found;
    size_t count;

    assert_int_equal(tic_segment_read(fd, &found, &count), 0);
    assert_int_equal(count, expected);
    assert_memory_equal(found, extents, expected * sizeof(*extents));
    free(found);
}

static void test_rows_are_where_they_were_made(void **state)
{
    (void)state;
    expect_found(segment, made, MANY);
}

static void test_rows_may_be_small_and_many(void **state)
{
    struct tic_line_extent extent = {
        .element_size = 1, .ndim = 1, .dims = {1, 1, 1, 1}, .rows = 5000};

    (void)state;
    int fd = tic_segment_create(directory, "small", &tic_h5_ops, &extent, 1);
    assert_true(fd >= 0);
    expect_found(fd, &extent, 1);
    close(fd);
}

static void test_keys_are_found_again(void **state)
{
    struct tic_line_extent extents[] = {
        {.element_size = 8, .ndim = 1, .dims = {3000, 1, 1, 1}, .rows = 70, .keys = 1},
        {.element_size = 8, .ndim = 2, .dims = {30, 100, 1, 1}, .rows = 70, .keys = 1},
        {.element_size = 8, .ndim = 1, .dims = {3000, 1, 1, 1}, .rows = 70},
        {.element_size = 3, .ndim = 4, .dims = {2, 10, 20, 20}, .rows = 70, .keys = 1},
        {.element_size = 1, .ndim = 1, .dims = {24000, 1, 1, 1}, .rows = 70, .keys = 1}};

    (void)state;
    for (uint32_t i = 0; i < TIC_COUNT(extents); i++)
        extents[i].dataset = i;
    int fd = tic_segment_create(directory, "keys", &tic_h5_ops, extents, TIC_COUNT(extents));
    assert_true(fd >= 0);
    expect_found(fd, extents, TIC_COUNT(extents));
    assert_true(extents[0].keys > 1);
    assert_int_equal(extents[2].keys, 0);
    close(fd);
}

static void test_hdf5_reads_what_is_written_there(void **state)
{
    unsigned char row[2][5], expected[5] = {1, 2, 3, 4, 5};
    char path[4096];

    (void)state;
    struct tic_line_extent extent = {.element_size = 1, .ndim = 1, .dims = {5, 1, 1, 1}, .rows = 2};
    int fd = tic_segment_create(directory, "bytes", &tic_h5_ops, &extent, 1);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, expected, 5, (off_t)extent.offset + 5), 5);
    close(fd);
    snprintf(path, sizeof(path), "%s/bytes", dir.path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/payload-0", H5P_DEFAULT);
    assert_true(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, row) >= 0);
    assert_memory_equal(row[1], expected, 5);
    H5Dclose(set);
    H5Fclose(file);
}

/* The bytes of the title and of the table, and no more: what follows are newlines. */
static void test_every_byte_counts(void **state)
{
    struct tic_line_extent *found;
    char text[8192];
    size_t count, size = 0;

    (void)state;
    assert_int_equal(pread(segment, text, sizeof(text), 0), sizeof(text));
    while (size < sizeof(text) - 1 && !(text[size] == '\n' && text[size + 1] == '\n'))
        size++;
    assert_in_range(size, 10 * MANY, sizeof(text) - 2);
    for (size_t i = 0; i < size; i++) {
        char changed = (char)(text[i] ^ 1);
        assert_int_equal(pwrite(segment, &changed, 1, (off_t)i), 1);
        int status = tic_segment_read(segment, &found, &count);
        if (status == 0) { /* white space may be another, and the minor number higher */
            assert_memory_equal(found, made, sizeof(made));
            free(found);
        } else {
            assert_int_equal(status, -EBADMSG);
        }
        assert_int_equal(pwrite(segment, &text[i], 1, (off_t)i), 1);
    }
}

static void test_a_short_file_is_none(void **state)
{
    struct tic_line_extent *found;
    size_t count;
    off_t size = lseek(segment, 0, SEEK_END);

    (void)state;
    for (off_t left = size - 1; left > 0; left /= 3) {
        assert_int_equal(ftruncate(segment, left), 0);
        assert_int_equal(tic_segment_read(segment, &found, &count), -EBADMSG);
    }
}

static void test_nobody_elses_file_is_taken(void **state)
{
    (void)state;
    assert_int_equal(tic_segment_create(directory, "segment", &tic_h5_ops, made, 1), -EEXIST);
    assert_int_equal(symlinkat("elsewhere", directory, "link"), 0);
    assert_int_equal(tic_segment_create(directory, "link", &tic_h5_ops, made, 1), -EEXIST);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_are_where_they_were_made),
        TEST(test_rows_may_be_small_and_many),
        TEST(test_keys_are_found_again),
        TEST(test_hdf5_reads_what_is_written_there),
        TEST(test_every_byte_counts),
        TEST(test_a_short_file_is_none),
        TEST(test_nobody_elses_file_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
