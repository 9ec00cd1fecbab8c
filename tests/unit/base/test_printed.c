/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that what a program has printed is written, unless that would take time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printed.h"
#include "lib/testing.h"

static int before, ends[2];

static int begin(void **state)
{
    (void)state;
    fflush(stdout);
    before = dup(STDOUT_FILENO);
    return before < 0 || pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0 ? -1 : 0;
}

/* Also what a test has left in the buffer. */
static int end(void **state)
{
    (void)state;
    fflush(stdout);
    close(ends[0]);
    close(ends[1]);
    return dup2(before, STDOUT_FILENO) < 0 || close(before) != 0 ? -1 : 0;
}

static void test_written(void **state)
{
    char text[8] = "";

    (void)state;
    fputs("abc", stdout);
    assert_true(tic_printed_flush());
    assert_int_equal(read(ends[0], text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
    assert_true(tic_printed_flush()); /* there is nothing */
}

static void test_by_tasks(void **state)
{
    (void)state;
    size_t at_begin = tic_printed_pending();
    tic_printed_note_task(at_begin);
    assert_false(tic_printed_by_tasks());
    fputs("a", stdout);
    tic_printed_note_task(at_begin);
    assert_true(tic_printed_by_tasks());
    tic_printed_flush();
    assert_int_equal(tic_printed_pending(), at_begin);
}

static void *flush(void *arg)
{
    *(bool *)arg = tic_printed_flush();
    return NULL;
}

static void test_locked(void **state)
{
    bool flushed = true;
    pthread_t thread;

    (void)state;
    fputs("a", stdout);
    flockfile(stdout);
    assert_int_equal(pthread_create(&thread, NULL, flush, &flushed), 0);
    pthread_join(thread, NULL);
    funlockfile(stdout);
    assert_false(flushed);
}

static void test_full_pipe(void **state)
{
    char bytes[4096] = "";

    (void)state;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], bytes, sizeof(bytes)) > 0)
        ;
    fcntl(ends[1], F_SETFL, 0);
    fputs("a", stdout);
    assert_false(tic_printed_flush());
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), sizeof(bytes));
    assert_true(tic_printed_flush());
}

static void test_no_reader(void **state)
{
    (void)state;
    fputs("# printed", stdout);
    close(ends[0]);
    assert_false(tic_printed_flush());
    assert_false(ferror(stdout));
    dup2(before, STDOUT_FILENO); /* or SIGPIPE would end the test */
    ends[0] = dup(before);
    fputs("\n", stdout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_written, begin, end),
        cmocka_unit_test_setup_teardown(test_by_tasks, begin, end),
        cmocka_unit_test_setup_teardown(test_locked, begin, end),
        cmocka_unit_test_setup_teardown(test_full_pipe, begin, end),
        cmocka_unit_test_setup_teardown(test_no_reader, begin, end),
    };
    return cmocka_run_group_tests_name("printed", tests, NULL, NULL);
}
