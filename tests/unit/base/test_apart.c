/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that files of threads that are apart are out of reach of the others. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/content.h"
#include "base/thread.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"

static struct tic_tmpdir dir;
static char path[600];

static void open_ours(void *fd)
{
    *(int *)fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static void write_ours(void *fd)
{
    assert_int_equal(pwrite(*(int *)fd, "ours", 4, 0), 4);
}

static void close_ours(void *fd)
{
    assert_int_equal(close(*(int *)fd), 0);
}

static void *write_in_thread(void *fd)
{
    assert_true(tic_apart_is_here());
    write_ours(fd);
    return NULL;
}

static void *look_beside(void *fd)
{
    assert_false(tic_apart_is_here());
    struct stat there, ours;
    assert_int_equal(stat(path, &ours), 0);
    assert_true(fstat(*(int *)fd, &there) != 0 || there.st_ino != ours.st_ino);
    return NULL;
}

static void run(int (*start)(pthread_t *, void *(*)(void *), void *), void *(*body)(void *),
                int *fd)
{
    pthread_t thread;

    assert_int_equal(start(&thread, body, fd), 0);
    pthread_join(thread, NULL);
}

/* However the program closes, and whatever it opens then. */
static void test_descriptors(void **state)
{
    (void)state;
    char other[700], text[8] = "";
    struct stat info;
    int fd, theirs[20];

    tic_apart_call(open_ours, &fd);
    assert_true(fd > STDERR_FILENO);
    snprintf(other, sizeof(other), "%s.other", path);
    for (int i = 0; i < 20; i++)
        theirs[i] = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(theirs[19] >= fd);
    tic_apart_call(write_ours, &fd);
    assert_int_equal(stat(other, &info), 0);
    assert_int_equal(info.st_size, 0);
    for (int i = 0; i < 20; i++)
        close(theirs[i]);
    run(tic_thread_start, write_in_thread, &fd);
    run(tic_thread_start_beside, look_beside, &fd);
    tic_apart_call(close_ours, &fd);
    FILE *stream = tic_content_open(path);
    assert_non_null(stream);
    assert_int_equal(fread(text, 1, sizeof(text), stream), 4);
    assert_string_equal(text, "ours");
    fclose(stream);
    assert_null(tic_content_open(other + 1));
}

static void look_at_umask(void *mask)
{
    *(mode_t *)mask = umask(0);
    umask(*(mode_t *)mask);
}

static void look_at_directory(void *text)
{
    assert_non_null(getcwd(text, 600));
}

static void test_directory_and_umask(void **state)
{
    (void)state;
    char before[600], after[600];
    mode_t mask;

    tic_apart_call(look_at_directory, before);
    assert_int_equal(chdir("/"), 0);
    mode_t theirs = umask(0777);
    tic_apart_call(look_at_directory, after);
    tic_apart_call(look_at_umask, &mask);
    umask(theirs);
    assert_string_equal(before, after);
    assert_int_equal(mask & S_IRWXU, 0);
    assert_int_equal(chdir(before), 0);
}

static void note_call(void *called)
{
    *(int *)called = 1;
}

/* Where nobody would make the call. */
static void test_child(void **state)
{
    (void)state;
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int called = 0;
        tic_apart_call(note_call, &called);
        _exit(called ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_without(void **state)
{
    (void)state;
    int fd;

    assert_true(tic_apart_is_here());
    tic_apart_call(open_ours, &fd);
    close_ours(&fd);
}

static void test_begin(void **state)
{
    (void)state;
    assert_int_equal(tic_apart_begin(), 0);
    assert_int_equal(tic_apart_begin(), 0);
    assert_false(tic_apart_is_here());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without),     cmocka_unit_test(test_begin), /* for the rest */
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_directory_and_umask),
        cmocka_unit_test(test_child),
    };

    tic_tmpdir_create(&dir);
    snprintf(path, sizeof(path), "%s/file", dir.path);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tic_tmpdir_remove(&dir);
    return failed;
}
