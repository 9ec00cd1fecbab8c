/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of tasks as results. A kernel may change the arguments of its task (starpu_task.cl_arg)
 * where the application owns them: a norm that it returns, the state of a random generator. Changed
 * bytes are logged when the task ends, and a restart that skips the task gives them back. A kernel
 * may also free its arguments: what is logged then is of no use, and does no harm. */
#include "interpose/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "interpose/symbol.h"
#include "interpose/tasks.h"

static bool are_watched(const struct starpu_task *task)
{
    const struct tic_session *session = tic_session;

    return task->cl_arg && task->cl_arg_size > 0 && !task->cl_arg_free &&
           task->cl_arg_size <= TIC_ARGUMENTS_BYTES &&
           session->settings.pointers != TIC_POINTERS_TRUST && !session->snapshot.dry;
}

/* ---- around a kernel, on its worker ---------------------------------------------------------- */

void tic_arguments_begin(const struct starpu_task *task, struct tic_slot *slot, uint64_t key)
{
    bool watched = are_watched(task);

    if (watched && !slot->arguments_before) {
        slot->arguments_before = malloc(TIC_ARGUMENTS_BYTES);
        if (!slot->arguments_before)
            tic_snapshot_break(&tic_session->snapshot, "out of memory");
    }
    watched = watched && slot->arguments_before;
    atomic_store_explicit(&slot->arguments, watched ? task->cl_arg : NULL, memory_order_relaxed);
    if (__builtin_expect(!watched, 1))
        return;
    slot->key = key;
    slot->arguments_size = task->cl_arg_size;
    memcpy(slot->arguments_before, task->cl_arg, task->cl_arg_size);
}

/* The memory may be gone. Where the kernel does not allow the call, it is taken to be there. */
static bool read_safely(const void *from, char *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)from, size};
    ssize_t done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

    if (done < 0 && (errno == EPERM || errno == ENOSYS))
        memcpy(to, from, done = (ssize_t)size);
    return done == (ssize_t)size;
}

/* What they hold then depends on the order of these tasks. */
static void tell_if_shared(const struct tic_slot *slot, const void *at)
{
    static _Atomic bool told;
    const struct tic_cut *cut = &tic_session->snapshot.cut;
    bool shared = false;

    for (unsigned i = 0; i < cut->slot_count; i++)
        shared |= &cut->slots[i] != slot &&
                  atomic_load_explicit(&cut->slots[i].arguments, memory_order_relaxed) == at;
    if (shared && !atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "tasks that run at the same time have the same arguments (cl_arg), and change "
                "them. What these hold after a restart depends on the order of the tasks. Register "
                "and declare what tasks write; STARPU_TIC_POINTERS=trust is the promise that "
                "nobody reads it");
}

/* Of the words that begin in this chunk, those that are addresses now stay: they mean nothing in
 * another process. */
static uint32_t find_changed(const char *before, const char *now, size_t count)
{
    uint32_t mask = 0;

    for (size_t i = 0; i < count; i++)
        if (now[i] != before[i])
            mask |= UINT32_C(1) << i;
    for (size_t i = 0; i + sizeof(uint64_t) <= count; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, now + i, sizeof(word));
        if (mask & UINT32_C(0xff) << i && tic_symbol_is_pointer(word))
            mask &= ~(UINT32_C(0xff) << i);
    }
    return mask;
}

static bool log_changed(const struct tic_slot *slot, const char *now)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    struct tic_graph *graph = snapshot->graph;
    const uint64_t epoch = atomic_load(&slot->state) / 4;
    const size_t size = slot->arguments_size;
    int status = 0;
    bool changed = false;

    for (size_t at = 0; at < size && status == 0; at += TIC_ARGUMENTS_CHUNK) {
        size_t count = size - at < TIC_ARGUMENTS_CHUNK ? size - at : TIC_ARGUMENTS_CHUNK;
        uint32_t mask = find_changed(slot->arguments_before + at, now + at, count);
        if (mask == 0)
            continue;
        struct tic_line_look look = {.wait = slot->key | TIC_LOOK_CALLBACK,
                                     .id = TIC_LOOK_ARGUMENTS,
                                     .bytes = (uint32_t)size,
                                     .words = {(uint64_t)mask << 32 | at}};
        memcpy(&look.words[1], now + at, count);
        tic_lock(&graph->lock);
        status = tic_tail_append(&graph->looks, &look, epoch);
        tic_unlock(&graph->lock);
        changed = true;
    }
    if (status)
        tic_snapshot_break(snapshot, "out of memory");
    return changed;
}

bool tic_arguments_end(struct tic_slot *slot)
{
    const void *at = atomic_load_explicit(&slot->arguments, memory_order_relaxed);
    char now[TIC_ARGUMENTS_BYTES];

    if (__builtin_expect(!at, 1))
        return false;
    bool changed = read_safely(at, now, slot->arguments_size) &&
                   memcmp(now, slot->arguments_before, slot->arguments_size) != 0;
    if (changed)
        tell_if_shared(slot, at);
    atomic_store_explicit(&slot->arguments, NULL, memory_order_relaxed);
    return changed && !tic_snapshot_is_broken(&tic_session->snapshot) && log_changed(slot, now);
}

/* ---- a restart ------------------------------------------------------------------------------- */

void tic_arguments_give_back(const struct starpu_task *task, uint64_t key)
{
    size_t count, size = task->cl_arg ? task->cl_arg_size : 0;
    const struct tic_line_look *look =
        tic_graph_find_looks(&tic_session->graph, key | TIC_LOOK_CALLBACK, &count);

    for (size_t i = 0; i < count; i++) {
        char bytes[TIC_ARGUMENTS_CHUNK], *at = task->cl_arg;
        size_t offset = (uint32_t)look[i].words[0];
        if (look[i].id != TIC_LOOK_ARGUMENTS || look[i].bytes != size)
            continue;
        memcpy(bytes, &look[i].words[1], sizeof(bytes));
        for (unsigned j = 0; j < TIC_ARGUMENTS_CHUNK; j++)
            if (look[i].words[0] >> (32 + j) & 1 && offset + j < size)
                at[offset + j] = bytes[j];
    }
}
