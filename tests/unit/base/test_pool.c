/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that every item of a loop is worked on once, however many threads share it. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/pool.h"
#include "lib/testing.h"

enum { ITEMS = 1000, LOOPS = 300 };

static struct {
    _Atomic unsigned times[ITEMS];
    _Atomic unsigned others; /* items that helpers worked on */
    _Atomic bool helper_came;
    unsigned between;
    pthread_t caller;
} seen;

static void work(void *arg, unsigned long i)
{
    (void)arg;
    atomic_fetch_add(&seen.times[i], 1);
    if (!pthread_equal(pthread_self(), seen.caller))
        atomic_fetch_add(&seen.others, 1);
}

static void between(void *arg)
{
    (void)arg;
    assert_true(pthread_equal(pthread_self(), seen.caller));
    seen.between++;
}

static void check_loops(unsigned threads)
{
    struct tic_pool pool;

    tic_pool_init(&pool, threads);
    seen.caller = pthread_self();
    for (unsigned long loop = 0; loop < LOOPS; loop++) {
        unsigned long items = loop % 7 == 0 ? loop % 3 : ITEMS;
        memset(&seen.times, 0, sizeof(seen.times));
        tic_pool_run(&pool, items, work, between, NULL);
        for (unsigned long i = 0; i < ITEMS; i++)
            assert_int_equal(seen.times[i], i < items);
    }
    tic_pool_fini(&pool);
}

static void test_every_item_once(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads <= TIC_POOL_MOST + 1; threads++)
        check_loops(threads);
}

/* The first item of the caller waits until a helper has come: so one does come. */
static void work_together(void *arg, unsigned long i)
{
    (void)arg;
    (void)i;
    if (!pthread_equal(pthread_self(), seen.caller))
        atomic_store(&seen.helper_came, true);
    else
        while (!atomic_load(&seen.helper_came))
            ;
}

static void test_helpers_help(void **state)
{
    struct tic_pool pool;
    (void)state;
    tic_pool_init(&pool, 1);
    assert_int_equal(pool.count, 1);
    seen.caller = pthread_self();
    tic_pool_run(&pool, 2, work_together, between, NULL);
    tic_pool_fini(&pool);
}

/* The caller looks after other things while it waits for the last item of a helper. */
static void work_until_between(void *arg, unsigned long i)
{
    (void)i;
    work_together(arg, i);
    if (!pthread_equal(pthread_self(), seen.caller))
        while (!atomic_load((_Atomic bool *)arg))
            ;
}

static void note_between(void *arg)
{
    atomic_store((_Atomic bool *)arg, true);
}

static void test_waiting_is_used(void **state)
{
    struct tic_pool pool;
    _Atomic bool looked = false;
    (void)state;
    tic_pool_init(&pool, 1);
    atomic_store(&seen.helper_came, false);
    seen.caller = pthread_self();
    tic_pool_run(&pool, 2, work_until_between, note_between, (void *)&looked);
    assert_true(atomic_load(&looked));
    tic_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),
        cmocka_unit_test(test_helpers_help),
        cmocka_unit_test(test_waiting_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
