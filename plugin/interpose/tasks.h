/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks and data of the application as wrappers and hooks see them. */
#ifndef TIC_INTERPOSE_TASKS_H
#define TIC_INTERPOSE_TASKS_H

#include "graph/family.h"
#include "interpose/backlog.h"
#include "interpose/session.h"
#include "interpose/task.h"

struct tic_small; /* looks.h */

/* ---- successors.c --------------------------------------------------------------------------- */
/* Did main() ask for successors of tasks in the recorded run? */
bool tic_successors_were_asked(const struct tic_graph *graph);

/* ---- lookup.c ------------------------------------------------------------------------------- */
/* Our record of a StarPU handle; NULL when we have none. */
struct tic_handle *tic_handle_of(starpu_data_handle_t data);
/* After its registration; before it leaves; before StarPU stops and takes all data with it. */
void tic_data_remember(starpu_data_handle_t data, struct tic_handle *handle);
void tic_data_forget(starpu_data_handle_t data);
void tic_data_forget_all(void);
/* StarPU shuts down: data without a home that is still registered leaves. */
void tic_data_leave_all(void);
/* Keeps what the application stores with its data. False when out of memory. */
bool tic_data_keep_user_data(starpu_data_handle_t data, void *user_data);

/* ---- data.c --------------------------------------------------------------------------------- */
static inline bool tic_handle_is_empty(const struct tic_handle *handle)
{
    return handle->empty;
}
/* How the data of an interface lies in memory. False: an interface that cannot be saved yet.
 * ndim 0: data without content. */
bool tic_interface_layout(enum starpu_data_interface_id id, const void *interface,
                          struct tic_layout *layout);
/* Takes the address from an interface on a node of main memory. */
void tic_handle_locate(struct tic_handle *handle, void *interface);
/* A task has ended, on its worker. */
void tic_data_check_shapes(const struct starpu_task *task, const struct tic_slot *slot);
void tic_data_on_register_after(starpu_data_handle_t data, int home_node);
void tic_data_on_unregister_before(starpu_data_handle_t data, bool coherent);
/* StarPU is about to forget the value, and to free its memory if that is not main()'s. */
void tic_data_on_invalidate_before(struct tic_handle *handle);
void tic_data_on_unregister_submit_before(starpu_data_handle_t data);
void tic_data_on_partition_before(starpu_data_handle_t data);
void tic_data_on_partition_after(starpu_data_handle_t data);
void tic_data_on_unpartition_before(starpu_data_handle_t data);
void tic_data_on_unpartition_after(starpu_data_handle_t data);
void tic_data_on_plan_after(starpu_data_handle_t data, starpu_data_handle_t *parts, unsigned count);
void tic_data_on_clean_before(starpu_data_handle_t *parts, unsigned count);
/* Waits until every submitted task that uses the handle has ended. */
void tic_data_wait(struct tic_handle *handle);
/* Stops the start: a value cannot be read; logged: of a result in the event log. */
_Noreturn void tic_data_stop_unreadable(uint64_t id, int status, bool logged);
/* Writes a recorded value for main() to read; no live task has accessed the data yet. */
void tic_data_deliver(struct tic_handle *handle, const struct tic_saved *saved);
/* Writes a recorded value of it to memory with the same layout. */
void tic_data_write_to(struct tic_handle *handle, const struct tic_saved *saved,
                       const struct tic_layout *to);
/* The same under the submission lock, on any thread: into its memory, without an access. */
void tic_data_expose_locked(struct tic_handle *handle, const struct tic_saved *saved);
/* The same while a value of this run is there, which waits until main() gives its access back;
 * main() holds it. */
void tic_data_show(struct tic_handle *handle, const struct tic_saved *saved);
/* What main() writes now is older than what is there. */
void tic_data_set_aside(struct tic_handle *handle);
/* main() gives its access back. */
void tic_data_put_back(struct tic_handle *handle);
/* A task that copies `from` into `to`; NULL, with protection ended, when it cannot be ours. */
struct starpu_task *tic_data_copy_task(starpu_data_handle_t to, starpu_data_handle_t from,
                                       int asynchronous, void (*callback)(void *), void *arg);
/* Writes the recovered value into the handle, if it still waits for that; now, or by a restore task
 * that later accesses depend on. */
void tic_data_restore(struct tic_handle *handle, bool now);
void tic_data_restore_locked(struct tic_handle *handle, bool now); /* under the submission lock */
/* The same wherever main() is. */
void tic_data_restore_now_locked(struct tic_handle *handle, bool now);
/* Its value can be written into its memory at once, on any thread. */
bool tic_data_is_in_place(const struct tic_handle *handle);
/* What a task uses, before main() has come to the cut; and data that leaves the graph now. */
void tic_data_restore_early_locked(struct starpu_task *task);
/* The value that the handle has at the cut. */
struct tic_saved tic_data_recovered_value(struct tic_handle *handle);
/* Stops the start: what a task reads first is not what it was. */
_Noreturn void tic_data_stop_input(const struct tic_handle *handle);
void tic_data_restore_leaving(struct tic_handle *handle);
/* All data in memory of main(). */
void tic_data_restore_image(void);
/* A result of the event log became the value of this handle. Under the submission lock. */
void tic_data_note_adopted(struct tic_handle *handle);
/* Writes all that was adopted into memory: main() or a task may look at any of it. */
void tic_data_restore_adopted_locked(void);
void tic_data_restore_adopted(void);
/* Writes into `copy` a saved value or, if NULL, what the handle `like` holds now: by a task that
 * the reader depends on, or at once. Inside the guard. False when it cannot be done. */
bool tic_data_fill(starpu_data_handle_t copy, struct tic_handle *like,
                   const struct tic_saved *saved, struct starpu_task *reader);
/* Control tasks of a replay may name data whose writers were all skipped, and whose value was
 * dropped before the cut: StarPU wants it written once. Under the submission lock. */
void tic_data_make_readable_locked(struct tic_handle *handle);
void tic_data_restore_all(void);
/* Protection has ended because of another thread than the owner's, which is about to use this
 * handle (may be NULL). */
void tic_data_bring_up(struct tic_handle *handle);
/* May a restart write into its memory? False, or a message, for data that nobody has used, whose
 * memory may no longer be the program's. Under the submission lock. */
bool tic_data_may_change(const struct tic_handle *handle);
/* Stops if its memory is closed to writing. */
void tic_data_require_writable(const struct tic_handle *handle);
/* main() uses it after so many submissions; under the submission lock. */
void tic_data_note_main_use_of_overlaps(struct tic_handle *handle, bool writes,
                                        uint64_t submissions);
static inline void tic_data_note_main_use(struct tic_handle *handle, bool writes,
                                          uint64_t submissions)
{
    if (!handle)
        return;
    *(writes ? &handle->main_written : &handle->main_read) = submissions;
    if (handle->family)
        tic_data_note_main_use_of_overlaps(handle, writes, submissions);
}
/* A task that writes it is submitted, or, if not live, was and is done; under the submission lock.
 */
void tic_data_note_family_write(struct tic_handle *handle, bool live);
/* Something is written into it (may be NULL). */
void tic_data_note_valid(struct tic_handle *handle);
static inline void tic_data_note_write(struct tic_handle *handle, bool live)
{
    handle->submitted_writes++;
    handle->live |= live;
    if (handle->family)
        tic_data_note_family_write(handle, live);
    else if (atomic_load_explicit(&handle->invalid, memory_order_relaxed))
        tic_data_note_valid(handle);
}
/* A task uses the handle: hashes its initial content if the first that does reads it. */
void tic_data_note_use(struct tic_handle *handle, bool reads);
/* Did tasks that were submitted so far write its value? Else it is what main() put there. */
static inline bool tic_data_holds_values(const struct tic_handle *handle)
{
    return handle->submitted_writes > 0 || handle->derived ||
           (handle->family && handle->family->submitted_writes > 0);
}

/* It, or what shares its memory, holds a value of this run; a recovered value waits. */
static inline bool tic_data_is_live(const struct tic_handle *handle)
{
    return handle->family ? handle->family->live : handle->live;
}
static inline bool tic_data_is_pending(const struct tic_handle *handle)
{
    return handle->family ? handle->family->pending : handle->pending;
}
/* In a replay: a part of data that is whole again in the recovered cut. */
static inline bool tic_data_is_past_part(const struct tic_handle *handle)
{
    return handle->parent && handle->parent->partition_over;
}

/* ---- submit.c ------------------------------------------------------------------------------- */
/* What becomes of a submission. */
enum tic_verdict {
    TIC_PASS,    /* submit it; it is not ours, or it must run */
    TIC_CONTROL, /* done: submit it as a control task (changed in place) */
    TIC_DROP,    /* done and nobody refers to it: destroyed, do not submit */
    TIC_HELD,    /* do not submit it now */
};
enum tic_verdict tic_submit_on_before(struct starpu_task *task);
/* A kept task that recovery submits: makes it live, or, when it is done, a control task. False when
 * out of memory. Takes over what the model owns. */
bool tic_submit_kept(struct starpu_task *task, const struct tic_spawn *model);
/* Before the real submission of a task that is not done and that main() did not submit. False when
 * out of memory. */
bool tic_submit_spawned(struct starpu_task *task, const struct tic_spawn *spawn);
/* Will main() skip this submission, if it is its next one? Owner thread. */
bool tic_submit_is_done(const struct starpu_task *task);
/* StarPU did not take the task. */
void tic_submit_on_refused(struct starpu_task *task);

/* ---- commute.c ------------------------------------------------------------------------------ */
/* Before a task is submitted: its commuting writes come in the order of submission. */
void tic_commute_in_order(struct starpu_task *task);
/* Before its kernel, which sees the modes that the application gave. */
void tic_commute_show(struct starpu_task *task);

/* ---- nowhere.c ------------------------------------------------------------------------------ */
/* Keys of control tasks of main() and of tasks that run nowhere have this bit: the operation of
 * main() that submits them. */
enum { TIC_CONTROL_KEY_BIT = 62 };
static inline bool tic_nowhere_has_key(uint64_t key)
{
    return !(key & TIC_SPAWN_KEY) && key & UINT64_C(1) << TIC_CONTROL_KEY_BIT;
}
/* Does StarPU order this access of a task that runs nowhere as it orders others? */
bool tic_nowhere_is_ordered(const struct starpu_task *task, unsigned buffer);
/* Shows what the task of this key read before, where no live task uses the data. */
void tic_nowhere_show(uint64_t key);
/* The task has its data: what its callbacks may read is shown, and logged. */
void tic_nowhere_begin(struct starpu_task *task, uint64_t key);

/* ---- reads.c -------------------------------------------------------------------------------- */
/* Logs what a task reads that a restart will execute again. On a worker, in its begin hook. */
void tic_reads_log(struct starpu_task *task, uint64_t key, uint64_t epoch);
/* Logs what an access of main() by callback reads, once it is granted. */
void tic_reads_log_access(struct tic_handle *handle, uint64_t key);
/* Gives a task that is executed again what it read before, in handles of our own. True when there
 * was something. */
bool tic_reads_deliver(struct starpu_task *task, uint64_t key);
/* After the real submission, in a recovered run. */
void tic_reads_after_submit(bool accepted);
/* The application's handles of a structure that stays with it, while ours stand there. */
struct tic_lent;
/* Takes over what was delivered to such a task; NULL: nothing. */
struct tic_lent *tic_reads_lend(struct starpu_task *task);
/* Gives the task, or a copy of it, the application's handles back. lent may be NULL. */
void tic_reads_put_back(struct starpu_task *task, const struct tic_lent *lent);
/* The task does not need ours any more. */
void tic_reads_end_loan(struct tic_lent *lent);

/* ---- order.c -------------------------------------------------------------------------------- */
/* In a replay, under the submission lock, before the real submission: the task is executed again.
 */
void tic_order_again(struct starpu_task *task, uint64_t key);
/* The task comes after those that are executed again, if they use the same data. enters: StarPU
 * will know it. */
void tic_order_follow(struct starpu_task *task, bool enters);
/* Does it wait for such a task? */
bool tic_order_is_behind(struct starpu_task *task);
/* After the real submission of a task that is executed again. */
void tic_order_after_submit(bool accepted);
/* main() waits for tasks that are executed again, and for what came after them. */
void tic_order_wait(struct tic_handle *handle, bool writes);
/* The data is about to be unregistered. */
void tic_order_forget(struct tic_handle *handle);

/* ---- pack.c --------------------------------------------------------------------------------- */
/* Can the interface pack it? Then the handle is saved that way. */
bool tic_pack_supports(struct tic_handle *handle);
/* Reads a value and unpacks it; the data is allocated and nobody uses it. 0 or -errno. */
int tic_pack_restore(starpu_data_handle_t data, const struct tic_saved *saved);

/* ---- forced.c ------------------------------------------------------------------------------- */
/* Around a protected task, on its worker. has_more: its result lies not only in its data. */
void tic_forced_begin(struct starpu_task *task, struct tic_slot *slot);
void tic_forced_end(struct tic_slot *slot, bool has_more);
/* Submits what the log holds in the place of the task, if it does. awaited: the task itself, made a
 * control task, comes after that. Under the submission lock. */
bool tic_forced_use(struct starpu_task *task, uint64_t sequence, bool awaited);

/* ---- record.c: SEL; on the owner thread ------------------------------------------------------ */
void tic_record_created(struct starpu_task *task, uint64_t sequence);
/* The result of this task was found, and stands in for it. */
void tic_record_restored(uint64_t sequence);
/* main() has put this content into the data. */
void tic_record_input(const struct tic_handle *handle, uint64_t hash);
void tic_record_registered(const struct tic_handle *handle);
void tic_record_unregistered(const struct tic_handle *handle);
void tic_record_acquired(const struct tic_handle *handle, bool reads, bool writes);
/* known: how many events were known before this one. */
void tic_record_event(uint64_t known, enum tic_event kind, int64_t value);
void tic_record_run(void);

/* ---- access.c ------------------------------------------------------------------------------- */
/* main() accesses data. True when the access must be recorded once it is granted. */
bool tic_access_on_acquire_before(starpu_data_handle_t data, bool reads, bool writes,
                                  const char *call);
void tic_access_on_acquire_after(starpu_data_handle_t data, bool reads, bool writes);
/* Also after the end of protection. */
void tic_access_on_release_first(starpu_data_handle_t data);
void tic_access_on_release_before(starpu_data_handle_t data);
/* The program has got an access, or waits for one by callback; or gives it back, on any thread. */
void tic_access_note_hold(starpu_data_handle_t data, bool holds);
/* Accesses that may fail do so in a replay as they did before. */
enum tic_try { TIC_TRY_REALLY, TIC_TRY_SUCCEED, TIC_TRY_FAIL };
enum tic_try tic_access_replay_try(void);
void tic_access_after_try(bool success);
/* An access that comes by callback: may replace the callback. */
void tic_access_on_callback_before(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                                   void (**callback)(void *), void **argument);
/* Does this thread run the callback of an access? */
bool tic_access_is_running(void);

/* ---- position.c ----------------------------------------------------------------------------- */
/* The store was opened. */
void tic_position_load(struct tic_session *session);
void tic_position_close(void);
/* main() begins an operation: if it is the one of the recovered cut, all values come back, and then
 * live tasks may run. Not under the submission lock. */
void tic_position_tick(void);
/* Under the submission lock, before the real submission: the task was not done at the recovered
 * cut, so it waits for main() to come there. */
bool tic_position_is_to_gate(const struct starpu_task *task, uint64_t key);
void tic_position_gate(struct starpu_task *task, uint64_t key);
/* hold.c. The task, whose structure stays, is to wait for that, too, if it comes to the policy:
 * false if it does not. Under the submission lock. */
bool tic_hold_expect(struct starpu_task *task);
/* Any thread, under locks of StarPU: the task comes to the policy. True: not now. */
bool tic_hold_take(struct starpu_task *task);
/* main() is there: those that have come go on. */
void tic_hold_release(void);
/* hooks.c: to the policy. */
void tic_hooks_push(struct starpu_task *task);
/* Tasks that main() has submitted have ended, with numbers from the first to before the second, and
 * StarPU does not tell: they are its own. */
void tic_hooks_end_submitted(uint64_t from, uint64_t to);
/* A task begins that had begun by the recovered cut, without output: main() waits for its end
 * there, which is to be noted once. */
bool tic_position_is_again(uint64_t key);
void tic_position_note_again(void);
/* The callback of this task is to come; true if main() waits for it at the recovered cut. Then,
 * once, it has returned, or main() need not wait. Any thread. */
bool tic_position_expect(uint64_t key);
void tic_position_note_shown(void);

/* ---- addresses.c ---------------------------------------------------------------------------- */
/* Its memory is about to be used for the first time: addresses in it are logged, so that a restart
 * can tell whether tasks have written them. Under the submission lock, or main() itself. */
void tic_addresses_note(struct tic_handle *handle);
/* The task ends: in the first run, a message if the data that it wrote seems to hold some. */
void tic_addresses_look(const struct tic_slot *slot);
/* May a recorded value of it hold addresses that another process had? */
bool tic_addresses_are_sought(const struct tic_handle *handle);
/* Puts those that its memory holds now into a recorded value, without gaps; true when there are
 * some. Stops where tasks may have written one: nobody knows what it means. */
bool tic_addresses_take_own(const struct tic_handle *handle, char *recorded);

/* ---- clock.c -------------------------------------------------------------------------------- */
/* Operations of main() begun so far. */
uint64_t tic_clock_now(void);
/* main() begins another one; or a call that only waits. */
void tic_clock_tick(void);
void tic_clock_wait(void);
/* Is main() not yet where it was at the recovered cut? */
bool tic_clock_is_behind(void);
/* main() has come this far: what was held back for it happens. Not inside the guard. */
void tic_clock_release(void);
/* The same, but main() goes on meanwhile: it has skipped a task, and will skip the next. Nothing
 * that is skipped can have come before what these callbacks submit now. */
void tic_clock_release_meanwhile(void);
extern bool tic_clock_lags; /* main() went on; owner thread only */
/* Until what is due has happened; not what main() has to submit before that. */
void tic_clock_catch_up(void);
/* Is something held back that main() has come far enough for? */
static inline bool tic_clock_is_due(void)
{
    return __builtin_expect(atomic_load(&tic_backlog_earliest) != UINT64_MAX, 0) &&
           atomic_load(&tic_backlog_earliest) <= tic_clock_now();
}
/* Must main() come further before this may run? Then it is kept until then. Under the submission
 * lock. */
bool tic_clock_hold_locked(uint64_t key, void (*run)(void *), void *argument, bool free_argument);
/* The same for the callback of a task, if it has one, which must not run at its end then. The
 * structure stays until it has run; owned: it goes then, StarPU does not see it. small: what it may
 * look at, of a task that has ended, whose data may be gone; else NULL. */
bool tic_clock_hold_callback_locked(struct starpu_task *task, uint64_t key, bool owned,
                                    const struct tic_small *small);
/* Runs the callback of a task that ends at its submission by main(), which it may want something
 * of; before, a worker did. expected: tic_position_expect said so. meanwhile: main() goes on. */
void tic_clock_run_apart(struct starpu_task *task, uint64_t key, bool expected, bool meanwhile,
                         const struct tic_small *small);
/* A task is skipped. Inside a callback, its own callback runs when that one has returned; of
 * main(), which is behind, when it releases what is due. locked: under the submission lock, of a
 * task that StarPU does not see; false elsewhere. ended: inside a callback, in place of its own. */
bool tic_clock_put_off_locked(struct starpu_task *task, uint64_t key);
void tic_clock_put_off_ended(struct starpu_task *task, uint64_t key, bool expected,
                             const struct tic_small *small);
/* The outermost callback of this thread has returned. */
void tic_clock_run_put_off(void);
/* The task whose callback, held back before, this thread runs; or NULL. */
struct starpu_task *tic_clock_current_task(void);
/* Is anything held back? */
bool tic_clock_holds(void);

/* ---- early.c -------------------------------------------------------------------------------- */
/* Under the submission lock. A kernel submits this task, which is not done: true when it is held
 * back; then tic_early_release is to be called, outside of the lock. */
bool tic_early_hold_locked(struct starpu_task *task, const struct tic_spawn *spawn);
/* Submits what main() has come far enough for. Any thread. */
void tic_early_release(void);
/* Is anything held back? */
bool tic_early_holds(void);
extern _Atomic uint64_t tic_early_next; /* clock of the first to release; UINT64_MAX: none */
static inline bool tic_early_is_due(void)
{
    return __builtin_expect(atomic_load(&tic_early_next) != UINT64_MAX, 0) &&
           atomic_load(&tic_early_next) <= tic_clock_now();
}

/* ---- redux.c -------------------------------------------------------------------------------- */
/* On the owner thread, or after the end of protection; outside of the submission lock. */
void tic_redux_set_methods(struct tic_handle *handle, struct starpu_codelet *fold,
                           struct starpu_codelet *init);
void tic_redux_inherit(struct tic_handle *child, const struct tic_handle *parent);
/* Makes the task contribute to accumulators, and folds those of other data that it uses. Needed
 * after the end of protection, too. Tells why it is not protected, or NULL. */
const char *tic_redux_on_submit(struct starpu_task *task);
/* Does that have anything to do? */
extern _Atomic unsigned tic_redux_open_count; /* accumulators with contributions; relaxed */
static inline bool tic_redux_concerns(struct starpu_task *task)
{
    unsigned buffers = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    enum starpu_data_access_mode modes = STARPU_NONE;

    for (unsigned i = 0; i < buffers; i++)
        modes |= STARPU_TASK_GET_MODE(task, i);
    return buffers > 0 && (modes & STARPU_REDUX ||
                           atomic_load_explicit(&tic_redux_open_count, memory_order_relaxed) > 0);
}
/* After the real submission. */
void tic_redux_after_submit(void);
/* Before any other access to the data (may be NULL): submits what brings its value up to date. True
 * when there was something. */
bool tic_redux_fold(struct tic_handle *handle);
/* The same for all data: main() is about to wait for all tasks, or protection ends. Any thread. */
void tic_redux_fold_all(void);
/* The data is about to be unregistered. */
void tic_redux_drop(struct tic_handle *handle);

/* ---- spawn.c -------------------------------------------------------------------------------- */
/* Why a restart could not submit it in its place among what main() does, or NULL. */
const char *tic_spawn_why_out_of_order(struct starpu_task *task, const struct tic_spawn *spawn);
/* Who the submitted task is; content: what it does. Fills a model for tic_spawn_register. Or tells
 * why it cannot be protected. */
const char *tic_spawn_identify(struct starpu_task *task, enum tic_context context, uint64_t content,
                               struct tic_spawn *spawn);
/* Marks a live task. Takes over what the model owns. False when out of memory. */
bool tic_spawn_register(struct starpu_task *task, const struct tic_spawn *model);
/* The record of a spawned task that is live; else NULL. */
struct tic_spawn *tic_spawn_of(const struct starpu_task *task);
/* A task was skipped: submits those that it had submitted and that are not done. */
void tic_spawn_submit_kept(uint64_t root);

/* ---- callback.c ----------------------------------------------------------------------------- */
/* The kernel of the task begins: a quiescent line waits for its callback, too. Any thread. */
void tic_callback_note_begin(const struct starpu_task *task);
/* Makes the task's callback run as application code, not as StarPU's. control: also makes it a
 * control task (no codelet) until then. key: of the task. held: the callback runs at another time.
 * False when out of memory; the task is unchanged. */
bool tic_callback_wrap(struct starpu_task *task, bool control, uint64_t key, bool held);
/* The function that StarPU would call; or NULL. */
void (*tic_callback_of(const struct starpu_task *task))(void *);
/* What the application gave for its callback, wrapped or not. */
const void *tic_callback_argument(const struct starpu_task *task);
static inline bool tic_callback_has_any(const struct starpu_task *task)
{
    return task->callback_func || (task->cl && task->cl->callback_func) ||
           task->prologue_callback_func || task->prologue_callback_pop_func;
}
/* In a replay, under the submission lock: prologues that main() must come further for wait for
 * that, those of a task without a kernel by themselves, else the task with them. */
void tic_callback_hold_prologues(struct starpu_task *task, uint64_t key);
void tic_callback_hold_start(struct starpu_task *task, uint64_t key);
/* The operation that the task waits for then; 0: none. */
uint64_t tic_callback_start_clock(const struct starpu_task *task, uint64_t key);
/* tic_nowhere_begin is called when the task of this key has its data. False when out of memory. */
bool tic_callback_watch_begin(struct starpu_task *task, uint64_t key);
/* Gives a copy of a wrapped task its own callbacks back. */
void tic_callback_unwrap(struct starpu_task *copy);
/* Calls the application's function as the application; then callbacks that were put off in it. */
void tic_callback_run(void (*run)(void *), void *argument);
/* And notes that the callback of this task has begun. */
void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument);

#endif
