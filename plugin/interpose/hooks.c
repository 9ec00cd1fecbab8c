/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protection as a set of hooks that compose with any StarPU policy: ours run around the policy's
 * own pre_exec_hook and post_exec_hook.
 *
 * A protected task carries its sequence number + 1 in starpu_task.hypervisor_tag. StarPU calls
 * pre_exec_hook after it fetched the data and before the kernel, and post_exec_hook after it
 * released the data but before tags and successors. Control tasks get neither. */
#include "interpose/hooks.h"

#include <pthread.h>
#include <sched.h>
#include <starpu.h>
#include <stdbool.h>

#include "base/failpoint.h"
#include "base/printed.h"
#include "base/trace.h"
#include "interpose/arguments.h"
#include "interpose/callback.h"
#include "session/context.h"
#include "interpose/exclude.h"
#include "interpose/extend.h"
#include "interpose/forced.h"
#include "interpose/looks_list.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/reads.h"
#include "interpose/redo_values.h"
#include "interpose/repeat.h"
#include "interpose/shape.h"
#include "interpose/writeback.h"
#include "session/task.h"
#include "replay/replay.h"
#include "real/real.h"
#include "sched/tic_ws.h"
#include "snapshot/snapshot.h"

/* ---- slots of the cut ------------------------------------------------------------------------ */

/* Which slot of the cut a task has. Workers have one each, and where StarPU has several memory
 * nodes a task keeps it until its values are in main memory: then its worker begins the next one in
 * another slot. */

static bool is_free(const struct tic_slot *slot)
{
    return atomic_load_explicit(&slot->task, memory_order_acquire) == NULL;
}

/* For the task that the calling worker begins: its own slot, or one to spare where a task before is
 * under way to main memory still. NULL: no memory, and protection has ended. */
static struct tic_slot *tic_slots_own(struct tic_snapshot *snapshot)
{
    unsigned worker = (unsigned)tic_real.starpu_worker_get_id();
    struct tic_slot *own = tic_cut_slot(&snapshot->cut, worker);

    if (__builtin_expect(!tic_nodes_several, 1) || !tic_nodes_is_away(worker) || is_free(own))
        return own;
    struct tic_slot *spare = tic_cut_take_spare(&snapshot->cut);
    tic_snapshot_need(snapshot, spare);
    return spare;
}

/* On several nodes, where there may be thousands of slots: the one in which a task of such an
 * address began last, or that of another task. Relaxed: the slot itself says whose it is. */
enum { HINTS = 1024 };
static struct tic_slot *_Atomic hints[HINTS];

static struct tic_slot *_Atomic *hint_of(const struct starpu_task *task)
{
    return &hints[((uintptr_t)task >> 6) % HINTS];
}

static void tic_slots_note(struct tic_slot *slot, const struct starpu_task *task)
{
    if (__builtin_expect(tic_nodes_several, 0))
        atomic_store_explicit(hint_of(task), slot, memory_order_relaxed);
}

static bool has(const struct tic_slot *slot, const struct starpu_task *task)
{
    return slot && atomic_load_explicit(&slot->task, memory_order_relaxed) == task;
}

/* With end dependencies the hook comes late, on any thread; then the worker may have moved on, as
 * one of a device may in any case. */
static struct tic_slot *tic_slots_find(const struct tic_snapshot *snapshot,
                                       const struct starpu_task *task)
{
    const struct tic_cut *cut = &snapshot->cut;
    struct tic_slot *slot = atomic_load_explicit(hint_of(task), memory_order_relaxed);

    for (unsigned i = 0; !has(slot, task); i++) {
        if (i == cut->slot_count)
            return NULL;
        slot = tic_cut_slot(cut, i);
    }
    return slot;
}

static bool tic_slots_take(struct tic_slot *slot, const void *task)
{
    return atomic_compare_exchange_strong_explicit(&slot->task, &task, TIC_SLOT_ENDING,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static void tic_slots_end(struct tic_snapshot *snapshot, struct tic_slot *slot)
{
    if (__builtin_expect(slot->number >= snapshot->about.workers, 0))
        tic_cut_give_back(&snapshot->cut, slot);
}

/* The task that this thread began last, and where. */
static __thread struct {
    const struct starpu_task *task;
    struct tic_slot *slot;
} begun __attribute__((tls_model("initial-exec")));

/* Of data that a protected task uses: never foreign. */
static struct tic_handle *handle_of(struct starpu_task *task, unsigned buffer)
{
    return tic_real.starpu_data_get_user_data(STARPU_TASK_GET_HANDLE(task, buffer));
}

/* What identifies the task in the cut. */
static uint64_t slot_sequence(const struct starpu_task *task, const struct tic_spawn *spawn)
{
    return spawn ? TIC_SPAWN_KEY | spawn->index : (uint64_t)task->hypervisor_tag - 1;
}

/* In other memory its kernel changes nothing of what is saved. */
static void locate(struct tic_handle *handle, struct starpu_task *task, unsigned buffer, bool away)
{
    if (handle->movable.may)
        tic_handle_locate_homeless(handle);
    else if (!away)
        tic_handle_locate(handle, task->dyn_interfaces ? task->dyn_interfaces[buffer]
                                                       : task->interfaces[buffer]);
}

static void begin_writes(struct starpu_task *task, struct tic_slot *slot, uint64_t epoch)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers; i++) {
        if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_W))
            continue;
        struct tic_handle *handle = handle_of(task, i);
        if (!handle || tic_handle_is_empty(handle))
            continue;
        if (__builtin_expect(tic_nodes_several, 0))
            tic_writeback_check(slot, handle);
        if (__builtin_expect(handle->home_node < 0, 0))
            locate(handle, task, i, slot->away);
        tic_extend_before_write(task, i);
        tic_snapshot_write(&tic_session->snapshot, slot, epoch, handle);
        tic_looks_note_write(handle);
    }
}

/* For the supervisor, who can name the task if this process dies in it. */
static void show_begin(const struct tic_slot *slot, const struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    bool numbered = !(slot->sequence & TIC_SPAWN_KEY);

    if (__builtin_expect(session->beacon != NULL, 0))
        tic_beacon_begin(session->beacon, slot->number,
                         numbered ? slot->sequence + 1 : TIC_BEACON_NO_NUMBER, tic_task_name(task));
}

/* For `starpu-tic report`. */
static void trace_begin(const struct tic_slot *slot, const struct starpu_task *task)
{
    tic_trace_begin(slot->number,
                    slot->sequence & TIC_SPAWN_KEY ? TIC_TRACE_NO_NUMBER : slot->sequence,
                    tic_ws_victim_of(task), tic_task_name(task));
}

static void show_end(const struct tic_slot *slot)
{
    struct tic_session *session = tic_session;

    if (__builtin_expect(session->beacon != NULL, 0))
        tic_beacon_end(session->beacon, slot->number);
}

/* Of a task that a restart executes again: its begin, then its end. */
static void note_ran(enum tic_history_kind kind, uint64_t key, uint64_t epoch)
{
    const struct tic_line_entry entry = {.kind = kind, .role = TIC_HISTORY_KERNEL, .actor = key};
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (snapshot->options.dry || tic_snapshot_is_broken(snapshot))
        return;
    tic_lock(&snapshot->graph->lock);
    int status = tic_graph_note_locked(snapshot->graph, entry, epoch);
    tic_unlock(&snapshot->graph->lock);
    tic_snapshot_need(snapshot, status == 0);
}

static void finish(struct tic_slot *slot)
{
    struct tic_session *session = tic_session;

    tic_printed_note_task(slot->printed);
    if (tic_trace_is_on())
        tic_trace_end(slot->number);
    tic_failpoint(TIC_FAIL_TASK_END);
    TIC_LINT(task_ends, slot);
    show_end(slot);
    tic_arguments_end(slot);
    if (!slot->counts) {
        tic_redo_end_kernel(slot->reads.key);
        note_ran(TIC_HISTORY_END, slot->reads.key, atomic_load(&session->snapshot.cut.epoch));
    }
    if (slot->sequence & TIC_SPAWN_KEY && !slot->counts) {
        struct tic_spawn *spawn =
            tic_spawns_get(&session->graph.spawns, (uint32_t)(slot->sequence & ~TIC_SPAWN_KEY));
        if (!spawn->kept) /* it will never be done for a restart */
            tic_spawns_remove(&session->graph.spawns, spawn);
    }
    tic_snapshot_task_end(&session->snapshot, slot);
    tic_slots_end(&session->snapshot, slot);
}

/* StarPU ends a task once. Where the thread that began it does, nobody else can want to: the others
 * are that thread, when it begins its next task, and who ends the task in its place. Another worker
 * may have a slot to spare by now, and a task at the same address: of those away one is taken. */
static bool is_mine(const struct starpu_task *task)
{
    return begun.task == task &&
           atomic_load_explicit(&begun.slot->task, memory_order_relaxed) == task;
}

/* Main memory holds what it has written. */
static void settle(struct tic_slot *slot, bool more)
{
    tic_forced_end(slot, more);
    if (!slot->away) /* else it was told before, where the kernel has run */
        tic_extend_end(slot, more);
    finish(slot);
}

static void end_away(struct starpu_task *task, struct tic_slot *slot, bool more)
{
    tic_extend_end(slot, true); /* its values cannot stand for it yet */
    if (tic_writeback_is_spared(slot))
        settle(slot, more);
    else
        tic_writeback_begin(task, slot, more, settle);
}

static void end_task(struct starpu_task *task)
{
    bool mine = is_mine(task);
    struct tic_slot *slot = mine ? begun.slot : tic_slots_find(&tic_session->snapshot, task);

    if (slot && ((mine && !slot->away) || tic_slots_take(slot, task))) {
        tic_data_check_shapes(task, slot);
        if (mine)
            tic_exclude_end(task, slot->sequence);
        bool more = tic_arguments_end(slot);
        if (__builtin_expect(slot->away, 0)) {
            end_away(task, slot, more);
        } else {
            TIC_LINT(kernel_ends, task, slot);
            settle(slot, more);
        }
    }
    tic_task_unmark(task); /* the application may submit the same structure again */
}

/* The kernel of the last task has ended if this worker begins another one. */
static void end_last(struct tic_slot *slot)
{
    const void *task;

    while (__builtin_expect(
        (task = atomic_load_explicit(&slot->task, memory_order_acquire)) != NULL, 0)) {
        if (task == TIC_SLOT_ENDING)
            sched_yield(); /* a few instructions of another thread */
        else if (tic_slots_take(slot, task))
            finish(slot);
    }
}

void tic_hooks_end_waited(const struct starpu_task *task)
{
    struct tic_slot *slot = tic_slots_find(&tic_session->snapshot, task);

    if (slot && tic_slots_take(slot, task))
        finish(slot);
}

void tic_hooks_end_submitted(uint64_t from, uint64_t to)
{
    struct tic_cut *cut = &tic_session->snapshot.cut;

    for (unsigned i = 0; i < cut->slot_count; i++) {
        struct tic_slot *slot = tic_cut_slot(cut, i);
        const void *task = atomic_load_explicit(&slot->task, memory_order_acquire);
        uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
        if (!task || task == TIC_SLOT_ENDING || sequence < from || sequence >= to ||
            !tic_slots_take(slot, task))
            continue;
        if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) == sequence)
            finish(slot);
        else /* the worker has begun another one, whose structure lies where that one was */
            atomic_store_explicit(&slot->task, task, memory_order_release);
    }
}

/* While a quiescent line is taken no task begins. */
static uint64_t announce(struct tic_slot *slot, uint64_t sequence)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    uint64_t epoch = tic_cut_begin(&snapshot->cut, slot, sequence);

    while (__builtin_expect(atomic_load(&snapshot->verify.closed), 0)) {
        tic_cut_retract(slot);
        tic_verify_await_open(snapshot);
        epoch = tic_cut_begin(&snapshot->cut, slot, sequence);
    }
    return epoch;
}

/* Does a restart execute it again, if it writes no data? Of one that a restart submits itself that
 * was said when it was submitted. */
static bool runs_again(struct starpu_task *task, const struct tic_spawn *spawn)
{
    return spawn && spawn->kept ? (spawn->task.flags & TIC_KEPT_AGAIN) != 0
                                : tic_exclude_runs_again(task);
}

static void log_reads(struct starpu_task *task, struct tic_slot *slot, uint64_t key, uint64_t epoch)
{
    slot->reads.key = key;
    slot->reads.late = slot->away && tic_writeback_reads_late(task);
    if (!slot->reads.late)
        tic_reads_log(task, key, epoch);
}

static void begin_task(struct starpu_task *task)
{
    struct tic_session *session = tic_session;
    struct tic_slot *slot = tic_slots_own(&session->snapshot);
    struct tic_spawn *spawn = tic_spawn_of(task);

    if (__builtin_expect(!slot, 0))
        return;
    end_last(slot);
    uint64_t epoch = announce(slot, slot_sequence(task, spawn));

    slot->away = tic_nodes_several && tic_writeback_is_away();
    slot->reads.late = false;
    if (__builtin_expect(tic_nodes_several, 0) && !slot->away)
        tic_writeback_found(task);
    tic_callback_note_begin(task);
    if (spawn)
        atomic_store_explicit(&spawn->started, epoch, memory_order_release);
    begin_writes(task, slot, epoch);
    slot->counts = slot->writing.count > 0 || !runs_again(task, spawn);
    uint64_t key = spawn ? spawn->task.id : slot->sequence;
    TIC_LINT(kernel_begins, task, slot);
    if (!slot->counts) {
        note_ran(TIC_HISTORY_BEGIN, key, epoch);
        log_reads(task, slot, key, epoch);
    }
    tic_arguments_begin(task, slot, key);
    tic_forced_begin(task, slot);
    if (__builtin_expect(slot->away, 0))
        tic_writeback_take_result(slot);
    tic_extend_begin(task, slot);
    tic_repeat_begin(task, slot, key);
    slot->printed = tic_printed_pending();
    begun.task = task;
    begun.slot = slot;
    tic_slots_note(slot, task);
    atomic_store_explicit(&slot->task, task, memory_order_release);
    tic_cut_running(slot, epoch);
    if (task->dyn_modes && STARPU_TASK_GET_NBUFFERS(task) <= STARPU_NMAXBUFS && !spawn &&
        (slot->sequence < session->recovered_submissions || tic_nodes_several))
        tic_commute_show(task);
    show_begin(slot, task);
    if (tic_trace_is_on())
        trace_begin(slot, task);
    tic_failpoint(TIC_FAIL_TASK_BEGIN);
}

static bool is_protected(const struct starpu_task *task)
{
    return task->hypervisor_tag != 0 && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES;
}

/* ---- parallel tasks ------------------------------------------------------------------------- */

/* StarPU calls the hooks on each worker that runs a part of the task, between two barriers: the
 * first part begins and ends the task for us, and the kernels of the others wait for its begin. */
struct parallel {
    int tag;
    int waiting; /* parts that have not seen the begin */
    struct parallel *next;
};

static struct {
    pthread_mutex_t mutex; /* a leaf, but for begin_task's locks: taken after those are released */
    pthread_cond_t begun;
    struct parallel *first; /* guarded by mutex: tasks that have begun */
} parallels = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

static void announce_parallel(struct parallel *entry)
{
    pthread_mutex_lock(&parallels.mutex);
    entry->next = parallels.first;
    parallels.first = entry;
    pthread_cond_broadcast(&parallels.begun);
    pthread_mutex_unlock(&parallels.mutex);
}

static void await_parallel(int tag)
{
    struct parallel **at;

    pthread_mutex_lock(&parallels.mutex);
    for (;;) {
        for (at = &parallels.first; *at && (*at)->tag != tag;)
            at = &(*at)->next;
        if (*at)
            break;
        pthread_cond_wait(&parallels.begun, &parallels.mutex);
    }
    if (--(*at)->waiting == 0)
        *at = (*at)->next;
    pthread_mutex_unlock(&parallels.mutex);
}

static void begin_part(struct starpu_task *task, int size)
{
    if (tic_real.starpu_combined_worker_get_rank() > 0) {
        await_parallel(task->hypervisor_tag);
        return;
    }
    /* Of this worker: all parts have seen the last one, or their tasks would not have ended. */
    static __thread struct parallel entry __attribute__((tls_model("initial-exec")));
    begin_task(task);
    entry = (struct parallel){task->hypervisor_tag, size - 1, NULL};
    announce_parallel(&entry);
}

/* ---- the hooks of a policy ------------------------------------------------------------------ */

/* In how many parts this worker's task runs. */
static int parts(void)
{
    return __builtin_expect(tic_real.starpu_combined_worker_get_count() > 0, 0)
               ? tic_real.starpu_combined_worker_get_size()
               : 1;
}

static void pre_exec(struct starpu_task *task, unsigned context)
{
    const struct starpu_sched_policy *policy = &tic_session->policies[context];

    if (policy->pre_exec_hook)
        policy->pre_exec_hook(task, context);
    const int phase = atomic_load(&tic_replay_phase);
    if (__builtin_expect(phase == TIC_REPLAY_PLAYING || phase == TIC_REPLAY_CALLING, 0) &&
        !tic_task_is_own(task))
        tic_replay_await_end();
    if (!is_protected(task))
        return;
    int size = parts();
    if (__builtin_expect(size > 1 && tic_nodes_several, 0))
        tic_snapshot_break(&tic_session->snapshot, "parallel tasks are not protected yet where "
                                                   "StarPU has several memory nodes");
    else if (__builtin_expect(size > 1, 0))
        begin_part(task, size);
    else
        begin_task(task);
    TIC_LINT(goes_on, NULL, false);
}

static void post_exec(struct starpu_task *task, unsigned context)
{
    const struct starpu_sched_policy *policy = &tic_session->policies[context];

    if (is_protected(task) && (parts() <= 1 || tic_real.starpu_combined_worker_get_rank() == 0))
        end_task(task);
    if (policy->post_exec_hook)
        policy->post_exec_hook(task, context);
}

static bool install(struct tic_session *session, unsigned context)
{
    struct starpu_sched_policy *policy = tic_real.starpu_sched_ctx_get_sched_policy(context);

    if (!policy)
        return false;
    if (policy->pre_exec_hook == pre_exec)
        return true;
    session->policies[context] = *policy;
    policy->post_exec_hook = post_exec;
    policy->pre_exec_hook = pre_exec;
    return true;
}

void tic_hooks_install(struct tic_session *session)
{
    install(session, 0);
}

bool tic_hooks_cover_context(unsigned context)
{
    return context == 0 || context >= STARPU_NMAX_SCHED_CTXS || install(tic_session, context);
}

bool tic_hooks_cover(const struct starpu_task *task)
{
    unsigned current = tic_real.starpu_sched_ctx_get_context();
    unsigned context = task->sched_ctx != 0 && task->sched_ctx < STARPU_NMAX_SCHED_CTXS
                           ? task->sched_ctx
                       : current < STARPU_NMAX_SCHED_CTXS ? current
                                                          : 0;
    if (context == 0)
        return true;
    tic_contexts_note_other();
    return install(tic_session, context);
}
