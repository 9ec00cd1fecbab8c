/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/fault.h"
#include "base/lock.h"
#include "base/thread.h"
#include "base/transfer.h"

enum state {
    IDLE,
    TAKEN, /* by a caller */
    ASKED,
    BUSY,
    DONE,
    LEFT, /* who called has given up */
};

/* A read or write. */
struct transfer {
    int fd, count;
    struct iovec *pieces;
    void *bytes;
    size_t size;
    uint64_t offset;
    ssize_t status;
};

struct agent {
    pthread_t thread;
    pthread_cond_t begun, ended; /* with the lock */
    /* guarded by the lock */
    enum state state;
    bool closes; /* LEFT: the file is to be closed */
    bool over;   /* its thread has ended */
    struct agent *next_idle;
    /* its caller's until it is ASKED, then its own until it is DONE */
    void (*call)(void *arg);
    void *arg; /* the transfer, if it is one */
    struct transfer transfer;
    struct iovec pieces[TIC_IO_PIECES];
    char bytes[TIC_IO_PER_READ];
};

static struct {
    struct tic_lock lock;
    pthread_cond_t freed;   /* with the lock */
    double patience;        /* immutable while there are agents */
    _Atomic unsigned stuck; /* changes under the lock; relaxed */
    /* guarded by the lock */
    struct agent *agents[TIC_IO_THREADS], *idle;
    bool stopping;
    bool ready; /* owner thread: the condition is initialized */
} io = {.lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = TIC_RANK_IO}};

static _Atomic bool started;                                         /* there are agents; relaxed */
static __thread bool own __attribute__((tls_model("initial-exec"))); /* makes its calls itself */
static _Atomic uint64_t handed;                                      /* calls; relaxed */

bool tic_io_set_own(bool is_own)
{
    bool before = own;

    own = is_own;
    return before;
}

static bool has_agents(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed);
}

bool tic_io_is_stuck(void)
{
    return atomic_load_explicit(&io.stuck, memory_order_relaxed) > 0;
}

/* ---- files that are memory ------------------------------------------------------------------ */

enum { MAPS = 1024 }; /* by descriptor, which are small; others are not mapped */

static bool uses_maps; /* immutable once threads of ours run */
static struct {
    _Atomic(char *) base; /* NULL: not mapped; release: size is there */
    uint64_t size;
} maps[MAPS];

void tic_io_use_maps(bool is_to)
{
    uses_maps = is_to;
}

void tic_io_map(int fd)
{
    struct stat info;

    if (!uses_maps || fd >= MAPS || fstat(fd, &info) != 0 || info.st_size == 0)
        return;
    void *base = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    maps[fd].size = (uint64_t)info.st_size;
    if (base != MAP_FAILED)
        atomic_store(&maps[fd].base, base);
}

static void unmap(int fd)
{
    char *base = fd < MAPS ? atomic_exchange(&maps[fd].base, NULL) : NULL;

    if (base)
        munmap(base, maps[fd].size);
}

static uint64_t sum(const struct iovec *pieces, int count)
{
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

struct copying {
    char *to;
    const struct iovec *pieces;
    int count;
};

static void copy_pieces(void *arg)
{
    const struct copying *copying = arg;
    char *to = copying->to;

    for (int i = 0; i < copying->count; to += copying->pieces[i++].iov_len)
        memcpy(to, copying->pieces[i].iov_base, copying->pieces[i].iov_len);
}

/* False: this file is not memory, or the kernel copies so much faster than pages can be faulted in.
 * After a fault (SIGBUS) the kernel tells whether the disk is full. */
static bool write_map(int fd, const struct iovec *pieces, int count, uint64_t offset)
{
    char *base = fd >= 0 && fd < MAPS ? atomic_load(&maps[fd].base) : NULL;
    uint64_t bytes = sum(pieces, count);
    struct copying copying = {base + offset, pieces, count};

    if (!base || tic_apart_is_here() || bytes > TIC_IO_SMALL || offset + bytes > maps[fd].size)
        return false;
    tic_faults_begin();
    bool copied = tic_fault_try(copy_pieces, &copying);
    tic_faults_end();
    return copied;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void write_transfer(void *arg)
{
    struct transfer *transfer = arg;

    transfer->status =
        tic_transfer_write(transfer->fd, transfer->pieces, transfer->count, transfer->offset);
}

static void read_transfer(void *arg)
{
    struct transfer *transfer = arg;

    transfer->status =
        tic_transfer_read(transfer->fd, transfer->bytes, transfer->size, transfer->offset);
}

static void close_file(void *fd)
{
    unmap(*(int *)fd);
    close(*(int *)fd);
}

/* ---- agents --------------------------------------------------------------------------------- */

static void free_locked(struct agent *agent) TIC_REQUIRES(io.lock)
{
    agent->state = IDLE;
    if (agent->over)
        return;
    agent->next_idle = io.idle;
    io.idle = agent;
    pthread_cond_signal(&io.freed);
}

static void end_locked(struct agent *agent) TIC_REQUIRES(io.lock)
{
    if (agent->state == BUSY) {
        agent->state = DONE;
        pthread_cond_signal(&agent->ended);
        return;
    }
    io.stuck--;
    if (agent->closes)
        close_file(&agent->transfer.fd);
    free_locked(agent);
}

static void *serve(void *arg)
{
    struct agent *agent = arg;

    pthread_setname_np(pthread_self(), "tic-io");
    tic_lock(&io.lock);
    while (!io.stopping) {
        if (agent->state != ASKED) {
            pthread_cond_wait(&agent->begun, &io.lock.mutex);
            continue;
        }
        agent->state = BUSY;
        tic_unlock(&io.lock);
        agent->call(agent->arg);
        tic_lock(&io.lock);
        end_locked(agent);
    }
    agent->over = true;
    pthread_cond_signal(&agent->ended);
    tic_unlock(&io.lock);
    return NULL;
}

static struct agent *create(void)
{
    struct agent *agent = calloc(1, sizeof(*agent));

    if (!agent)
        return NULL;
    tic_cond_init(&agent->begun);
    tic_cond_init(&agent->ended);
    if (tic_thread_start(&agent->thread, serve, agent) == 0)
        return agent;
    free(agent);
    return NULL;
}

static void destroy(struct agent *agent)
{
    pthread_join(agent->thread, NULL);
    pthread_cond_destroy(&agent->begun);
    pthread_cond_destroy(&agent->ended);
    free(agent);
}

/* Those that a call held when they were to end, and that have ended since. */
static void remove_ended_locked(void) TIC_REQUIRES(io.lock)
{
    for (unsigned i = 0; i < TIC_IO_THREADS; i++) {
        struct agent *agent = io.agents[i];
        if (!agent || !agent->over || agent->state != IDLE)
            continue;
        io.agents[i] = NULL;
        destroy(agent); /* which has nothing to do any more */
    }
}

int tic_io_start(double patience)
{
    if (atomic_load(&started))
        return 0;
    if (!io.ready)
        tic_cond_init(&io.freed);
    io.ready = true;
    tic_lock(&io.lock);
    io.patience = patience;
    io.stopping = false;
    remove_ended_locked();
    for (unsigned i = 0; i < TIC_IO_THREADS; i++) {
        io.agents[i] = io.agents[i] ? io.agents[i] : create();
        if (io.agents[i] && io.agents[i]->state == IDLE) {
            free_locked(io.agents[i]);
            atomic_store(&started, true);
        }
    }
    tic_unlock(&io.lock);
    return atomic_load(&started) ? 0 : -ENOMEM;
}

void tic_io_stop(void)
{
    struct agent *idle[TIC_IO_THREADS] = {NULL};

    atomic_store(&started, false);
    tic_lock(&io.lock);
    io.stopping = true;
    io.idle = NULL;
    for (unsigned i = 0; i < TIC_IO_THREADS; i++) {
        if (!io.agents[i] || io.agents[i]->state != IDLE)
            continue;
        pthread_cond_signal(&io.agents[i]->begun);
        idle[i] = io.agents[i];
        io.agents[i] = NULL;
    }
    tic_unlock(&io.lock);
    for (unsigned i = 0; i < TIC_IO_THREADS; i++)
        if (idle[i])
            destroy(idle[i]);
}

uint64_t tic_io_handed(void)
{
    return atomic_load_explicit(&handed, memory_order_relaxed);
}

void tic_io_close(int fd)
{
    bool hangs = false;

    tic_lock(&io.lock);
    for (unsigned i = 0; i < TIC_IO_THREADS && !hangs; i++) {
        struct agent *agent = io.agents[i];
        hangs = agent && agent->state == LEFT && agent->arg == &agent->transfer &&
                agent->transfer.fd == fd;
        if (hangs)
            agent->closes = true;
    }
    tic_unlock(&io.lock);
    if (!hangs)
        tic_apart_call(close_file, &fd);
}

/* ---- who calls ------------------------------------------------------------------------------ */

/* NULL: a call hangs, or all take too long. */
static struct agent *take(const struct timespec *until)
{
    struct agent *agent = NULL;
    int waited = 0;

    tic_lock(&io.lock);
    while (!tic_io_is_stuck() && !io.idle && !io.stopping && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&io.freed, &io.lock.mutex, until);
    if (!tic_io_is_stuck() && io.idle) {
        agent = io.idle;
        io.idle = agent->next_idle;
        agent->state = TAKEN;
    }
    tic_unlock(&io.lock);
    return agent;
}

/* False: it takes too long; the agent is left to it. */
static bool make_call(struct agent *agent, void (*call)(void *arg), void *arg,
                      const struct timespec *until)
{
    int waited = 0;

    agent->call = call;
    agent->arg = arg;
    tic_lock(&io.lock);
    agent->state = ASKED;
    pthread_cond_signal(&agent->begun);
    while (agent->state != DONE && !agent->over && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&agent->ended, &io.lock.mutex, until);
    bool done = agent->state == DONE;
    if (agent->state == ASKED) {
        free_locked(agent); /* it has not come to it */
    } else if (!done) {
        agent->state = LEFT;
        agent->closes = false;
        io.stuck++;
        pthread_cond_broadcast(&io.freed); /* nobody waits for the others either */
    }
    tic_unlock(&io.lock);
    atomic_fetch_add_explicit(&handed, done, memory_order_relaxed);
    return done;
}

static void give_back(struct agent *agent)
{
    tic_lock(&io.lock);
    free_locked(agent);
    tic_unlock(&io.lock);
}

/* What is small may be on the caller's stack, and would be something else by then. */
static void set_pieces(struct agent *agent, const struct iovec *pieces, int count, uint64_t bytes)
{
    size_t at = 0;

    if (bytes > TIC_IO_SMALL) {
        memcpy(agent->pieces, pieces, (size_t)count * sizeof(*pieces));
        agent->transfer.count = count;
        return;
    }
    for (int i = 0; i < count; at += pieces[i++].iov_len)
        memcpy(agent->bytes + at, pieces[i].iov_base, pieces[i].iov_len);
    agent->pieces[0] = (struct iovec){.iov_base = agent->bytes, .iov_len = at};
    agent->transfer.count = 1;
}

/* True: the call was made, by this thread if it may, by the one that is apart before there are
 * agents. */
static bool make_direct(void (*call)(void *arg), void *arg)
{
    if (has_agents() && !(own && tic_apart_is_here()))
        return false;
    tic_apart_call(call, arg);
    return true;
}

int tic_io_write(int fd, struct iovec *pieces, int count, uint64_t offset)
{
    struct transfer transfer = {.fd = fd, .count = count, .pieces = pieces, .offset = offset};

    if (write_map(fd, pieces, count, offset))
        return 0;
    if (make_direct(write_transfer, &transfer))
        return (int)transfer.status;
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    agent->transfer = transfer;
    agent->transfer.pieces = agent->pieces;
    set_pieces(agent, pieces, count, sum(pieces, count));
    if (!make_call(agent, write_transfer, &agent->transfer, &until))
        return -ETIME;
    int status = (int)agent->transfer.status;
    give_back(agent);
    return status;
}

ssize_t tic_io_read(int fd, void *bytes, size_t size, uint64_t offset)
{
    struct transfer transfer = {.fd = fd, .bytes = bytes, .size = size, .offset = offset};

    if (make_direct(read_transfer, &transfer))
        return transfer.status;
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    agent->transfer = transfer;
    agent->transfer.bytes = agent->bytes;
    agent->transfer.size = size < TIC_IO_PER_READ ? size : TIC_IO_PER_READ;
    if (!make_call(agent, read_transfer, &agent->transfer, &until))
        return -ETIME;
    ssize_t got = agent->transfer.status;
    if (got > 0)
        memcpy(bytes, agent->bytes, (size_t)got);
    give_back(agent);
    return got;
}

int tic_io_call(void (*call)(void *arg), void *arg)
{
    if (make_direct(call, arg))
        return 0;
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    if (!make_call(agent, call, arg, &until))
        return -ETIME;
    give_back(agent);
    return 0;
}
