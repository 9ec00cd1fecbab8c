/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that take turns. No lock guards what is here: one thread runs at a time. */
#include "turns.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "turns_real.h"

enum {
    MOST = 128,           /* threads of a run */
    MOST_WAKE_UPS = 20000 /* by the time in a row, while nothing else happens */
};

struct tic_turn {
    enum tic_turn_kind kind;
    unsigned number;
    sem_t go;
    const void *waits_for; /* a mutex, a condition, a thread that is to end; NULL: for none */
    unsigned long since;   /* order of waits */
    bool (*holds)(void *arg);
    void *arg;         /* of that */
    uint64_t deadline; /* nanoseconds; 0: none */
    bool timed_out, offered, idle, ended;
    bool fresh;           /* has not begun */
    bool pauses;          /* at a point where another thread may go on, also if this one could */
    unsigned long polled; /* moves when it looked last for what others do; 0: it does not */
    pthread_t thread;
    void *(*run)(void *);
    void *run_arg;
};

static struct {
    bool on;
    struct tic_turns_rules rules;
    struct tic_turn *all[MOST];
    unsigned count;
    unsigned last_helper;
    struct tic_turn *last_chosen;
    unsigned long waits, moves, wake_ups;
    uint64_t now;
    enum tic_turn_kind next_kind;
} turns = {.now = 1700000000000000000u, .next_kind = TIC_TURN_HELPER, .moves = 1};

static __thread struct tic_turn *self;

enum tic_turn_kind tic_turn_kind(const struct tic_turn *turn)
{
    return turn->kind;
}

unsigned tic_turn_number(const struct tic_turn *turn)
{
    return turn->number;
}

bool tic_turn_is_idle(const struct tic_turn *turn)
{
    return turn->idle;
}

bool tic_turn_was_last(const struct tic_turn *turn)
{
    return turn == turns.last_chosen;
}

/* ---- who goes on ----------------------------------------------------------------------------- */

static bool is_able(const struct tic_turn *turn)
{
    return !turn->ended && !turn->waits_for && (!turn->holds || turn->holds(turn->arg)) &&
           turn->polled != turns.moves;
}

/* Helpers one after the other, and threads that have not begun. */
static struct tic_turn *able_helper(void)
{
    for (unsigned i = 1; i <= turns.count; i++) {
        struct tic_turn *turn = turns.all[(turns.last_helper + i) % turns.count];
        bool first = turn->kind == TIC_TURN_HELPER ? !turn->offered : turn->fresh;
        if (!first || !is_able(turn))
            continue;
        turns.last_helper = turn->number;
        return turn;
    }
    return NULL;
}

/* NULL: none is able. *again: a helper may be. */
static struct tic_turn *choose(bool *again)
{
    struct tic_turn *able[MOST];
    unsigned count = 0;

    if (turns.last_chosen && !turns.last_chosen->pauses && is_able(turns.last_chosen))
        return turns.last_chosen; /* it had to wait for a helper only */
    for (unsigned i = 0; i < turns.count; i++)
        if ((turns.all[i]->kind != TIC_TURN_HELPER || turns.all[i]->offered) &&
            is_able(turns.all[i]))
            able[count++] = turns.all[i];
    if (count == 0)
        return NULL;
    unsigned chosen = turns.rules.choose(able, count);
    *again = chosen == TIC_TURNS_AGAIN;
    turns.moves += !*again;
    turns.wake_ups = 0;
    if (!*again)
        turns.last_chosen = able[chosen];
    return *again ? NULL : able[chosen];
}

/* The thread whose wait ends first by the time; or one that only looks for what others do. */
static struct tic_turn *wake_by_time(void)
{
    struct tic_turn *first = NULL;

    for (unsigned i = 0; i < turns.count; i++) {
        struct tic_turn *turn = turns.all[i];
        if (!turn->ended && turn->deadline > 0 && (!first || turn->deadline < first->deadline))
            first = turn;
    }
    if (!first || ++turns.wake_ups > MOST_WAKE_UPS)
        return NULL;
    if (first->deadline > turns.now)
        turns.now = first->deadline;
    first->timed_out = true;
    first->waits_for = NULL;
    first->deadline = first->polled = 0;
    return first;
}

static struct tic_turn *pick(void)
{
    struct tic_turn *next;
    bool again;

    do {
        again = false;
        next = able_helper();
        if (!next)
            next = choose(&again);
    } while (again);
    if (!next)
        next = wake_by_time();
    if (!next)
        turns.rules.stuck();
    return next;
}

static void hand_over(struct tic_turn *next)
{
    if (next == self)
        return;
    sem_post(&next->go);
    if (self->ended)
        return;
    while (sem_wait(&self->go) != 0)
        continue;
}

/* This thread goes on when what it waits for has come. */
static void rest(void)
{
    hand_over(pick());
    self->holds = NULL;
    self->waits_for = NULL;
    self->deadline = self->polled = 0;
    self->offered = self->idle = self->pauses = false;
}

static void wait_for(const void *what)
{
    self->waits_for = what;
    self->since = ++turns.waits;
    rest();
}

/* The thread that has waited longest for this; or NULL. */
static struct tic_turn *first_waiter(const void *what)
{
    struct tic_turn *first = NULL;

    for (unsigned i = 0; i < turns.count; i++)
        if (turns.all[i]->waits_for == what && (!first || turns.all[i]->since < first->since))
            first = turns.all[i];
    return first;
}

static void wake_first(const void *what)
{
    struct tic_turn *turn = first_waiter(what);

    if (turn)
        turn->waits_for = NULL;
}

static void wake_all(const void *what)
{
    for (unsigned i = 0; i < turns.count; i++)
        if (turns.all[i]->waits_for == what)
            turns.all[i]->waits_for = NULL;
}

void tic_turns_yield(void)
{
    if (!self)
        return;
    self->offered = self->pauses = true;
    rest();
}

void tic_turns_await(bool (*holds)(void *arg), void *arg, bool idle)
{
    self->holds = holds;
    self->arg = arg;
    self->idle = idle;
    self->pauses = true;
    rest();
}

void tic_turns_print(void)
{
    for (unsigned i = 0; i < turns.count; i++) {
        const struct tic_turn *turn = turns.all[i];
        char name[16] = "?";
        if (turn->ended)
            continue;
        pthread_getname_np(turn->thread, name, sizeof(name));
        fprintf(stderr, "  thread %u, %s: %s%s\n", i, name,
                turn->waits_for || turn->holds ? "waits" : "goes on",
                turn->deadline > 0 ? " until a time" : "");
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct tic_turn *add(enum tic_turn_kind kind)
{
    struct tic_turn *turn = calloc(1, sizeof(*turn));

    if (!turn || turns.count == MOST)
        abort();
    turn->kind = kind;
    turn->number = turns.count;
    turn->fresh = true;
    sem_init(&turn->go, 0, 0);
    turns.all[turns.count++] = turn;
    return turn;
}

void tic_turns_begin(const struct tic_turns_rules *rules)
{
    turns.rules = *rules;
    turns.on = true;
    self = add(TIC_TURN_MAIN);
    self->fresh = false;
    self->thread = pthread_self();
}

void tic_turns_next_kind(enum tic_turn_kind kind)
{
    turns.next_kind = kind;
}

static void *run_in_turn(void *arg)
{
    self = arg;
    while (sem_wait(&self->go) != 0)
        continue;
    self->fresh = false;
    void *result = self->run(self->run_arg);
    self->ended = true;
    wake_all(self);
    hand_over(pick());
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    if (!turns.on)
        return REAL(pthread_create)(thread, attributes, run, arg);
    struct tic_turn *turn = add(turns.next_kind);
    turns.next_kind = TIC_TURN_HELPER;
    turn->run = run;
    turn->run_arg = arg;
    int status = REAL(pthread_create)(thread, attributes, run_in_turn, turn);
    turn->thread = *thread;
    turn->ended = status != 0;
    return status;
}

int pthread_join(pthread_t thread, void **result)
{
    for (unsigned i = 0; turns.on && i < turns.count; i++)
        if (pthread_equal(turns.all[i]->thread, thread) && !turns.all[i]->ended)
            wait_for(turns.all[i]);
    return REAL(pthread_join)(thread, result);
}

/* ---- locks and conditions -------------------------------------------------------------------- */

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int status;

    if (!self)
        return REAL(pthread_mutex_lock)(mutex);
    while ((status = pthread_mutex_trylock(mutex)) == EBUSY)
        wait_for(mutex);
    return status;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int status = REAL(pthread_mutex_unlock)(mutex);

    if (self)
        wake_all(mutex);
    return status;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    if (!self)
        return REAL(pthread_cond_signal)(condition);
    wake_first(condition);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    if (!self)
        return REAL(pthread_cond_broadcast)(condition);
    wake_all(condition);
    return 0;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (!self)
        return REAL(pthread_cond_wait)(condition, mutex);
    pthread_mutex_unlock(mutex);
    wait_for(condition);
    return pthread_mutex_lock(mutex);
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    if (!self)
        return REAL(pthread_cond_timedwait)(condition, mutex, until);
    pthread_mutex_unlock(mutex);
    self->deadline = nanoseconds(until);
    self->timed_out = false;
    wait_for(condition);
    bool timed_out = self->timed_out;
    int status = pthread_mutex_lock(mutex);
    return timed_out ? ETIMEDOUT : status;
}

/* ---- failpoints ------------------------------------------------------------------------------ */

/* A thread that comes to the failpoint of STARPU_TIC_FAIL waits there for its turn. */
int raise(int signal)
{
    if (!self || signal != SIGKILL)
        return REAL(raise)(signal);
    tic_turns_yield();
    return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Ends when another thread of main() or a worker has done something, or the time has passed. */
static void look_again_after(uint64_t duration)
{
    self->deadline = turns.now + duration;
    self->polled = turns.moves;
    rest();
}

int sched_yield(void)
{
    if (!self)
        return REAL(sched_yield)();
    look_again_after(1000);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!self)
        return REAL(nanosleep)(time, left);
    look_again_after(nanoseconds(time));
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!self)
        return REAL(clock_gettime)(clock, time);
    time->tv_sec = (time_t)(turns.now / 1000000000u);
    time->tv_nsec = (long)(turns.now % 1000000000u);
    return 0;
}
