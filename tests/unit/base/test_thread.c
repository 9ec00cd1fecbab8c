/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the processor time of threads of ours is counted while they run and afterwards. */
#include <stdatomic.h>

#include "base/thread.h"
#include "lib/testing.h"

#define BUSY UINT64_C(2000000) /* nanoseconds */

static pthread_barrier_t worked, seen;

static void *work(void *unused)
{
    while (tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID) < BUSY)
        ;
    pthread_barrier_wait(&worked);
    pthread_barrier_wait(&seen);
    return unused;
}

static void test_processor_time(void **state)
{
    uint64_t before = tic_thread_processor_time();
    pthread_t threads[2];

    (void)state;
    pthread_barrier_init(&worked, NULL, 3);
    pthread_barrier_init(&seen, NULL, 3);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(tic_thread_start(&threads[i], work, NULL), 0);
    pthread_barrier_wait(&worked);
    uint64_t running = tic_thread_processor_time();
    assert_true(running - before >= 2 * BUSY);
    pthread_barrier_wait(&seen);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    uint64_t ended = tic_thread_processor_time();
    assert_true(ended >= running);
    assert_true(tic_thread_processor_time() == ended);
}

static void test_processors(void **state)
{
    (void)state;
    assert_true(tic_thread_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processor_time),
        cmocka_unit_test(test_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
