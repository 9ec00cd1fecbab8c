/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that looks after those who may wait for a file system for ever, and cannot say so
 * themselves. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"

struct tic_watch {
    pthread_t thread;
    struct tic_lock lock;
    pthread_cond_t changed;
    bool started, over; /* over: guarded by lock */
    double seconds;
    bool (*look)(void *arg);
    void *arg;
};

/* Calls look() after so many seconds, again and again while it is true, until the end. Without
 * memory nobody looks. One thread, as the next one. */
void tic_watch_begin(struct tic_watch *watch, double seconds, bool (*look)(void *arg), void *arg);
/* Waits for a look under way. */
void tic_watch_end(struct tic_watch *watch);
