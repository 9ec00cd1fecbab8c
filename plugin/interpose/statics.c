/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables of the program that kernels write, and memory that these or arguments point to. */
#include "interpose/statics.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "interpose/clock.h"
#include "interpose/context.h"
#include "interpose/heap.h"
#include "interpose/packed.h"

enum {
    MOST_OBJECTS = 16,    /* segments of objects with kernels */
    MOST_BLOCKS = 1024,   /* that something points to */
    MOST_TARGETS = 256,   /* of pointers in arguments */
    TARGET_BYTES = 64,    /* of one that is no block of the heap */
    MOST_KNOWN = 256,     /* what is none of the program's variables */
    MOST_BYTES = 8 << 20, /* that are compared in a wait */
    FREE_WAITS = 4,       /* that are looked at whatever it takes */
    STEP = 65536,
    GRAIN = 8
};

struct span {
    const char *begin, *end;
};

enum kind { OBJECT, OF_VARIABLE, OF_ARGUMENT };

/* The writable segment of an object, or what a variable there or an argument points to. */
struct range {
    enum kind kind;
    const char *path;    /* of the object; "" is the program */
    uintptr_t base;      /* of the object */
    const char *pointer; /* the variable */
    struct span span;
    const char *copy; /* of when main() began to wait */
};

static struct {
    struct tic_lock lock;
    struct range ranges[MOST_OBJECTS + MOST_BLOCKS];
    unsigned object_count, count; /* the first are segments, the others blocks of this wait */
    struct span objects[MOST_OBJECTS];
    struct span known[MOST_KNOWN];
    unsigned known_count;
    const char *targets[MOST_TARGETS];
    unsigned target_count; /* since main() waited last */
    size_t handle_size;    /* of StarPU's structure for data, or 0 */
    char *copies, *piece;  /* MOST_BYTES and STEP of them, or NULL */
    size_t used;           /* bytes of copies, in this wait */
    bool over;             /* nothing is looked at any more */
    bool inside;           /* main() waits, and this is looked at */
    unsigned waits;
    uint64_t left;                 /* all waits that main() has come back from; owner thread only */
    uint64_t callbacks, again, ns; /* as this wait began; nanoseconds in all */
} statics = {.lock = TIC_LOCK_INITIALIZER(TIC_RANK_STATICS)}; /* guarded by its lock */

static char found[512];                           /* what it is; set before a line says so */
static _Atomic uint64_t again_begun, again_ended; /* tasks without output */

static bool is_in(const struct span *spans, unsigned count, const void *at)
{
    for (unsigned i = count; i-- > 0;)
        if ((const char *)at >= spans[i].begin && (const char *)at < spans[i].end)
            return true;
    return false;
}

/* True if it is new. */
static bool know(const void *structure, size_t size)
{
    if (!structure || is_in(statics.known, statics.known_count, structure))
        return false;
    if (statics.known_count == MOST_KNOWN) {
        statics.over = true;
        return false;
    }
    const char *begin = structure;
    statics.known[statics.known_count++] = (struct span){begin, begin + size};
    return true;
}

/* ---- objects -------------------------------------------------------------------------------- */

/* Where functions of other objects lie: the dynamic linker fills that in at their first calls. */
static void know_calls(const struct dl_phdr_info *info, const ElfW(Phdr) * segment)
{
    const ElfW(Dyn) *dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + segment->p_vaddr);
    uintptr_t table = 0;
    size_t bytes = 0, entry = sizeof(ElfW(Rela));

    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        table = dynamic->d_tag == DT_PLTGOT ? dynamic->d_un.d_ptr : table;
        bytes = dynamic->d_tag == DT_PLTRELSZ ? dynamic->d_un.d_val : bytes;
        if (dynamic->d_tag == DT_PLTREL && dynamic->d_un.d_val == DT_REL)
            entry = sizeof(ElfW(Rel));
    }
    if (table != 0 && table < info->dlpi_addr) /* it is not relocated on every machine */
        table += info->dlpi_addr;
    know((const void *)table, (bytes / entry + 3) * sizeof(uintptr_t));
}

static struct span span_of(const struct dl_phdr_info *info)
{
    uintptr_t begin = UINTPTR_MAX, end = 0;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
    }
    return (struct span){(const char *)begin, (const char *)end};
}

/* Is it starpu-tic, or StarPU? */
static bool is_of_others(const struct span *span)
{
    return is_in(span, 1, &statics) ||
           is_in(span, 1, (const void *)(uintptr_t)tic_real.starpu_task_submit);
}

/* The object with this code; NULL: the program, which comes first. */
static int add_object(struct dl_phdr_info *info, size_t size, void *code)
{
    struct span span = span_of(info);

    (void)size;
    if (code && !is_in(&span, 1, code))
        return 0;
    if (is_of_others(&span))
        return 1;
    for (int i = 0; i < info->dlpi_phnum && statics.object_count < MOST_OBJECTS; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_DYNAMIC)
            know_calls(info, segment);
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
            continue;
        const char *begin = (const char *)(info->dlpi_addr + segment->p_vaddr);
        statics.objects[statics.object_count] = span;
        statics.ranges[statics.object_count++] =
            (struct range){.path = info->dlpi_name,
                           .base = info->dlpi_addr,
                           .span = {begin, begin + segment->p_memsz}};
    }
    return 1;
}

static void note_codelet_locked(const struct starpu_codelet *codelet)
{
    if (statics.object_count == 0)
        dl_iterate_phdr(add_object, NULL);
    know(codelet->model, sizeof(*codelet->model));
    know(codelet->energy_model, sizeof(*codelet->energy_model));
    if (!know(codelet, sizeof(*codelet)))
        return;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && codelet->cpu_funcs[i]; i++) {
        void *code = (void *)(uintptr_t)codelet->cpu_funcs[i];
        if (!is_in(statics.objects, statics.object_count, code))
            dl_iterate_phdr(add_object, code);
    }
}

void tic_statics_note_task(const struct starpu_task *task)
{
    static const struct starpu_codelet *last; /* under the submission lock */
    bool own = !task->destroy && task->cl;    /* the structure of the program, which may be one */

    tic_heap_note_structure(task);
    if (task->cl == last && !own && !task->cl_arg)
        return;
    tic_lock(&statics.lock);
    if (task->cl && task->cl != last && !statics.over)
        note_codelet_locked(task->cl);
    if (own && !statics.over)
        know(task, sizeof(*task));
    if (!statics.over && is_in(statics.objects, statics.object_count, task->cl_arg))
        know(task->cl_arg, task->cl_arg_size); /* what tasks return there is saved */
    tic_unlock(&statics.lock);
    last = task->cl;
}

/* ---- the heap ------------------------------------------------------------------------------- */

void tic_statics_note_data(starpu_data_handle_t data)
{
    tic_heap_note_structure(data);
    tic_lock(&statics.lock);
    if (statics.handle_size == 0)
        statics.handle_size = tic_heap_block((const char *)data, MOST_BYTES);
    tic_unlock(&statics.lock);
}

void tic_statics_note_arguments(const struct starpu_task *task)
{
    const char *pointers[MOST_TARGETS];
    unsigned count = tic_packed_pointers(task, pointers, MOST_TARGETS);

    tic_lock(&statics.lock);
    for (unsigned i = 0; i < count; i++) {
        unsigned k = 0;
        while (k < statics.target_count && statics.targets[k] != pointers[i])
            k++;
        if (k == statics.target_count && k < MOST_TARGETS)
            statics.targets[statics.target_count++] = pointers[i];
    }
    tic_unlock(&statics.lock);
}

/* StarPU changes its own structures, which programs point to: those of data lie in one block if it
 * was partitioned. malloc() gives out 8 bytes more than was asked for, at most. */
static bool is_of_starpu(size_t size)
{
    size_t data = statics.handle_size > 0 ? statics.handle_size - sizeof(size_t) : SIZE_MAX;
    size_t over = size / data > 0 ? size % data : data;

    return (size >= sizeof(struct starpu_task) && size < sizeof(struct starpu_task) + 24) ||
           over <= (size / data + 1) * sizeof(size_t);
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

static bool may_look(uint64_t now)
{
    struct tic_session *session = tic_session;

    return statics.object_count > 0 && !statics.over && !statics.inside &&
           (session->settings.verify > 0 || session->report) &&
           session->settings.pointers != TIC_POINTERS_TRUST && !tic_position_is_ahead() &&
           !tic_snapshot_is_broken(&session->snapshot) &&
           (statics.waits < FREE_WAITS ||
            statics.ns * 100 <= (now - session->snapshot.started_ns) * TIC_LOOKS_PERCENT);
}

/* As much of it as there is room for. */
static bool take_copy(struct range *range)
{
    size_t size = (size_t)(range->span.end - range->span.begin);

    if (size > MOST_BYTES - statics.used) {
        size = MOST_BYTES - statics.used;
        range->span.end = range->span.begin + size;
    }
    if (!tic_heap_read(range->span.begin, statics.copies + statics.used, size))
        return false;
    range->copy = statics.copies + statics.used;
    statics.used += size;
    return true;
}

static void add_block(const struct range *object, const char *pointer, const char *at, size_t size)
{
    if (size == 0 || is_of_starpu(size) || tic_heap_was_structure(at) ||
        size > MOST_BYTES - statics.used || statics.count == MOST_OBJECTS + MOST_BLOCKS)
        return;
    struct range *block = &statics.ranges[statics.count];
    *block = (struct range){.kind = object ? OF_VARIABLE : OF_ARGUMENT,
                            .path = object ? object->path : "",
                            .base = object ? object->base : 0,
                            .pointer = pointer,
                            .span = {at, at + size}};
    statics.count += take_copy(block);
}

/* The stack below main()'s own is used while it waits. Old targets may be variables of functions
 * that have returned. */
static void find_targets(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), most = 8 << 20;

    for (unsigned i = 0; i < statics.target_count; i++) {
        const char *at = statics.targets[i];
        uintptr_t place = (uintptr_t)at;
        if (is_in(statics.objects, statics.object_count, at) ||
            is_in(statics.known, statics.known_count, at) || (place > here - most && place < here))
            continue;
        size_t size = tic_heap_block(at, MOST_BYTES);
        add_block(NULL, NULL, at, size > 0 ? size : TARGET_BYTES);
    }
}

static void find_blocks(const struct range *object)
{
    const struct span *span = &object->span;
    const char *word;

    for (const char *at = span->begin; at + sizeof(word) <= span->end; at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        if (!word || is_in(statics.known, statics.known_count, at) ||
            is_in(statics.objects, statics.object_count, word))
            continue;
        add_block(object, at, word, tic_heap_block(word, MOST_BYTES));
    }
}

void tic_statics_enter(void)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    tic_lock(&statics.lock);
    statics.callbacks = atomic_load(&tic_session->graph.told);
    statics.again = atomic_load(&again_ended);
    statics.inside = may_look(start) && is_alone();
    if (statics.inside && !statics.copies) {
        statics.copies = malloc(MOST_BYTES);
        statics.piece = malloc(STEP);
        statics.inside = statics.copies && statics.piece;
    }
    statics.waits += statics.inside;
    statics.used = 0;
    statics.count = statics.object_count;
    for (unsigned i = 0; i < statics.object_count && statics.inside; i++)
        statics.inside = take_copy(&statics.ranges[i]);
    for (unsigned i = 0; i < statics.object_count && statics.inside; i++)
        find_blocks(&statics.ranges[i]);
    if (statics.inside)
        find_targets();
    statics.ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    tic_unlock(&statics.lock);
}

/* ---- what has changed ----------------------------------------------------------------------- */

/* Registered data and structures of StarPU, in pieces of GRAIN bytes. */
struct others {
    struct span span;
    unsigned char *grains;
};

static int mark_run(char *run, uint64_t bytes, void *arg)
{
    const struct others *others = arg;
    const char *begin = run > others->span.begin ? run : others->span.begin;
    const char *end = run + bytes < others->span.end ? run + bytes : others->span.end;

    if (begin < end) {
        size_t first = (size_t)(begin - others->span.begin) / GRAIN;
        size_t last = (size_t)(end - 1 - others->span.begin) / GRAIN;
        memset(others->grains + first, 1, last - first + 1);
    }
    return 0;
}

static void mark_all(struct others *others)
{
    struct tic_graph *graph = &tic_session->graph;

    for (unsigned i = 0; i < statics.known_count; i++)
        mark_run((char *)(uintptr_t)statics.known[i].begin,
                 (uint64_t)(statics.known[i].end - statics.known[i].begin), others);
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < graph->handle_count; i++) {
        const struct tic_handle *handle = graph->handles[i];
        if (handle->home_node >= 0 && handle->is_value && handle->layout.base < others->span.end)
            tic_layout_visit(&handle->layout, mark_run, others);
    }
    tic_unlock(&graph->lock);
}

/* Its first two words change. */
static bool is_in_mutex(const struct range *range, size_t at)
{
    const size_t size = (size_t)(range->span.end - range->span.begin), word = at - at % 8;
    bool is = false;

    for (size_t back = 0; back <= 8 && back <= word && !is; back += 8)
        is = word - back + sizeof(pthread_mutex_t) <= size &&
             tic_heap_is_mutex(range->span.begin + word - back, range->copy + word - back);
    return is;
}

/* The first byte that differs from its copy and does not belong to others, or NULL. */
static const char *find_change(const struct range *range)
{
    size_t size = (size_t)(range->span.end - range->span.begin);
    struct others others = {.span = range->span};
    const char *change = NULL;

    for (size_t at = 0; at < size && !change; at += STEP) {
        size_t step = size - at < STEP ? size - at : STEP;
        if (!tic_heap_read(range->span.begin + at, statics.piece, step))
            break; /* it was given back */
        if (memcmp(statics.piece, range->copy + at, step) == 0)
            continue;
        if (!others.grains && !(others.grains = calloc(size / GRAIN + 1, 1)))
            break;
        mark_all(&others);
        for (size_t i = 0; i < step && !change; i++)
            if (statics.piece[i] != range->copy[at + i] && !others.grains[(at + i) / GRAIN]) {
                if (is_in_mutex(range, at + i))
                    others.grains[(at + i) / GRAIN] = 1;
                else
                    change = range->span.begin + at + i;
            }
    }
    free(others.grains);
    return change;
}

static void tell(const struct range *range, const char *at)
{
    static const char *const names[] = {[OBJECT] = "a variable of the program",
                                        [OF_VARIABLE] = "what a variable of the program points to",
                                        [OF_ARGUMENT] = "what their arguments point to"};
    const char *path = range->path[0] ? range->path : tic_session->snapshot.about.program;
    uintptr_t place = (uintptr_t)(range->kind == OBJECT ? at : range->pointer) - range->base;
    size_t used = (size_t)snprintf(found, sizeof(found), "%s", names[range->kind]);

    if (range->kind != OF_ARGUMENT)
        snprintf(found + used, sizeof(found) - used,
                 " (`gdb -batch -ex 'info symbol 0x%llx' %s` names it)", (unsigned long long)place,
                 path);
    atomic_store(&tic_session->snapshot.unregistered.written, true);
    if (!tic_session->report)
        tic_log(TIC_LOG_WARN,
                "tasks write memory that is not registered data: %s. A restart would leave it as "
                "main() has made it, and is refused. Register it. If nobody needs what is there "
                "(counters, memory for a moment), set STARPU_TIC_POINTERS=trust: with that "
                "`starpu-tic rehearse` tells whether results depend on it",
                found);
}

uint64_t tic_statics_left(void)
{
    return statics.left;
}

const char *tic_statics_found(void)
{
    return found;
}

static void look_locked(void)
{
    const char *at = NULL;

    for (unsigned i = 0; i < statics.count && !at; i++) {
        at = find_change(&statics.ranges[i]);
        if (at && is_alone() && !tic_snapshot_is_broken(&tic_session->snapshot)) {
            tell(&statics.ranges[i], at);
            statics.over = true;
        }
    }
}

void tic_statics_look(void)
{
    tic_lock(&statics.lock);
    if (statics.inside && !statics.over)
        look_locked();
    tic_unlock(&statics.lock);
}

void tic_statics_leave(void)
{
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);

    if (tic_session_context() != TIC_CONTEXT_MAIN)
        return;
    statics.left++;
    tic_lock(&statics.lock);
    if (statics.inside && !statics.over)
        look_locked();
    statics.inside = false;
    statics.target_count = 0; /* functions of main() may return now, and leave their variables */
    statics.ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    tic_unlock(&statics.lock);
}

void tic_statics_leave_out(void)
{
    tic_lock(&statics.lock);
    statics.inside = false;
    tic_unlock(&statics.lock);
}
