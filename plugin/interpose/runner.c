/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/content.h"
#include "base/thread.h"

/* Seconds between looks at a thread. */
#define LOOK 0.002
/* How much one look at a thread that waits tells, depending on whether it can be seen for what, and
 * in whose code; and how much looks in a row must tell. A lock of ours that takes ten seconds to
 * get is not believed to come. */
enum { BUSY = 0, OURS = 1, ASLEEP = 10, WAITS = 1000, ENOUGH = 5000 };

struct runner {
    void (*run)(void *arg); /* NULL: it has returned */
    void *arg;
    long thread;             /* for the system */
    _Atomic bool left;       /* who gave it this work waits for it no longer */
    _Atomic unsigned inside; /* depth of the application's code */
    struct runner *next;     /* of all; immutable */
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t changed;
    struct runner *first; /* guarded by mutex; they stay until the process ends */
    bool ready;
} runners = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Gives work to runners and looks at them, while main() goes on. */
static struct {
    pthread_cond_t changed;
    void (*work)(void);        /* immutable once it was started */
    bool started;              /* guarded by the mutex of the runners */
    _Atomic bool wanted, busy; /* lowered under that mutex; busy: raised under it, before wanted is
                                  lowered */
} foreman;

static __thread struct runner *self __attribute__((tls_model("initial-exec"))); /* or NULL */

static void *serve(void *arg)
{
    struct runner *runner = arg;

    self = runner;
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
    atomic_store(&runner->left, false);
    pthread_cond_broadcast(&runners.changed);
    if (!fresh)
        return runner;
    if (tic_thread_start_beside(&thread, serve, fresh) != 0) {
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
    FILE *stream = tic_content_open(path);
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

bool tic_runner_waits(long thread)
{
    return look(thread) == WAITS;
}

/* Waits until it has run this, or is seen to wait for somebody. */
static void await_locked(const struct runner *runner)
{
    int told = 0;

    while (runner->run && told < ENOUGH) {
        struct timespec until = tic_after(LOOK);
        pthread_cond_timedwait(&runners.changed, &runners.mutex, &until);
        long thread = runner->thread;
        pthread_mutex_unlock(&runners.mutex);
        int more = look(thread);
        if (more != BUSY && atomic_load(&runner->inside) == 0)
            more = OURS;
        told = more == BUSY ? 0 : told + more;
        pthread_mutex_lock(&runners.mutex);
    }
}

static void await_or_leave_locked(struct runner *runner)
{
    await_locked(runner);
    if (runner->run)
        atomic_store(&runner->left, true);
}

static struct runner *find_awaited_locked(void)
{
    struct runner *runner = runners.first;

    while (runner && (!runner->run || atomic_load(&runner->left)))
        runner = runner->next;
    return runner;
}

void tic_runner_run(void (*run)(void *arg), void *arg)
{
    struct runner *runner;

    if (self) {
        run(arg);
        return;
    }
    pthread_mutex_lock(&runners.mutex);
    while ((runner = find_awaited_locked()) != NULL)
        await_or_leave_locked(runner);
    runner = start_locked(run, arg);
    if (runner)
        await_or_leave_locked(runner);
    pthread_mutex_unlock(&runners.mutex);
    if (!runner)
        run(arg);
}

void tic_runner_enter_application(void)
{
    if (self)
        atomic_fetch_add(&self->inside, 1);
}

void tic_runner_leave_application(void)
{
    if (self)
        atomic_fetch_sub(&self->inside, 1);
}

bool tic_runner_is_left(void)
{
    return self && atomic_load(&self->left);
}

/* ---- the foreman ----------------------------------------------------------------------------- */

static void *lead(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "tic-foreman");
    pthread_mutex_lock(&runners.mutex);
    for (;;) {
        while (!atomic_load(&foreman.wanted))
            pthread_cond_wait(&foreman.changed, &runners.mutex);
        atomic_store(&foreman.busy, true);
        atomic_store(&foreman.wanted, false);
        pthread_mutex_unlock(&runners.mutex);
        foreman.work();
        pthread_mutex_lock(&runners.mutex);
        atomic_store(&foreman.busy, false);
        pthread_cond_broadcast(&foreman.changed);
    }
    return NULL;
}

static bool start_foreman_locked(void (*work)(void))
{
    pthread_t thread;

    if (foreman.started)
        return true;
    tic_cond_init(&foreman.changed);
    foreman.work = work;
    foreman.started = tic_thread_start_beside(&thread, lead, NULL) == 0;
    if (foreman.started)
        pthread_detach(thread);
    return foreman.started;
}

bool tic_runner_ask(void (*work)(void))
{
    if (atomic_exchange(&foreman.wanted, true))
        return true;
    pthread_mutex_lock(&runners.mutex);
    bool started = start_foreman_locked(work);
    if (started)
        pthread_cond_broadcast(&foreman.changed);
    else
        atomic_store(&foreman.wanted, false);
    pthread_mutex_unlock(&runners.mutex);
    return started;
}

void tic_runner_await(void)
{
    if (!atomic_load(&foreman.wanted) && !atomic_load(&foreman.busy))
        return;
    pthread_mutex_lock(&runners.mutex);
    while (foreman.started && (atomic_load(&foreman.wanted) || atomic_load(&foreman.busy)))
        pthread_cond_wait(&foreman.changed, &runners.mutex);
    pthread_mutex_unlock(&runners.mutex);
}

/* ---- who waits for all of them ----------------------------------------------------------------
 */

bool tic_runner_settle(bool all)
{
    bool any = false;

    if (self)
        return false;
    tic_runner_await();
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

bool tic_runner_is_busy(void)
{
    bool busy = false;

    pthread_mutex_lock(&runners.mutex);
    for (const struct runner *runner = runners.first; runner && !busy; runner = runner->next)
        busy = runner->run != NULL;
    pthread_mutex_unlock(&runners.mutex);
    return busy;
}
