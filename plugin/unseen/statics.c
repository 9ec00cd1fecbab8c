/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits of main(), in which tasks alone change memory that nobody has registered. */
#include "unseen/statics.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "base/thread.h"
#include "unseen/blocks.h"
#include "unseen/heap.h"
#include "session/context.h"
#include "session/elf.h"
#include "session/marks.h"
#include "unseen/objects.h"
#include "unseen/suppress.h"
#include "session/packed.h"
#include "session/task.h"

enum {
    MOST_POINTERS = 256,         /* in arguments of a task */
    FREE_WAITS = 4,              /* that are looked at whatever it takes, */
    FREE_NS = 1000 * 1000 * 1000 /* if that is less, but for the first */
};

static struct {
    struct tic_lock lock;
    struct tic_others others; /* what is none of the program's variables */
    bool over;                /* nothing is looked at any more */
    bool inside;              /* main() waits, and this is looked at */
    bool fresh;               /* there are codelets that no such wait has come after */
    unsigned waits;
    uint64_t left;                 /* all waits that main() has come back from; owner thread only */
    uint64_t callbacks, again, ns; /* as this wait began; nanoseconds in all */
    struct tic_marks_moment begun; /* the same: which tasks have run */
    uint64_t line_ns;              /* nanoseconds in all, for lines */
} statics = {.lock = TIC_LOCK_INITIALIZER(TIC_RANK_STATICS)}; /* guarded by its lock */

static char found[512];                           /* what it is; set before a line says so */
static _Atomic(const char *) left_out = "";       /* what is not looked at, in words */
static _Atomic bool quiet;                        /* in this wait no callback has begun */
static _Atomic uint64_t again_begun, again_ended; /* tasks without output */

static void tell_left_out(const char *what)
{
    const char *nothing = "";

    if (atomic_compare_exchange_strong(&left_out, &nothing, what) && !tic_session->report)
        tic_log(TIC_LOG_INFO, "%s; starpu-tic explain left-out", what);
}

static void know(const void *structure, size_t size)
{
    if (structure && !statics.over && tic_spans_add(&statics.others.known, structure, size) != 0) {
        statics.over = true;
        tell_left_out("the program has so many structures of StarPU in memory of its own that "
                      "memory which is not registered data is no longer looked at");
    }
}

static void note_codelet_locked(const struct starpu_codelet *codelet)
{
    know(codelet->model, sizeof(*codelet->model));
    know(codelet->energy_model, sizeof(*codelet->energy_model));
    if (tic_spans_has(&statics.others.known, codelet))
        return;
    know(codelet, sizeof(*codelet));
    statics.fresh = true;
    if (tic_objects_add(codelet, &statics.others.known) != 0)
        statics.over = true;
}

/* What a task returns in its arguments is saved: in no more of them than it has told the size of.
 */
void tic_statics_note_task(const struct starpu_task *task)
{
    static const struct starpu_codelet *last; /* under the submission lock */
    bool runs = !tic_task_runs_nowhere(task);
    bool own = runs && !task->destroy; /* the structure of the program, which may be one */

    if (!task->cl || (task->cl == last && !own && !task->cl_arg))
        return;
    tic_lock(&statics.lock);
    if (task->cl != last && !statics.over)
        note_codelet_locked(task->cl);
    if (own)
        know(task, sizeof(*task));
    if (runs && task->cl_arg && task->cl_arg_size > 0 && tic_objects_have(task->cl_arg))
        know(task->cl_arg, task->cl_arg_size);
    tic_unlock(&statics.lock);
    last = task->cl;
}

/* Nobody knows what belongs to registered data: what changes in this wait may be theirs. */
static void stop_locked(void)
{
    atomic_store(&quiet, false);
    statics.inside = false;
}

void tic_statics_note_data(const struct tic_handle *handle)
{
    tic_lock(&statics.lock);
    if (!statics.others.frame && tic_is_owner)
        statics.others.frame = __builtin_frame_address(0);
    tic_blocks_note_data(handle);
    if (statics.inside && handle->packer && !tic_others_add_data(&statics.others, handle))
        stop_locked();
    tic_unlock(&statics.lock);
}

void tic_statics_note_arguments(const struct starpu_task *task)
{
    const char *pointers[MOST_POINTERS];
    unsigned count = tic_packed_pointers(task, pointers, MOST_POINTERS);

    tic_lock(&statics.lock);
    tic_blocks_note_pointers(pointers, count);
    tic_unlock(&statics.lock);
}

/* ---- a wait --------------------------------------------------------------------------------- */

void tic_statics_note_again(bool ends)
{
    atomic_fetch_add(ends ? &again_ended : &again_begun, 1);
}

/* Nobody but tasks with output has run in this wait. */
static bool is_alone(void)
{
    const struct tic_graph *graph = &tic_session->graph;

    return atomic_load(&graph->callbacks_open) == 0 &&
           atomic_load(&graph->told) == statics.callbacks &&
           atomic_load(&again_begun) == statics.again && atomic_load(&graph->threads) == 0;
}

static bool is_wanted(void)
{
    struct tic_session *session = tic_session;

    return !statics.over && (session->settings.verify > 0 || session->report) &&
           session->settings.pointers != TIC_POINTERS_TRUST &&
           !tic_snapshot_is_broken(&session->snapshot);
}

static bool may_look(uint64_t now)
{
    struct tic_session *session = tic_session;

    return is_wanted() && statics.others.known.count > 0 && !statics.inside &&
           !tic_position_is_ahead() &&
           (statics.waits == 0 ||
            ((statics.waits < FREE_WAITS || statics.fresh) && statics.ns < FREE_NS) ||
            statics.ns * 100 <= (now - session->snapshot.started_ns) * TIC_LOOKS_PERCENT);
}

/* Not on several ranks: a thread of MPI changes what variables lead to, communicators say. */
static bool follows_pointers(void)
{
    return !tic_session->snapshot.ranks;
}

static void watch_locked(void)
{
    const struct tic_beside *segments;
    unsigned count = tic_objects_segments(&segments);

    tic_beside_add_often();
    for (unsigned i = 0; i < count; i++)
        tic_beside_add(&segments[i]);
    bool all = !follows_pointers() || tic_blocks_watch(&statics.others);
    tic_beside_hash(&statics.others);
    if (!all || tic_beside_left_out() > 0)
        tell_left_out("there is more memory beside registered data than is looked at while main() "
                      "waits (256 MiB, 2048 blocks, 256 pointers in arguments)");
}

static void begin_locked(uint64_t start, const void *frame)
{
    statics.others.frame = frame;
    statics.callbacks = atomic_load(&tic_session->graph.told);
    statics.again = atomic_load(&again_ended);
    statics.begun = tic_marks_now(&tic_session->snapshot.cut);
    statics.others.graph = &tic_session->graph;
    statics.inside = may_look(start) && is_alone() && tic_beside_begin();
    if (statics.inside && !tic_others_begin_wait(&statics.others))
        stop_locked();
    if (statics.inside) {
        watch_locked();
        atomic_store(&quiet, true);
    }
    statics.ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
}

bool tic_statics_enter(const void *frame, bool observes)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (observes ? !follows_pointers() : tic_session_context() != TIC_CONTEXT_MAIN)
        return false;
    tic_lock(&statics.lock);
    begin_locked(start, frame);
    bool inside = statics.inside;
    statics.waits += inside && !observes;
    statics.fresh &= !inside || observes;
    tic_unlock(&statics.lock);
    return inside;
}

/* ---- what has changed ----------------------------------------------------------------------- */

static void tell_found(void)
{
    if (tic_session->report)
        return;
    tic_snapshot_note_unregistered(&tic_session->snapshot, found);
    if (!tic_snapshot_is_broken(&tic_session->snapshot))
        tic_log(
            TIC_LOG_WARN,
            "tasks write memory that is not registered data: %s; starpu-tic explain unregistered",
            found);
}

/* whole: somewhere in the 4096 bytes from there on. */
static void name_variable(char *text, size_t size, const char *at, bool whole)
{
    struct tic_elf_place place;

    if (tic_elf_find(at, &place) && place.size > 0)
        snprintf(text, size, "\"%s\" of %s%s (symbol:%s)", place.symbol, place.object,
                 whole ? ", or one after it in 4096 bytes" : "", place.symbol);
    else
        snprintf(text, size, "%s%s (section:%s)", place.object,
                 place.stripped ? ", which is stripped" : "", place.section);
}

static void tell(const struct tic_beside *range, const char *at)
{
    static const char *const names[] = {
        [TIC_BESIDE_OBJECT] = "",
        [TIC_BESIDE_OF_VARIABLE] = "what a variable points to: ",
        [TIC_BESIDE_OF_ARGUMENT] = "what their arguments point to",
        [TIC_BESIDE_OF_CONTENT] = "what registered data points to, or its user data",
        [TIC_BESIDE_OF_DATA] = "the rest of a block of memory of which only a part is registered"};
    size_t used = (size_t)snprintf(found, sizeof(found), "%s", names[range->kind]);

    if (range->kind == TIC_BESIDE_OBJECT || range->kind == TIC_BESIDE_OF_VARIABLE)
        name_variable(found + used, sizeof(found) - used,
                      range->kind == TIC_BESIDE_OBJECT ? at : range->pointer,
                      range->kind == TIC_BESIDE_OBJECT && !range->copy);
    tell_found();
}

void tic_statics_note_call(struct starpu_task *task, const char *call)
{
    tic_lock(&statics.lock);
    if (is_wanted()) {
        snprintf(
            found, sizeof(found),
            "the state of %s(), which task \"%s\" calls (that of rand_r() and erand48() can be "
            "registered)",
            call, tic_task_name(task));
        tell_found();
        statics.over = true;
    }
    tic_unlock(&statics.lock);
}

static const struct tic_beside *segment_of(const char *at)
{
    const struct tic_beside *segments;
    unsigned count = tic_objects_segments(&segments), i = 0;

    while (i < count && !(at >= segments[i].span.begin && at < segments[i].span.end))
        i++;
    return i < count ? &segments[i] : NULL;
}

/* Compilers lay out in another order: the guard of a variable that is being initialised, that
 * variable, the handle, and the stub's address. */
static bool is_of_stub(const char *at, const void *stub)
{
    const uint32_t begun = 0x100, waiting = 0x10000; /* of guards, in the ABI of C++ for Linux */
    uintptr_t word;

    memcpy(&word, at, sizeof(word));
    return word == (uintptr_t)stub || ((uint32_t)word & ~waiting) == begun;
}

void tic_statics_note_stub(const char *handle, const void *stub)
{
    const ptrdiff_t reach = 3 * sizeof(void *);
    const char *first = handle, *last = handle;

    tic_lock(&statics.lock);
    const struct tic_beside *segment = segment_of(handle);
    for (const char *at = handle - reach; segment && at <= handle + reach; at += sizeof(void *))
        if (at >= segment->span.begin && at + sizeof(void *) <= segment->span.end &&
            is_of_stub(at, stub)) {
            first = at < first ? at : first;
            last = at > last ? at : last;
        }
    if (segment)
        know(first, (size_t)(last - first) + sizeof(void *));
    tic_unlock(&statics.lock);
}

static void note_known(const struct tic_span *run, void *arg)
{
    (void)run;
    *(bool *)arg = true;
}

/* To memory of the program that tasks can write, and that does not belong to registered data. */
static bool leads_beside(uint64_t word)
{
    const uintptr_t most = 8 << 20;
    const char *at = (const char *)(uintptr_t)word;
    struct tic_span span = {at, at + 1};
    size_t bytes;
    bool known = word + most - (uintptr_t)statics.others.frame > 2 * most && !segment_of(at) &&
                 !tic_heap_around(at, &bytes);

    statics.others.graph = &tic_session->graph;
    if (!known)
        tic_others_visit(&statics.others, &span, note_known, &known);
    return !known;
}

void tic_statics_note_followed(struct starpu_task *task, uint64_t id, const uint64_t *words,
                               size_t count)
{
    size_t i = 0;

    tic_lock(&statics.lock);
    while (i < count && is_wanted() && !leads_beside(words[i]))
        i++;
    if (i < count && is_wanted()) {
        snprintf(found, sizeof(found),
                 "what data %llu%s (number of registration) points to (it holds nothing but "
                 "addresses, and task \"%s\", which declares to read and write it, leaves it as it "
                 "was)",
                 (unsigned long long)id, tic_name_of(id), tic_task_name(task));
        tell_found();
        statics.over = true;
    }
    tic_unlock(&statics.lock);
}

uint64_t tic_statics_left(void)
{
    return statics.left;
}

const char *tic_statics_found(void)
{
    return found;
}

const char *tic_statics_left_out(void)
{
    return atomic_load(&left_out);
}

/* Tables of symbols are read only where something was found. */
static bool is_suppressed(const struct tic_beside *range)
{
    struct tic_spans *known = &statics.others.known;

    switch (range->kind) {
    case TIC_BESIDE_OBJECT:
        return tic_suppress_add(range->span.begin, known);
    case TIC_BESIDE_OF_VARIABLE:
        tic_suppress_add(range->pointer, known);
        return tic_spans_has(known, range->pointer);
    default:
        return false;
    }
}

static void look_locked(void)
{
    const struct tic_beside *range;
    const char *at = NULL;
    unsigned next = 0;

    while (!statics.over && (range = tic_beside_changed(&statics.others, &next, &at)))
        if (is_suppressed(range))
            next = range->kind == TIC_BESIDE_OBJECT ? 0 : next; /* look again */
        else if (tic_blocks_has(range) && is_alone() &&
                 !tic_marks_all_skippable_since(&tic_session->snapshot.cut, statics.begun) &&
                 !tic_snapshot_is_broken(&tic_session->snapshot)) {
            tell(range, at);
            statics.over = true;
        }
}

/* For lines that come one after the other there is no time to look at much memory again. */
static bool has_time_for_line(uint64_t now)
{
    return statics.line_ns < FREE_NS ||
           statics.line_ns * 100 <= (now - tic_session->snapshot.started_ns) * TIC_LOOKS_PERCENT;
}

void tic_statics_look(bool callback)
{
    if (callback && !atomic_load_explicit(&quiet, memory_order_relaxed))
        return;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    tic_lock(&statics.lock);
    if (statics.inside && !statics.over &&
        (callback ? atomic_load(&quiet) : has_time_for_line(start))) {
        look_locked();
        *(callback ? &statics.ns : &statics.line_ns) += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    }
    if (callback)
        atomic_store(&quiet, false);
    tic_unlock(&statics.lock);
}

void tic_statics_leave(bool observes)
{
    if (!observes && tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    statics.left += !observes;
    tic_lock(&statics.lock);
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    atomic_store(&quiet, false);
    if (statics.inside && !statics.over)
        look_locked();
    statics.inside = false;
    if (!observes)
        tic_blocks_forget_pointers();
    statics.ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    tic_unlock(&statics.lock);
}

void tic_statics_leave_out(const struct tic_handle *handle)
{
    tic_lock(&statics.lock);
    if (statics.inside && !tic_others_add_data(&statics.others, handle))
        stop_locked();
    tic_unlock(&statics.lock);
}
