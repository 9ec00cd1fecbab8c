/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of one recovery: from the event log to the planner's graph, and back to results.
 *
 * The graph is what main() had submitted, and accessed, when the earlier run was killed. A task
 * without a result is executed in any case, when main() submits it: whether somebody will miss what
 * it writes is certain only after the last submission. Where the log does not tell of a task, it
 * may read everything. The last version of all data is needed: tasks to come may read it. */
#include "recovery/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "recovery/planner.h"
#include "snapshot/forced.h"
#include "store/line.h"

#define NO_VALUE UINT64_MAX

/* A datum while the graph is made. */
struct datum {
    uint64_t id;
    uint64_t unknown; /* tasks that nothing is known of, before it was written last */
    bool written;
    bool touched; /* by a task that is executed, or written by main(), or by one of ours */
};

/* What a task of the planner's stands for. */
struct item {
    struct tic_forced_found *result; /* of a task, or NULL */
    bool is_use;                     /* no task, but an access of main(), or of unknown tasks: */
    bool is_unknown;
};

struct plan {
    struct tic_snapshot *snapshot;
    struct tic_plan_task *tasks;
    struct tic_plan_access *accesses;
    struct tic_plan_data *data;
    uint64_t *value;      /* of each access: in found_values; or NO_VALUE */
    struct item *items;   /* of each task */
    struct datum *datums; /* ascending id */
    bool *executes, *restores;
    size_t task_count, access_count, data_count;
};

/* ---- data ----------------------------------------------------------------------------------- */

static void list_data(struct plan *plan, const struct tic_known *known)
{
    size_t count = 0;

    for (unsigned long i = 0; i < known->access_count; i++)
        plan->datums[count++].id = known->accesses[i].id;
    for (unsigned long i = 0; i < known->use_count; i++)
        plan->datums[count++].id = known->uses[i].id;
    plan->data_count = tic_sort_once(plan->datums, count, tic_line_by_number);
    for (size_t i = 0; i < plan->data_count; i++)
        plan->data[i] = (struct tic_plan_data){.first = (uint32_t)i, .atoms = 1, .needed = true};
}

static uint32_t find_datum(const struct plan *plan, uint64_t id)
{
    return (uint32_t)tic_first_from(id, plan->datums, plan->data_count); /* it was listed */
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void begin_task(struct plan *plan, struct item item, bool always)
{
    plan->items[plan->task_count] = item;
    plan->tasks[plan->task_count++] =
        (struct tic_plan_task){.first = plan->access_count, .always = always};
}

static void add_access(struct plan *plan, uint32_t datum, uint32_t mode, uint64_t value)
{
    plan->value[plan->access_count] = value;
    plan->accesses[plan->access_count++] = (struct tic_plan_access){datum, mode, value != NO_VALUE};
    plan->tasks[plan->task_count - 1].count++;
}

/* main() itself, or tasks that nothing is known of. */
static void add_use(struct plan *plan, uint32_t datum, bool writes, bool is_unknown)
{
    begin_task(plan, (struct item){NULL, true, is_unknown}, true);
    add_access(plan, datum, writes ? TIC_PLAN_RW : TIC_PLAN_R, NO_VALUE);
}

static uint64_t find_value(const struct tic_snapshot *snapshot,
                           const struct tic_forced_found *result, uint64_t id)
{
    for (uint32_t i = 0; result && i < result->count; i++)
        if (snapshot->recovery.values[result->first + i].id == id)
            return result->first + i;
    return NO_VALUE;
}

/* unknown: tasks before this one that nothing is known of. */
static void add_task(struct plan *plan, const struct tic_known_task *task, uint64_t unknown)
{
    const struct tic_known *known = &plan->snapshot->recovery.known;
    struct tic_forced_found *result =
        (struct tic_forced_found *)tic_snapshot_forced_of(plan->snapshot, task->sequence);

    for (uint32_t i = 0; i < task->count; i++) {
        uint32_t datum = find_datum(plan, known->accesses[task->first + i].id);
        if (plan->datums[datum].written && plan->datums[datum].unknown != unknown)
            add_use(plan, datum, false, true);
        plan->datums[datum].unknown = unknown;
    }
    begin_task(plan, (struct item){result, false, false}, result == NULL);
    for (uint32_t i = 0; i < task->count; i++) {
        const struct tic_known_access *access = &known->accesses[task->first + i];
        uint32_t datum = find_datum(plan, access->id);
        bool writes = (access->mode & TIC_PLAN_W) != 0;
        add_access(plan, datum, access->mode,
                   writes ? find_value(plan->snapshot, result, access->id) : NO_VALUE);
        plan->datums[datum].written |= writes;
    }
}

/* Tasks from this number to that one that are not done, and that the log does not tell of. */
static uint64_t count_unknown(const struct tic_graph *graph, uint64_t from, uint64_t to)
{
    uint64_t end = tic_doneset_end(&graph->recovered.done); /* behind it there are only such */
    uint64_t count = to > end ? to - (from > end ? from : end) : 0;

    for (uint64_t i = from; i < to && i < end; i++)
        count += !tic_doneset_contains(&graph->recovered.done, i);
    return count;
}

static void follow_program(struct plan *plan)
{
    const struct tic_known *known = &plan->snapshot->recovery.known;
    uint64_t unknown = 0, next = 0;
    unsigned long use = 0;

    for (unsigned long i = 0; i < known->task_count; i++) {
        const struct tic_known_task *task = &known->tasks[i];
        for (; use < known->use_count && known->uses[use].position <= task->sequence; use++)
            add_use(plan, find_datum(plan, known->uses[use].id), known->uses[use].writes, false);
        unknown += count_unknown(plan->snapshot->graph, next, task->sequence);
        next = task->sequence + 1;
        add_task(plan, task, unknown);
    }
}

/* ---- what the plan says --------------------------------------------------------------------- */

static int make_plan(struct plan *plan)
{
    const struct tic_plan_graph graph = {
        .tasks = plan->tasks,
        .task_count = plan->task_count,
        .accesses = plan->accesses,
        .access_count = plan->access_count,
        .data = plan->data,
        .data_count = plan->data_count,
        .atom_count = plan->data_count,
    };

    return tic_plan(&graph, plan->executes, plan->restores);
}

/* The task must be executed again after all. */
static void lose_result(struct plan *plan, size_t task)
{
    plan->items[task].result->useless = true;
    plan->items[task].result = NULL;
    plan->tasks[task].always = true;
    for (uint32_t i = 0; i < plan->tasks[task].count; i++)
        plan->accesses[plan->tasks[task].first + i].durable = false;
}

/* Reads what is needed of the task's result: what somebody reads; and what it wrote where a task
 * that is executed uses the data before it, as a task of ours writes that in any case. False: a
 * value is damaged. */
static bool verify(struct plan *plan, size_t task)
{
    struct tic_snapshot *snapshot = plan->snapshot;
    bool whole = true;

    for (uint64_t k = 0; k < plan->tasks[task].count && whole; k++) {
        uint64_t access = plan->tasks[task].first + k;
        if ((!plan->restores[access] && !plan->datums[plan->accesses[access].data].touched) ||
            plan->value[access] == NO_VALUE)
            continue;
        struct tic_forced_value *value = &snapshot->recovery.values[plan->value[access]];
        whole =
            value->fate == TIC_FATE_GOOD || tic_store_verify(snapshot->store, &value->saved) == 0;
        value->fate = whole ? TIC_FATE_GOOD : value->fate;
    }
    return whole;
}

static void touch(struct plan *plan, size_t task, uint32_t modes)
{
    for (uint64_t k = 0; k < plan->tasks[task].count; k++) {
        const struct tic_plan_access *access = &plan->accesses[plan->tasks[task].first + k];
        plan->datums[access->data].touched |= (access->mode & modes) != 0;
    }
}

/* False: it has lost results. */
static bool check_results(struct plan *plan)
{
    bool whole = true;

    for (size_t i = 0; i < plan->data_count; i++)
        plan->datums[i].touched = false;
    for (size_t t = 0; t < plan->task_count; t++) {
        if (plan->items[t].result && !verify(plan, t)) {
            lose_result(plan, t);
            whole = false;
        }
        bool by_main = plan->items[t].is_use && !plan->items[t].is_unknown;
        if (!plan->items[t].result)
            touch(plan, t, by_main ? TIC_PLAN_W : UINT32_MAX);
    }
    return whole;
}

/* Each round goes back by a task in a chain of them. */
enum { MOST_ROUNDS = 64 };

/* Plans until all that is needed is whole; each round loses a result or is the last. */
static int settle(struct plan *plan)
{
    int status = make_plan(plan);

    for (unsigned round = 1; status == 0 && !check_results(plan); round++) {
        for (size_t t = 0; t < plan->task_count && round == MOST_ROUNDS; t++)
            if (plan->items[t].result)
                lose_result(plan, t);
        status = make_plan(plan);
    }
    return status;
}

/* Sums up, and marks what nobody will read. */
static void note_plan(struct plan *plan)
{
    struct tic_snapshot *snapshot = plan->snapshot;
    struct tic_planned *planned = &snapshot->recovery.planned;

    planned->tasks = snapshot->recovery.known.task_count;
    for (size_t a = 0; a < plan->access_count; a++) {
        if (plan->value[a] == NO_VALUE || !plan->accesses[a].durable)
            continue;
        struct tic_forced_value *value = &snapshot->recovery.values[plan->value[a]];
        bool needed = value->fate == TIC_FATE_GOOD;
        if (!needed)
            value->fate = TIC_FATE_SPARE;
        planned->all_values++;
        planned->all_bytes += value->bytes;
        planned->values += needed;
        planned->bytes += needed ? value->bytes : 0;
    }
    for (unsigned long i = 0; i < snapshot->recovery.known.task_count; i++)
        planned->executes +=
            tic_snapshot_forced_of(snapshot, snapshot->recovery.known.tasks[i].sequence) == NULL;
}

/* How many tasks would be executed if those were not whose versions nobody needs. */
static int note_least(struct plan *plan)
{
    for (size_t t = 0; t < plan->task_count; t++) {
        bool writes = false;
        for (uint32_t i = 0; i < plan->tasks[t].count; i++)
            writes |= (plan->accesses[plan->tasks[t].first + i].mode & TIC_PLAN_W) != 0;
        plan->tasks[t].always &= plan->items[t].is_use || !writes;
    }
    int status = make_plan(plan);
    for (size_t t = 0; t < plan->task_count && status == 0; t++)
        plan->snapshot->recovery.planned.least += plan->executes[t] && !plan->items[t].is_use;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool allocate(struct plan *plan)
{
    const struct tic_known *known = &plan->snapshot->recovery.known;
    /* Before each access of a task there may be one of unknown tasks. */
    size_t accesses = 2 * known->access_count + known->use_count + 1;
    size_t tasks = known->task_count + known->access_count + known->use_count + 1;

    plan->tasks = calloc(tasks, sizeof(*plan->tasks));
    plan->items = calloc(tasks, sizeof(*plan->items));
    plan->executes = calloc(tasks, sizeof(*plan->executes));
    plan->accesses = calloc(accesses, sizeof(*plan->accesses));
    plan->value = calloc(accesses, sizeof(*plan->value));
    plan->restores = calloc(accesses, sizeof(*plan->restores));
    plan->data = calloc(accesses, sizeof(*plan->data));
    plan->datums = calloc(accesses, sizeof(*plan->datums));
    return plan->tasks && plan->items && plan->executes && plan->accesses && plan->value &&
           plan->restores && plan->data && plan->datums;
}

static void release(struct plan *plan)
{
    free(plan->tasks);
    free(plan->items);
    free(plan->executes);
    free(plan->accesses);
    free(plan->value);
    free(plan->restores);
    free(plan->data);
    free(plan->datums);
}

static void tell(const struct tic_planned *planned)
{
    tic_log(TIC_LOG_DETAIL,
            "plan: of %llu tasks that the event log tells of, %llu are executed again (%llu at "
            "least); of %llu values, %llu bytes, of the others, %llu values, %llu bytes, are "
            "needed",
            (unsigned long long)planned->tasks, (unsigned long long)planned->executes,
            (unsigned long long)planned->least, (unsigned long long)planned->all_values,
            (unsigned long long)planned->all_bytes, (unsigned long long)planned->values,
            (unsigned long long)planned->bytes);
}

int tic_recovery_plan(struct tic_snapshot *snapshot)
{
    struct plan plan = {.snapshot = snapshot};
    int status = 0;

    if (snapshot->recovery.result_count == 0 || snapshot->recovery.known.task_count == 0)
        return 0;
    if (!allocate(&plan)) {
        status = -ENOMEM;
    } else {
        list_data(&plan, &snapshot->recovery.known);
        follow_program(&plan);
        status = settle(&plan);
        tic_snapshot_drop_forced(snapshot);
        if (status == 0)
            note_plan(&plan);
        status = status ? status : note_least(&plan);
        if (status == 0)
            tell(&snapshot->recovery.planned);
    }
    release(&plan);
    tic_known_clear(&snapshot->recovery.known);
    return status;
}
