/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/quiet.h"
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

struct agent {
    pthread_t thread;
    pthread_cond_t begun, ended; /* with the lock */
    /* guarded by the lock */
    enum state state;
    bool closes; /* LEFT: the file is to be closed */
    bool over;   /* its thread has ended */
    struct agent *next_idle;
    /* its caller's until it is ASKED, then its own until it is DONE */
    void (*work)(struct agent *agent);
    int fd, count;
    uint64_t offset;
    size_t size;
    ssize_t status;
    uint64_t took_ns;
    void (*call)(void *arg);
    void *arg;
    struct iovec pieces[TIC_IO_PIECES];
    char bytes[TIC_IO_PER_READ];
};

static struct {
    struct tic_lock lock;
    pthread_cond_t freed;   /* with the lock */
    double patience;        /* immutable while there are agents */
    unsigned percent;       /* the same */
    _Atomic unsigned stuck; /* changes under the lock; relaxed */
    /* guarded by the lock */
    struct agent *agents[TIC_IO_THREADS], *idle;
    bool stopping;
    bool ready; /* owner thread: the condition is initialized */
} io = {.lock = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = TIC_RANK_IO}};

static _Atomic bool started; /* there are agents; relaxed */
static __thread struct {
    enum tic_io_way way;
    uint64_t since; /* CLOCK_MONOTONIC, ns: its first call */
    uint64_t spent; /* ns, beyond those of the calls */
    unsigned place; /* in `waiting`, and 1; 0: none yet */
} mine __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t handed, not_handed; /* calls; relaxed */

enum tic_io_way tic_io_set_way(enum tic_io_way way)
{
    enum tic_io_way before = mine.way;

    mine.way = way;
    return before;
}

static bool is_own(void)
{
    return mine.way == TIC_IO_OWN || !atomic_load_explicit(&started, memory_order_relaxed);
}

/* Has this thread had its share? */
static bool is_over_share(void)
{
    if (io.percent == 100 || mine.way == TIC_IO_ALWAYS)
        return false;
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);
    if (mine.since == 0)
        mine.since = now;
    bool over = mine.spent * 100 > (now - mine.since) * io.percent;
    atomic_fetch_add_explicit(&not_handed, over, memory_order_relaxed);
    return over;
}

/* ---- threads that make their calls themselves ------------------------------------------------ */

enum { PLACES = 512 }; /* threads beyond them are not seen */

static struct {
    _Atomic uint64_t since; /* CLOCK_MONOTONIC, ns: when its call began; 0: it makes none */
} __attribute__((aligned(64))) waiting[PLACES];
static _Atomic unsigned places;

static void note_waiting(uint64_t since)
{
    if (mine.way == TIC_IO_OWN) /* nobody waits for it */
        return;
    if (mine.place == 0)
        mine.place = atomic_fetch_add(&places, 1) + 1;
    if (mine.place <= PLACES)
        atomic_store_explicit(&waiting[mine.place - 1].since, since, memory_order_relaxed);
}

bool tic_io_waits(double seconds)
{
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);
    bool waits = false;

    for (unsigned i = 0; i < PLACES && !waits; i++) {
        uint64_t since = atomic_load_explicit(&waiting[i].since, memory_order_relaxed);
        waits = since != 0 && now > since && (double)(now - since) * 1e-9 > seconds;
    }
    return waits;
}

bool tic_io_is_stuck(void)
{
    return atomic_load_explicit(&io.stuck, memory_order_relaxed) > 0;
}

/* Does this thread make a read or write itself? */
static bool makes_itself(void)
{
    return is_own() || (!tic_io_is_stuck() && is_over_share());
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void work_write(struct agent *agent)
{
    agent->status = tic_transfer_write(agent->fd, agent->pieces, agent->count, agent->offset);
}

static void work_read(struct agent *agent)
{
    agent->status = tic_transfer_read(agent->fd, agent->bytes, agent->size, agent->offset);
}

static void work_call(struct agent *agent)
{
    agent->call(agent->arg);
    agent->status = 0;
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
        close(agent->fd);
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
        uint64_t begun = tic_nanoseconds(CLOCK_MONOTONIC);
        agent->work(agent);
        agent->took_ns = tic_nanoseconds(CLOCK_MONOTONIC) - begun;
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

int tic_io_start(double patience, unsigned percent)
{
    if (atomic_load(&started))
        return 0;
    if (!io.ready)
        tic_cond_init(&io.freed);
    io.ready = true;
    tic_lock(&io.lock);
    io.patience = patience;
    io.percent = percent;
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

uint64_t tic_io_not_handed(void)
{
    return atomic_load_explicit(&not_handed, memory_order_relaxed);
}

void tic_io_close(int fd)
{
    bool hangs = false;

    tic_lock(&io.lock);
    for (unsigned i = 0; i < TIC_IO_THREADS && !hangs; i++) {
        struct agent *agent = io.agents[i];
        hangs = agent && agent->state == LEFT && agent->work != work_call && agent->fd == fd;
        if (hangs)
            agent->closes = true;
    }
    tic_unlock(&io.lock);
    if (!hangs)
        close(fd);
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

/* What takes longer than this is other threads' having the processors. */
static void charge(uint64_t ns)
{
    enum { MOST = 100000 };

    mine.spent += ns < MOST ? ns : MOST;
}

/* False: it takes too long; the agent is left to it. */
static bool make_work(struct agent *agent, void (*work)(struct agent *agent),
                      const struct timespec *until)
{
    uint64_t begun = tic_nanoseconds(CLOCK_MONOTONIC);
    int waited = 0;

    agent->work = work;
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
    if (done)
        charge(tic_nanoseconds(CLOCK_MONOTONIC) - begun - agent->took_ns);
    atomic_fetch_add_explicit(&handed, done, memory_order_relaxed);
    return done;
}

static void give_back(struct agent *agent)
{
    tic_lock(&io.lock);
    free_locked(agent);
    tic_unlock(&io.lock);
}

static uint64_t sum(const struct iovec *pieces, int count)
{
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

/* What is small may be on the caller's stack, and would be something else by then. */
static void set_pieces(struct agent *agent, const struct iovec *pieces, int count, uint64_t bytes)
{
    size_t at = 0;

    if (bytes > TIC_IO_SMALL) {
        memcpy(agent->pieces, pieces, (size_t)count * sizeof(*pieces));
        agent->count = count;
        return;
    }
    for (int i = 0; i < count; at += pieces[i++].iov_len)
        memcpy(agent->bytes + at, pieces[i].iov_base, pieces[i].iov_len);
    agent->pieces[0] = (struct iovec){.iov_base = agent->bytes, .iov_len = at};
    agent->count = 1;
}

static int write_oneself(int fd, struct iovec *pieces, int count, uint64_t offset, uint64_t bytes)
{
    int status = tic_quiet_check_size(offset + bytes);

    if (status)
        return status;
    note_waiting(tic_nanoseconds(CLOCK_MONOTONIC));
    status = tic_transfer_write(fd, pieces, count, offset);
    note_waiting(0);
    return status;
}

static ssize_t read_oneself(int fd, void *bytes, size_t size, uint64_t offset)
{
    note_waiting(tic_nanoseconds(CLOCK_MONOTONIC));
    ssize_t got = tic_transfer_read(fd, bytes, size, offset);
    note_waiting(0);
    return got;
}

int tic_io_write(int fd, struct iovec *pieces, int count, uint64_t offset)
{
    uint64_t bytes = sum(pieces, count);

    if (makes_itself())
        return write_oneself(fd, pieces, count, offset, bytes);
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    set_pieces(agent, pieces, count, bytes);
    agent->fd = fd;
    agent->offset = offset;
    if (!make_work(agent, work_write, &until))
        return -ETIME;
    int status = (int)agent->status;
    give_back(agent);
    return status;
}

ssize_t tic_io_read(int fd, void *bytes, size_t size, uint64_t offset)
{
    if (makes_itself())
        return read_oneself(fd, bytes, size, offset);
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    agent->fd = fd;
    agent->size = size < TIC_IO_PER_READ ? size : TIC_IO_PER_READ;
    agent->offset = offset;
    if (!make_work(agent, work_read, &until))
        return -ETIME;
    ssize_t got = agent->status;
    if (got > 0)
        memcpy(bytes, agent->bytes, (size_t)got);
    give_back(agent);
    return got;
}

int tic_io_call(void (*call)(void *arg), void *arg)
{
    if (is_own()) {
        call(arg);
        return 0;
    }
    struct timespec until = tic_after(io.patience);
    struct agent *agent = take(&until);
    if (!agent)
        return -ETIME;
    agent->call = call;
    agent->arg = arg;
    if (!make_work(agent, work_call, &until))
        return -ETIME;
    give_back(agent);
    return 0;
}
