/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks reads of memory that is gone, and that faults of the program stay its own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/layout.h"
#include "base/thread.h"
#include "lib/testing.h"

enum { BYTES = 1 << 20 };

static sigjmp_buf own_landing;
static volatile int own_faults;

static void on_own_fault(int signal)
{
    (void)signal;
    own_faults++;
    siglongjmp(own_landing, 1);
}

static void on_other_fault(int signal)
{
    (void)signal;
}

/* The second half is gone. */
static struct tic_layout make_half(void)
{
    struct tic_layout layout = {.shape = {1, 1, {BYTES, 1, 1, 1}}, .stride = {1}};

    layout.base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(layout.base, MAP_FAILED);
    memset(layout.base, 1, BYTES);
    munmap(layout.base + BYTES / 2, BYTES / 2);
    return layout;
}

static void *read_half(void *arg)
{
    const struct tic_layout *layout = arg;
    char *bytes = malloc(BYTES);
    struct tic_layout to = tic_layout_packed(&layout->shape, bytes);
    uint64_t sum;
    int fd = open("/dev/null", O_WRONLY);

    tic_faults_begin();
    for (int i = 0; i < 3; i++) {
        assert_false(tic_layout_checksum_there(layout, &sum));
        assert_int_equal(tic_layout_pack(layout, bytes, &sum), -EFAULT);
        assert_int_equal(tic_layout_write(layout, fd, 0, &sum), -EFAULT);
        assert_true(tic_layout_checksum_there(&to, &sum));
        assert_int_equal(sum, tic_layout_checksum(&to));
    }
    tic_faults_end();
    close(fd);
    free(bytes);
    return NULL;
}

static void test_memory_that_is_gone(void **state)
{
    struct tic_layout layout = make_half();
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++) /* their signals are blocked */
        assert_int_equal(tic_thread_start(&threads[i], read_half, &layout), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    munmap(layout.base, BYTES / 2);
}

static void test_faults_of_the_program(void **state)
{
    struct sigaction action = {.sa_handler = on_own_fault}, before, now;
    struct tic_layout layout = make_half();
    uint64_t sum;

    (void)state;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before);
    tic_faults_begin();
    assert_false(tic_layout_checksum_there(&layout, &sum));
    if (sigsetjmp(own_landing, 1) == 0)
        ((volatile char *)layout.base)[BYTES - 1] = 1;
    assert_int_equal(own_faults, 1);
    tic_faults_end();
    sigaction(SIGSEGV, NULL, &now);
    assert_ptr_equal(now.sa_handler, on_own_fault);

    tic_faults_begin(); /* and what it does about them may change meanwhile */
    action.sa_handler = on_other_fault;
    sigaction(SIGSEGV, &action, NULL);
    tic_faults_end();
    sigaction(SIGSEGV, &before, &now);
    assert_ptr_equal(now.sa_handler, on_other_fault);
    munmap(layout.base, BYTES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_that_is_gone),
                                       cmocka_unit_test(test_faults_of_the_program)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
