/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What follows from the events of a trace: which tasks a crash took, and what else it cost. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "tools/traced.h"

static int by_worker(const void *a, const void *b)
{
    const struct tic_traced_task *x = a, *y = b;

    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return isnan(x->end) - isnan(y->end); /* the one that has ended first */
}

/* What came twice stays once; those that have no end ran to that of their run. */
static void join_tasks(struct tic_traced *traced)
{
    struct tic_traced_task *tasks = traced->tasks.items;
    unsigned long kept = 0;

    tic_sort(tasks, traced->tasks.count, by_worker);
    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        struct tic_traced_task task = tasks[i];
        const struct tic_traced_task *before = kept > 0 ? &tasks[kept - 1] : NULL;
        if (before && before->worker == task.worker && before->begin == task.begin &&
            before->run == task.run)
            continue;
        task.unfinished = isnan(task.end);
        if (task.unfinished)
            task.end = fmax(traced->runs.items[task.run].last, task.begin);
        tasks[kept++] = task;
    }
    traced->tasks.count = kept;
}

static void note_tasks(struct tic_traced *traced)
{
    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        const struct tic_traced_task *task = &traced->tasks.items[i];
        struct tic_traced_run *run = &traced->runs.items[task->run];
        if (isnan(run->first_task) || task->begin < run->first_task)
            run->first_task = task->begin;
        if (task->worker >= traced->workers)
            traced->workers = task->worker + 1;
    }
    for (unsigned long i = 0; i < traced->runs.count; i++) {
        const struct tic_traced_run *run = &traced->runs.items[i];
        traced->end = fmax(traced->end, run->last);
        if ((int)run->workers > traced->workers)
            traced->workers = (int)run->workers;
    }
}

/* The cut of a line, as far as it is in the trace; else of the one before, as what a kill left out
 * is at the end. NaN: none is. */
static double cut_of(const struct tic_traced *traced, unsigned run, uint64_t line)
{
    for (unsigned long i = traced->checkpoints.count; i-- > 0 && line > 0;) {
        const struct tic_traced_checkpoint *checkpoint = &traced->checkpoints.items[i];
        if (checkpoint->run <= run && checkpoint->line <= line)
            return checkpoint->begin;
    }
    return NAN;
}

/* The line that a restart after this run begins with, as far as the trace knows. */
static uint64_t line_after(const struct tic_traced *traced, unsigned run)
{
    if (run + 1 < traced->runs.count && traced->runs.items[run + 1].started)
        return traced->runs.items[run + 1].line;
    for (unsigned long i = traced->checkpoints.count; i-- > 0;)
        if (traced->checkpoints.items[i].run <= run)
            return traced->checkpoints.items[i].line;
    return traced->runs.items[run].line;
}

struct last {
    uint64_t number;
    unsigned run;
    unsigned long at;
};

static int by_number(const void *a, const void *b)
{
    const struct last *x = a, *y = b;

    return tic_order(x->number, y->number) ?: tic_order(x->run, y->run);
}

/* Who was executed again later was lost, and so was what a crash found running. */
static int mark_repeated(struct tic_traced *traced)
{
    unsigned long count = traced->tasks.count;
    struct last *all = calloc(count + 1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    for (unsigned long i = 0; i < count; i++)
        all[i] = (struct last){traced->tasks.items[i].number, traced->tasks.items[i].run, i};
    tic_sort(all, count, by_number);
    for (unsigned long i = 0; i < count; i++) {
        struct tic_traced_task *task = &traced->tasks.items[all[i].at];
        bool again = i + 1 < count && all[i].number == all[i + 1].number &&
                     all[i].run < all[i + 1].run && all[i].number != UINT64_MAX;
        task->lost = again || (task->unfinished && tic_traced_died(&traced->runs.items[task->run]));
    }
    free(all);
    return 0;
}

/* Nobody has executed them again yet. */
static void mark_after_cut(struct tic_traced *traced, unsigned run, double cut)
{
    for (unsigned long i = 0; i < traced->tasks.count; i++) {
        struct tic_traced_task *task = &traced->tasks.items[i];
        if (task->run == run && task->begin >= cut)
            task->lost = true;
    }
}

static unsigned long count_lost(const struct tic_traced *traced, unsigned run)
{
    unsigned long count = 0;

    for (unsigned long i = 0; i < traced->tasks.count; i++)
        count += traced->tasks.items[i].run == run && traced->tasks.items[i].lost;
    return count;
}

/* A run that got no further than the cut that it began with lost what it did, and no more. */
static struct tic_traced_crash cost_of(struct tic_traced *traced, unsigned run, double cut)
{
    const struct tic_traced_run *dead = &traced->runs.items[run];
    const struct tic_traced_run *next = run + 1 < traced->runs.count ? dead + 1 : NULL;
    double from = isnan(cut) || cut < dead->begin ? dead->begin : cut;
    struct tic_traced_crash crash = {.run = run, .work = fmax(0, dead->last - from)};

    if (next) {
        crash.down = fmax(0, next->begin - dead->last);
        if (!isnan(next->first_task)) /* else all of them were done, by all that is known */
            crash.restart = fmax(0, next->first_task - next->begin);
    }
    crash.tasks = count_lost(traced, run);
    return crash;
}

int tic_traced_derive(struct tic_traced *traced)
{
    unsigned runs = (unsigned)traced->runs.count;

    join_tasks(traced);
    for (unsigned i = 0; i + 1 < runs; i++) /* nobody saw it die, but it is followed by another */
        if (!traced->runs.items[i].ended) {
            traced->runs.items[i].ended = true;
            traced->runs.items[i].status = -1;
        }
    note_tasks(traced);
    int status = mark_repeated(traced);
    for (unsigned i = 0; i < runs && status == 0; i++) {
        double cut = cut_of(traced, i, line_after(traced, i));
        if (i + 1 < runs)
            traced->runs.items[i + 1].from_cut = cut;
        if (!tic_traced_died(&traced->runs.items[i]))
            continue;
        if (i + 1 == runs)
            mark_after_cut(traced, i, isnan(cut) ? 0 : cut);
        struct tic_traced_crash *crash = tic_traced_add(&traced->crashes);
        if (!crash)
            return -ENOMEM;
        *crash = cost_of(traced, i, cut);
    }
    return status;
}
