/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks which job line a run begins from, and when results of tasks beyond it may be used. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/testing.h"
#include "mpi/core.h"
#include "mpi/line.h"
#include "mpi/restart.h"
#include "mpi/sources.h"

enum { RANKS = 2, GOOD = 5 };

static char directory[PATH_MAX / 2];

/* Of a part: its size, or what is in no line. */
static int hash(const char *path, uint64_t *size, uint64_t *hash)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return -1;
    *size = (uint64_t)info.st_size;
    *hash = (uint64_t)info.st_size;
    return 0;
}

static void say(enum tic_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

static struct tic_ranks_core core = {.rank = 0, .count = RANKS, .hash = hash, .log = say};

static void put(const char *name, int size)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%*s", size, "");
    fclose(file);
}

static void remove_file(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void write_line(uint64_t number)
{
    struct tic_job_part parts[RANKS] = {{.size = GOOD, .hash = GOOD}, {.size = GOOD, .hash = GOOD}};
    const struct tic_job_line line = {.number = number, .ranks = RANKS, .parts = parts};
    char path[64];

    for (int i = 0; i < RANKS; i++) {
        snprintf(parts[i].name, sizeof(parts[i].name), "line-%d", (int)number);
        snprintf(path, sizeof(path), "p%d/line-%d", i, (int)number);
        put(path, GOOD);
    }
    assert_int_equal(tic_job_line_write(directory, &line, NULL), 0);
}

/* Lines 1 and 2, and all ranks log. */
static int set_up(void **state)
{
    char path[PATH_MAX];

    (void)state;
    tic_mpi_core = &core;
    strcpy(directory, "/tmp/tic-restart-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    for (int i = 0; i < RANKS; i++) {
        snprintf(path, sizeof(path), "%s/p%d", directory, i);
        mkdir(path, 0700);
    }
    write_line(1);
    write_line(2);
    put("results-0", 0);
    put("results-1", 0);
    return 0;
}

static int tear_down(void **state)
{
    char command[PATH_MAX];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

/* A restart on another number of ranks is none of these. */
int tic_sources_open(const char *job, const struct tic_job_line *line, struct tic_table *tables)
{
    (void)job;
    (void)line;
    (void)tables;
    return -ENOSYS;
}

int tic_sources_continue(struct tic_table *table)
{
    (void)table;
    return -ENOSYS;
}

/* expected: 1, or 2 without results of tasks; 0: none. */
static void chooses(int expected, uint64_t line)
{
    struct tic_ranks_choice choice = {0};
    int status = tic_restart_choose(directory, &choice);

    assert_int_equal(status == 1 && !choice.results ? 2 : status, expected);
    assert_int_equal(choice.number, line);
}

static void test_results_of_all_are_used(void **state)
{
    (void)state;
    chooses(1, 2);
    assert_true(tic_restart_all_log());
}

static void test_results_that_one_has_withdrawn_are_not(void **state)
{
    (void)state;
    remove_file("results-1");
    chooses(2, 2);
    assert_false(tic_restart_all_log());
}

/* Who goes on from there has swept what came after the older one. */
static void test_results_beyond_an_older_line_are_not(void **state)
{
    (void)state;
    put("p1/line-2", GOOD + 1);
    chooses(2, 1);
}

static void test_a_line_that_cannot_be_read_counts_as_newer(void **state)
{
    (void)state;
    put("job-line-3", 0);
    chooses(2, 2);
}

static void test_a_rank_withdraws_its_own(void **state)
{
    (void)state;
    chooses(1, 2);
    assert_int_equal(tic_restart_log(false), 0);
    assert_false(is_there("results-0"));
    assert_true(is_there("results-1"));
    assert_int_equal(tic_restart_log(false), 0);
    assert_int_equal(tic_restart_log(true), 0);
    assert_true(tic_restart_all_log());
}

static void test_what_cannot_be_withdrawn_is_said(void **state)
{
    (void)state;
    char path[PATH_MAX];
    chooses(1, 2);
    remove_file("results-0");
    snprintf(path, sizeof(path), "%s/results-0", directory);
    assert_int_equal(mkdir(path, 0700), 0); /* unlink does not remove it */
    assert_true(tic_restart_log(false) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_results_of_all_are_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_results_that_one_has_withdrawn_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_results_beyond_an_older_line_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_line_that_cannot_be_read_counts_as_newer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_rank_withdraws_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_withdrawn_is_said, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
