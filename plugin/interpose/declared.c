/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* No hook runs where callbacks and prologues look at the data of their task. What it holds is
 * logged when the task has its data. A restart shows it again before each of them, unless a task
 * that is not done uses the data: then the value must be there already, as in any run. It is not if
 * tasks that are done have written the data since; or one that is not done, as StarPU does not know
 * of the reader. That stops the restart. Where nothing was logged by the recovered cut, no later
 * writer is in the cut either, and the recovered value is the one to see. */
#include "interpose/declared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "session/clock.h"
#include "session/context.h"
#include "session/lookup.h"
#include "interpose/restore.h"
#include "interpose/shape.h"
#include "interpose/shown.h"
#include "session/task.h"
#include "session/uses.h"
#include "real/real.h"

struct shown {
    uint64_t key, handle; /* the latter by its id */
    struct tic_saved saved;
    bool before; /* while its task has the data, no recovered value comes into it */
};

struct list {
    struct shown *items; /* ascending key: main() submits them */
    unsigned long count, capacity;
};

/* A leaf: prologues are called where StarPU holds locks, and main() may wait for those. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by it; of prologues, and of tasks that run nowhere: each has its own numbers. */
static struct list prologues, nowhere, prologues_nowhere;

bool tic_declared_has_content(const struct tic_handle *handle)
{
    return handle && !(handle->supported && tic_handle_is_empty(handle));
}

static struct list *list_of(uint64_t key)
{
    if (!tic_nowhere_has_key(key))
        return &prologues;
    return key & TIC_PROLOGUE_FIRST ? &prologues_nowhere : &nowhere;
}

static unsigned long find_locked(const struct list *list, uint64_t key)
{
    unsigned long begin = 0, end = list->count;

    while (begin < end) {
        unsigned long middle = begin + (end - begin) / 2;
        if (list->items[middle].key < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* ---- submissions ----------------------------------------------------------------------------- */

bool tic_declared_expect_locked(uint64_t key, unsigned buffer, struct tic_handle *handle,
                                bool inside)
{
    struct list *list = list_of(key);
    struct tic_line_read read;

    if (!tic_graph_find_read(&tic_session->graph, key, buffer, &read))
        return false;
    pthread_mutex_lock(&mutex);
    void *grown = tic_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));
    if (!grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    list->items = grown;
    list->items[list->count++] = (struct shown){
        key, handle->id, {{read.extent, read.row}, read.checksum}, inside && !handle->restored};
    pthread_mutex_unlock(&mutex);
    return true;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Copies the next one of this key, from this place on. False: there is none. */
static bool take(uint64_t key, unsigned long place, struct shown *shown)
{
    const struct list *list = list_of(key);

    pthread_mutex_lock(&mutex);
    unsigned long i = find_locked(list, key) + place;
    bool found = i < list->count && list->items[i].key == key;
    if (found)
        *shown = list->items[i];
    pthread_mutex_unlock(&mutex);
    return found;
}

bool tic_declared_has(uint64_t key)
{
    struct shown shown;

    return take(key, 0, &shown);
}

void tic_declared_leave(uint64_t key)
{
    struct list *list = list_of(key);

    pthread_mutex_lock(&mutex);
    for (unsigned long i = find_locked(list, key); i < list->count && list->items[i].key == key;
         i++)
        list->items[i].before = false;
    pthread_mutex_unlock(&mutex);
}

/* Tasks that are not done wait for main() to come to the recovered cut, and so do values in memory
 * of main(): what is written there until then, they do not see. Of other data it may have come. */
static bool waits(const struct shown *shown, const struct tic_handle *handle)
{
    if (handle->family)
        return tic_data_is_pending(handle) || !tic_data_is_live(handle);
    return !handle->restored || shown->before;
}

/* Nobody but callbacks looks at the data. */
static bool is_free(const struct shown *shown, const struct tic_handle *handle)
{
    bool ahead = tic_position_is_ahead();
    unsigned later = ahead ? atomic_load(&handle->by_callback.later) : 0;

    return handle->data && handle->child_count == 0 && atomic_load(&handle->holds) <= later &&
           (ahead ? waits(shown, handle) : !tic_data_is_live(handle));
}

static bool holds(struct tic_handle *handle, const struct tic_saved *saved)
{
    uint64_t sum;

    if (handle->data)
        tic_handle_locate_homeless(handle);
    tic_lock(&handle->lock);
    bool same = !handle->packer && handle->supported &&
                tic_sums_take(&tic_session->snapshot.verify.sums, handle, &sum) &&
                sum == saved->checksum;
    tic_unlock(&handle->lock);
    return same;
}

_Noreturn static void stop_later_value(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "a callback of a task that runs nowhere, or a prologue, may read data %llu%s (number "
             "of registration), which tasks that were not done use by now: what it held when the "
             "callback ran cannot be shown there. A wait for tasks in main() after such callbacks "
             "lets them be protected; STARPU_TIC_POINTERS=trust is the promise that prologues do "
             "not read data",
             (unsigned long long)handle->id, tic_name_of(handle->id));
}

static void show_locked(const struct shown *shown)
{
    struct tic_handle *handle = tic_graph_find_handle(&tic_session->graph, shown->handle);

    if (!handle || (!handle->data && handle->home_node < 0))
        return; /* main() has given it back, and its memory is gone */
    if (is_free(shown, handle))
        tic_data_expose_locked(handle, &shown->saved);
    else if (!holds(handle, &shown->saved))
        stop_later_value(handle);
}

void tic_declared_show(uint64_t key)
{
    struct shown shown;

    if (!tic_declared_has(key))
        return;
    tic_shown_pause();
    tic_lock(&tic_session->submit);
    for (unsigned long i = 0; take(key, i, &shown); i++)
        show_locked(&shown);
    tic_unlock(&tic_session->submit);
    tic_shown_resume(false);
}
