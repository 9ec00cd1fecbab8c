/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/watch.h"

#include <errno.h>

#include "base/thread.h"

static void *look_often(void *arg)
{
    struct tic_watch *watch = arg;
    bool go_on = true;

    pthread_setname_np(pthread_self(), "tic-watch");
    tic_lock(&watch->lock);
    while (go_on && !watch->over) {
        struct timespec until = tic_after(watch->seconds);
        int waited = 0;
        while (!watch->over && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&watch->changed, &watch->lock.mutex, &until);
        if (watch->over)
            break;
        tic_unlock(&watch->lock);
        go_on = watch->look(watch->arg);
        tic_lock(&watch->lock);
    }
    tic_unlock(&watch->lock);
    return NULL;
}

void tic_watch_begin(struct tic_watch *watch, double seconds, bool (*look)(void *arg), void *arg)
{
    *watch = (struct tic_watch){.seconds = seconds, .look = look, .arg = arg};
    tic_lock_init(&watch->lock, TIC_RANK_IO);
    tic_cond_init(&watch->changed);
    watch->started = tic_thread_start(&watch->thread, look_often, watch) == 0;
}

void tic_watch_end(struct tic_watch *watch)
{
    tic_lock(&watch->lock);
    watch->over = true;
    pthread_cond_signal(&watch->changed);
    tic_unlock(&watch->lock);
    if (watch->started)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    tic_lock_fini(&watch->lock);
}
