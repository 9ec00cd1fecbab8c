/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that callbacks, tasks and other threads submit: who they are, and what recovery needs to
 * submit them again. */
#include "interpose/spawn.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/words.h"
#include "interpose/callback_run.h"
#include "session/context.h"
#include "session/kernels.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "session/packed.h"
#include "session/symbol.h"
#include "session/task.h"
#include "real/real.h"

static uint64_t as_key(uint64_t hash)
{
    return hash | TIC_SPAWN_KEY;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* A restart submits tasks of kernels that are executed again, of callbacks and of threads anew,
 * when these come to it. What it keeps comes right after the submission that it comes from: so not
 * after those that were submitted anew in between. Under the submission lock. */
enum { MOST_RECENT = 4096 };
static struct {
    uint64_t count;               /* of those that were submitted */
    uint64_t before[MOST_RECENT]; /* the same before the last submissions of main(), by number */
    uint64_t end;                 /* of these: 1 + the number of the last */
} anew;

uint64_t tic_spawn_count_anew(void)
{
    return anew.count;
}

void tic_spawn_note_main(uint64_t sequence)
{
    anew.before[sequence % MOST_RECENT] = anew.count;
    anew.end = sequence + 1;
}

/* Long ago: it may have been before all of them. */
static uint64_t count_before_main(uint64_t sequence)
{
    return sequence < anew.end && anew.end - sequence <= MOST_RECENT
               ? anew.before[sequence % MOST_RECENT]
               : 0;
}

static void note_use(struct tic_handle *handle, enum starpu_data_access_mode mode, uint64_t number)
{
    if (mode & STARPU_COMMUTE)
        handle->use.anew.commuted = number;
    else if (mode & STARPU_W)
        handle->use.anew.written = number;
    else if (mode & STARPU_R)
        handle->use.anew.read = number;
}

static void note_use_of_overlaps(struct tic_handle *handle, enum starpu_data_access_mode mode,
                                 uint64_t number)
{
    tic_lock(&tic_session->graph.lock); /* any thread */
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        note_use(handle->listing.overlaps[i], mode, number);
    tic_unlock(&tic_session->graph.lock);
}

static void note_uses_anew(struct starpu_task *task, struct tic_spawn *spawn)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    spawn->anew = anew.count++;
    for (unsigned i = 0; i < buffers; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (!tic_task_is_ordered(task, i))
            continue;
        note_use(handle, STARPU_TASK_GET_MODE(task, i), anew.count);
        if (handle->family)
            note_use_of_overlaps(handle, STARPU_TASK_GET_MODE(task, i), anew.count);
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The last one of those that would have to come before such an access. */
static uint64_t last_before(const struct tic_handle *handle, enum starpu_data_access_mode mode)
{
    uint64_t last = handle->use.anew.written;

    if (!(mode & STARPU_COMMUTE))
        last = later(last, handle->use.anew.commuted);
    return mode & STARPU_W ? later(last, handle->use.anew.read) : last;
}

static const char *why_not_after(const struct tic_handle *handle, enum starpu_data_access_mode mode,
                                 const struct tic_spawn *spawn)
{
    uint64_t used = handle->use.main_used.written;

    if (mode & STARPU_W && handle->use.main_used.read > used)
        used = handle->use.main_used.read;
    if (used > spawn->seen)
        return "a task submits it on data that main() has used since it submitted the task that "
               "this comes from: a restart could not keep that order";
    if (last_before(handle, mode) > spawn->anew)
        return "a task submits it on data that other tasks use which a kernel that writes no data, "
               "a callback or a thread has submitted since the task that this comes from: a "
               "restart could not keep that order";
    return NULL;
}

/* In a restart, kept tasks come right after the submission that they come from. */
static const char *why_out_of_order(struct starpu_task *task, const struct tic_spawn *spawn)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    const char *why = NULL;

    for (unsigned i = 0; i < buffers && !why; i++)
        if (tic_task_is_ordered(task, i))
            why = why_not_after(tic_handle_of(STARPU_TASK_GET_HANDLE(task, i)),
                                STARPU_TASK_GET_MODE(task, i), spawn);
    return why;
}

/* ---- identity ------------------------------------------------------------------------------- */

/* Where the kernel is tells codelets without a name apart. */
static uint64_t hash_kernel(const struct starpu_task *task, unsigned *bound)
{
    char *symbol = task->cl->name ? NULL : tic_symbol_name(tic_kernels_first(task->cl));
    uint64_t hash = symbol ? XXH3_64bits(symbol, strlen(symbol)) : 0;

    *bound = symbol && strstr(symbol, "+0x") ? TIC_BOUND_BUILD : 0;
    free(symbol);
    return hash;
}

static uint64_t key_of_class(uint64_t class, uint64_t before)
{
    const uint64_t whole[2] = {class, before};

    return as_key(tic_words_hash(whole, 2, 0));
}

/* Which callback runs first is a race: a task is what it does. Tasks that do the same are
 * interchangeable: the first of them that is submitted again is the first of them. */
static const char *identify_by_content(struct starpu_task *task, uint64_t content,
                                       struct tic_spawn *spawn)
{
    unsigned by_kernel, by_arguments;
    uint64_t words[4] = {content, task->use_tag ? task->tag_id : 0, task->use_tag,
                         hash_kernel(task, &by_kernel)};
    uint64_t class = tic_words_hash(words, 4, 0), before;
    bool comparable = tic_packed_hash(task, &class, &by_arguments);

    atomic_fetch_or(&tic_session->graph.spawns.bound, by_kernel | by_arguments);
    if (!tic_spawns_occurrence(&tic_session->graph.spawns, class, &before))
        return "out of memory";
    if (before > 0 && !comparable && tic_session->recovered &&
        tic_spawns_was_done(&tic_session->graph.spawns, key_of_class(class, 0)))
        tic_stop(
            TIC_EXIT_REFUSED,
            "cannot continue from %s: callbacks or threads submit several tasks \"%s\" on the "
            "same data, one of them was done, and it cannot be told which: their arguments are "
            "pointers, or bytes that may be anything. Nothing was overwritten",
            tic_session->store.path, tic_task_name(task));
    if (before > 0 && !comparable)
        return "callbacks or threads submit several such tasks on the same data, and a restart "
               "could not tell them apart: their arguments are pointers, or bytes that may be "
               "anything. Arguments by STARPU_VALUE, or a tag, make them distinct";
    spawn->task.id = key_of_class(class, before);
    return NULL;
}

/* The task in whose kernel this thread is. */
static uint64_t parent_key(const struct tic_slot *slot, const struct tic_spawn **parent)
{
    *parent = NULL;
    if (!(slot->sequence & TIC_SPAWN_KEY))
        return slot->sequence;
    *parent =
        tic_spawns_get(&tic_session->graph.spawns, (uint32_t)(slot->sequence & ~TIC_SPAWN_KEY));
    return (*parent)->task.id;
}

static const char *identify_by_parent(uint64_t content, struct tic_spawn *spawn)
{
    struct tic_slot *slot = tic_cut_slot(&tic_session->snapshot.cut, tic_kernels_current_worker());
    const struct tic_spawn *parent;
    struct starpu_task *task = tic_kernels_current_task();

    if (task->hypervisor_tag == 0 || task->hypervisor_tag == TIC_TAG_HAS_DEPENDENCIES)
        return "it is submitted by a task that is not protected";
    if (tic_real.starpu_combined_worker_get_size() > 1)
        return "it is submitted by a parallel task";
    uint64_t key = parent_key(slot, &parent);
    uint64_t words[3] = {key, slot->children++, content};
    spawn->task.id = as_key(tic_words_hash(words, 3, 0));
    spawn->since = atomic_load_explicit(&slot->state, memory_order_relaxed) / 4;
    spawn->kept = slot->counts;
    spawn->seen = parent ? parent->seen : key + 1;
    spawn->anew = parent ? parent->anew + !parent->kept : count_before_main(key);
    spawn->task.root = parent && parent->kept ? parent->task.root : key;
    return NULL;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static const char *name_function(const void *function, const char *suffix, uint32_t *number)
{
    char *place = tic_symbol_name(function), *name = NULL;

    if (place && asprintf(&name, "%s\t%s", place, suffix) < 0)
        name = NULL;
    *number = name ? tic_spawns_function(&tic_session->graph.spawns, name) : TIC_SPAWN_NONE;
    free(place);
    free(name);
    return *number != TIC_SPAWN_NONE ? NULL
                                     : "a task submits it, and its codelet or callback is no part "
                                       "of the program or a library";
}

static const char *describe_callback(const struct starpu_task *task, struct tic_spawn *spawn)
{
    void (*function)(void *) = task->callback_func ? task->callback_func : task->cl->callback_func;
    uint64_t argument = (uint64_t)(uintptr_t)task->callback_arg;

    spawn->task.callback = TIC_SPAWN_NONE;
    if (!function)
        return NULL;
    if (argument != 0 && tic_symbol_is_pointer(argument))
        return "a task submits it with a callback whose argument is a pointer, which means nothing "
               "in a restart";
    spawn->task.callback_argument = argument;
    spawn->task.flags |= TIC_KEPT_CONTROL;
    return name_function((const void *)function, "", &spawn->task.callback);
}

static const char *describe_buffers(struct starpu_task *task, struct tic_spawn *spawn)
{
    unsigned count = STARPU_TASK_GET_NBUFFERS(task);
    bool writes = false;

    spawn->buffers = calloc(count ? count : 1, sizeof(*spawn->buffers));
    if (!spawn->buffers)
        return "out of memory";
    for (unsigned i = 0; i < count; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        const unsigned char *ordered = task->handles_sequential_consistency;
        spawn->buffers[i] = (struct tic_line_buffer){
            .handle = handle->id,
            .mode = (uint32_t)STARPU_TASK_GET_MODE(task, i),
            .free = ordered && !ordered[i],
        };
        writes |= STARPU_TASK_GET_MODE(task, i) & STARPU_W && !tic_handle_is_empty(handle);
    }
    spawn->task.buffers = count;
    if (!writes && tic_marks_runs_again(task))
        spawn->task.flags |= TIC_KEPT_AGAIN;
    return NULL;
}

static const char *describe_arguments(const struct starpu_task *task, struct tic_spawn *spawn)
{
    size_t size = task->cl_arg ? task->cl_arg_size : 0;

    if (tic_packed_has_pointer(task))
        return "a task submits it with a pointer in its arguments, which means nothing in a "
               "restart. Pass values (STARPU_VALUE, starpu_codelet_pack_args), and data as buffers";
    if (tic_packed_is_number(task))
        return "a task submits it with a number in the place of its arguments, which is not "
               "protected yet";
    if (size > 0 && !task->cl_arg_free)
        return "a task submits it with arguments that stay with the application (cl_arg without "
               "cl_arg_free): a restart gives it a copy, in which nobody finds what it returns. "
               "Pass "
               "values (STARPU_VALUE), and data as buffers";
    if (size >= UINT32_MAX)
        return "its arguments are too large";
    spawn->arguments = malloc(size ? size : 1);
    if (!spawn->arguments)
        return "out of memory";
    memcpy(spawn->arguments, task->cl_arg, size);
    spawn->task.arguments = (uint32_t)size;
    return NULL;
}

/* What recovery needs to submit it again. */
static const char *describe(struct starpu_task *task, struct tic_spawn *spawn)
{
    const char *why = NULL;

    if (!task->detach || !task->destroy || task->nb_termination_call_required > 0 ||
        task->hypervisor_tag == TIC_TAG_HAS_DEPENDENCIES || tic_task_has_prologue(task) ||
        task->synchronous || task->execute_on_a_specific_worker || task->workerids_len > 0 ||
        (task->sched_ctx != 0 && task->sched_ctx != STARPU_NMAX_SCHED_CTXS))
        return "a task submits it with what a restart cannot repeat: not detached, kept by the "
               "application, synchronous, with declared dependencies, a prologue, or for "
               "certain workers or another scheduling context";
    spawn->task.priority = task->priority;
    spawn->task.tag = task->tag_id;
    spawn->task.flags = (task->use_tag ? TIC_KEPT_TAG | TIC_KEPT_CONTROL : 0) |
                        (task->sequential_consistency ? 0 : TIC_KEPT_FREE);
    why = why ? why : name_function(task->cl, tic_task_name(task), &spawn->task.codelet);
    why = why ? why : describe_callback(task, spawn);
    why = why ? why : describe_buffers(task, spawn);
    return why ? why : describe_arguments(task, spawn);
}

static void forget(struct tic_spawn *spawn)
{
    free(spawn->buffers);
    free(spawn->arguments);
    spawn->buffers = NULL;
    spawn->arguments = NULL;
}

const char *tic_spawn_identify(struct starpu_task *task, enum tic_context context, uint64_t content,
                               struct tic_spawn *spawn)
{
    const char *why;

    memset(spawn, 0, sizeof(*spawn));
    why = context == TIC_CONTEXT_TASK ? identify_by_parent(content, spawn)
                                      : identify_by_content(task, content, spawn);
    if (context != TIC_CONTEXT_TASK) /* no later use by main() is before it */
        spawn->seen = tic_session->graph.signature.position;
    if (!why && tic_callback_is_of_access())
        why = "tasks that callbacks of accesses (starpu_data_acquire_cb) submit are not protected "
              "yet";
    if (!why && spawn->kept)
        why = describe(task, spawn);
    if (!why && spawn->kept)
        why = why_out_of_order(task, spawn);
    if (!why && !spawn->kept)
        note_uses_anew(task, spawn);
    if (why)
        forget(spawn);
    return why;
}

bool tic_spawn_register(struct starpu_task *task, const struct tic_spawn *model)
{
    struct tic_spawn *spawn = tic_spawns_add(&tic_session->graph.spawns, model);

    if (!spawn)
        return false;
    tic_task_mark(task, -(int)(spawn->index + 2));
    return true;
}
