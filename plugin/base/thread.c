/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/apart.h"
#include "base/lock.h"

/* A thread that runs. */
struct running {
    void *(*run)(void *);
    void *argument;
    bool apart;
    clockid_t clock; /* its processor time */
    struct running *next;
};

static struct {
    struct tic_lock lock;
    /* guarded by lock */
    struct running *first;
    uint64_t ended_ns; /* processor time of threads that have ended */
} threads = {.lock = {PTHREAD_MUTEX_INITIALIZER, TIC_RANK_THREADS}};

static void enlist(struct running *self)
{
    tic_lock(&threads.lock);
    self->next = threads.first;
    threads.first = self;
    tic_unlock(&threads.lock);
}

static void delist(const struct running *self)
{
    struct running **place = &threads.first;

    tic_lock(&threads.lock);
    while (*place != self)
        place = &(*place)->next;
    *place = self->next;
    threads.ended_ns += tic_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    tic_unlock(&threads.lock);
}

static void *run_listed(void *argument)
{
    struct running *self = argument;
    if (self->apart)
        tic_apart_inherit();
    bool listed = pthread_getcpuclockid(pthread_self(), &self->clock) == 0;

    if (listed)
        enlist(self);
    void *result = self->run(self->argument);
    if (listed)
        delist(self);
    free(self);
    return result;
}

struct creation {
    pthread_t *thread;
    struct running running;
    int status;
};

static void create(void *arg)
{
    struct creation *creation = arg;
    struct running *fresh = malloc(sizeof(*fresh));

    creation->status = fresh ? 0 : -ENOMEM;
    if (!fresh)
        return;
    *fresh = creation->running;
    fresh->apart = tic_apart_is_here();
    creation->status = tic_apart_create_thread(creation->thread, run_listed, fresh);
    if (creation->status)
        free(fresh);
}

int tic_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    struct creation creation = {.thread = thread, .running = {.run = run, .argument = argument}};

    tic_apart_call(create, &creation);
    return creation.status;
}

int tic_thread_start_beside(pthread_t *thread, void *(*run)(void *), void *argument)
{
    struct creation creation = {.thread = thread, .running = {.run = run, .argument = argument}};

    create(&creation);
    return creation.status;
}

uint64_t tic_thread_processor_time(void)
{
    tic_lock(&threads.lock);
    uint64_t sum = threads.ended_ns;
    for (const struct running *running = threads.first; running; running = running->next)
        sum += tic_nanoseconds(running->clock);
    tic_unlock(&threads.lock);
    return sum;
}

unsigned tic_thread_processors(void)
{
    cpu_set_t processors;
    int count =
        sched_getaffinity(0, sizeof(processors), &processors) == 0 ? CPU_COUNT(&processors) : 1;

    return count > 0 ? (unsigned)count : 1;
}

bool tic_thread_sleeps(long thread)
{
    char name[64], state = '\0';

    snprintf(name, sizeof(name), "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(name, "re");
    bool read = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file)
        fclose(file);
    return read && state == 'S';
}

void tic_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct timespec tic_after(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    double whole = (double)(long)seconds;
    at.tv_sec += (time_t)whole;
    at.tv_nsec += (long)((seconds - whole) * 1e9);
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

uint64_t tic_nanoseconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double tic_seconds(void)
{
    return (double)tic_nanoseconds(CLOCK_MONOTONIC) * 1e-9;
}
