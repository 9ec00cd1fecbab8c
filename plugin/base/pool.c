/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/pool.h"

#include "base/thread.h"

/* Seconds between looks at what else there is to do. */
#define POLL 0.001

static void take_items(struct tic_pool *pool, tic_pool_work work, void (*between)(void *arg),
                       void *arg, unsigned long items)
{
    unsigned long i;

    while ((i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < items) {
        work(arg, i);
        if (between)
            between(arg);
    }
}

static void join_loop_locked(struct tic_pool *pool) TIC_REQUIRES(pool->lock)
{
    tic_pool_work work = pool->work;
    unsigned long items = pool->items;
    void *arg = pool->arg;

    pool->busy++;
    tic_unlock(&pool->lock);
    take_items(pool, work, NULL, arg, items);
    tic_lock(&pool->lock);
    if (--pool->busy == 0)
        pthread_cond_signal(&pool->ended);
}

static void *help(void *arg)
{
    struct tic_pool *pool = arg;
    uint64_t seen = 0;

    pthread_setname_np(pthread_self(), "tic-saver");
    tic_lock(&pool->lock);
    while (!pool->stopping) {
        if (pool->work && pool->loops != seen) {
            seen = pool->loops;
            join_loop_locked(pool);
        } else {
            pthread_cond_wait(&pool->begun, &pool->lock.mutex);
        }
    }
    tic_unlock(&pool->lock);
    return NULL;
}

void tic_pool_init(struct tic_pool *pool, unsigned threads)
{
    *pool = (struct tic_pool){.count = 0};
    tic_lock_init(&pool->lock, TIC_RANK_POOL);
    tic_cond_init(&pool->begun);
    tic_cond_init(&pool->ended);
    while (pool->count < threads && pool->count < TIC_POOL_MOST &&
           tic_thread_start(&pool->threads[pool->count], help, pool) == 0)
        pool->count++;
}

void tic_pool_fini(struct tic_pool *pool)
{
    tic_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->begun);
    tic_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->begun);
    pthread_cond_destroy(&pool->ended);
    tic_lock_fini(&pool->lock);
}

static void begin(struct tic_pool *pool, unsigned long items, tic_pool_work work, void *arg)
{
    tic_lock(&pool->lock);
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->work = work;
    pool->arg = arg;
    pool->items = items;
    pool->loops++;
    pthread_cond_broadcast(&pool->begun);
    tic_unlock(&pool->lock);
}

/* Who has not come by now does not come any more: all items are taken. */
static void end(struct tic_pool *pool, void (*between)(void *arg), void *arg)
{
    tic_lock(&pool->lock);
    pool->work = NULL;
    while (pool->busy > 0) {
        struct timespec until = tic_after(POLL);
        pthread_cond_timedwait(&pool->ended, &pool->lock.mutex, &until);
        tic_unlock(&pool->lock);
        between(arg);
        tic_lock(&pool->lock);
    }
    tic_unlock(&pool->lock);
}

void tic_pool_run(struct tic_pool *pool, unsigned long items, tic_pool_work work,
                  void (*between)(void *arg), void *arg)
{
    bool helped = pool->count > 0 && items > 1;

    if (helped)
        begin(pool, items, work, arg);
    else
        atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    take_items(pool, work, between, arg, items);
    if (helped)
        end(pool, between, arg);
}
