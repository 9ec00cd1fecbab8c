/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A few threads that help one thread with a loop. All functions: that one thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

enum { TIC_POOL_MOST = 7 };

typedef void (*tic_pool_work)(void *arg, unsigned long i);

struct tic_pool {
    pthread_t threads[TIC_POOL_MOST];
    unsigned count; /* of threads */
    struct tic_lock lock;
    pthread_cond_t begun, ended; /* with lock */
    /* guarded by lock */
    bool stopping;
    uint64_t loops;     /* begun so far */
    unsigned busy;      /* threads within the loop */
    tic_pool_work work; /* NULL: nobody may join the loop (any more) */
    void *arg;
    unsigned long items;
    /* relaxed: the first item that nobody has taken */
    _Atomic unsigned long next;
};

/* With so many threads, or as many as there can be. */
void tic_pool_init(struct tic_pool *pool, unsigned threads);
void tic_pool_fini(struct tic_pool *pool);
/* work(arg, i) for all i below `items`, each once, on any of the threads and on this one, which
 * calls between(arg) after each of its own and while it waits for the others. */
void tic_pool_run(struct tic_pool *pool, unsigned long items, tic_pool_work work,
                  void (*between)(void *arg), void *arg);
