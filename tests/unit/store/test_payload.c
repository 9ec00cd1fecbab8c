/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that what is written to rows that may be compressed is read back, by us and by HDF5, and
 * that no byte of it can change without notice. */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/random.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/payload.h"
#include "store/segment.h"

enum { ROWS = 70, EXTENTS = 5, BYTES = 24000, LEVEL = 6 };

static struct tic_tmpdir dir;
static int directory, segment;
static struct tic_random numbers;
static _Atomic bool hurry;
/* As many rows, so that only the address of its first chunk tells whose a node is. */
static struct tic_line_extent extents[EXTENTS];
static char values[ROWS][BYTES];

static struct tic_layout layout_of(unsigned extent, char *bytes)
{
    const struct tic_shape shape = tic_line_extent_shape(&extents[extent]);
    return tic_layout_packed(&shape, bytes);
}

static int setup(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    tic_random_init(&numbers, 1);
    directory = open(dir.path, O_RDONLY | O_DIRECTORY);
    extents[0] = (struct tic_line_extent){
        .element_size = 8, .ndim = 1, .dims = {3000, 1, 1, 1}, .rows = ROWS, .keys = 1};
    extents[1] = (struct tic_line_extent){
        .element_size = 8, .ndim = 2, .dims = {30, 100, 1, 1}, .rows = ROWS, .keys = 1};
    extents[2] = (struct tic_line_extent){
        .element_size = 8, .ndim = 1, .dims = {3000, 1, 1, 1}, .rows = ROWS};
    extents[3] = (struct tic_line_extent){
        .element_size = 3, .ndim = 4, .dims = {2, 10, 20, 20}, .rows = ROWS, .keys = 1};
    extents[4] = (struct tic_line_extent){
        .element_size = 1, .ndim = 1, .dims = {BYTES, 1, 1, 1}, .rows = ROWS, .keys = 1};
    for (uint32_t i = 0; i < EXTENTS; i++)
        extents[i].dataset = i;
    segment = tic_segment_create(directory, "segment", &tic_h5_ops, extents, EXTENTS);
    assert_true(segment >= 0);
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned i = 0; i < BYTES; i++)
            values[row][i] = (char)(i % 8 < 6 ? row : tic_random_next(&numbers));
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

/* Its checksum; how many bytes were written. */
static uint64_t write_row(unsigned extent, unsigned row, int level, uint64_t *written)
{
    struct tic_place place = tic_payload_place(&extents[extent], row, segment);
    struct tic_layout layout = layout_of(extent, values[row]);
    uint64_t checksum;

    assert_int_equal(tic_payload_write(&tic_h5_ops, &place, &layout,
                                       (struct tic_compression){level, &hurry}, &checksum, written),
                     0);
    assert_int_equal(checksum, tic_layout_checksum(&layout));
    return checksum;
}

static void check_row(unsigned extent, unsigned row, uint64_t checksum)
{
    struct tic_place place = tic_payload_place(&extents[extent], row, segment);
    static char bytes[BYTES];
    struct tic_layout layout = layout_of(extent, bytes), expected = layout_of(extent, values[row]);
    uint64_t got;

    assert_int_equal(tic_payload_read(&tic_h5_ops, &place, &layout, &got), 0);
    assert_int_equal(got, checksum);
    assert_memory_equal(bytes, values[row], BYTES);
    assert_int_equal(tic_payload_check(&tic_h5_ops, &place, checksum), 0);
    assert_int_equal(tic_payload_check(&tic_h5_ops, &place, checksum + 1), -EBADMSG);
    assert_true(tic_payload_equals(&tic_h5_ops, &place, &expected));
    values[row][BYTES - 1]++;
    assert_false(tic_payload_equals(&tic_h5_ops, &place, &expected));
    values[row][BYTES - 1]--;
}

/* The same dataset, as anybody else reads it. */
static void check_with_hdf5(unsigned extent)
{
    static char rows[ROWS][BYTES];
    char path[4096], name[32];

    snprintf(path, sizeof(path), "%s/segment", dir.path);
    snprintf(name, sizeof(name), "/payload-%u", extent);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t type = H5Dget_type(set);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    assert_memory_equal(rows, values, sizeof(rows));
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
}

static void test_written_and_read(void **state)
{
    uint64_t written, checksums[ROWS];
    (void)state;

    for (unsigned extent = 0; extent < EXTENTS; extent++) {
        for (unsigned row = 0; row < ROWS; row++) { /* some as a task would write them */
            checksums[row] = write_row(extent, row, row % 3 == 0 ? 0 : LEVEL, &written);
            if (row % 3 == 0 || !extents[extent].keys)
                assert_int_equal(written, BYTES);
            else
                assert_in_range(written, 1, BYTES * 15 / 16);
        }
        for (unsigned row = 0; row < ROWS; row++)
            check_row(extent, row, checksums[row]);
        check_with_hdf5(extent);
    }
}

/* What does not get smaller is written as it is; and a row may be either, in turns. */
static void test_not_worth_it(void **state)
{
    uint64_t written;
    (void)state;

    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < BYTES && i % 2 == 0; k++)
            values[7][k] = (char)tic_random_next(&numbers);
        if (i % 2 == 1)
            memset(values[7], (int)i, BYTES);
        uint64_t checksum = write_row(1, 7, LEVEL, &written);
        assert_true(i % 2 == 0 ? written == BYTES : written < 200);
        check_row(1, 7, checksum);
    }
}

/* Who waits gets it as it is. */
static void test_in_a_hurry(void **state)
{
    uint64_t written;
    (void)state;

    hurry = true;
    uint64_t checksum = write_row(0, 5, LEVEL, &written);
    hurry = false;
    assert_int_equal(written, BYTES);
    check_row(0, 5, checksum);
}

static uint64_t blocks(void)
{
    struct stat info;
    assert_int_equal(fsync(segment), 0);
    assert_int_equal(fstat(segment, &info), 0);
    return (uint64_t)info.st_blocks;
}

/* Rows take no space before they are written, and only what they need when they are. */
static void test_space(void **state)
{
    uint64_t written, before = blocks() * 512;
    (void)state;

    assert_in_range(before, 1, 200000);
    for (unsigned row = 0; row < ROWS; row++)
        write_row(0, row, 0, &written);
    assert_in_range(blocks() * 512, (uint64_t)ROWS * BYTES, UINT32_MAX);
    memset(values, 0, sizeof(values));
    for (unsigned row = 0; row < ROWS; row++)
        write_row(0, row, LEVEL, &written);
    assert_in_range(blocks() * 512, 1, before + ROWS * 8192);
}

/* Each bit of the key, and some of the bytes. A few bits mean nothing: those that pad the end, and
 * that there are more bytes. */
static void test_damage_is_noticed(void **state)
{
    uint64_t written, checksum = write_row(0, 3, LEVEL, &written);
    struct tic_place place = tic_payload_place(&extents[0], 3, segment);
    enum { MOST = 500 };
    unsigned found = 0;
    (void)state;

    for (unsigned bit = 0; bit < 64 + MOST; bit++) {
        uint64_t at = bit < 64 ? bit / 8 : tic_random_below(&numbers, written);
        off_t offset = (off_t)((bit < 64 ? (uint64_t)place.key : (uint64_t)place.offset) + at);
        char byte, changed;
        assert_int_equal(pread(segment, &byte, 1, offset), 1);
        changed = (char)(byte ^ (1 << bit % 8));
        assert_int_equal(pwrite(segment, &changed, 1, offset), 1);
        int status = tic_payload_check(&tic_h5_ops, &place, checksum);
        if (status == 0)
            check_row(0, 3, checksum);
        else
            assert_int_equal(status, -EBADMSG);
        found += status != 0;
        assert_int_equal(pwrite(segment, &byte, 1, offset), 1);
    }
    assert_in_range(found, MOST / 10 * 9, 64 + MOST);
    check_row(0, 3, checksum);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_written_and_read),  TEST(test_not_worth_it),
        TEST(test_in_a_hurry),        TEST(test_space),
        TEST(test_damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
