/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/task.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "real/real.h"
#include "session/elf.h"
#include "session/context.h"
#include "session/kernels.h"
#include "session/lookup.h"

/* The name of tasks of ours, told by its address. */
static const char own[] = "starpu-tic";
static _Atomic bool has_own; /* relaxed: there was such a task; most runs have none */

static void count_uses(struct starpu_task *task, unsigned change)
{
    unsigned count = STARPU_TASK_GET_NBUFFERS(task);

    if (!atomic_load_explicit(&tic_session->graph.has_plans, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < count; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        struct tic_family *family = handle ? handle->family : NULL;
        if (family && handle != family->root) /* since it was registered */
            atomic_fetch_add(&handle->use.users, change);
    }
}

void tic_task_mark(struct starpu_task *task, int tag)
{
    task->hypervisor_tag = tag;
    count_uses(task, 1);
}

void tic_task_unmark(struct starpu_task *task)
{
    bool marked = task->hypervisor_tag != 0 && task->hypervisor_tag != TIC_TAG_HAS_DEPENDENCIES;

    task->hypervisor_tag = 0;
    if (marked)
        count_uses(task, -1u);
}

struct tic_spawn *tic_spawn_of(const struct starpu_task *task)
{
    return task->hypervisor_tag < TIC_TAG_HAS_DEPENDENCIES
               ? tic_spawns_get(&tic_session->graph.spawns, (uint32_t)(-task->hypervisor_tag) - 2)
               : NULL;
}

struct starpu_task *tic_task_create(void)
{
    struct starpu_task *task = tic_real.starpu_task_create();

    if (task)
        task->name = own;
    atomic_store_explicit(&has_own, true, memory_order_relaxed);
    return task;
}

static __thread bool submitting __attribute__((tls_model("initial-exec")));

bool tic_task_is_submitting(void)
{
    return submitting;
}

bool tic_task_submit(struct starpu_task *task)
{
    tic_guard++;
    submitting = true;
    int status = tic_real.starpu_task_submit(task);
    submitting = false;
    if (status) {
        task->destroy = 0; /* starpu_task_destroy insists */
        tic_real.starpu_task_destroy(task);
    }
    tic_guard--;
    return status == 0;
}

void tic_task_await_end(struct starpu_task *task)
{
    const unsigned detach = task->detach;

    tic_guard++;
    task->detach = 0; /* StarPU insists */
    while (!tic_real.starpu_task_finished(task))
        sched_yield();
    task->detach = detach;
    tic_guard--;
}

bool tic_task_is_own(const struct starpu_task *task)
{
    return task->name == own;
}

bool tic_task_has_own(void)
{
    return atomic_load_explicit(&has_own, memory_order_relaxed);
}

enum { SYMBOLS = 64 };

/* Symbols of kernels whose codelets have no name; entries stay. */
static struct {
    pthread_mutex_t mutex; /* a leaf, but for those of the dynamic linker and malloc */
    struct {
        const void *kernel;
        char *symbol;
    } items[SYMBOLS];       /* those below count are immutable */
    _Atomic unsigned count; /* written under mutex; release: the entry is there */
} symbols = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static char *find_symbol(const void *kernel)
{
    struct tic_elf_place place;
    Dl_info info;

    if (dladdr(kernel, &info) != 0 && info.dli_sname && info.dli_saddr == kernel)
        return strdup(info.dli_sname);
    return tic_elf_find(kernel, &place) && place.begin == kernel ? strdup(place.symbol) : NULL;
}

/* Where *kernel is, or count. */
static unsigned seek_symbol(const void *kernel)
{
    const unsigned count = atomic_load_explicit(&symbols.count, memory_order_acquire);
    unsigned i = 0;

    while (i < count && symbols.items[i].kernel != kernel)
        i++;
    return i;
}

static const char *symbol_of(const void *kernel)
{
    unsigned i = seek_symbol(kernel);

    if (i < atomic_load_explicit(&symbols.count, memory_order_acquire))
        return symbols.items[i].symbol;
    pthread_mutex_lock(&symbols.mutex);
    i = seek_symbol(kernel);
    if (i == symbols.count && i < SYMBOLS) {
        symbols.items[i].kernel = kernel;
        symbols.items[i].symbol = find_symbol(kernel);
        atomic_store_explicit(&symbols.count, i + 1, memory_order_release);
    }
    pthread_mutex_unlock(&symbols.mutex);
    return i < SYMBOLS ? symbols.items[i].symbol : NULL;
}

const char *tic_task_name(const struct starpu_task *task)
{
    const void *kernel = tic_kernels_first(task->cl);
    const char *symbol = task->cl->name || !kernel ? NULL : symbol_of(kernel);

    return symbol ? symbol : tic_task_identity(task);
}

const char *tic_task_identity(const struct starpu_task *task)
{
    if (task->cl->name)
        return task->cl->name;
    if (task->cl->model && task->cl->model->symbol)
        return task->cl->model->symbol;
    return task->name && !tic_task_is_own(task) ? task->name : "(a codelet without a name)";
}

bool tic_task_is_ordered(const struct starpu_task *task, unsigned buffer)
{
    const unsigned char *ordered = task->handles_sequential_consistency;

    return task->sequential_consistency && (!ordered || ordered[buffer]) &&
           tic_real.starpu_data_get_sequential_consistency_flag(
               STARPU_TASK_GET_HANDLE(task, buffer)) != 0;
}

bool tic_task_may_be_ordered(const struct starpu_task *task)
{
    return tic_session_context() == TIC_CONTEXT_MAIN && !tic_session->explicit_dependencies &&
           atomic_load(&tic_session->holds) == 0 && !task->dyn_modes &&
           STARPU_TASK_GET_NBUFFERS(task) <= STARPU_NMAXBUFS;
}

bool tic_nowhere_is_ordered(const struct starpu_task *task, unsigned buffer)
{
    /* The array of the application, if there is one, need not exist any more. */
    return task->sequential_consistency && !task->handles_sequential_consistency &&
           tic_real.starpu_data_get_sequential_consistency_flag(
               STARPU_TASK_GET_HANDLE(task, buffer));
}

void (*tic_callback_of(const struct starpu_task *task))(void *)
{
    return task->callback_func ? task->callback_func : task->cl ? task->cl->callback_func : NULL;
}

/* ---- the order of commuting writes ----------------------------------------------------------- */

/* The order of commuting writes. After a crash many commuting tasks are ready at once that became
 * ready one after the other before. In the order of submission their sums are rounded as they were.
 * On several nodes that is their order in a first run, too: the next writer comes when the values
 * of the last one are in main memory, if they must be (writeback.h).
 * Not where explicit dependencies may contradict that order: an edge against it needs a task with a
 * tag or with declared dependencies that is submitted before the commuting ones. */

void tic_commute_show(struct starpu_task *task)
{
    enum starpu_data_access_mode *ours = task->dyn_modes;
    bool hidden = false;
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    task->dyn_modes = NULL;
    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        hidden |= mode != ours[i];
        if ((mode & ~STARPU_COMMUTE) != ours[i]) {
            task->dyn_modes = ours; /* the application's own */
            return;
        }
    }
    if (hidden)
        free(ours);
    else
        task->dyn_modes = ours;
}

void tic_commute_in_order(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool commutes = false;

    for (unsigned i = 0; i < buffers; i++)
        commutes |= (STARPU_TASK_GET_MODE(task, i) & STARPU_COMMUTE) != 0;
    enum starpu_data_access_mode *modes =
        commutes && tic_task_may_be_ordered(task) ? malloc(buffers * sizeof(*modes)) : NULL;
    if (!modes)
        return;
    for (unsigned i = 0; i < buffers; i++)
        modes[i] = STARPU_TASK_GET_MODE(task, i) & ~STARPU_COMMUTE;
    task->dyn_modes = modes; /* StarPU prefers them to the codelet's, and frees them */
}
