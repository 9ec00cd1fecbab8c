/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reductions (STARPU_REDUX), without partial values that only StarPU knows.
 *
 * Contributions go to a few accumulators in turn, ordinary data handles of our own, and the next
 * other access to the data folds these into it: by tasks of the application's own reduction
 * codelets. So a cut may fall anywhere in a phase of reductions, what is done stays done, and as
 * the order of all additions follows from the program, results are the same bits in every run
 * with as many accumulators. Their number is that of the workers of the first run (logged). */
#include "interpose/redux.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "session/context.h"
#include "interpose/data.h"
#include "interpose/ending.h"
#include "interpose/answers.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "session/task.h"
#include "interpose/typed.h"
#include "real/real.h"
#include "replay/replay.h"

enum { MAX_WIDTH = 16 };

struct tic_redux {
    struct starpu_codelet *fold, *init;
    void *fold_arg, *init_arg; /* the application's, for the kernels of these */
    unsigned width;            /* 0: no accumulators yet */
    unsigned next;
    _Atomic bool open[MAX_WIDTH]; /* holds contributions that are not folded */
    starpu_data_handle_t parts[MAX_WIDTH];
};

_Atomic unsigned tic_redux_open_count;

/* Until its end protection lets only the owner thread contribute and fold; then any thread folds.
 * Held while tasks are submitted: who finds nothing open must come after what was folded, and what
 * is folded after its contributions. */
static pthread_mutex_t folding = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread bool contributing /* this thread holds it */
    __attribute__((tls_model("initial-exec")));

static struct {
    struct tic_handle **items;
    unsigned long count, capacity;
} started; /* guarded by folding: data that got contributions since all was folded */

void tic_redux_set_methods(struct tic_handle *handle, struct starpu_codelet *fold, void *fold_arg,
                           struct starpu_codelet *init, void *init_arg)
{
    if (!handle->redux)
        handle->redux = calloc(1, sizeof(struct tic_redux));
    if (!handle->redux) {
        tic_session_unprotect("starpu_data_set_reduction_methods", "out of memory");
        return;
    }
    handle->redux->fold = fold;
    handle->redux->init = init;
    handle->redux->fold_arg = fold_arg;
    handle->redux->init_arg = init_arg;
    for (unsigned i = 0; i < handle->child_count; i++)
        tic_redux_set_methods(handle->children[i], fold, fold_arg, init, init_arg);
}

void tic_redux_inherit(struct tic_handle *child, const struct tic_handle *parent)
{
    const struct tic_redux *redux = parent->redux;

    if (redux)
        tic_redux_set_methods(child, redux->fold, redux->fold_arg, redux->init, redux->init_arg);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static bool set_mode(struct starpu_task *task, unsigned buffer, enum starpu_data_access_mode mode)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    if (!task->dyn_modes) {
        enum starpu_data_access_mode *modes = calloc(buffers, sizeof(*modes));
        if (!modes)
            return false;
        for (unsigned i = 0; i < buffers; i++)
            modes[i] = STARPU_TASK_GET_MODE(task, i);
        task->dyn_modes = modes; /* StarPU prefers them, and frees them */
    }
    task->dyn_modes[buffer] = mode;
    return true;
}

/* Modes that the application left out, as StarPU completes them. It calls the kernel of an
 * initialization without looking at its mode: whatever that is, there is no value to read yet.
 * Folds that commute, as all do in StarPU 1.4, would add up in another order in each run. */
static void complete_modes(struct starpu_task *task, bool folds)
{
    static const enum starpu_data_access_mode modes[2][2] = {{STARPU_W}, {STARPU_RW, STARPU_R}};
    bool fine = true;

    for (unsigned i = 0; i < (folds ? 2u : 1u); i++)
        if (STARPU_CODELET_GET_MODE(task->cl, i) == STARPU_NONE)
            STARPU_CODELET_SET_MODE(task->cl, modes[folds][i], i);
    if (!folds && STARPU_CODELET_GET_MODE(task->cl, 0) & STARPU_R)
        fine = set_mode(task, 0, STARPU_W);
    if (folds && STARPU_CODELET_GET_MODE(task->cl, 0) & STARPU_COMMUTE)
        fine = set_mode(task, 0, STARPU_RW);
    if (!fine)
        tic_log(TIC_LOG_ERROR, "out of memory for a reduction");
}

/* This thread submits a task of ours: what else is open comes later. */
static __thread bool submitting __attribute__((tls_model("initial-exec")));

/* Submitted like a task of the application, it has an identity; not by other threads. */
static void submit(struct starpu_codelet *codelet, void *arg, starpu_data_handle_t to,
                   starpu_data_handle_t from)
{
    struct starpu_task *task = tic_task_create();

    task->cl = codelet;
    task->cl_arg = arg;
    complete_modes(task, from != NULL);
    task->handles[0] = to;
    task->handles[1] = from;
    bool hidden = !tic_session_is_owner();
    tic_guard += hidden;
    submitting = true;
    if (starpu_task_submit(task) != 0)
        tic_log(TIC_LOG_ERROR, "internal error: StarPU refuses a task of a reduction");
    submitting = false;
    atomic_fetch_add_explicit(&tic_session->reduction_tasks, 1, memory_order_relaxed);
    tic_guard -= hidden;
}

static starpu_data_handle_t register_same(const struct tic_handle *handle)
{
    starpu_data_handle_t fresh;

    tic_guard++;
    tic_real.starpu_data_register_same(&fresh, handle->data);
    tic_guard--;
    tic_data_on_register_after(fresh, -1);
    if (tic_handle_of(fresh))
        tic_typed_inherit(tic_handle_of(fresh), handle);
    return fresh;
}

static bool open_accumulators(struct tic_handle *handle, struct tic_redux *redux)
{
    int64_t width = tic_real.starpu_worker_get_count();

    width = width > MAX_WIDTH ? MAX_WIDTH : width;
    tic_session_event(TIC_EVENT_REDUX_WIDTH, &width);
    if (width < 1 || width > MAX_WIDTH)
        return false;
    for (unsigned i = 0; i < (unsigned)width; i++) {
        redux->parts[i] = register_same(handle);
        struct tic_handle *part = tic_handle_of(redux->parts[i]);
        if (part)
            part->use.accumulates = true;
    }
    redux->width = (unsigned)width;
    return true;
}

static void add(struct tic_handle *handle, starpu_data_handle_t from)
{
    const struct tic_redux *redux = handle->redux;

    if (atomic_load(&handle->use.invalid)) /* to StarPU, too, until this task is submitted */
        submit(redux->init, redux->init_arg, handle->data, NULL);
    atomic_store(&handle->use.invalid, false);
    submit(redux->fold, redux->fold_arg, handle->data, from);
}

/* True when there was something. */
static bool fold_own(struct tic_handle *handle)
{
    struct tic_redux *redux = handle->redux;
    bool any = false;

    pthread_mutex_lock(&folding);
    for (unsigned i = 0; redux && i < redux->width; i++) {
        if (!atomic_exchange(&redux->open[i], false))
            continue;
        add(handle, redux->parts[i]);
        atomic_fetch_sub(&tic_redux_open_count, 1);
        any = true;
    }
    pthread_mutex_unlock(&folding);
    return any;
}

static bool fold_overlapping(struct tic_handle *handle)
{
    bool any = false;

    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        if (handle->listing.overlaps[i]->data)
            any |= fold_own(handle->listing.overlaps[i]);
    return any;
}

bool tic_redux_fold(struct tic_handle *handle)
{
    if (!handle || atomic_load_explicit(&tic_redux_open_count, memory_order_relaxed) == 0)
        return false;
    bool own = fold_own(handle);
    return fold_overlapping(handle) || own;
}

/* What ends protection may be a task that contributes, and is to be submitted. */
void tic_redux_fold_all(void)
{
    pthread_mutex_lock(&folding);
    while (started.count > 0 && !contributing)
        fold_own(started.items[--started.count]);
    pthread_mutex_unlock(&folding);
}

bool tic_redux_is_open(const struct tic_handle *handle)
{
    const struct tic_redux *redux = handle->redux;

    for (unsigned i = 0; redux && i < redux->width; i++)
        if (atomic_load(&redux->open[i]))
            return true;
    return false;
}

/* ---- of several ranks ------------------------------------------------------------------------ */

bool tic_redux_has_methods(const struct tic_handle *handle)
{
    return handle->redux && handle->redux->fold && handle->redux->init;
}

starpu_data_handle_t tic_redux_open_share(struct tic_handle *handle)
{
    tic_redux_fold(handle);
    return register_same(handle);
}

void tic_redux_add_share(struct tic_handle *handle, starpu_data_handle_t share)
{
    add(handle, share);
    starpu_data_unregister_submit(share);
}

void tic_redux_begin_anew(struct tic_handle *handle)
{
    submit(handle->redux->init, handle->redux->init_arg, handle->data, NULL);
}

/* ---- the end --------------------------------------------------------------------------------- */

void tic_redux_drop(struct tic_handle *handle)
{
    struct tic_redux *redux = handle->redux;

    if (!redux)
        return;
    pthread_mutex_lock(&folding);
    for (unsigned long i = 0; i < started.count; i++)
        if (started.items[i] == handle)
            started.items[i--] = started.items[--started.count];
    pthread_mutex_unlock(&folding);
    for (unsigned i = 0; i < redux->width; i++) {
        if (atomic_exchange(&redux->open[i], false))
            atomic_fetch_sub(&tic_redux_open_count, 1);
        starpu_data_unregister_submit(redux->parts[i]);
    }
    free(redux);
    handle->redux = NULL;
}

void tic_redux_end(struct tic_handle *handle)
{
    tic_redux_fold(handle);
    tic_redux_drop(handle);
}

void tic_redux_end_children(struct tic_handle *parent)
{
    for (unsigned i = 0; i < parent->child_count; i++) {
        tic_redux_end_children(parent->children[i]);
        tic_redux_end(parent->children[i]);
    }
}

/* ---- submissions ---------------------------------------------------------------------------- */

/* With explicit dependencies, or while main() holds data, tasks may have to wait for later ones.
 * The same in every run: how long an access by callback is held is a race. */
static bool is_ordered(const struct starpu_task *task)
{
    return !task->use_tag && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES &&
           !tic_session->explicit_dependencies && !tic_session->waits_by_callback &&
           atomic_load(&tic_session->holds) == 0 && !atomic_load(&tic_session->paused);
}

static const char *contribute(struct starpu_task *task, unsigned buffer)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    struct tic_redux *redux = handle ? handle->redux : NULL;

    if (handle && tic_handle_is_excluded(handle))
        return "reductions (STARPU_REDUX) of data that no recovery line holds "
               "(starpu_tic_data_exclude) are not protected yet";
    if (!redux || !redux->fold || !redux->init)
        return "a reduction (STARPU_REDUX) without starpu_data_set_reduction_methods";
    if (!task->sequential_consistency || task->handles_sequential_consistency ||
        !tic_real.starpu_data_get_sequential_consistency_flag(handle->data))
        return "reductions (STARPU_REDUX) without sequential consistency are not protected yet";
    if (!task->destroy)
        return "tasks of reductions that are submitted again are not protected yet";
    if (tic_nodes_several && !is_ordered(task)) /* as its writes would commute */
        return "reductions (STARPU_REDUX) beside tags, declared dependencies or accesses with a "
               "callback, or while main() holds data, are not protected yet where StarPU has "
               "several memory nodes";
    if (redux->width == 0 && !open_accumulators(handle, redux))
        return "the accumulators of a reduction cannot be made";
    fold_overlapping(handle);
    if (!tic_redux_is_open(handle) &&
        tic_append(started.items, started.count, started.capacity, &handle) != 0)
        return "out of memory";
    unsigned part = redux->next++ % redux->width;
    if (!atomic_exchange(&redux->open[part], true)) {
        atomic_fetch_add(&tic_redux_open_count, 1);
        submit(redux->init, redux->init_arg, redux->parts[part], NULL);
    }
    if (!set_mode(task, buffer, is_ordered(task) ? STARPU_RW : STARPU_RW | STARPU_COMMUTE))
        return "out of memory";
    STARPU_TASK_SET_HANDLE(task, redux->parts[part], buffer);
    return NULL;
}

static bool is_reduction(struct starpu_task *task, unsigned buffer)
{
    return (STARPU_TASK_GET_MODE(task, buffer) & STARPU_REDUX) != 0;
}

/* Another thread cannot know where in the program's order it is: it ends protection, and then all
 * reductions are up to date. */
static const char *on_other_thread(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    const char *why = NULL;

    /* It was asked then; and main() may have the lock, and wait until this callback has returned.
     */
    if (tic_session_context() != TIC_CONTEXT_THREAD && tic_replay_repeats())
        return NULL;
    pthread_mutex_lock(&folding); /* not between what is closed and its fold */
    for (unsigned i = 0; i < buffers && !why; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (is_reduction(task, i) || (handle && tic_redux_is_open(handle)))
            why = "reductions (STARPU_REDUX) of data that callbacks, tasks or other threads use, "
                  "too, are not protected yet";
    }
    pthread_mutex_unlock(&folding);
    return why;
}

/* StarPU has not seen what is open. Once protection has ended only this needs us. */
static void fold_used(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers; i++)
        tic_redux_fold(tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)));
}

const char *tic_redux_on_submit(struct starpu_task *task)
{
    bool watching = tic_session_is_watching();
    const char *why = NULL;

    if (!task->cl || submitting || (!watching && atomic_load(&tic_redux_open_count) == 0))
        return NULL;
    if (!watching) {
        fold_used(task);
        return NULL;
    }
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool reduces = false;
    for (unsigned i = 0; i < buffers; i++)
        reduces |= is_reduction(task, i);
    if (!reduces && atomic_load_explicit(&tic_redux_open_count, memory_order_relaxed) == 0)
        return NULL;
    if (!tic_session_is_owner())
        return on_other_thread(task);
    for (unsigned i = 0; i < buffers; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (is_reduction(task, i) || !tic_redux_fold(handle))
            continue;
        /* StarPU remembers predecessors: it would wait for ours again if the application submits
         * this structure another time. */
        if (!task->destroy && is_ordered(task))
            tic_data_wait(handle);
    }
    for (unsigned i = 0; i < buffers && !why; i++) {
        if (!is_reduction(task, i))
            continue;
        if (!contributing)
            pthread_mutex_lock(&folding);
        contributing = true;
        why = contribute(task, i);
    }
    return why;
}

bool tic_redux_is_contributing(void)
{
    return contributing;
}

void tic_redux_after_submit(void)
{
    if (!contributing || submitting)
        return;
    contributing = false;
    if (!atomic_load(&tic_session->watching))
        tic_redux_fold_all();
    pthread_mutex_unlock(&folding);
}
