/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that no two threads end accesses on one datum at the same time, that all are ended, and
 * that nobody waits for another. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "interpose/release.h"
#include "lib/testing.h"
#include "real/real.h"
#include "session/nodes.h"

enum { DATA = 2, THREADS = 4, TIMES = 20000 };

struct tic_real tic_real;
bool tic_nodes_several = true;
__thread int tic_guard __attribute__((tls_model("initial-exec")));

bool tic_real_resolve(const char **missing)
{
    (void)missing;
    return true;
}

static int data_of[DATA];
static _Atomic unsigned ended[DATA], overlaps, with_guard;
static pthread_mutex_t inside[DATA];
static void (*begins)(unsigned data, int node); /* what waited for the access */

static starpu_data_handle_t data(unsigned i)
{
    return (starpu_data_handle_t)&data_of[i];
}

static unsigned index_of(starpu_data_handle_t of)
{
    return (unsigned)((int *)of - data_of);
}

/* As in StarPU, where the second one of two would lose count. Its own thread may come again. */
static void end_access(starpu_data_handle_t of, int node)
{
    unsigned i = index_of(of);
    bool own = pthread_mutex_trylock(&inside[i]) == 0;

    atomic_fetch_add(&overlaps, !own);
    atomic_fetch_add(&with_guard, tic_guard > 0);
    if (begins)
        begins(i, node);
    atomic_fetch_add(&ended[i], 1);
    if (own)
        pthread_mutex_unlock(&inside[i]);
}

static void end_at_home(starpu_data_handle_t of)
{
    end_access(of, TIC_NODE_HOME);
}

static int set_up(void **state)
{
    pthread_mutexattr_t recursive;

    (void)state;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (unsigned i = 0; i < DATA; i++) {
        atomic_store(&ended[i], 0);
        pthread_mutex_init(&inside[i], &recursive);
    }
    atomic_store(&overlaps, 0);
    atomic_store(&with_guard, 0);
    begins = NULL;
    tic_real.starpu_data_release_on_node = end_access;
    tic_real.starpu_data_release = end_at_home;
    return 0;
}

static void *end_many(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < TIMES; i++)
        tic_release(data(i % DATA), i % 3 ? 0 : TIC_NODE_HOME);
    return NULL;
}

static void test_many(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, end_many, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < DATA; i++)
        assert_int_equal(atomic_load(&ended[i]), THREADS * TIMES / DATA);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_int_equal(atomic_load(&with_guard), THREADS * TIMES);
}

static sem_t is_inside, may_end;

static void stay(unsigned of, int node)
{
    if (of == 0 && node == 1) {
        sem_post(&is_inside);
        sem_wait(&may_end);
    }
}

static void *end_one(void *arg)
{
    tic_release(*(starpu_data_handle_t *)arg, 1);
    return NULL;
}

static void test_left(void **state)
{
    starpu_data_handle_t first = data(0);
    pthread_t thread;

    (void)state;
    sem_init(&is_inside, 0, 0);
    sem_init(&may_end, 0, 0);
    begins = stay;
    assert_int_equal(pthread_create(&thread, NULL, end_one, &first), 0);
    sem_wait(&is_inside);
    tic_release(data(0), 0); /* comes back, as the other thread goes on with it */
    tic_release(data(0), TIC_NODE_HOME);
    assert_int_equal(atomic_load(&ended[0]), 0);
    tic_release(data(1), 0); /* other data waits for nobody */
    assert_int_equal(atomic_load(&ended[1]), 1);
    sem_post(&may_end);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&ended[0]), 3);
    assert_int_equal(atomic_load(&overlaps), 0);
}

static pthread_barrier_t both_inside;

/* Two callbacks that end each the access for which the other has been waiting, and its own. */
static void cross(unsigned of, int node)
{
    if (node != 1)
        return;
    pthread_barrier_wait(&both_inside);
    tic_release(data(1 - of), 0);
    tic_release(data(of), 0);
}

static void test_crossed(void **state)
{
    starpu_data_handle_t second = data(1);
    pthread_t thread;

    (void)state;
    begins = cross;
    pthread_barrier_init(&both_inside, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, end_one, &second), 0);
    tic_release(data(0), 1);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&ended[0]), 3);
    assert_int_equal(atomic_load(&ended[1]), 3);
    assert_int_equal(atomic_load(&overlaps), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_many, set_up),
        cmocka_unit_test_setup(test_left, set_up),
        cmocka_unit_test_setup(test_crossed, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
