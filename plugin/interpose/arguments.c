/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of tasks as results. A kernel may change the arguments of its task (starpu_task.cl_arg)
 * where the application, or the callback, has a pointer to them: a norm that it returns, the state
 * of a random generator. They are logged when the task ends, and a restart that skips the task
 * gives them back, but for addresses. A kernel may also free its arguments: what is logged then is
 * of no use, and does no harm. */
#include "interpose/arguments.h"

#include <errno.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "interpose/callback.h"
#include "replay/replay.h"
#include "session/context.h"
#include "session/packed.h"
#include "session/symbol.h"
#include "session/task.h"
#include "store/line.h"

enum { CODELETS = 64 };

/* Some task of the codelet has changed its arguments: those of another one may be equal by chance.
 * By the codelet's address; a newcomer takes the entry. */
static _Atomic(const struct starpu_codelet *) changing[CODELETS];

static _Atomic(const struct starpu_codelet *) *entry_of(const struct starpu_codelet *codelet)
{
    return &changing[((uintptr_t)codelet >> 5) % CODELETS];
}

/* By the application after the kernel; a callback finds them by its task. */
static bool may_be_seen(const struct starpu_task *task)
{
    return !task->cl_arg_free || !task->destroy || tic_callback_is_there(task);
}

static bool are_watched(const struct starpu_task *task)
{
    return task->cl_arg && task->cl_arg_size > 0 && !tic_session->snapshot.options.dry &&
           may_be_seen(task) && !tic_packed_is_number(task);
}

/* ---- around a kernel, on its worker ---------------------------------------------------------- */

/* Room for what they are before the kernel, and for what they are after it. */
static bool make_room(const struct starpu_task *task, struct tic_slot *slot)
{
    const size_t size = task->cl_arg_size;

    if (size <= slot->arguments_room)
        return true;
    char *grown = realloc(slot->arguments_before, 2 * size);
    if (!grown) {
        tic_snapshot_break(&tic_session->snapshot, "out of memory");
        return false;
    }
    slot->arguments_before = grown;
    slot->arguments_room = size;
    return true;
}

/* Linux reads the new mask before it finds that 99 says nothing about it: EFAULT, or EINVAL. This
 * takes a tenth of what mincore(2) and process_vm_readv(2) do. */
static bool is_readable(const char *at)
{
    return syscall(SYS_rt_sigprocmask, 99, at, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;
}

/* The kernel may have freed the memory, and it may be gone. Of more than a page, another thread
 * could unmap some meanwhile: it could be a mapping of its own. Where Linux does not allow the
 * call, the memory is taken to be there. */
static bool read_safely(const char *from, char *to, size_t size)
{
    enum { PAGE = 4096, WORD = 8 };

    if (size >= WORD && size <= PAGE) {
        const char *last = from + size - WORD;
        bool one_page = (uintptr_t)from / PAGE == (uintptr_t)(last + WORD - 1) / PAGE;
        bool there = is_readable(from) && (one_page || is_readable(last));
        memcpy(to, from, there ? size : 0);
        return there;
    }
    struct iovec local = {to, size}, remote = {(void *)from, size};
    ssize_t done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (done < 0 && (errno == EPERM || errno == ENOSYS))
        memcpy(to, from, done = (ssize_t)size);
    return done == (ssize_t)size;
}

/* What they hold then depends on the order of these tasks. */
static void tell_shared(void)
{
    static _Atomic bool told;

    if (tic_session->settings.pointers != TIC_POINTERS_TRUST && !atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN, "tasks that run at the same time change the same arguments (cl_arg); "
                              "starpu-tic explain arguments");
}

/* Bytes of a chunk that mean something in another process, a bit each: those of no address. */
static uint32_t find_plain(const char *bytes, size_t at, size_t size)
{
    const size_t width = sizeof(uint64_t), first = at < width ? 0 : at - width + 1;
    uint64_t mask = UINT32_MAX;

    for (size_t i = first; i < at + TIC_ARGUMENTS_CHUNK && i + width <= size; i++)
        if (tic_symbol_is_pointer_at(bytes, i))
            mask &= ~(i < at ? UINT64_C(0xff) >> (at - i) : UINT64_C(0xff) << (i - at));
    return (uint32_t)mask;
}

static int append_locked(const struct tic_slot *slot, const uint64_t words[TIC_LOOK_WORDS])
{
    struct tic_line_look look = {.wait = slot->key | TIC_LOOK_CALLBACK,
                                 .id = TIC_LOOK_ARGUMENTS,
                                 .bytes = (uint32_t)slot->arguments_size};

    memcpy(look.words, words, sizeof(look.words));
    return tic_tail_append(&tic_session->graph.looks, &look, atomic_load(&slot->state) / 4);
}

/* Entries are numbered through all runs, so a later end has a higher number. */
static int log_all_locked(const struct tic_slot *slot, const void *arguments, const char *now)
{
    const size_t size = slot->arguments_size;
    uint64_t words[TIC_LOOK_WORDS] = {TIC_ARGUMENTS_HEAD, tic_tail_total(&tic_session->graph.looks),
                                      (uintptr_t)arguments};
    int status = append_locked(slot, words);

    for (size_t at = 0; at < size && status == 0; at += TIC_ARGUMENTS_CHUNK) {
        size_t left = size - at;
        memset(words, 0, sizeof(words));
        words[0] = (uint64_t)find_plain(now, at, size) << 32 | at;
        memcpy(&words[1], now + at, left < TIC_ARGUMENTS_CHUNK ? left : TIC_ARGUMENTS_CHUNK);
        status = append_locked(slot, words);
    }
    return status;
}

/* Before anybody can see them. A restart executes a task that does not count once more. */
static int note_result_locked(const struct tic_slot *slot)
{
    const struct tic_line_entry entry = {
        .kind = TIC_HISTORY_BEGIN, .role = TIC_HISTORY_RESULT, .actor = slot->key};

    return slot->counts
               ? tic_graph_note_locked(&tic_session->graph, entry, atomic_load(&slot->state) / 4)
               : 0;
}

static void end_by_size(const struct starpu_codelet *codelet)
{
    tic_snapshot_break(
        &tic_session->snapshot,
        "%s: its kernel returns something in its arguments (cl_arg), which have more "
        "than %d bytes; that is not protected",
        codelet->name ? codelet->name : "a task", TIC_ARGUMENTS_BYTES);
}

static void log_all(const struct tic_slot *slot, const void *at, const char *now)
{
    struct tic_graph *graph = &tic_session->graph;

    tic_lock(&graph->lock);
    int status = log_all_locked(slot, at, now);
    status = status ? status : note_result_locked(slot);
    tic_unlock(&graph->lock);
    tic_snapshot_need(&tic_session->snapshot, status == 0);
}

/* For those who look for slots with arguments. All look at those of workers. */
static void note_watching(const struct tic_slot *slot, int more)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    if (slot->number >= snapshot->about.workers)
        atomic_fetch_add(&snapshot->cut.watching[slot->number / TIC_CUT_CHUNK], (unsigned)more);
}

/* Its kernel has returned. Whoever has taken them. */
static void end_taken(struct tic_slot *slot, const void *at)
{
    const size_t size = slot->arguments_size;
    char *now = slot->arguments_before + slot->arguments_room;
    bool there = read_safely(at, now, size);
    bool changed = there && memcmp(now, slot->arguments_before, size) != 0;

    if (changed)
        atomic_store(entry_of(slot->codelet), slot->codelet);
    if (changed && atomic_load(&slot->arguments_shared))
        tell_shared();
    changed |= there && atomic_load(entry_of(slot->codelet)) == slot->codelet;
    if (changed && size > TIC_ARGUMENTS_BYTES)
        end_by_size(slot->codelet);
    if (changed && !tic_snapshot_is_broken(&tic_session->snapshot))
        log_all(slot, at, now);
    slot->arguments_changed = changed;
    atomic_store_explicit(&slot->arguments, NULL, memory_order_release);
    note_watching(slot, -1);
}

/* ---- who may end them ------------------------------------------------------------------------ */

/* In the place of the address while somebody reads them. */
static const char taken;

/* The address, or NULL, once nobody reads them. */
static const void *await_free(const struct tic_slot *slot)
{
    const void *at;

    while ((at = atomic_load(&slot->arguments)) == &taken)
        sched_yield(); /* some instructions of another thread */
    return at;
}

static bool take(struct tic_slot *slot, const void *at)
{
    return atomic_compare_exchange_strong(&slot->arguments, &at, &taken);
}

/* StarPU lets one of them have the data at a time. */
static bool exclude_each_other(struct starpu_task *one, struct starpu_task *other)
{
    bool exclude = false;

    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(one) && !exclude; i++)
        for (unsigned k = 0; k < STARPU_TASK_GET_NBUFFERS(other) && !exclude; k++)
            exclude = STARPU_TASK_GET_HANDLE(one, i) == STARPU_TASK_GET_HANDLE(other, k) &&
                      (STARPU_TASK_GET_MODE(one, i) | STARPU_TASK_GET_MODE(other, k)) & STARPU_W;
    return exclude;
}

/* The kernel of the slot's task, when another one begins: StarPU gives data that it wrote to others
 * before it tells us that it has ended. The arguments are taken, so it cannot end meanwhile. */
static bool has_returned(const struct tic_slot *slot, struct starpu_task *beginning)
{
    const void *task = atomic_load(&slot->task); /* NULL: it is about to begin */

    return task == TIC_SLOT_ENDING ||
           (task && exclude_each_other((struct starpu_task *)task, beginning));
}

/* Another task that has not ended has the same arguments: they are as it left them, or both change
 * them at the same time. */
static void meet(struct tic_slot *slot, struct tic_slot *other, struct starpu_task *task,
                 const void *at)
{
    while (await_free(other) == at) {
        if (!take(other, at))
            continue;
        if (has_returned(other, task)) {
            end_taken(other, at);
            return;
        }
        atomic_store(&slot->arguments_shared, true);
        atomic_store(&other->arguments_shared, true);
        atomic_store(&other->arguments, at);
        return;
    }
}

void tic_arguments_begin(struct starpu_task *task, struct tic_slot *slot, uint64_t key)
{
    const struct tic_cut *cut = &tic_session->snapshot.cut;
    const uint64_t workers = tic_session->snapshot.about.workers;

    slot->arguments_changed = false;
    if (__builtin_expect(!are_watched(task) || !make_room(task, slot), 1))
        return;
    slot->key = key;
    slot->codelet = task->cl;
    slot->arguments_size = task->cl_arg_size;
    atomic_store(&slot->arguments_shared, false);
    note_watching(slot, 1);
    atomic_store(&slot->arguments, task->cl_arg); /* of two that begin, one finds the other */
    for (unsigned i = 0; i < cut->slot_count; i++)
        if (i >= workers && atomic_load(&cut->watching[i / TIC_CUT_CHUNK]) == 0)
            i |= TIC_CUT_CHUNK - 1; /* no other of this chunk */
        else if (tic_cut_slot(cut, i) != slot)
            meet(slot, tic_cut_slot(cut, i), task, task->cl_arg);
    memcpy(slot->arguments_before, task->cl_arg, task->cl_arg_size);
}

bool tic_arguments_end(struct tic_slot *slot)
{
    const void *at = atomic_load_explicit(&slot->arguments, memory_order_acquire);

    while (__builtin_expect(at != NULL, 0)) {
        at = await_free(slot);
        if (at && take(slot, at)) {
            end_taken(slot, at);
            break;
        }
    }
    return slot->arguments_changed;
}

/* ---- a restart ------------------------------------------------------------------------------- */

/* Of one task: what it returned, and where to. */
struct result {
    const struct tic_line_look *looks;
    size_t count;
    char *at;
    size_t size;
};

static void give_chunk_back(char *at, size_t size, const uint64_t *words)
{
    char bytes[TIC_ARGUMENTS_CHUNK];
    size_t offset = (uint32_t)words[0];

    memcpy(bytes, &words[1], sizeof(bytes));
    for (unsigned i = 0; i < TIC_ARGUMENTS_CHUNK; i++)
        if (words[0] >> (32 + i) & 1 && offset + i < size)
            at[offset + i] = bytes[i];
}

static void give_back(void *arg)
{
    const struct result *result = arg;
    const struct tic_line_look *look = result->looks;

    for (size_t i = 0; i < result->count; i++)
        if (look[i].id == TIC_LOOK_ARGUMENTS && look[i].words[0] != TIC_ARGUMENTS_HEAD &&
            look[i].bytes == result->size)
            give_chunk_back(result->at, result->size, look[i].words);
}

/* The latest end among tasks that had their arguments at one address, are skipped, and do not come
 * in order: they may have ended in another one than they were submitted. */
struct last {
    uint64_t address, end;
};
static void *lasts; /* guarded by the submission lock: tsearch(3) */

static bool is_last_locked(uint64_t address, uint64_t end)
{
    struct last *fresh = tic_or_stop(malloc(sizeof(*fresh)));

    *fresh = (struct last){address, end};
    struct last **found = tic_or_stop(tsearch(fresh, &lasts, tic_line_by_number));
    if (*found == fresh)
        return true;
    free(fresh);
    bool is_last = (*found)->end < end;
    (*found)->end = is_last ? end : (*found)->end;
    return is_last;
}

static void give_last_back_locked(struct result *result)
{
    const struct tic_line_look *look = result->looks;
    bool is_last = true;

    for (size_t i = 0; i < result->count; i++)
        if (look[i].id == TIC_LOOK_ARGUMENTS && look[i].words[0] == TIC_ARGUMENTS_HEAD)
            is_last = is_last_locked(look[i].words[2], look[i].words[1]);
    if (is_last)
        give_back(result);
}

void tic_arguments_give_back_locked(const struct starpu_task *task, uint64_t key)
{
    size_t count;
    const struct tic_line_look *looks =
        tic_graph_find_looks(&tic_session->graph, key | TIC_LOOK_CALLBACK, &count);

    if (count == 0)
        return;
    struct result *result = tic_or_stop(malloc(sizeof(*result)));
    *result = (struct result){looks, count, task->cl_arg, task->cl_arg ? task->cl_arg_size : 0};
    const struct tic_replay_actor actor = {.begin = give_back, .run = free, .argument = result};
    if (tic_replay_add_actor(TIC_HISTORY_RESULT, key, &actor, false))
        return;
    give_last_back_locked(result);
    free(result);
}
