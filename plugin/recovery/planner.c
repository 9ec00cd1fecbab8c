/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recovery planner: needs go back from what is read to who wrote it. Each has one way to be
 * met, so the set that they close over is the smallest one. */
#include "recovery/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* One access to one atom. */
struct touch {
    uint32_t task;
    uint32_t access;
    uint32_t source; /* the run whose version it reads; NONE: the initial one, or it reads none */
    uint32_t run;    /* that it writes in, or NONE */
    uint32_t next;   /* touch of the same run, or NONE */
};

/* Writes that make one version of an atom: one, or several that commute. */
struct run {
    uint32_t first, last; /* touches */
    bool commutes;
    bool durable;
    bool needed;
    bool executed; /* in part at least */
};

struct atom {
    uint32_t run;    /* the newest, or NONE */
    uint32_t before; /* the one before a run that commutes */
    bool open;       /* the newest run may get more writes */
};

struct plan {
    const struct tic_plan_graph *graph;
    bool *executes;
    struct touch *touches;
    uint64_t *first_touch; /* of each task; one more at the end */
    struct run *runs;
    uint32_t run_count;
    struct atom *atoms;
    uint32_t *stack; /* tasks whose needs are to be looked at */
    size_t depth;
};

static bool commutes(uint32_t mode)
{
    return (mode & (TIC_PLAN_COMMUTE | TIC_PLAN_REDUX)) != 0;
}

/* ---- the graph, forwards -------------------------------------------------------------------- */

/* How many touches there are; 0 when the graph is none. */
static bool count_touches(const struct tic_plan_graph *graph, uint64_t *touches)
{
    *touches = 0;
    for (size_t i = 0; i < graph->data_count; i++)
        if (graph->data[i].first + (uint64_t)graph->data[i].atoms > graph->atom_count)
            return false;
    for (size_t t = 0; t < graph->task_count; t++) {
        const struct tic_plan_task *task = &graph->tasks[t];
        if (task->first + task->count > graph->access_count)
            return false;
        for (uint32_t i = 0; i < task->count; i++) {
            const struct tic_plan_access *access = &graph->accesses[task->first + i];
            if (access->data >= graph->data_count)
                return false;
            *touches += graph->data[access->data].atoms;
        }
    }
    return *touches < NONE && graph->task_count < NONE;
}

static void write_atom(struct plan *plan, uint32_t at, struct atom *atom, bool commuting)
{
    struct touch *touch = &plan->touches[at];
    bool durable = plan->graph->accesses[touch->access].durable;

    if (!commuting || !atom->open) {
        atom->before = atom->run;
        atom->run = plan->run_count++;
        plan->runs[atom->run] =
            (struct run){.first = at, .last = at, .commutes = commuting, .durable = true};
    } else {
        plan->touches[plan->runs[atom->run].last].next = at;
        plan->runs[atom->run].last = at;
    }
    atom->open = commuting;
    touch->run = atom->run;
    plan->runs[atom->run].durable &= durable;
}

static void touch_atom(struct plan *plan, uint32_t at, struct atom *atom, uint32_t mode)
{
    struct touch *touch = &plan->touches[at];
    bool commuting = commutes(mode);

    touch->source = touch->run = touch->next = NONE;
    if (mode & TIC_PLAN_SCRATCH)
        return;
    if (commuting) {
        write_atom(plan, at, atom, true);
        touch->source = atom->before;
        return;
    }
    atom->open = false; /* who reads comes after the whole run */
    if (mode & TIC_PLAN_R)
        touch->source = atom->run;
    if (mode & TIC_PLAN_W)
        write_atom(plan, at, atom, false);
}

static void follow_program(struct plan *plan)
{
    const struct tic_plan_graph *graph = plan->graph;
    uint32_t at = 0;

    for (size_t i = 0; i < graph->atom_count; i++)
        plan->atoms[i] = (struct atom){NONE, NONE, false};
    for (size_t t = 0; t < graph->task_count; t++) {
        plan->first_touch[t] = at;
        for (uint32_t i = 0; i < graph->tasks[t].count; i++) {
            uint32_t number = (uint32_t)graph->tasks[t].first + i;
            const struct tic_plan_access *access = &graph->accesses[number];
            const struct tic_plan_data *data = &graph->data[access->data];
            for (uint32_t k = 0; k < data->atoms; k++, at++) {
                plan->touches[at].task = (uint32_t)t;
                plan->touches[at].access = number;
                touch_atom(plan, at, &plan->atoms[data->first + k], access->mode);
            }
        }
    }
    plan->first_touch[graph->task_count] = at;
}

/* ---- needs, backwards ----------------------------------------------------------------------- */

static void execute(struct plan *plan, uint32_t task)
{
    if (plan->executes[task])
        return;
    plan->executes[task] = true;
    plan->stack[plan->depth++] = task;
}

static void execute_run(struct plan *plan, uint32_t run)
{
    for (uint32_t at = plan->runs[run].first; at != NONE; at = plan->touches[at].next)
        execute(plan, plan->touches[at].task);
}

static void need(struct plan *plan, uint32_t run)
{
    if (run == NONE || plan->runs[run].needed)
        return;
    plan->runs[run].needed = true;
    if (!plan->runs[run].durable || (plan->runs[run].commutes && plan->runs[run].executed))
        execute_run(plan, run);
}

/* What a task adds to a run is in what is durable of it already. */
static void join_run(struct plan *plan, uint32_t run)
{
    plan->runs[run].executed = true;
    if (plan->runs[run].commutes && plan->runs[run].needed)
        execute_run(plan, run);
}

static void meet_needs(struct plan *plan)
{
    while (plan->depth > 0) {
        uint32_t task = plan->stack[--plan->depth];
        for (uint64_t at = plan->first_touch[task]; at < plan->first_touch[task + 1]; at++) {
            uint32_t run = plan->touches[at].run;
            need(plan, plan->touches[at].source);
            if (run != NONE)
                join_run(plan, run);
        }
    }
}

static void find_needs(struct plan *plan)
{
    const struct tic_plan_graph *graph = plan->graph;

    memset(plan->executes, 0, graph->task_count * sizeof(*plan->executes));
    for (size_t t = 0; t < graph->task_count; t++)
        if (graph->tasks[t].always)
            execute(plan, (uint32_t)t);
    for (size_t i = 0; i < graph->data_count; i++)
        for (uint32_t k = 0; graph->data[i].needed && k < graph->data[i].atoms; k++)
            need(plan, plan->atoms[graph->data[i].first + k].run);
    meet_needs(plan);
}

static void note_restores(const struct plan *plan, bool *restores)
{
    memset(restores, 0, plan->graph->access_count * sizeof(*restores));
    for (uint32_t i = 0; i < plan->run_count; i++) {
        const struct touch *last = &plan->touches[plan->runs[i].last];
        if (plan->runs[i].needed && !plan->executes[last->task])
            restores[last->access] = true;
    }
}

int tic_plan(const struct tic_plan_graph *graph, bool *executes, bool *restores)
{
    struct plan plan = {.graph = graph, .executes = executes};
    uint64_t touches;

    if (!count_touches(graph, &touches))
        return -EINVAL;
    plan.touches = malloc((touches + 1) * sizeof(*plan.touches));
    plan.runs = malloc((touches + 1) * sizeof(*plan.runs));
    plan.first_touch = malloc((graph->task_count + 1) * sizeof(*plan.first_touch));
    plan.atoms = malloc((graph->atom_count + 1) * sizeof(*plan.atoms));
    plan.stack = malloc((graph->task_count + 1) * sizeof(*plan.stack));
    bool fine = plan.touches && plan.runs && plan.first_touch && plan.atoms && plan.stack;
    if (fine) {
        follow_program(&plan);
        find_needs(&plan);
        note_restores(&plan, restores);
    }
    free(plan.touches);
    free(plan.runs);
    free(plan.first_touch);
    free(plan.atoms);
    free(plan.stack);
    return fine ? 0 : -ENOMEM;
}
