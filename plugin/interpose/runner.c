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
    long thread; /* for the system */
    struct runner *next;
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t changed;
    struct runner *idle; /* guarded by mutex */
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
        runner->next = runners.idle;
        runners.idle = runner;
        pthread_cond_broadcast(&runners.changed);
    }
    return NULL;
}

/* One that is idle, or a new one, which gets the work; NULL: none. */
static struct runner *start_locked(void (*run)(void *arg), void *arg)
{
    struct runner *runner = runners.idle;
    pthread_t thread;

    if (!runners.ready)
        tic_cond_init(&runners.changed);
    runners.ready = true;
    if (runner) {
        runners.idle = runner->next;
        runner->run = run;
        runner->arg = arg;
        pthread_cond_broadcast(&runners.changed);
        return runner;
    }
    runner = calloc(1, sizeof(*runner));
    if (!runner)
        return NULL;
    runner->run = run;
    runner->arg = arg;
    if (tic_thread_start(&thread, serve, runner) != 0) {
        free(runner);
        return NULL;
    }
    pthread_detach(thread);
    return runner;
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

void tic_runner_run(void (*run)(void *arg), void *arg)
{
    int told = 0;

    if (is_runner) {
        run(arg);
        return;
    }
    pthread_mutex_lock(&runners.mutex);
    const struct runner *runner = start_locked(run, arg);
    while (runner && runner->run && told < ENOUGH) {
        struct timespec until = tic_after(LOOK);
        pthread_cond_timedwait(&runners.changed, &runners.mutex, &until);
        long thread = runner->thread;
        if (!runner->run)
            break;
        pthread_mutex_unlock(&runners.mutex);
        int more = look(thread);
        told = more == BUSY ? 0 : told + more;
        pthread_mutex_lock(&runners.mutex);
    }
    pthread_mutex_unlock(&runners.mutex);
    if (!runner)
        run(arg);
}
