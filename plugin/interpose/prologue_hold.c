/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart runs prologues that had run by the recovered cut in the order, and beside the steps of
 * main(), that they had, whether their task is done or not; the others with their task, when main()
 * has come to the cut. */
#include "interpose/prologue_hold.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "session/accesses.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/declared.h"
#include "interpose/later.h"
#include "interpose/prologue.h"
#include "interpose/redo_values.h"
#include "replay/replay.h"
#include "session/task.h"
#include "real/real.h"

void tic_prologue_expect_locked(const struct starpu_task *task, const struct tic_accesses *accesses,
                                uint64_t key)
{
    if (!tic_session->recovered || tic_replay_is_on() || !tic_task_has_prologue(task) ||
        !tic_prologue_may_read(task, key))
        return;
    for (unsigned i = 0; i < accesses->count; i++)
        if (accesses->items[i].mode & STARPU_R &&
            tic_declared_has_content(accesses->items[i].handle))
            tic_declared_expect_locked(tic_prologue_key_of_reads(key), i, accesses->items[i].handle,
                                       false);
}

static struct tic_wrapped_prologue *
wrap_or_stop(struct starpu_task *task, const struct tic_prologue_place *place, uint64_t key)
{
    struct tic_wrapped_prologue *wrapped = tic_prologue_wrap_one(task, place, key);

    if (!wrapped)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return wrapped;
}

static bool has_run(uint64_t key)
{
    return tic_graph_has_begun(&tic_session->graph, key);
}

static bool frees_argument(const struct starpu_task *task, const struct tic_prologue_place *place)
{
    return place->bit == TIC_PROLOGUE_FIRST ? task->prologue_callback_arg_free
                                            : task->prologue_callback_pop_arg_free;
}

/* It comes without its task. */
static void leave_apart(struct starpu_task *task, const struct tic_prologue_place *place,
                        uint64_t key)
{
    struct tic_wrapped_prologue *wrapped = wrap_or_stop(task, place, key);

    wrapped->held = true;
    if (!frees_argument(task, place))
        return;
    wrapped->argument = NULL;
    if (place->bit == TIC_PROLOGUE_FIRST)
        task->prologue_callback_arg_free = 0;
    else
        task->prologue_callback_pop_arg_free = 0;
}

/* False: main() need not come further for it. */
static bool hold_apart(struct starpu_task *task, const struct tic_prologue_place *place,
                       uint64_t key)
{
    if (!tic_clock_hold_locked(key ^ place->bit, *place->function, *place->argument,
                               frees_argument(task, place)))
        return false;
    leave_apart(task, place, key);
    return true;
}

/* When this submission is over, if main() need not come further for it: others that are due then
 * had run before it. */
static void run_apart(struct starpu_task *task, const struct tic_prologue_place *place,
                      uint64_t key)
{
    if (hold_apart(task, place, key))
        return;
    tic_clock_leave_locked(key ^ place->bit, *place->function, *place->argument,
                           frees_argument(task, place));
    leave_apart(task, place, key);
}

static void hold_done(struct starpu_task *task, const struct tic_prologue_place *place,
                      uint64_t key)
{
    if (*place->function && tic_is_owner && has_run(key ^ place->bit))
        run_apart(task, place, key);
    else if (*place->function)
        hold_apart(task, place, key);
}

void tic_prologue_hold_done(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);

    hold_done(task, &first, key);
    hold_done(task, &pop, key);
}

/* StarPU would remember it if the application submitted the structure again. */
static struct starpu_task *make_gate(void)
{
    struct starpu_task *gate = tic_task_create();

    if (!gate)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return gate;
}

/* It does not end before that is opened once more. */
static void lock_gate(struct starpu_task *gate)
{
    tic_guard++;
    tic_real.starpu_task_end_dep_add(gate, 1);
    tic_guard--;
}

static void submit_gate(struct starpu_task *task, struct starpu_task *gate)
{
    tic_guard++;
    tic_real.starpu_task_declare_deps_array(task, 1, &gate);
    tic_guard--;
    tic_task_submit(gate);
}

/* The task is executed again before the cut, after its prologues. */
struct opening {
    void (*function)(void *);
    void *argument;
    bool free_argument;
    struct starpu_task *gate;
};

static void run_and_open(void *arg)
{
    struct opening opening = *(struct opening *)arg;

    free(arg);
    opening.function(opening.argument);
    if (opening.free_argument)
        free(opening.argument);
    tic_clock_open_gate(opening.gate);
}

static void open_after(struct starpu_task *task, const struct tic_prologue_place *place,
                       uint64_t key, struct starpu_task *gate)
{
    struct opening *opening = malloc(sizeof(*opening));

    if (!opening)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *opening =
        (struct opening){*place->function, *place->argument, frees_argument(task, place), gate};
    lock_gate(gate);
    if (!tic_clock_hold_locked(key ^ place->bit, run_and_open, opening, false))
        tic_clock_leave_locked(key ^ place->bit, run_and_open, opening, false);
    leave_apart(task, place, key);
}

void tic_prologue_hold_again(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);
    bool holds_first = *first.function && has_run(key ^ first.bit),
         holds_pop = *pop.function && has_run(key ^ pop.bit);

    if (!holds_first && !holds_pop)
        return;
    if (!task->destroy && tic_declared_has(tic_prologue_key_of_reads(key)))
        tic_stop(TIC_EXIT_REFUSED,
                 "a prologue of task \"%s\" reads data, and its structure stays with the program "
                 "(destroy = 0), so a restart cannot run it again before the task. "
                 "STARPU_TIC_POINTERS=trust is the promise that prologues do not read data",
                 tic_task_name(task));
    if (!task->destroy)
        return;
    struct starpu_task *gate = make_gate();
    if (holds_first)
        open_after(task, &first, key, gate);
    if (holds_pop)
        open_after(task, &pop, key, gate);
    submit_gate(task, gate);
}

static void hold_live(struct starpu_task *task, const struct tic_prologue_place *place,
                      uint64_t key)
{
    if (*place->function && has_run(key ^ place->bit))
        run_apart(task, place, key);
    else if (*place->function && !task->destroy)
        wrap_or_stop(task, place, key)->stays = true;
}

void tic_prologue_hold_live(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);

    hold_live(task, &first, key);
    hold_live(task, &pop, key);
    if (!*pop.function && !task->destroy && tic_task_runs_nowhere(task) && tic_callback_of(task) &&
        !has_run(key)) /* its callback waits, and it with that */
        wrap_or_stop(task, &pop, key)->stays = true;
}

/* Before it a task that ends when main() has come that far, and others that had run before it have.
 */
void tic_prologue_hold_start(struct starpu_task *task, uint64_t key)
{
    uint64_t begin = key ^ (task->prologue_callback_func ? TIC_PROLOGUE_FIRST : TIC_PROLOGUE_POP);
    bool known = has_run(begin);

    if (!task->destroy || !(known || (tic_task_has_prologue(task) && tic_clock_is_behind())))
        return;
    struct starpu_task *gate = make_gate();
    lock_gate(gate);
    if (!tic_clock_hold_gate_locked(begin, gate))
        tic_clock_leave_gate_locked(begin, gate);
    submit_gate(task, gate);
}

/* ---- in a restart that redoes its history ---------------------------------------------------- */

struct redone {
    uint64_t key;
    void (*function)(void *);
    void *argument;
    bool free_argument;
    struct tic_redo_reads *reads;
};

static void show(void *arg)
{
    const struct redone *redone = arg;

    tic_redo_show_reads(redone->reads);
}

static void run(void *arg)
{
    struct redone *redone = arg;

    tic_callback_begin(redone->key, redone->function, redone->argument);
    if (redone->free_argument)
        free(redone->argument);
    free(redone->reads);
    free(redone);
}

/* The values were logged before the first of a task, and once more where that runs nowhere. */
static struct redone *describe(struct starpu_task *task, const struct tic_prologue_place *place,
                               uint64_t key)
{
    bool nowhere = place->bit == TIC_PROLOGUE_POP && tic_nowhere_has_key(key);
    struct redone *redone = malloc(sizeof(*redone));

    if (!redone)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *redone = (struct redone){
        .key = key ^ place->bit,
        .function = *place->function,
        .argument = *place->argument,
        .free_argument = frees_argument(task, place),
        .reads = tic_redo_list_reads(task, nowhere ? key : tic_prologue_key_of_reads(key))};
    return redone;
}

/* True: it had not begun. */
static bool redo_one(struct starpu_task *task, const struct tic_prologue_place *place, uint64_t key,
                     bool shows)
{
    if (!*place->function)
        return false;
    struct redone *redone = describe(task, place, key);
    const struct tic_replay_actor actor = {shows ? show : NULL, run, redone};
    if (tic_replay_add_actor(TIC_HISTORY_CALLBACK, redone->key, &actor, tic_is_owner)) {
        leave_apart(task, place, key);
        return false;
    }
    free(redone->reads);
    free(redone);
    return true;
}

bool tic_prologue_redo(struct starpu_task *task, uint64_t key)
{
    const struct tic_prologue_place first = tic_prologue_place_of_first(task),
                                    pop = tic_prologue_place_of_pop(task);
    bool has_first = *first.function != NULL, later = redo_one(task, &first, key, true);

    return redo_one(task, &pop, key, !has_first || tic_nowhere_has_key(key)) || later;
}
