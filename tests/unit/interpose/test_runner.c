/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks who waits for a runner: as long as code of ours waits in it for a lock; not for the
 * application's code that waits for the caller; one at a time; and one after the other what comes
 * of one task. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "interpose/runner.h"
#include "interpose/turns.h"
#include "lib/testing.h"
#include "session/task.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun, go_on;
static atomic_uint ended, inside, most_inside;

/* Another thread of ours: it keeps the lock until the runner has been seen to wait for it for
 * longer than the application's code may. */
static void *keep_lock(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    sem_post(&begun);
    sem_wait(&go_on);
    for (unsigned seen = 0; seen < 20; seen += tic_runner_waits(atomic_load(&inside)))
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void take_lock(void *arg)
{
    (void)arg;
    atomic_store(&inside, (unsigned)gettid());
    sem_post(&go_on);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&ended, 1);
}

static void test_lock_of_ours(void **state)
{
    pthread_t thread;

    (void)state;
    atomic_store(&ended, 0);
    assert_int_equal(pthread_create(&thread, NULL, keep_lock, NULL), 0);
    sem_wait(&begun);
    tic_runner_run(take_lock, NULL);
    assert_int_equal(atomic_load(&ended), 1);
    pthread_join(thread, NULL);
}

static void await_caller(void *arg)
{
    (void)arg;
    tic_runner_enter_application();
    sem_wait(&go_on);
    tic_runner_leave_application();
    assert_true(tic_runner_is_left());
    atomic_fetch_add(&ended, 1);
}

static void test_application_waits_for_the_caller(void **state)
{
    (void)state;
    atomic_store(&ended, 0);
    tic_runner_run(await_caller, NULL);
    assert_int_equal(atomic_load(&ended), 0);
    sem_post(&go_on);
    tic_runner_settle(true);
    assert_int_equal(atomic_load(&ended), 1);
}

/* ---- several callers ------------------------------------------------------------------------- */

enum { CALLERS = 3, TIMES = 200 };

static void count_inside(void *arg)
{
    unsigned now = atomic_fetch_add(&inside, 1) + 1;

    (void)arg;
    if (now > atomic_load(&most_inside))
        atomic_store(&most_inside, now);
    sched_yield();
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&ended, 1);
}

static void *call_often(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < TIMES; i++)
        tic_runner_run(count_inside, NULL);
    return NULL;
}

static void test_one_at_a_time(void **state)
{
    pthread_t threads[CALLERS];

    (void)state;
    atomic_store(&ended, 0);
    atomic_store(&inside, 0);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&ended), CALLERS * TIMES);
    assert_int_equal(atomic_load(&most_inside), 1);
}

/* ---- one task -------------------------------------------------------------------------------- */

enum { TASK = 5 };

static void first_waits(void *arg)
{
    struct tic_turn turn;

    (void)arg;
    tic_turn_begin(&turn, TASK ^ TIC_PROLOGUE_FIRST);
    tic_runner_enter_application();
    sem_wait(&go_on);
    assert_int_equal(atomic_fetch_add(&ended, 1), 0);
    tic_runner_leave_application();
    tic_turn_end(&turn);
}

static void pop_follows(void *arg)
{
    struct tic_turn turn;

    (void)arg;
    tic_turn_begin(&turn, TASK ^ TIC_PROLOGUE_POP);
    assert_int_equal(atomic_fetch_add(&ended, 1), 1);
    tic_turn_end(&turn);
}

static void of_another(void *arg)
{
    struct tic_turn turn;

    (void)arg;
    tic_turn_begin(&turn, (TASK + 1) ^ TIC_PROLOGUE_POP);
    sem_post(&begun);
    tic_turn_end(&turn);
}

static void test_prologues_of_one_task(void **state)
{
    (void)state;
    atomic_store(&ended, 0);
    tic_runner_run(first_waits, NULL);
    tic_runner_run(pop_follows, NULL);
    tic_runner_run(of_another, NULL);
    assert_int_equal(sem_trywait(&begun), 0);
    assert_int_equal(atomic_load(&ended), 0);
    sem_post(&go_on);
    tic_runner_settle(true);
    assert_int_equal(atomic_load(&ended), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock_of_ours),
        cmocka_unit_test(test_application_waits_for_the_caller),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_prologues_of_one_task),
    };

    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    return cmocka_run_group_tests_name("runner", tests, NULL, NULL);
}
