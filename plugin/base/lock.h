/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All locks of starpu-tic, in the order in which they may be taken (a lower rank first). Debug
 * builds check it. A handle's lock is held while an interface packs its value; no other lock is
 * held across a call into StarPU, HDF5 or the application. */
#pragma once

#include <pthread.h>

enum tic_lock_rank {
    TIC_RANK_SUBMIT,     /* submissions: what the program did so far */
    TIC_RANK_STATICS,    /* memory that nobody has registered */
    TIC_RANK_GRAPH,      /* registry of handles, structural changes */
    TIC_RANK_SPAWNS,     /* spawned tasks */
    TIC_RANK_HANDLE,     /* one handle's save state */
    TIC_RANK_CHECKPOINT, /* wake-ups and requests of the checkpoint thread */
    TIC_RANK_REUSE,      /* rows of replaced results */
    TIC_RANK_ROWS,       /* row allocation */
    TIC_RANK_LOG,        /* blocks of the event log */
    TIC_RANK_SAME,       /* values that were saved lately */
    TIC_RANK_LOOKS,      /* data that main() may want to look at */
    TIC_RANK_POOL,       /* a loop that several threads share */
    TIC_RANK_IO,         /* calls of the file system */
    TIC_RANK_THREADS,    /* which threads of ours run */
    TIC_RANK_TRACE,      /* rare events of the trace */
};

/* What clang's -Wthread-safety checks (tests/thread-safety): that locks are given back on every
 * path, and that functions that need one are called with it. In C it cannot say which fields a lock
 * of the same struct guards. */
#ifdef __clang__
#define TIC_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TIC_THREAD_SAFETY(attribute)
#endif
#define TIC_REQUIRES(lock) TIC_THREAD_SAFETY(requires_capability(lock))

struct TIC_THREAD_SAFETY(capability("lock")) tic_lock {
    pthread_mutex_t mutex;
    enum tic_lock_rank rank; /* immutable after init */
};

#ifdef TIC_DEBUG
void tic_lock_check_acquire(enum tic_lock_rank rank);
void tic_lock_check_release(enum tic_lock_rank rank);
#else
#define tic_lock_check_acquire(rank) ((void)0)
#define tic_lock_check_release(rank) ((void)0)
#endif

#define TIC_LOCK_INITIALIZER(rank_) {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_)}

static inline void tic_lock_init(struct tic_lock *lock, enum tic_lock_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

static inline void tic_lock_fini(struct tic_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static inline void tic_lock(struct tic_lock *lock) TIC_THREAD_SAFETY(acquire_capability(*lock))
    TIC_THREAD_SAFETY(no_thread_safety_analysis)
{
    tic_lock_check_acquire(lock->rank);
    pthread_mutex_lock(&lock->mutex);
}

static inline void tic_unlock(struct tic_lock *lock) TIC_THREAD_SAFETY(release_capability(*lock))
    TIC_THREAD_SAFETY(no_thread_safety_analysis)
{
    pthread_mutex_unlock(&lock->mutex);
    tic_lock_check_release(lock->rank);
}
