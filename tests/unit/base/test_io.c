/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that nobody waits for a call that hangs: calls are held by a lock of the test. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/thread.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"

enum { BYTES = 3 * TIC_IO_SMALL };
#define LONG 1000.0 /* seconds */
#define SHORT 0.01

/* An empty file, where tests have one. */
static struct tic_tmpdir dir;
static int fd;

static int set_up(void **state)
{
    char path[600];

    (void)state;
    tic_tmpdir_create(&dir);
    snprintf(path, sizeof(path), "%s/file", dir.path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_io_stop();
    tic_io_close(fd);
    tic_tmpdir_remove(&dir);
    return 0;
}

static void check_write(size_t bytes, uint64_t offset)
{
    char *from = malloc(bytes), *back = malloc(bytes);

    for (size_t i = 0; i < bytes; i++)
        from[i] = (char)(i * 7 + offset);
    struct iovec pieces[3] = {{from, bytes / 3}, {from, 0}, {from + bytes / 3, bytes - bytes / 3}};
    assert_int_equal(tic_io_write(fd, pieces, 3, offset), 0);
    for (size_t got = 0; got < bytes;) {
        ssize_t one = tic_io_read(fd, back + got, bytes - got, offset + got);
        assert_true(one > 0);
        got += (size_t)one;
    }
    assert_memory_equal(from, back, bytes);
    free(from);
    free(back);
}

static void test_write_and_read(void **state)
{
    (void)state;

    for (int started = 0; started < 2; started++) {
        if (started)
            assert_int_equal(tic_io_start(LONG), 0);
        check_write(1, 5);
        check_write(TIC_IO_SMALL, 100);
        check_write(TIC_IO_SMALL + 1, 3);
        check_write(3 * TIC_IO_PER_READ, 77);
        char byte = 'x';
        struct iovec piece = {.iov_base = &byte, .iov_len = 1};
        assert_int_equal(tic_io_write(-1, &piece, 1, 0), -EBADF);
        assert_int_equal(tic_io_read(-1, &byte, 1, 0), -EBADF);
        assert_int_equal(tic_io_read(fd, &byte, 1, 1 << 30), 0);
    }
}

/* ---- a call that hangs ----------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    unsigned passed;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};

static void pass_gate(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&gate.lock);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.passed++;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void open_gate(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void await_passed(unsigned passed)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.passed < passed)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    while (tic_io_is_stuck())
        sched_yield();
}

/* With threads, of which one has begun a call that hangs. */
static void start_and_hang(void)
{
    gate.passed = 0;
    open_gate(false);
    assert_int_equal(tic_io_start(SHORT), 0);
    do
        assert_int_equal(tic_io_call(pass_gate, NULL), -ETIME);
    while (!tic_io_is_stuck());
}

static void test_a_call_that_hangs(void **state)
{
    (void)state;
    char byte = 'x';
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};

    start_and_hang();
    assert_int_equal(tic_io_write(fd, &piece, 1, 0), -ETIME); /* at once */
    assert_int_equal(tic_io_read(fd, &byte, 1, 0), -ETIME);
    assert_int_equal(tic_io_call(pass_gate, NULL), -ETIME);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    open_gate(true);
    await_passed(1);
    tic_io_stop();
    assert_int_equal(tic_io_start(LONG), 0);
    assert_int_equal(tic_io_write(fd, &piece, 1, 0), 0);
    assert_int_equal(tic_io_call(pass_gate, NULL), 0);
}

static void test_stop_and_start_while_it_hangs(void **state)
{
    (void)state;
    start_and_hang();
    tic_io_stop();
    assert_int_equal(tic_io_start(SHORT), 0);
    assert_int_equal(tic_io_call(pass_gate, NULL), -ETIME); /* still */
    tic_io_stop();
    open_gate(true);
    await_passed(1); /* its thread ends, too */
    assert_int_equal(tic_io_start(LONG), 0);
    for (unsigned i = 0; i < 3 * TIC_IO_THREADS; i++)
        assert_int_equal(tic_io_call(pass_gate, NULL), 0);
    assert_int_equal(gate.passed, 1 + 3 * TIC_IO_THREADS);
    tic_io_stop();
}

/* A thread of ours whose calls nobody waits for makes them itself. */
static void test_own_calls(void **state)
{
    (void)state;
    char byte = 'x';
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    uint64_t handed = tic_io_handed();

    assert_int_equal(tic_io_start(LONG), 0);
    for (int own = 1; own >= 0; own--) {
        assert_int_equal(tic_io_set_own(own), !own);
        assert_int_equal(tic_io_write(fd, &piece, 1, 0), 0);
        assert_int_equal(tic_io_read(fd, &byte, 1, 0), 1);
        assert_int_equal(tic_io_handed() - handed, own ? 0 : 2);
    }
}

/* What a file that is mapped cannot take by memory, the kernel is asked for, which says why not. */
static void test_maps(void **state)
{
    (void)state;
    char byte = 'x', back = 0;
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};

    tic_io_use_maps(true);
    assert_int_equal(ftruncate(fd, 8192), 0);
    tic_io_map(fd);
    assert_int_equal(tic_io_write(fd, &piece, 1, 5000), 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(tic_io_write(fd, &piece, 1, 5000), 0);
    assert_int_equal(tic_io_read(fd, &back, 1, 5000), 1);
    assert_int_equal(back, 'x');
    tic_io_use_maps(false);
}

/* ---- many at a time -------------------------------------------------------------------------- */

static void *write_often(void *arg)
{
    uint64_t mine = (uint64_t)(uintptr_t)arg;

    for (unsigned i = 0; i < 200; i++)
        check_write(i % 2 ? 100 : BYTES, mine * BYTES);
    return NULL;
}

static void test_more_callers_than_threads(void **state)
{
    (void)state;
    enum { CALLERS = 2 * TIC_IO_THREADS };
    pthread_t threads[CALLERS];

    assert_int_equal(tic_io_start(LONG), 0);
    for (uintptr_t i = 0; i < CALLERS; i++)
        assert_int_equal(tic_thread_start(&threads[i], write_often, (void *)i), 0);
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_write_and_read),
        TEST(test_a_call_that_hangs),
        TEST(test_stop_and_start_while_it_hangs),
        TEST(test_own_calls),
        TEST(test_maps),
        TEST(test_more_callers_than_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
