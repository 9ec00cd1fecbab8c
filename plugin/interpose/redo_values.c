/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/redo_values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/family.h"
#include "interpose/initial.h"
#include "interpose/restore.h"
#include "replay/replay.h"
#include "session/lookup.h"

struct tic_handle *tic_redo_keeper(const struct tic_handle *handle)
{
    return handle->family ? handle->family->root : (struct tic_handle *)handle;
}

/* ---- who is to use data ---------------------------------------------------------------------- */

/* Those that the replay is to run, or runs. */
static struct {
    struct tic_graph *graph; /* immutable while the replay is on */
    pthread_mutex_t mutex;   /* before the graph lock */
    pthread_cond_t called;   /* a call that was put off is made */
    struct tic_redo_user *first;
    unsigned long count;        /* so far */
    struct tic_redo_call *call; /* those put off, in their order */
    bool calls;                 /* one of them is being made */
    _Atomic bool any;           /* or there were users */
    _Atomic bool any_call;      /* there are calls */
} users = {.mutex = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};

void tic_redo_values_start(struct tic_graph *graph)
{
    users.graph = graph;
}

static bool uses(const struct tic_redo_user *user, const struct tic_handle *handle)
{
    unsigned i = 0;

    while (i < user->count &&
           !(user->handles[i] && tic_redo_keeper(user->handles[i]) == tic_redo_keeper(handle)))
        i++;
    return i < user->count;
}

bool tic_redo_is_used(const struct tic_handle *handle)
{
    pthread_mutex_lock(&users.mutex);
    const struct tic_redo_user *user = users.first;
    while (user && !uses(user, handle))
        user = user->next;
    pthread_mutex_unlock(&users.mutex);
    return user != NULL;
}

struct tic_redo_user *tic_redo_create_user(uint64_t key, unsigned count)
{
    struct tic_redo_user *user = calloc(1, sizeof(*user) + count * sizeof(user->handles[0]));

    if (!user)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    user->key = key;
    user->count = count;
    return user;
}

void tic_redo_note_user(struct tic_redo_user *user)
{
    pthread_mutex_lock(&users.mutex);
    user->number = users.count++;
    user->next = users.first;
    users.first = user;
    atomic_store(&users.any, true);
    pthread_mutex_unlock(&users.mutex);
}

static struct tic_redo_user **find_locked(uint64_t key)
{
    struct tic_redo_user **at = &users.first;

    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

/* Calls may be due. */
static void unlock_and_tell(void)
{
    bool asks = users.call != NULL;

    pthread_mutex_unlock(&users.mutex);
    if (asks)
        tic_replay_ask_main();
}

void tic_redo_note_begun(uint64_t key)
{
    pthread_mutex_lock(&users.mutex);
    struct tic_redo_user *user = *find_locked(key);
    if (user)
        user->begun = true;
    unlock_and_tell();
}

void tic_redo_end_user(uint64_t key)
{
    pthread_mutex_lock(&users.mutex);
    struct tic_redo_user **at = find_locked(key), *user = *at;
    if (user)
        *at = user->next;
    unlock_and_tell();
    free(user);
}

void tic_redo_end_kernel(uint64_t key)
{
    if (!atomic_load_explicit(&users.any, memory_order_relaxed))
        return;
    tic_redo_end_user(key);
    tic_replay_end_kernel(key);
}

/* ---- calls that were put off ----------------------------------------------------------------- */

struct tic_redo_call *tic_redo_create_call(const struct tic_handle *handle, void (*play)(void *),
                                           const void *argument, size_t size)
{
    struct tic_redo_call *call = malloc(sizeof(*call) + size);

    if (!call)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    *call = (struct tic_redo_call){.play = play, .handle = handle};
    memcpy(call->argument, argument, size);
    return call;
}

void tic_redo_play_call(void *arg)
{
    struct tic_redo_call *call = arg;

    tic_replay_play(call->play, call->argument);
    free(call);
}

static bool is_due_locked(const struct tic_redo_call *call)
{
    const struct tic_redo_user *user = users.first;

    while (user && !(!user->begun && user->number < call->number && uses(user, call->handle)))
        user = user->next;
    return !user;
}

bool tic_redo_put_off(struct tic_redo_call *call)
{
    struct tic_redo_call **end = &users.call;

    pthread_mutex_lock(&users.mutex);
    call->number = users.count;
    bool waits = !is_due_locked(call);
    while (*end)
        end = &(*end)->next;
    if (waits) {
        *end = call;
        atomic_store(&users.any_call, true);
    }
    pthread_mutex_unlock(&users.mutex);
    return waits;
}

static struct tic_redo_call *take_due_locked(void)
{
    struct tic_redo_call **at = &users.call, *call;

    while (*at && !is_due_locked(*at))
        at = &(*at)->next;
    call = *at;
    if (call)
        *at = call->next;
    return call;
}

/* Calls on the same data are due in their order. */
void tic_redo_catch_up(void)
{
    struct tic_redo_call *call;

    if (!atomic_load_explicit(&users.any_call, memory_order_relaxed))
        return;
    pthread_mutex_lock(&users.mutex);
    while (users.calls)
        pthread_cond_wait(&users.called, &users.mutex);
    users.calls = true;
    while ((call = take_due_locked()) != NULL) {
        pthread_mutex_unlock(&users.mutex);
        tic_redo_play_call(call);
        pthread_mutex_lock(&users.mutex);
    }
    users.calls = false;
    atomic_store(&users.any_call, users.call != NULL);
    pthread_cond_broadcast(&users.called);
    pthread_mutex_unlock(&users.mutex);
}

static bool is_called_before_locked(const struct tic_redo_user *user)
{
    const struct tic_redo_call *call = users.call;

    while (call && !(call->number <= user->number && uses(user, call->handle)))
        call = call->next;
    return users.calls || call;
}

void tic_redo_await_calls(const struct tic_redo_user *user)
{
    pthread_mutex_lock(&users.mutex);
    while (is_called_before_locked(user))
        pthread_cond_wait(&users.called, &users.mutex);
    pthread_mutex_unlock(&users.mutex);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool share_memory(struct tic_handle *a, const struct tic_handle *b)
{
    bool found = a == b;

    tic_lock(&users.graph->lock);
    for (unsigned long i = 0; i < a->overlap_count && !found; i++)
        found = a->overlaps[i] == b;
    tic_unlock(&users.graph->lock);
    return found;
}

/* What a kernel has to do with data that is to get a value. */
enum use { USES_NOT, USES_THIS, USES_OTHER };

static enum use use_of(const struct tic_redo_user *kernel, struct tic_handle *handle,
                       const struct tic_saved *saved)
{
    struct tic_line_read read;
    enum use use = USES_NOT;

    for (unsigned i = 0; i < kernel->count && use != USES_OTHER; i++) {
        if (!kernel->handles[i] || !share_memory(handle, kernel->handles[i]))
            continue;
        bool same = kernel->handles[i] == handle &&
                    tic_graph_find_read(users.graph, kernel->key, i, &read) &&
                    read.extent == saved->row.extent && read.row == saved->row.row;
        use = same ? USES_THIS : USES_OTHER;
    }
    return use;
}

/* The value is there if a kernel reads it; one that reads another value there comes first: *key. */
static enum use find_use(struct tic_handle *handle, const struct tic_saved *saved, uint64_t *key)
{
    enum use use = USES_NOT;

    pthread_mutex_lock(&users.mutex);
    for (const struct tic_redo_user *kernel = users.first; kernel && use != USES_OTHER;
         kernel = kernel->next) {
        const enum use its = kernel->shown ? use_of(kernel, handle, saved) : USES_NOT;
        use = its == USES_NOT ? use : its;
        *key = kernel->key;
    }
    pthread_mutex_unlock(&users.mutex);
    return use;
}

void tic_redo_show(struct tic_handle *handle, const struct tic_saved *saved)
{
    uint64_t key;
    enum use use;

    while ((use = find_use(handle, saved, &key)) == USES_OTHER)
        tic_replay_await_kernel(key);
    if (use == USES_NOT)
        tic_data_deliver(handle, saved);
}

void tic_redo_show_kernel(struct tic_redo_user *kernel, struct starpu_task *task)
{
    struct tic_saved saved;

    for (unsigned i = 0; i < kernel->count; i++)
        if (kernel->handles[i] && tic_initial_find_again(task, i, kernel->key, &saved))
            tic_redo_show(kernel->handles[i], &saved);
    pthread_mutex_lock(&users.mutex);
    kernel->shown = true;
    pthread_mutex_unlock(&users.mutex);
}

struct tic_redo_reads *tic_redo_list_reads(struct starpu_task *task, uint64_t key)
{
    unsigned count = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    struct tic_redo_reads *reads = malloc(sizeof(*reads) + count * sizeof(reads->ids[0]));

    if (!reads)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    reads->key = key;
    reads->count = count;
    for (unsigned i = 0; i < count; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        reads->ids[i] = handle ? handle->id : UINT64_MAX;
    }
    return reads;
}

void tic_redo_show_reads(const struct tic_redo_reads *reads)
{
    struct tic_line_read read;

    for (unsigned i = 0; i < reads->count; i++) {
        if (!tic_graph_find_read(users.graph, reads->key, i, &read))
            continue;
        struct tic_handle *handle = tic_graph_find_handle(users.graph, reads->ids[i]);
        if (handle && handle->data && atomic_load(&handle->holds) == 0)
            tic_redo_show(handle, &(struct tic_saved){{read.extent, read.row}, read.checksum});
    }
}
