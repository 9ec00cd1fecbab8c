/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of functions on data: registration, partitions, accesses of main(). */
#include <alloca.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/callback_run.h"
#include "interpose/access.h"
#include "interpose/access_callback.h"
#include "interpose/arrive.h"
#include "session/context.h"
#include "interpose/data.h"
#include "interpose/digest.h"
#include "interpose/ending.h"
#include "interpose/fill.h"
#include "interpose/looks_list.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/movable.h"
#include "interpose/partition.h"
#include "interpose/redo.h"
#include "interpose/redux.h"
#include "interpose/ranks.h"
#include "interpose/release.h"
#include "interpose/position.h"
#include "interpose/restore_all.h"
#include "interpose/shape.h"
#include "interpose/switch.h"
#include "interpose/pins.h"
#include "interpose/unregister.h"
#include "session/uses.h"
#include "interpose/waits.h"
#include "real/real.h"

/* ---- data ----------------------------------------------------------------------------------- */

/* Reductions that protection took over must be complete, even after it ended. Their tasks come
 * before the operation of main(), which may wait for them, and at its place, wherever that is
 * carried out in a restart. */
static void fold(starpu_data_handle_t data)
{
    if (tic_session && tic_guard == 0 && !tic_replay_plays() &&
        (tic_session_is_owner() || !tic_session_is_watching()))
        tic_redux_fold(tic_handle_of(data));
}

/* The same, of data that leaves. */
static void end_reductions(starpu_data_handle_t data)
{
    bool ours = tic_session_is_watching() && tic_session_is_owner() && !tic_replay_plays();
    struct tic_handle *handle = ours ? tic_handle_of(data) : NULL;

    tic_ranks_come(data, TIC_RANKS_LEAVES);
    if (handle)
        tic_redux_end(handle);
    else
        fold(data);
}

/* What main() gets is saved from main memory, and given back there. */
static void require_main_memory(int node, const char *call)
{
    if (tic_nodes_several && node != STARPU_MAIN_RAM && tic_session_is_watching())
        tic_session_unprotect_now(tic_session_place(call),
                                  "accesses of main() on other memory nodes than main memory are "
                                  "not protected yet");
}

WRAPPER void starpu_data_register(starpu_data_handle_t *data, int home_node, void *interface,
                                  struct starpu_data_interface_ops *ops)
{
    TIC_LINT(call);
    bool watching = tic_session_is_watching();
    if (watching && tic_session_is_owner() && tic_redo_keeps())
        tic_redo_begin(TIC_REPLAY_ASKS); /* memory may be that of what is still to leave */
    tic_guard++;
    RESOLVED(starpu_data_register)(data, home_node, interface, ops);
    tic_guard--;
    if (watching)
        tic_data_on_register_after(*data, home_node);
    if (tic_guard == 0)
        tic_pins_register(*data, home_node);
    TIC_LINT(goes_on, "starpu_data_register", false);
}

WRAPPER void starpu_data_unregister(starpu_data_handle_t data)
{
    TIC_LINT(call);
    struct tic_return returned =
        tic_digest_before_unregister(tic_session_is_watching() ? tic_handle_of(data) : NULL);

    end_reductions(data);
    tic_wait_begin(true);
    if (tic_session_is_watching())
        tic_data_on_unregister_before(data, true);
    const void *place = tic_pins_place(data);
    tic_guard++;
    RESOLVED(starpu_data_unregister)(data);
    tic_guard--;
    tic_pins_leave(place, false);
    tic_digest_after_unregister(&returned);
    tic_wait_end("starpu_data_unregister");
}

WRAPPER void starpu_data_unregister_no_coherency(starpu_data_handle_t data)
{
    tic_ranks_come(data, TIC_RANKS_LEAVES);
    if (tic_session_is_watching() && tic_session_is_owner() && tic_handle_of(data))
        tic_redux_drop(tic_handle_of(data));
    tic_wait_begin(false);
    if (tic_session_is_watching()) {
        TIC_LINT(note, TIC_LINT_LOST, tic_handle_of(data));
        tic_data_on_unregister_before(data, false);
    }
    const void *place = tic_pins_place(data);
    tic_guard++;
    RESOLVED(starpu_data_unregister_no_coherency)(data);
    tic_guard--;
    tic_pins_leave(place, false);
    tic_wait_end("starpu_data_unregister_no_coherency");
}

static void unregister_submit(starpu_data_handle_t data)
{
    if (tic_session_is_watching())
        tic_data_on_unregister_submit_before(data);
    const void *place = tic_pins_place(data);
    tic_guard++;
    RESOLVED(starpu_data_unregister_submit)(data);
    tic_guard--;
    tic_pins_leave(place, true);
}

static void play_unregister_submit(void *data)
{
    unregister_submit(*(starpu_data_handle_t *)data);
}

static bool queue_unregister_submit(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_redo_keeps() ? tic_handle_of(data) : NULL;

    if (handle)
        tic_data_part(handle);
    return tic_redo_queue_call(handle, play_unregister_submit, &data, sizeof(data),
                               TIC_REDO_LEAVES);
}

WRAPPER void starpu_data_unregister_submit(starpu_data_handle_t data)
{
    TIC_LINT(call);
    end_reductions(data);
    bool ours = tic_session_is_watching() && tic_session_is_owner();
    bool waits = ours && tic_data_leaves_at_once(tic_handle_of(data));
    tic_main_comes(waits);
    if (!queue_unregister_submit(data))
        unregister_submit(data);
    if (waits)
        tic_main_returns();
    else if (ours)
        tic_looks_end_leaving();
    TIC_LINT(goes_on, "starpu_data_unregister_submit", false);
}

WRAPPER void starpu_data_partition(starpu_data_handle_t data, struct starpu_data_filter *filter)
{
    TIC_LINT(call);
    tic_ranks_come(data, TIC_RANKS_WRITES);
    fold(data);
    tic_main_comes(true);
    if (tic_session_is_watching())
        tic_data_on_partition_before(data);
    bool watching = tic_session_is_watching();
    tic_guard++;
    RESOLVED(starpu_data_partition)(data, filter);
    tic_guard--;
    if (watching)
        tic_data_on_partition_after(data);
    if (watching && tic_session_is_owner())
        tic_main_returns();
    TIC_LINT(goes_on, "starpu_data_partition", false);
}

WRAPPER void starpu_data_unpartition(starpu_data_handle_t data, unsigned node)
{
    if (tic_session_is_watching() && tic_session_is_owner() && tic_handle_of(data))
        tic_redux_end_children(tic_handle_of(data));
    tic_wait_begin(true);
    require_main_memory((int)node, "starpu_data_unpartition");
    bool watching = tic_session_is_watching();
    if (watching)
        tic_data_on_unpartition_before(data);
    tic_guard++;
    RESOLVED(starpu_data_unpartition)(data, node);
    tic_guard--;
    if (watching) {
        tic_data_on_unpartition_after(data);
        tic_digest_after_unpartition(tic_handle_of(data));
    }
    tic_wait_end("starpu_data_unpartition");
}

WRAPPER void starpu_data_partition_plan(starpu_data_handle_t data,
                                        struct starpu_data_filter *filter,
                                        starpu_data_handle_t *parts)
{
    TIC_LINT(call);
    tic_ranks_come(data, TIC_RANKS_WRITES);
    fold(data);
    tic_guard++;
    RESOLVED(starpu_data_partition_plan)(data, filter, parts);
    tic_guard--;
    if (tic_session_is_watching())
        tic_data_on_plan_after(data, parts,
                               filter->get_nchildren ? filter->get_nchildren(filter, data)
                                                     : filter->nchildren);
    TIC_LINT(goes_on, "starpu_data_partition_plan", false);
}

/* A call on planned parts. */
struct queued_plan {
    starpu_data_handle_t a, *c; /* c: copied, as StarPU reads it during the call */
    unsigned b;
    int d, e;
};

static bool queue_plan(void (*play)(void *), enum tic_redo_call_kind kind, starpu_data_handle_t a,
                       unsigned b, starpu_data_handle_t *c, int d, int e)
{
    struct queued_plan queued = {.a = a, .b = b, .d = d, .e = e};

    if (!tic_replay_is_on())
        return false;
    queued.c = c ? malloc((b + 1) * sizeof(*c)) : NULL;
    if (queued.c)
        memcpy(queued.c, c, b * sizeof(*c));
    bool fine = (queued.c || !c) && tic_redo_keeps() &&
                tic_redo_queue_call(tic_handle_of(a), play, &queued, sizeof(queued), kind);
    if (!fine)
        free(queued.c);
    return fine;
}

#define CLEAN(name, number, parameters, arguments)                                                 \
    static void play_##name(void *queued)                                                          \
    {                                                                                              \
        const struct queued_plan *of = queued;                                                     \
        starpu_data_handle_t data = of->a, *parts = of->c;                                         \
        const unsigned count = of->b;                                                              \
        const int node = of->d;                                                                    \
        (void)node;                                                                                \
        name arguments;                                                                            \
        free(parts);                                                                               \
    }                                                                                              \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        fold(data);                                                                                \
        for (unsigned i = 0; i < count; i++)                                                       \
            end_reductions(parts[i]);                                                              \
        if (queue_plan(play_##name, TIC_REDO_LEAVES, data, count, parts, number, 0))               \
            return;                                                                                \
        if (tic_session_is_watching())                                                             \
            tic_data_on_clean_before(parts, count);                                                \
        tic_guard++;                                                                               \
        RESOLVED(name) arguments;                                                                  \
        tic_guard--;                                                                               \
        TIC_LINT(goes_on, #name, false);                                                           \
    }

CLEAN(starpu_data_partition_clean, 0,
      (starpu_data_handle_t data, unsigned count, starpu_data_handle_t *parts),
      (data, count, parts))
#if TIC_STARPU_1_4
CLEAN(starpu_data_partition_clean_node, node,
      (starpu_data_handle_t data, unsigned count, starpu_data_handle_t *parts, int node),
      (data, count, parts, node))
#endif

/* A reader of the parts may have begun by the cut where one of the whole, before it, had not. */
static enum tic_redo_call_kind queued_as(enum tic_switch kind)
{
    return kind == TIC_SWITCH_PARTITION_READONLY || kind == TIC_SWITCH_READONLY_ITSELF
               ? TIC_REDO_SHARES
               : TIC_REDO_EXCLUDES;
}

/* Switches between planned partitions: they move no content on one memory node, and are not to be
 * taken for accesses. */
#define SWITCH(name, kind, instead, parameters, arguments, all)                                    \
    static void play_##name(void *queued)                                                          \
    {                                                                                              \
        struct queued_plan *of = queued;                                                           \
        starpu_data_handle_t a = of->a, *c = of->c;                                                \
        unsigned b = of->b;                                                                        \
        int d = of->d, e = of->e;                                                                  \
        (void)b, (void)c, (void)d, (void)e;                                                        \
        name arguments;                                                                            \
        free(of->c);                                                                               \
    }                                                                                              \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        fold(a);                                                                                   \
        if (queue_plan(play_##name, queued_as(kind), SWITCH_ALL all))                              \
            return;                                                                                \
        enum tic_switch does = tic_guard == 0 ? tic_switch_before(a, kind) : kind;                 \
        if (does == TIC_SWITCH_NOTHING)                                                            \
            return;                                                                                \
        tic_switch_note(a, does);                                                                  \
        tic_guard++;                                                                               \
        if (does == kind)                                                                          \
            RESOLVED(name) arguments;                                                              \
        else                                                                                       \
            RESOLVED(instead) arguments;                                                           \
        tic_guard--;                                                                               \
        TIC_LINT(goes_on, #name, false);                                                           \
    }
#define SWITCH_ALL(...) __VA_ARGS__
#include "real/switches.def"
#undef SWITCH_ALL
#undef SWITCH

WRAPPER void starpu_data_set_reduction_methods(starpu_data_handle_t data,
                                               struct starpu_codelet *redux,
                                               struct starpu_codelet *init)
{
    struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;
    if (handle && tic_session_is_owner())
        tic_redux_set_methods(handle, redux, NULL, init, NULL);
    tic_guard++;
    RESOLVED(starpu_data_set_reduction_methods)(data, redux, init);
    tic_guard--;
}

#if TIC_STARPU_1_4
WRAPPER void starpu_data_set_reduction_methods_with_args(starpu_data_handle_t data,
                                                         struct starpu_codelet *redux,
                                                         void *redux_arg,
                                                         struct starpu_codelet *init,
                                                         void *init_arg)
{
    struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;
    if (handle && tic_session_is_owner())
        tic_redux_set_methods(handle, redux, redux_arg, init, init_arg);
    tic_guard++;
    RESOLVED(starpu_data_set_reduction_methods_with_args)(data, redux, redux_arg, init, init_arg);
    tic_guard--;
}
#endif

/* Once there is a session, StarPU holds records of ours only. */
WRAPPER void starpu_data_set_user_data(starpu_data_handle_t data, void *user_data)
{
    if (!tic_session || !tic_data_keep_user_data(data, user_data))
        RESOLVED(starpu_data_set_user_data)(data, user_data);
}

WRAPPER void *starpu_data_get_user_data(starpu_data_handle_t data)
{
    void *found = RESOLVED(starpu_data_get_user_data)(data);
    return tic_session && found ? ((struct tic_handle *)found)->use.user_data : found;
}

struct consistency {
    starpu_data_handle_t data;
    unsigned flag;
};

static void play_consistency(void *arg)
{
    const struct consistency *call = arg;

    starpu_data_set_sequential_consistency_flag(call->data, call->flag);
}

/* What is queued is to be ordered as it was when it was submitted. To StarPU, what comes back
 * without order is no value. */
WRAPPER void starpu_data_set_sequential_consistency_flag(starpu_data_handle_t data, unsigned flag)
{
    struct consistency call = {data, flag};
    struct tic_handle *handle = tic_redo_keeps() ? tic_handle_of(data) : NULL;

    if (tic_redo_queue_call(handle, play_consistency, &call, sizeof(call), TIC_REDO_EXCLUDES))
        return;
    if (handle && handle->home_node < 0 && handle->child_count == 0 && flag == 0)
        tic_fill_submit(data, NULL, NULL);
    RESOLVED(starpu_data_set_sequential_consistency_flag)(data, flag);
}

/* False when StarPU must not know: a value that is restored later is there for us, and on several
 * nodes one that main memory lacks, which StarPU gives to nobody once main() has called this. */
static bool note_invalid(starpu_data_handle_t data)
{
    struct tic_handle *handle = tic_session ? tic_handle_of(data) : NULL;

    /* Tasks that were under way when protection ended ask StarPU, too. */
    if (!handle || !tic_session_is_watching() || !tic_session_is_owner())
        return !handle || !tic_nodes_several;
    handle->use.invalid = true;
    if (tic_nodes_several || (tic_session->recovered && !tic_session_is_replayed(tic_session)))
        return false;
    tic_data_on_invalidate_before(handle);
    return true;
}

/* Behind queued tasks that use it; to what comes after the call it is invalid. */
static bool queue_invalidation(starpu_data_handle_t data, void (*play)(void *))
{
    struct tic_handle *handle = tic_handle_of(data);

    if (!tic_redo_keeps() || !tic_redo_is_queued(handle))
        return false;
    atomic_store(&handle->use.invalid, true);
    return tic_redo_queue(handle, play, &data, sizeof(data));
}

static void note_valid(starpu_data_handle_t data)
{
    if (tic_session_is_watching() && tic_session_is_owner())
        tic_data_note_valid(tic_handle_of(data));
}

/* Invalid data of main() keeps its last value for us, nobody can tell; other data is freed. */
#define INVALIDATE(name)                                                                           \
    static void play_##name(void *data)                                                            \
    {                                                                                              \
        name(*(starpu_data_handle_t *)data);                                                       \
    }                                                                                              \
    WRAPPER void name(starpu_data_handle_t data)                                                   \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        tic_ranks_come(data, tic_ranks_is_caller(__builtin_return_address(0))                      \
                                 ? TIC_RANKS_INVALIDATES                                           \
                                 : TIC_RANKS_WRITES);                                              \
        fold(data);                                                                                \
        if (queue_invalidation(data, play_##name) || !note_invalid(data))                          \
            return;                                                                                \
        tic_guard++;                                                                               \
        RESOLVED(name)(data);                                                                      \
        tic_guard--;                                                                               \
        TIC_LINT(goes_on, #name, false);                                                           \
    }

INVALIDATE(starpu_data_invalidate)
INVALIDATE(starpu_data_invalidate_submit)
#if TIC_STARPU_1_4 /* the same, but that the memory stays allocated */
INVALIDATE(starpu_data_deinitialize)
INVALIDATE(starpu_data_deinitialize_submit)
#endif

static void copy_kernel(void *buffers[], void *arg)
{
    enum starpu_data_interface_id *id = arg;
    struct tic_layout to, from;

    if (tic_interface_layout(*id, buffers[0], &to) && tic_interface_layout(*id, buffers[1], &from))
        tic_layout_copy(&to, &from);
}

static struct starpu_codelet copy_codelet = {
    .where = STARPU_CPU,
    .cpu_funcs = {copy_kernel},
    .nbuffers = 2,
    .modes = {STARPU_W, STARPU_R},
    .name = "starpu_data_cpy",
};

static const char *why_no_copy(const struct tic_handle *to, const struct tic_handle *from)
{
    if (!to || !from || !to->supported || !from->supported || to->packer || from->packer)
        return "copying data that cannot be saved yet is not protected yet";
    if (!tic_nodes_has_processor())
        return "copying without CPU workers is not protected yet";
    if (!tic_shape_equal(&to->layout.shape, &from->layout.shape))
        return "copying between data of different shape is not protected yet";
    return NULL;
}

/* StarPU copies by an internal task that its hooks do not show: ours is like the application's.
 * NULL, with protection ended, when it cannot be ours. */
static struct starpu_task *copy_task(starpu_data_handle_t to, starpu_data_handle_t from,
                                     int asynchronous, void (*callback)(void *), void *arg)
{
    const char *why = why_no_copy(tic_handle_of(to), tic_handle_of(from));
    enum starpu_data_interface_id *id = why ? NULL : malloc(sizeof(*id));
    struct starpu_task *task = id ? tic_real.starpu_task_create() : NULL;

    if (!task) {
        free(id);
        tic_session_unprotect("starpu_data_cpy", why ? why : "out of memory");
        tic_data_bring_up(tic_handle_of(to));
        tic_data_bring_up(tic_handle_of(from));
        return NULL;
    }
    *id = tic_real.starpu_data_get_interface_id(to);
    task->cl = &copy_codelet;
    task->handles[0] = to;
    task->handles[1] = from;
    task->cl_arg = id;
    task->cl_arg_size = sizeof(*id);
    task->cl_arg_free = 1;
    task->callback_func = callback;
    task->callback_arg = arg;
    task->synchronous = !asynchronous;
    return task;
}

#define COPY(name, wanted, parameters, arguments)                                                  \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        struct starpu_task *task =                                                                 \
            tic_session_is_watching() ? copy_task(to, from, asynchronous, callback, arg) : NULL;   \
        if (task) {                                                                                \
            task->priority = (wanted);                                                             \
            return starpu_task_submit(task);                                                       \
        }                                                                                          \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        return result;                                                                             \
    }

COPY(starpu_data_cpy, STARPU_DEFAULT_PRIO,
     (starpu_data_handle_t to, starpu_data_handle_t from, int asynchronous,
      void (*callback)(void *), void *arg),
     (to, from, asynchronous, callback, arg))
#if TIC_STARPU_1_4
COPY(starpu_data_cpy_priority, priority,
     (starpu_data_handle_t to, starpu_data_handle_t from, int asynchronous,
      void (*callback)(void *), void *arg, int priority),
     (to, from, asynchronous, callback, arg, priority))
#endif

/* ---- acquire and release -------------------------------------------------------------------- */

#define ACQUIRE(name, node, parameters, arguments)                                                 \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        require_main_memory(node, #name);                                                          \
        bool reads = (mode & STARPU_R) != 0, writes = (mode & STARPU_W) != 0;                      \
        tic_ranks_come(data, writes ? TIC_RANKS_WRITES : TIC_RANKS_READS);                         \
        fold(data);                                                                                \
        tic_wait_begin(true);                                                                      \
        bool record =                                                                              \
            tic_session_is_watching() && tic_access_on_acquire_before(data, reads, writes, #name); \
        if (tic_nodes_several && tic_session_is_watching())                                        \
            mode = tic_movable_mode(data, mode);                                                   \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        if (result == 0)                                                                           \
            tic_movable_find(data);                                                                \
        if (writes && result == 0)                                                                 \
            note_valid(data);                                                                      \
        if (record && result == 0)                                                                 \
            tic_access_on_acquire_after(data, reads, writes);                                      \
        if (result == 0 && tic_session_is_watching())                                              \
            tic_data_note_hold(tic_handle_of(data), true);                                         \
        if (result == 0 && reads && tic_session_is_watching())                                     \
            tic_digest_after_acquire(tic_handle_of(data));                                         \
        tic_wait_end(#name);                                                                       \
        return result;                                                                             \
    }

ACQUIRE(starpu_data_acquire, STARPU_MAIN_RAM,
        (starpu_data_handle_t data, enum starpu_data_access_mode mode), (data, mode))
ACQUIRE(starpu_data_acquire_on_node, node,
        (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode),
        (data, node, mode))

/* Only a success counts as an operation: how often a program tries in vain is a race. */
#define TRY_ACQUIRE(name, really, node, parameters, arguments)                                     \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        require_main_memory(node, #name);                                                          \
        bool watching = tic_session_is_watching();                                                 \
        TIC_LINT(call);                                                                            \
        tic_ranks_come(data, mode &STARPU_W ? TIC_RANKS_WRITES : TIC_RANKS_READS);                 \
        fold(data);                                                                                \
        switch (watching ? tic_access_replay_try() : TIC_TRY_REALLY) {                             \
        case TIC_TRY_FAIL:                                                                         \
            return -EAGAIN;                                                                        \
        case TIC_TRY_SUCCEED:                                                                      \
            return really arguments;                                                               \
        case TIC_TRY_REALLY:                                                                       \
            break;                                                                                 \
        }                                                                                          \
        bool reads = (mode & STARPU_R) != 0, writes = (mode & STARPU_W) != 0;                      \
        struct tic_handle *handle = watching ? tic_handle_of(data) : NULL;                         \
        if (handle && tic_data_holds_values(handle))                                               \
            tic_data_restore(handle, false);                                                       \
        if (handle && tic_nodes_several)                                                           \
            mode = tic_movable_mode(data, mode);                                                   \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        if (watching)                                                                              \
            tic_access_after_try(result == 0);                                                     \
        if (result != 0)                                                                           \
            return result;                                                                         \
        tic_wait_begin(true);                                                                      \
        tic_movable_find(data);                                                                    \
        if (writes)                                                                                \
            note_valid(data);                                                                      \
        if (watching && tic_access_on_acquire_before(data, reads, writes, #name))                  \
            tic_access_on_acquire_after(data, reads, writes);                                      \
        if (tic_session_is_watching())                                                             \
            tic_data_note_hold(tic_handle_of(data), true);                                         \
        tic_wait_end(#name);                                                                       \
        return 0;                                                                                  \
    }

TRY_ACQUIRE(starpu_data_acquire_try, starpu_data_acquire, STARPU_MAIN_RAM,
            (starpu_data_handle_t data, enum starpu_data_access_mode mode), (data, mode))
TRY_ACQUIRE(starpu_data_acquire_on_node_try, starpu_data_acquire_on_node, node,
            (starpu_data_handle_t data, int node, enum starpu_data_access_mode mode),
            (data, node, mode))

/* What StarPU is asked for when the replay plays. */
struct access_call {
    struct tic_callback_wait *wait;
    starpu_data_handle_t data;
    enum starpu_data_access_mode mode;
    int node, sequential, quick, priority;
};

static void play_access(void *arg)
{
    const struct access_call *call = arg;
    void (*callback)(void *);
    void *argument;

    tic_callback_access_ask(call->wait, &callback, &argument);
    tic_guard++;
    RESOLVED(starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids)
    TIC_ACQUIRE_JOBIDS_LATER(call, callback, argument);
    tic_guard--;
}

/* All accesses with a callback end here. */
WRAPPER int starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids
    TIC_ACQUIRE_JOBIDS_PARAMETERS
{
    bool is_message = tic_ranks_takes_access(data, __builtin_return_address(0), &callback, &arg);
    bool ours = !is_message && tic_session_context() != TIC_CONTEXT_STARPU;
    struct tic_callback_wait *wait = NULL;

    TIC_LINT(call);
    if (ours)
        tic_ranks_come(data, mode & STARPU_W ? TIC_RANKS_WRITES : TIC_RANKS_READS);
    fold(data);
    if (ours)
        require_main_memory(node, "starpu_data_acquire_on_node_cb");
    if (ours)
        tic_callback_note_call(true);
    if (ours && tic_session_is_watching())
        wait = tic_callback_access_note(data, mode, sequential != 0, callback, arg);
    if (wait && tic_redo_keeps()) {
        const struct access_call call = {
            wait, data, mode, node, sequential, quick, TIC_ACQUIRE_JOBIDS_PRIORITY};
        if (before)
            *before = 0;
        if (after)
            *after = 0;
        bool redone = tic_callback_access_redo(wait);
        tic_replay_run_inside();
        if (redone || tic_redo_queue(tic_handle_of(data), play_access, &call, sizeof(call))) {
            tic_callback_end_call(true);
            return 0;
        }
    }
    if (wait)
        tic_callback_access_ask(wait, &callback, &arg);
    tic_guard++;
    int result = RESOLVED(starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids)
        TIC_ACQUIRE_JOBIDS_ARGUMENTS;
    tic_guard--;
    if (wait)
        tic_session->asking = 0;
    if (ours)
        tic_callback_end_call(true);
    return result;
}

#define RELEASE(name, node, parameters, arguments)                                                 \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        TIC_LINT(call);                                                                            \
        if (tic_ranks_takes_release(data, __builtin_return_address(0))) {                          \
            tic_guard++;                                                                           \
            RESOLVED(name) arguments;                                                              \
            tic_guard--;                                                                           \
            return;                                                                                \
        }                                                                                          \
        tic_callback_note_call(false);                                                             \
        if (tic_session && tic_guard == 0)                                                         \
            tic_access_on_release_first(data);                                                     \
        if (tic_session_is_watching()) {                                                           \
            tic_access_on_release_before(data);                                                    \
            tic_data_note_hold(tic_handle_of(data), false);                                        \
        }                                                                                          \
        tic_release(data, node);                                                                   \
        if (tic_session_is_watching() && tic_session_is_owner()) {                                 \
            tic_replay_end_release(atomic_load(&tic_session->graph.position));                     \
            tic_main_comes(false);                                                                 \
        } else {                                                                                   \
            tic_callback_end_call(true);                                                           \
        }                                                                                          \
        TIC_LINT(goes_on, #name, false);                                                           \
    }

RELEASE(starpu_data_release, TIC_NODE_HOME, (starpu_data_handle_t data), (data))
RELEASE(starpu_data_release_on_node, node, (starpu_data_handle_t data, int node), (data, node))

static void note_unpack(starpu_data_handle_t data, const char *call)
{
    if (tic_guard > 0 || !tic_session_is_watching())
        return;
    const struct tic_handle *handle = tic_handle_of(data);
    if (!tic_session_is_owner() || !handle || !handle->use.main_writes)
        tic_session_unprotect(tic_session_place(call),
                              "data that main() has not acquired for writing is not protected "
                              "yet where it is unpacked");
}

/* To us what main() writes within an access, whoever writes it. */
#define UNPACK(name, parameters, arguments)                                                        \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        if (!tic_ranks_is_caller(__builtin_return_address(0)))                                     \
            note_unpack(data, #name);                                                              \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        return result;                                                                             \
    }

UNPACK(starpu_data_unpack, (starpu_data_handle_t data, void *bytes, size_t count),
       (data, bytes, count))
#if TIC_STARPU_1_4
UNPACK(starpu_data_unpack_node,
       (starpu_data_handle_t data, unsigned node, void *bytes, size_t count),
       (data, node, bytes, count))
UNPACK(starpu_data_peek, (starpu_data_handle_t data, void *bytes, size_t count),
       (data, bytes, count))
UNPACK(starpu_data_peek_node, (starpu_data_handle_t data, unsigned node, void *bytes, size_t count),
       (data, node, bytes, count))
#endif
