/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a job line, and late messages, are read as they were written, and never by halves. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testing.h"
#include "mpi/line.h"

static char directory[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tic-line-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[PATH_MAX + 16];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static void write_line(uint64_t number)
{
    struct tic_channel_count counts[] = {{true, 1, -7, 3}, {false, 1, INT64_MAX, UINT64_MAX}};
    struct tic_job_part parts[] = {
        {.name = "p0-line-00000004.h5",
         .size = 100,
         .hash = UINT64_MAX,
         .counts = counts,
         .count = 2},
        {.name = "p0-line-00000005.h5", .size = 200, .hash = 1, .late_size = 50, .late_hash = 2}};
    const struct tic_job_line line = {
        .number = number, .in_transit = 9, .ranks = 2, .parts = parts};

    assert_int_equal(tic_job_line_write(directory, &line, NULL), 0);
}

static void test_a_line_comes_back(void **state)
{
    struct tic_job_line line;
    (void)state;
    write_line(12);
    assert_int_equal(tic_job_line_read(directory, 12, &line), 0);
    assert_int_equal(line.number, 12);
    assert_int_equal(line.in_transit, 9);
    assert_int_equal(line.ranks, 2);
    assert_string_equal(line.parts[0].name, "p0-line-00000004.h5");
    assert_true(line.parts[0].hash == UINT64_MAX && line.parts[1].late_size == 50);
    assert_int_equal(line.parts[0].count, 2);
    assert_true(line.parts[0].counts[0].sends && !line.parts[0].counts[1].sends);
    assert_true(line.parts[0].counts[0].tag == -7 && line.parts[0].counts[1].tag == INT64_MAX);
    assert_true(line.parts[0].counts[1].count == UINT64_MAX);
    tic_job_line_clear(&line);
    assert_true(tic_job_line_read(directory, 13, &line) < 0);
}

static void test_a_part_of_a_line_is_none(void **state)
{
    char name[PATH_MAX + 16];
    struct tic_job_line line;
    (void)state;
    write_line(1);
    snprintf(name, sizeof(name), "%s/job-line-1", directory);
    FILE *file = fopen(name, "r");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    for (long cut = 2; cut < size; cut++) { /* the last byte is a newline */
        assert_int_equal(truncate(name, size - cut), 0);
        assert_true(tic_job_line_read(directory, 1, &line) < 0);
    }
}

static void test_the_newest_comes_first(void **state)
{
    unsigned long count;
    (void)state;
    write_line(9);
    write_line(100);
    write_line(10);
    uint64_t *numbers = tic_job_line_list(directory, &count);
    assert_int_equal(count, 3);
    assert_true(numbers[0] == 100 && numbers[1] == 10 && numbers[2] == 9);
    free(numbers);
    tic_job_line_remove(directory, 100);
    numbers = tic_job_line_list(directory, &count);
    assert_int_equal(count, 2);
    free(numbers);
}

static void test_late_messages_come_back(void **state)
{
    const struct tic_late late[] = {{1, 5, 2, (char[]){"abc"}, 3},
                                    {0, -1, UINT64_MAX, (char[]){""}, 0}};
    char name[PATH_MAX + 16];
    struct tic_late *found;
    unsigned long count;
    (void)state;
    snprintf(name, sizeof(name), "%s/late", directory);
    assert_int_equal(tic_late_write(name, late, 2), 0);
    assert_int_equal(tic_late_read(name, &found, &count), 0);
    assert_int_equal(count, 2);
    assert_true(found[0].peer == 1 && found[0].tag == 5 && found[0].number == 2);
    assert_memory_equal(found[0].bytes, "abc", 3);
    assert_true(found[1].number == UINT64_MAX && found[1].size == 0);
    for (unsigned long i = 0; i < count; i++)
        free(found[i].bytes);
    free(found);
    assert_true(tic_late_read("/nonexistent", &found, &count) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_line_comes_back),
        TEST(test_a_part_of_a_line_is_none),
        TEST(test_the_newest_comes_first),
        TEST(test_late_messages_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
