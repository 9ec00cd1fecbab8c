/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the clock of main() holds back. A skipped task ends at once in a replay, but its callback
 * came later, maybe after main() had gone on: it is held back until main() has come as far as it
 * had then. So is its prologue, and a task that is not done because of its prologue. main() came
 * there without it, so this cannot block main(); nor does what it does then, as it runs on a thread
 * of its own (runner.c). Callbacks of tasks that are skipped inside another callback run after that
 * one, not inside it. */
#include "interpose/later.h"

#include <stdlib.h>

#include "base/error.h"
#include "session/backlog.h"
#include "session/clock.h"
#include "session/context.h"
#include "interpose/looks.h"
#include "interpose/looks_list.h"
#include "interpose/declared.h"
#include "interpose/position.h"
#include "interpose/redo_values.h"
#include "interpose/runner.h"
#include "interpose/turns.h"
#include "unseen/statics.h"
#include "session/task.h"
#include "replay/replay.h"

struct held {
    struct tic_postponed postponed; /* first: what the backlog gives back is this */
    uint64_t key;
    void (*run)(void *);
    void *argument;
    bool free_argument;
    bool notes;                   /* run itself notes that it begins */
    struct starpu_task *gate;     /* in place of these: ends then; or NULL */
    struct starpu_task *task;     /* whose callback it is; or NULL */
    bool owned;                   /* StarPU needs the task no more: it goes after its callback */
    bool expected;                /* main() waits for it at the recovered cut */
    struct tic_small small;       /* data that the callback may look at */
    struct tic_redo_reads *reads; /* what it is shown before it runs; or NULL */
    struct held *next;            /* put off after it on the same thread */
};

static struct {
    struct starpu_task **items;
    unsigned long count, capacity;
} buried; /* guarded by the submission lock: tasks whose callbacks come after their ends; they stay
           */

bool tic_clock_lags;

static __thread struct starpu_task *current __attribute__((tls_model("initial-exec")));

/* ---- as the application ---------------------------------------------------------------------- */

/* A quiescent line is taken while none is open. Where one is, the line waits for it, and others may
 * begin. */
void tic_callback_open(void)
{
    struct tic_session *session = tic_session;
    _Atomic uint32_t *open = &session->graph.callbacks_open;

    while (atomic_fetch_add(open, 1) == 0 && atomic_load(&session->snapshot.verify.closed)) {
        atomic_fetch_sub(open, 1);
        tic_verify_await_open(&session->snapshot);
    }
}

void tic_callback_close(struct tic_running_callback *running)
{
    tic_snapshot_end_callback(&tic_session->snapshot, running);
    atomic_fetch_sub(&tic_session->graph.callbacks_open, 1);
}

/* It may run inside a call of the owner thread. */
static void run_as_application(void (*run)(void *), void *argument)
{
    int guard = tic_guard;

    tic_statics_enter_callback();
    tic_guard = 0;
    tic_in_callback++;
    tic_runner_enter_application();
    run(argument);
    tic_runner_leave_application();
    tic_in_callback--;
    tic_guard = guard;
    atomic_fetch_add_explicit(&tic_session->graph.told, 1, memory_order_relaxed);
}

void tic_callback_run(void (*run)(void *), void *argument)
{
    run_as_application(run, argument);
    if (tic_in_callback == 0)
        tic_clock_run_put_off();
}

/* It may look at what its task declares: a prologue, or a callback of a task that runs nowhere. */
static void show_data(uint64_t key)
{
    if (tic_nowhere_has_key(key) && !(key & TIC_PROLOGUE_FIRST))
        tic_declared_show(key & ~TIC_PROLOGUE_POP);
    else if (!(key & TIC_SPAWN_KEY) && key & (TIC_PROLOGUE_FIRST | TIC_PROLOGUE_POP))
        tic_declared_show(tic_prologue_key_of_reads(key & ~TIC_PROLOGUE_POP));
}

void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument)
{
    struct tic_session *session = tic_session;
    struct tic_running_callback running = {.nested = tic_session_asks(key)};

    tic_callback_open();
    if (session->recovered) {
        show_data(key);
        tic_looks_show_callback(key);
    }
    if (atomic_load(&session->watching) &&
        tic_snapshot_begin_callback(&session->snapshot, key, &running) != 0)
        tic_snapshot_break(&session->snapshot, "out of memory");
    tic_callback_run(run, argument);
    tic_callback_close(&running);
}

static uint64_t start_clock(bool has, uint64_t key)
{
    uint64_t clock = 0, rank;

    if (has)
        tic_graph_find_callback(&tic_session->graph, key, &clock, &rank);
    return clock;
}

uint64_t tic_callback_start_clock(const struct starpu_task *task, uint64_t key)
{
    uint64_t first =
        start_clock(task->destroy && task->prologue_callback_func, key ^ TIC_PROLOGUE_FIRST);
    uint64_t pop =
        start_clock(task->destroy && task->prologue_callback_pop_func, key ^ TIC_PROLOGUE_POP);

    return first > pop ? first : pop;
}

/* ---- what is held back ----------------------------------------------------------------------- */

static struct held *copy_of(const struct held *held)
{
    struct held *copy = malloc(sizeof(*copy));

    if (!copy)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *copy = *held;
    return copy;
}

static void add(const struct held *held)
{
    if (!tic_backlog_add(&copy_of(held)->postponed))
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
}

static bool is_to_wait(const struct tic_postponed *postponed)
{
    return postponed->clock > tic_clock_now() || (!postponed->known && tic_position_is_ahead());
}

static void release_due(void);

/* main() may tick meanwhile: it sees what is held, or we see its tick. */
static bool hold_until_locked(struct held *held, const struct tic_postponed *until)
{
    struct tic_postponed *postponed = &held->postponed;

    *postponed = *until;
    if (!is_to_wait(postponed))
        return false;
    add(held);
    if (!is_to_wait(postponed))
        tic_runner_ask(release_due);
    return true;
}

static bool try_hold_locked(struct held *held)
{
    struct tic_postponed until;

    until.known =
        tic_graph_find_callback(&tic_session->graph, held->key, &until.clock, &until.rank);
    return hold_until_locked(held, &until);
}

bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument)
{
    struct held held = {
        .key = key, .run = run, .argument = argument, .free_argument = free_argument};

    return try_hold_locked(&held);
}

bool tic_clock_hold_gate_locked(uint64_t key, struct starpu_task *gate)
{
    struct held held = {.key = key, .gate = gate};

    return try_hold_locked(&held);
}

void tic_clock_open_gate(struct starpu_task *gate)
{
    tic_guard++;
    tic_real.starpu_task_end_dep_release(gate);
    tic_guard--;
}

bool tic_clock_hold_to_cut_locked(uint64_t key, void (*run)(void *), void *argument)
{
    struct held held = {.key = key, .run = run, .argument = argument, .notes = true};
    const struct tic_postponed cut = {tic_session->graph.recovered.clock, false, UINT64_MAX};

    return hold_until_locked(&held, &cut);
}

/* ---- callbacks of tasks ---------------------------------------------------------------------- */

static void bury_locked(struct starpu_task *task)
{
    void *grown =
        tic_grow(buried.items, &buried.capacity, buried.count + 1, sizeof(struct starpu_task *));

    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    buried.items = grown;
    buried.items[buried.count++] = task;
}

/* The callback may look at its task, whose structure StarPU would free at its end. */
static void keep_locked(struct starpu_task *task, bool owned)
{
    if (task->destroy && !owned)
        bury_locked(task);
    task->destroy = 0;
}

/* small: of a task that has ended, whose data may be gone; NULL: it has not. */
static struct held callback_of(struct starpu_task *task, uint64_t key, bool owned,
                               const struct tic_small *small)
{
    struct held held = {.key = key,
                        .run = tic_callback_of(task),
                        .argument = task->callback_arg,
                        .task = task,
                        .owned = owned};

    if (small)
        held.small = *small;
    else
        tic_looks_list_small(task, &held.small);
    return held;
}

bool tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small)
{
    struct held held = callback_of(task, key, owned, small);

    if (!held.run || !try_hold_locked(&held))
        return false;
    keep_locked(task, owned);
    return true;
}

struct starpu_task *tic_clock_current_task(void)
{
    return current;
}

/* StarPU has never seen a task that is ours: nobody has measured its times. */
static void add_times(struct starpu_task *task)
{
    if (!task->profiling_info && tic_real.starpu_profiling_status_get())
        task->profiling_info = calloc(1, sizeof(*task->profiling_info));
}

/* ---- running --------------------------------------------------------------------------------- */

/* As StarPU does it on a worker. */
static void run_on_time(const struct held *held)
{
    struct starpu_task *outer = current;

    current = held->task;
    if (held->owned)
        add_times(held->task);
    tic_looks_note_callback(&held->small, held->key);
    tic_callback_begin(held->key, held->run, held->argument);
    current = outer;
    if (held->expected)
        tic_position_note_shown();
    if (held->free_argument)
        free(held->argument);
    if (held->owned)
        tic_real.starpu_task_destroy(held->task);
}

static void show_reads(void *arg)
{
    const struct held *held = arg;

    tic_redo_show_reads(held->reads);
}

static void run_held(void *arg)
{
    const struct held *held = arg;
    struct tic_turn turn;

    if (held->gate) {
        tic_clock_open_gate(held->gate);
    } else {
        tic_turn_begin(&turn, held->key);
        if (held->notes)
            held->run(held->argument);
        else
            run_on_time(held);
        tic_turn_end(&turn);
    }
    free(held->reads);
    free(arg);
}

static void await_end(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    tic_replay_await_end();
}

/* On a worker, as of another task: who waits for all tasks waits for it. */
static void play_callback(void *arg)
{
    static struct starpu_codelet codelet = {
        .where = STARPU_CPU, .cpu_funcs = {await_end}, .name = "tic_callback"};
    struct starpu_task *task = tic_task_create();

    if (!task)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    task->cl = &codelet;
    task->callback_func = run_held;
    task->callback_arg = arg;
    if (!tic_task_submit(task))
        tic_stop(TIC_EXIT_REFUSED, "cannot submit a task for a callback in the replay");
}

static void queue_held(struct held *held)
{
    if (!tic_replay_queue(play_callback, held))
        play_callback(held);
}

bool tic_clock_redo_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small)
{
    struct held held = callback_of(task, key, owned, small);

    if (!held.run)
        return false;
    keep_locked(task, owned);
    if (tic_nowhere_has_key(key))
        held.reads = tic_redo_list_reads(task, key);
    struct held *copy = copy_of(&held);
    const struct tic_replay_actor actor = {held.reads ? show_reads : NULL, run_held, copy};
    if (!tic_replay_add_actor(TIC_HISTORY_CALLBACK, key, &actor, tic_is_owner))
        queue_held(copy);
    return true;
}

void tic_clock_redo_access(uint64_t key, void (*run)(void *), void *argument)
{
    const struct held held = {.key = key, .run = run, .argument = argument, .notes = true};

    queue_held(copy_of(&held));
}

/* ---- what is due ----------------------------------------------------------------------------- */

/* Those that had not run by the cut come when its values are there. */
static bool has_due(void)
{
    bool ahead = tic_position_is_ahead();

    return tic_clock_is_due() && tic_backlog_has_due(tic_clock_now(), ahead);
}

static struct held *take(void)
{
    bool ahead = tic_position_is_ahead();

    return (struct held *)tic_backlog_take(tic_clock_now(), ahead);
}

static void run_due(void *arg)
{
    struct held *held;

    (void)arg;
    while (!tic_runner_is_left() && (held = take()) != NULL)
        run_held(held);
}

/* One that waits for somebody keeps its runner; another one goes on after it. */
static void release_due(void)
{
    while (has_due())
        tic_runner_run(run_due, NULL);
}

void tic_clock_catch_up(void)
{
    tic_clock_lags = false;
    tic_runner_await();
    release_due();
}

/* To hand each callback to a runner and wait for it would take longer than what is skipped. */
void tic_clock_release_meanwhile(void)
{
    tic_clock_lags = true;
    if (!tic_runner_ask(release_due))
        tic_clock_catch_up();
}

static void add_due(struct held *held)
{
    struct tic_postponed *postponed = &held->postponed;

    tic_graph_find_callback(&tic_session->graph, held->key, &postponed->clock, &postponed->rank);
    postponed->clock = tic_clock_now();
    postponed->known = true;
    add(held);
}

void tic_clock_leave_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument)
{
    struct held held = {
        .key = key, .run = run, .argument = argument, .free_argument = free_argument};

    add_due(&held);
}

/* main() may be waiting in StarPU for what the gate holds back. */
void tic_clock_leave_gate_locked(uint64_t key, struct starpu_task *gate)
{
    struct held held = {.key = key, .gate = gate};

    add_due(&held);
    tic_runner_ask(release_due);
}

void tic_clock_run_apart(struct starpu_task *task, uint64_t key, bool expected, bool meanwhile,
                         const struct tic_small *small)
{
    struct held held = callback_of(task, key, false, small);

    held.expected = expected;
    tic_lock(&tic_session->submit);
    keep_locked(task, false);
    tic_unlock(&tic_session->submit);
    add_due(&held);
    if (meanwhile)
        tic_clock_release_meanwhile();
    else
        tic_clock_catch_up();
}

/* ---- callbacks inside callbacks ---------------------------------------------------------------
 */

/* A skipped task ends inside its submission. If its callback ran there, in the callback that
 * submits it, a chain of tasks that submit each other by callbacks would fill the stack. So this
 * thread queues such callbacks, and runs them when the outermost callback has returned. */
static __thread struct {
    struct held *first, *last;
    bool runs; /* this thread takes them out of the queue now */
} queue __attribute__((tls_model("initial-exec")));

static void put_off(const struct held *held)
{
    struct held *copy = copy_of(held);

    if (queue.first)
        queue.last->next = copy;
    else
        queue.first = copy;
    queue.last = copy;
}

bool tic_clock_put_off_locked(struct starpu_task *task, uint64_t key)
{
    bool nested = tic_in_callback > 0;

    if (!nested && !(tic_is_owner && tic_clock_is_behind()))
        return false;
    struct held held = callback_of(task, key, true, NULL);
    held.expected = tic_position_expect(key);
    keep_locked(task, true);
    if (nested)
        put_off(&held);
    else
        add_due(&held);
    return true;
}

/* When its callback runs, the submission that ended the task has returned. */
void tic_clock_put_off_ended(struct starpu_task *task, uint64_t key, bool expected,
                             const struct tic_small *small)
{
    bool owned = task->destroy && task->detach;

    tic_lock(&tic_session->submit);
    struct held held = callback_of(task, key, owned, small);
    keep_locked(task, owned);
    tic_unlock(&tic_session->submit);
    held.expected = expected;
    put_off(&held);
}

void tic_clock_run_put_off(void)
{
    if (queue.runs)
        return;
    queue.runs = true;
    while (queue.first) {
        struct held *held = queue.first;
        queue.first = held->next;
        run_held(held);
    }
    queue.runs = false;
}

bool tic_clock_holds(void)
{
    return atomic_load(&tic_backlog_earliest) != UINT64_MAX;
}
