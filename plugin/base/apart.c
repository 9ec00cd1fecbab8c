/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beacon.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

enum { SERVERS = 4 }; /* a call may hang */

struct call {
    void (*make)(void *arg);
    void *arg;
    bool over;
    struct call *next;
};

/* Calls that wait for a thread of one table. Guarded by the lock. */
struct queue {
    struct call *first, **end;
    pthread_cond_t asked;
};

static struct {
    _Atomic pid_t process; /* 0: nobody is apart; immutable after tic_apart_begin; relaxed */
    int status;            /* of making the table; written by the first call */
    pthread_mutex_t lock;  /* a leaf */
    pthread_cond_t over;
    struct queue apart, beside;
} both = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .over = PTHREAD_COND_INITIALIZER,
          .apart = {.end = &both.apart.first, .asked = PTHREAD_COND_INITIALIZER},
          .beside = {.end = &both.beside.first, .asked = PTHREAD_COND_INITIALIZER}};

static __thread bool here __attribute__((tls_model("initial-exec")));

void tic_apart_inherit(void)
{
    here = true;
}

/* A child of fork has none of the threads. */
bool tic_apart_is_here(void)
{
    pid_t process = here ? 0 : atomic_load_explicit(&both.process, memory_order_relaxed);

    return process == 0 || process != getpid();
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Linux before 5.9. */
static int leave_and_close(int beacon)
{
    struct dirent *entry;

    if (unshare(CLONE_FILES) != 0)
        return -errno;
    DIR *descriptors = opendir("/proc/thread-self/fd");
    while (descriptors && (entry = readdir(descriptors))) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(descriptors) && fd != beacon)
            close(fd);
    }
    if (descriptors)
        closedir(descriptors);
    return 0;
}

/* Standard error stays, for messages. The others would keep their readers and writers waiting when
 * the program has closed them. */
static void keep_standard(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

/* What the program has open is none of ours, but for the beacon. Containers may refuse unshare(),
 * and allow close_range(). */
static int leave_table(void)
{
    const int beacon = tic_beacon_inherited(), first = STDERR_FILENO + 1;
    int status = 0;

    if (syscall(SYS_close_range, beacon < first ? first : beacon + 1, ~0u, CLOSE_RANGE_UNSHARE) !=
        0)
        status = leave_and_close(beacon);
    else if (beacon > first)
        syscall(SYS_close_range, first, beacon - 1, 0u);
    if (status)
        return status;
    if (unshare(CLONE_FS) == 0)
        umask(umask(0) & (S_IRWXG | S_IRWXO)); /* we read what we write */
    keep_standard();
    here = true;
    return 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void *serve(void *arg)
{
    struct queue *queue = arg;

    pthread_setname_np(pthread_self(), "tic-files");
    pthread_mutex_lock(&both.lock);
    for (;;) {
        while (!queue->first)
            pthread_cond_wait(&queue->asked, &both.lock);
        struct call *call = queue->first;
        queue->first = call->next;
        if (!queue->first)
            queue->end = &queue->first;
        pthread_mutex_unlock(&both.lock);
        call->make(call->arg);
        pthread_mutex_lock(&both.lock);
        call->over = true;
        pthread_cond_broadcast(&both.over);
    }
    return NULL;
}

static void *serve_apart(void *queue)
{
    here = true;
    return serve(queue);
}

static void hand_over(struct queue *queue, void (*make)(void *arg), void *arg)
{
    struct call call = {.make = make, .arg = arg};

    pthread_mutex_lock(&both.lock);
    *queue->end = &call;
    queue->end = &call.next;
    pthread_cond_signal(&queue->asked);
    while (!call.over)
        pthread_cond_wait(&both.over, &both.lock);
    pthread_mutex_unlock(&both.lock);
}

void tic_apart_call(void (*make)(void *arg), void *arg)
{
    if (tic_apart_is_here())
        make(arg);
    else
        hand_over(&both.apart, make, arg);
}

void tic_apart_call_beside(void (*make)(void *arg), void *arg)
{
    if (here)
        hand_over(&both.beside, make, arg);
    else
        make(arg);
}

int tic_apart_create_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, old;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* faults of its own (base/fault.h) */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int status = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -status;
}

static int start_server(void *(*run)(void *), struct queue *queue)
{
    pthread_t thread;
    int status = tic_apart_create_thread(&thread, run, queue);

    if (status == 0)
        pthread_detach(thread);
    return status;
}

/* What a thread creates has its table. */
static void begin(void *unused)
{
    (void)unused;
    both.status = leave_table();
    for (int i = 1; i < SERVERS && both.status == 0; i++)
        start_server(serve_apart, &both.apart); /* one is enough */
}

int tic_apart_begin(void)
{
    if (both.process == getpid())
        return 0;
    int status = start_server(serve, &both.beside);
    status = status ? status : start_server(serve, &both.apart);
    if (status)
        return status;
    hand_over(&both.apart, begin, NULL);
    both.process = both.status == 0 ? getpid() : 0;
    return both.status;
}
