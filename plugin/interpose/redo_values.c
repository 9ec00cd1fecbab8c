/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/redo_values.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "graph/family.h"
#include "interpose/restore.h"
#include "replay/replay.h"

struct tic_handle *tic_redo_keeper(const struct tic_handle *handle)
{
    return handle->family ? handle->family->root : (struct tic_handle *)handle;
}

/* ---- kernels that write no data -------------------------------------------------------------- */

/* Those that the replay is to run, or runs. */
static struct {
    struct tic_graph *graph; /* immutable while the replay is on */
    pthread_mutex_t mutex;   /* before the graph lock */
    struct tic_redo_kernel *first;
    _Atomic bool any; /* or there were */
} kernels = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void tic_redo_values_start(struct tic_graph *graph)
{
    kernels.graph = graph;
}

static bool share_memory(struct tic_handle *a, const struct tic_handle *b)
{
    bool found = a == b;

    tic_lock(&kernels.graph->lock);
    for (unsigned long i = 0; i < a->overlap_count && !found; i++)
        found = a->overlaps[i] == b;
    tic_unlock(&kernels.graph->lock);
    return found;
}

/* What a kernel has to do with data that is to get a value. */
enum use { USES_NOT, USES_THIS, USES_OTHER };

static enum use use_of(const struct tic_redo_kernel *kernel, struct tic_handle *handle,
                       const struct tic_saved *saved)
{
    struct tic_line_read read;
    enum use use = USES_NOT;

    for (unsigned i = 0; i < kernel->count && use != USES_OTHER; i++) {
        if (!kernel->handles[i] || !share_memory(handle, kernel->handles[i]))
            continue;
        bool same = kernel->handles[i] == handle &&
                    tic_graph_find_read(kernels.graph, kernel->key, i, &read) &&
                    read.extent == saved->row.extent && read.row == saved->row.row;
        use = same ? USES_THIS : USES_OTHER;
    }
    return use;
}

/* The value is there if a kernel reads it; one that reads another value there comes first: *key. */
static enum use find_use(struct tic_handle *handle, const struct tic_saved *saved, uint64_t *key)
{
    enum use use = USES_NOT;

    pthread_mutex_lock(&kernels.mutex);
    for (const struct tic_redo_kernel *kernel = kernels.first; kernel && use != USES_OTHER;
         kernel = kernel->next) {
        const enum use its = kernel->runs ? use_of(kernel, handle, saved) : USES_NOT;
        use = its == USES_NOT ? use : its;
        *key = kernel->key;
    }
    pthread_mutex_unlock(&kernels.mutex);
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

void tic_redo_note_kernel(struct tic_redo_kernel *kernel)
{
    pthread_mutex_lock(&kernels.mutex);
    kernel->next = kernels.first;
    kernels.first = kernel;
    atomic_store(&kernels.any, true);
    pthread_mutex_unlock(&kernels.mutex);
}

void tic_redo_show_kernel(struct tic_redo_kernel *kernel)
{
    struct tic_line_read read;

    for (unsigned i = 0; i < kernel->count; i++)
        if (tic_graph_find_read(kernels.graph, kernel->key, i, &read)) {
            const struct tic_saved saved = {{read.extent, read.row}, read.checksum};
            tic_redo_show(kernel->handles[i], &saved);
        }
    pthread_mutex_lock(&kernels.mutex);
    kernel->runs = true;
    pthread_mutex_unlock(&kernels.mutex);
}

/* Some that has not returned uses the data, or data that shares its memory. */
bool tic_redo_is_used_by_kernel(const struct tic_handle *handle)
{
    bool used = false;

    pthread_mutex_lock(&kernels.mutex);
    for (const struct tic_redo_kernel *kernel = kernels.first; kernel && !used;
         kernel = kernel->next)
        for (unsigned i = 0; i < kernel->count && !used; i++)
            used = kernel->handles[i] &&
                   tic_redo_keeper(kernel->handles[i]) == tic_redo_keeper(handle);
    pthread_mutex_unlock(&kernels.mutex);
    return used;
}

void tic_redo_end_kernel(uint64_t key)
{
    if (!atomic_load_explicit(&kernels.any, memory_order_relaxed))
        return;
    pthread_mutex_lock(&kernels.mutex);
    struct tic_redo_kernel **at = &kernels.first, *kernel;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    kernel = *at;
    if (kernel)
        *at = kernel->next;
    pthread_mutex_unlock(&kernels.mutex);
    if (kernel)
        free(kernel->handles);
    free(kernel);
    tic_replay_end_kernel(key);
}
