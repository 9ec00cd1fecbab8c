/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"

/* Seconds between looks at a thread. */
#define LOOK 0.002
/* How much one look at a thread that waits tells, depending on whether it can be seen for what; and
 * how much looks in a row must tell. */
enum { BUSY = 0, ASLEEP = 1, WAITS = 100, ENOUGH = 500 };

struct runner {
    void (*run)(void *arg); /* NULL: it has returned */
    void *arg;
    long thread;         /* for the system */
    struct runner *next; /* of all; immutable */
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t changed;
    struct runner *first; /* guarded by mutex; they stay until the process ends */
    bool ready;
} runners = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static __thread bool is_runner __attribute__((tls_model("initial-exec")));

static void *serve(void *arg)
{
    struct runner *runner = arg;

    is_runner = true;
    pthread_setname_np(pthread_self(), "tic-callback");
    pthread_mutex_lock(&runners.mutex);
    runner->thread = syscall(SYS_gettid);
    for (;;) {
        while (!runner->run)
            pthread_cond_wait(&runners.changed, &runners.mutex);
        pthread_mutex_unlock(&runners.mutex);
        runner->run(runner->arg);
        pthread_mutex_lock(&runners.mutex);
        runner->run = NULL;
        pthread_cond_broadcast(&runners.changed);
    }
    return NULL;
}

static struct runner *find_idle_locked(void)
{
    struct runner *runner = runners.first;

    while (runner && runner->run)
        runner = runner->next;
    return runner;
}

/* One that is idle, or a new one, which gets the work; NULL: none. */
static struct runner *start_locked(void (*run)(void *arg), void *arg)
{
    struct runner *runner = find_idle_locked(), *fresh = NULL;
    pthread_t thread;

    if (!runners.ready)
        tic_cond_init(&runners.changed);
    runners.ready = true;
    if (!runner)
        runner = fresh = calloc(1, sizeof(*runner));
    if (!runner)
        return NULL;
    runner->run = run;
    runner->arg = arg;
    pthread_cond_broadcast(&runners.changed);
    if (!fresh)
        return runner;
    if (tic_thread_start(&thread, serve, fresh) != 0) {
        free(fresh);
        return NULL;
    }
    pthread_detach(thread);
    fresh->next = runners.first;
    runners.first = fresh;
    return fresh;
}

/* A value from a file about a thread of this process; it stays as it is if that cannot be read. */
static void read_about(long thread, const char *file, const char *format, void *value)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%ld/%s", thread, file);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return;
    if (fscanf(stream, format, value) != 1)
        rewind(stream);
    fclose(stream);
}

static int look(long thread)
{
    long call = -1;
    char state = '\0';

    if (thread == 0)
        return BUSY;
    read_about(thread, "stat", "%*d (%*[^)]) %c", &state);
    if (state != 'S')
        return BUSY;
    read_about(thread, "syscall", "%ld", &call);
    return call == SYS_futex ? WAITS
           : call >= 0       ? BUSY /* it sleeps, or reads: that ends */
                             : ASLEEP;
}

/* Waits until it has run this, or is seen to wait for somebody. Only the caller gives it work. */
static void await_locked(const struct runner *runner)
{
    int told = 0;

    while (runner->run && told < ENOUGH) {
        struct timespec until = tic_after(LOOK);
        pthread_cond_timedwait(&runners.changed, &runners.mutex, &until);
        long thread = runner->thread;
        pthread_mutex_unlock(&runners.mutex);
        int more = look(thread);
        told = more == BUSY ? 0 : told + more;
        pthread_mutex_lock(&runners.mutex);
    }
}

void tic_runner_run(void (*run)(void *arg), void *arg)
{
    if (is_runner) {
        run(arg);
        return;
    }
    pthread_mutex_lock(&runners.mutex);
    const struct runner *runner = start_locked(run, arg);
    if (runner)
        await_locked(runner);
    pthread_mutex_unlock(&runners.mutex);
    if (!runner)
        run(arg);
}

bool tic_runner_settle(bool all)
{
    bool any = false;

    if (is_runner)
        return false;
    pthread_mutex_lock(&runners.mutex);
    for (const struct runner *runner = runners.first; runner; runner = runner->next) {
        any |= runner->run != NULL;
        await_locked(runner);
        while (all && runner->run)
            pthread_cond_wait(&runners.changed, &runners.mutex);
    }
    pthread_mutex_unlock(&runners.mutex);
    return any;
}
