/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the event log gives back what was appended, each writer's in order, that a torn end
 * ends its block only, and that files go when nobody needs them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/eventlog.h"
#include "store/segment.h"
#include "store/store.h"

enum { WRITERS = 3, LENT = 2, WORDS = 4 };

static struct tic_tmpdir dir;
static struct tic_store store;
static struct tic_eventlog event_log;

static int setup(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    assert_int_equal(tic_store_open(&store, dir.path, TIC_STORE_CREATE, false, &tic_h5_ops), 0);
    assert_int_equal(tic_eventlog_init(&event_log, &store, WRITERS, LENT), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_eventlog_fini(&event_log);
    tic_store_close(&store);
    tic_tmpdir_remove(&dir);
    return 0;
}

/* Words: the writer, its number there. */
static int append(unsigned writer, uint64_t number, uint64_t *file)
{
    const uint64_t words[WORDS] = {writer, number};
    return tic_eventlog_append(&event_log, writer, TIC_LOGGED_ACQUIRED, words, WORDS, file);
}

struct seen {
    uint64_t next[WRITERS];
    uint64_t count, last_file;
    uint64_t most; /* 0: no end */
};

static bool look(void *arg, const struct tic_log_record *record)
{
    struct seen *seen = arg;

    assert_int_equal(record->kind, TIC_LOGGED_ACQUIRED);
    assert_int_equal(record->count, WORDS);
    assert_true(record->words[0] < WRITERS && record->time > 0);
    assert_int_equal(record->words[1], seen->next[record->words[0]]++);
    assert_true(record->file >= seen->last_file);
    seen->last_file = record->file;
    return ++seen->count != seen->most;
}

static void test_gives_back_what_was_appended(void **state)
{
    struct seen seen = {.count = 0};

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    for (uint64_t i = 0; i < 5000; i++) /* several blocks each */
        for (unsigned writer = 0; writer < WRITERS; writer++)
            assert_int_equal(append(writer, i, NULL), 0);
    assert_int_equal(tic_eventlog_walk(&store, look, &seen), 0);
    assert_int_equal(seen.count, 5000 * WRITERS);
    assert_int_equal(event_log.records, seen.count);
    assert_true(event_log.bytes < tic_eventlog_volume(&event_log));
}

static void test_walk_can_end(void **state)
{
    struct seen seen = {.most = 2};

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(append(0, i, NULL), 0);
    assert_int_equal(tic_eventlog_walk(&store, look, &seen), -ECANCELED);
    assert_int_equal(seen.count, 2);
}

static void test_full_log_asks_for_more(void **state)
{
    struct seen seen = {.count = 0};
    uint64_t i = 0;

    (void)state;
    assert_int_equal(append(0, 0, NULL), -EAGAIN);
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    while (append(0, i, NULL) == 0)
        i++;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    assert_int_equal(append(0, i++, NULL), 0);
    assert_int_equal(tic_eventlog_walk(&store, look, &seen), 0);
    assert_int_equal(seen.count, i);
}

static void path_of(uint64_t file, char *path, size_t size)
{
    snprintf(path, size, "%s/p0-log-%08llu.h5", dir.path, (unsigned long long)file);
}

/* Any byte of the last record: the others are there. */
static void test_torn_end(void **state)
{
    char path[4096];
    const size_t bytes = (TIC_LOG_HEAD_WORDS + WORDS) * 8;
    struct tic_line_extent *extents;
    size_t count;

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(append(0, i, NULL), 0);
    assert_int_equal(append(1, 0, NULL), 0);
    path_of(1, path, sizeof(path));
    int fd = open(path, O_RDWR);
    assert_int_equal(tic_segment_read(fd, &extents, &count), 0);
    off_t last = (off_t)(extents[0].offset + 2 * bytes);
    free(extents);
    for (size_t i = 0; i < bytes; i++) {
        struct seen seen = {.count = 0};
        char byte, other;
        assert_int_equal(pread(fd, &byte, 1, last + (off_t)i), 1);
        other = (char)~byte;
        assert_int_equal(pwrite(fd, &other, 1, last + (off_t)i), 1);
        assert_int_equal(tic_eventlog_walk(&store, look, &seen), 0);
        assert_int_equal(seen.next[0], 2);
        assert_int_equal(seen.next[1], 1);
        assert_int_equal(pwrite(fd, &byte, 1, last + (off_t)i), 1);
    }
    close(fd);
}

/* A kill while a file was formatted, or something that is no log. */
static void test_incomplete_file_holds_nothing(void **state)
{
    struct seen seen = {.count = 0};
    char path[4096];

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    assert_int_equal(append(0, 0, NULL), 0);
    tic_tmpdir_store(&dir, "p0-log-00000002.h5", "half", 4);
    path_of(1, path, sizeof(path));
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(tic_eventlog_walk(&store, look, &seen), 0);
    assert_int_equal(seen.count, 0);
}

static bool is_there(uint64_t file)
{
    char path[4096];

    path_of(file, path, sizeof(path));
    return access(path, F_OK) == 0;
}

static void test_sweep_removes_what_nobody_needs(void **state)
{
    uint64_t file = 0;

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    while (append(0, 0, &file) == 0)
        ;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    assert_int_equal(file, 1);
    tic_eventlog_settle(&event_log); /* the writer may still use it */
    tic_eventlog_sweep(&event_log);
    assert_true(is_there(1));
    assert_int_equal(append(0, 0, &file), 0);
    assert_int_equal(file, 2);
    tic_eventlog_sweep(&event_log); /* not settled since the writer left it */
    assert_true(is_there(1));
    tic_eventlog_settle(&event_log);
    tic_eventlog_mark(&event_log, 1);
    tic_eventlog_sweep(&event_log);
    assert_true(is_there(1));
    tic_eventlog_settle(&event_log);
    tic_eventlog_sweep(&event_log);
    assert_false(is_there(1));
    assert_true(is_there(2));
}

static void test_record_of_any_size(void **state)
{
    static const uint64_t words[TIC_LOG_MOST_WORDS + 1];

    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    assert_int_equal(tic_eventlog_append(&event_log, 0, TIC_LOGGED_RUN, NULL, 0, NULL), 0);
    assert_int_equal(
        tic_eventlog_append(&event_log, 0, TIC_LOGGED_RUN, words, TIC_LOG_MOST_WORDS, NULL), 0);
    assert_int_equal(
        tic_eventlog_append(&event_log, 0, TIC_LOGGED_RUN, words, TIC_LOG_MOST_WORDS + 1, NULL),
        -EINVAL);
    assert_int_equal(tic_eventlog_append(&event_log, WRITERS + LENT, TIC_LOGGED_RUN, NULL, 0, NULL),
                     -EINVAL);
}

/* As few of those that are lent as have one at the same time get a block. */
static void test_writers_are_lent(void **state)
{
    const uint64_t word = 0;
    (void)state;
    assert_int_equal(tic_eventlog_provide(&event_log), 0);
    unsigned first = tic_eventlog_borrow(&event_log), second = tic_eventlog_borrow(&event_log);
    assert_int_equal(first, WRITERS);
    assert_int_equal(second, WRITERS + 1);
    tic_eventlog_give_back(&event_log, first);
    for (unsigned i = 0; i < 100; i++) {
        unsigned writer = tic_eventlog_borrow(&event_log);
        assert_int_equal(writer, first);
        assert_int_equal(
            tic_eventlog_append(&event_log, writer, TIC_LOGGED_ACQUIRED, &word, 1, NULL), 0);
        tic_eventlog_give_back(&event_log, writer);
    }
    tic_eventlog_give_back(&event_log, second);
    assert_true(tic_eventlog_used(&event_log) < 2 * TIC_LOG_BLOCK);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gives_back_what_was_appended),
        TEST(test_walk_can_end),
        TEST(test_full_log_asks_for_more),
        TEST(test_torn_end),
        TEST(test_incomplete_file_holds_nothing),
        TEST(test_sweep_removes_what_nobody_needs),
        TEST(test_record_of_any_size),
        TEST(test_writers_are_lent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
