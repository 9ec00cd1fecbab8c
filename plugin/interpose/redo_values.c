/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/redo_values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/family.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"
#include "replay/replay.h"
#include "session/lookup.h"
#include "interpose/inputs.h"
#include "interpose/pack.h"
#include "interpose/typed.h"
#include "session/context.h"
#include "session/task.h"
#include "session/uses.h"
#include "graph/handle.h"

/* ---- first content --------------------------------------------------------------------------- */

/* What main() had put into data before any task used it, for tasks that are executed again, where
 * it puts something else there in this run. A line holds it as the value of the data, if no task
 * has written that by the cut. */

/* Stops the start if the line does not hold it. */
static struct tic_saved tic_initial_of(struct tic_handle *handle)
{
    struct tic_saved saved = tic_data_recovered_value(handle);

    if (saved.checksum != tic_graph_recorded_input(&tic_session->graph, handle->id))
        tic_data_stop_input(handle);
    return saved;
}

/* The value of a whole, with its layout: of the last one that was asked for, as its parts come one
 * after the other. Guarded by the submission lock. */
static struct {
    const struct tic_handle *whole;
    uint64_t id;
    struct tic_layout value;
} last;

static bool has_value(struct tic_handle *whole)
{
    tic_lock(&whole->saving.lock);
    bool has = whole->saving.current.exists;
    tic_unlock(&whole->saving.lock);
    return has && tic_data_is_pending(whole) && tic_data_is_in_place(whole);
}

static const struct tic_layout *value_of(struct tic_handle *whole)
{
    const struct tic_saved saved = tic_data_recovered_value(whole);

    if (last.whole == whole && last.id == whole->id)
        return &last.value;
    free(last.value.base);
    last.whole = NULL;
    last.value = whole->layout;
    last.value.base = tic_or_stop(malloc(tic_layout_span(&whole->layout)));
    tic_data_write_to(whole, &saved, &last.value);
    last.whole = whole;
    last.id = whole->id;
    return &last.value;
}

static void tic_initial_write_part(struct tic_handle *part)
{
    struct tic_handle *whole = part;
    uint64_t recorded = tic_graph_recorded_input(&tic_session->graph, part->id);

    while (tic_data_is_past_part(whole))
        whole = whole->parent;
    if (!has_value(whole))
        tic_data_stop_input(part);
    const struct tic_layout *value = value_of(whole);
    struct tic_layout there = part->layout;
    there.base = value->base + (part->layout.base - whole->layout.base);
    if (tic_layout_checksum(&there) != recorded && !tic_typed_is_hash_of(&there, recorded))
        tic_data_stop_input(part);
    tic_constant_refuse(part);
    tic_layout_copy(&part->layout, &there);
    part->restart.differs = false;
}

/* ---- what tasks that are executed again read ------------------------------------------------- */

/* The line holds what came of this part. */
static bool is_lost(const struct tic_handle *handle)
{
    return tic_data_is_past_part(handle) && !tic_data_holds_values(handle);
}

/* Memory holds what main() put there, until a recovered value is written: of the handle, or of what
 * came of this part. That may be before the task runs. */
static bool holds_initial(struct tic_handle *handle)
{
    return (tic_data_is_pending(handle) || tic_data_is_past_part(handle)) &&
           !tic_data_holds_values(handle) && handle->home_node >= 0 &&
           atomic_load(&handle->use.holds) == 0 && handle->supported &&
           !tic_handle_is_empty(handle) &&
           (!handle->packer || tic_pack_can_put(handle->data, UINT64_MAX));
}

/* Of data that nobody had written. True: the store has it. Else memory holds it. */
static bool find_initial(struct tic_handle *handle, struct tic_saved *saved)
{
    if (!handle->restart.differs)
        return false;
    if (is_lost(handle)) {
        tic_initial_write_part(handle);
        return false;
    }
    *saved = tic_initial_of(handle);
    return true;
}

/* What a task that had ended by the cut, and is executed again, read: true, it is in the store.
 * Else memory holds it by now. */
static bool find_locked(struct starpu_task *task, unsigned buffer, uint64_t key,
                        struct tic_saved *saved)
{
    struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, buffer));
    struct tic_line_read read;

    if (tic_graph_find_read(&tic_session->graph, key, buffer, &read)) {
        *saved = (struct tic_saved){{read.extent, read.row}, read.checksum};
        return true;
    }
    if (!(STARPU_TASK_GET_MODE(task, buffer) & STARPU_R))
        return false;
    if (tic_task_is_ordered(task, buffer) && holds_initial(handle))
        return find_initial(handle, saved);
    if (handle->restart.differs && is_lost(handle))
        tic_data_stop_input(handle);
    return false;
}

struct tic_handle *tic_redo_keeper(const struct tic_handle *handle)
{
    return handle->family ? handle->family->root : (struct tic_handle *)handle;
}

/* ---- who is to use data ---------------------------------------------------------------------- */

static struct {
    struct tic_graph *graph;       /* immutable while the replay is on */
    pthread_mutex_t making;        /* before the other: who makes calls that were put off has it */
    pthread_mutex_t mutex;         /* before the graph lock */
    struct tic_redo_user *running; /* kernels that were shown what they read */
    struct tic_redo_reads *reads, **reads_end;
    unsigned long count;                  /* users so far */
    struct tic_redo_call *due, **due_end; /* calls that are, in their order */
    _Atomic bool any, any_due;            /* users, or there were; calls */
} users = {.making = PTHREAD_MUTEX_INITIALIZER,
           .mutex = PTHREAD_MUTEX_INITIALIZER,
           .due_end = &users.due,
           .reads_end = &users.reads};

void tic_redo_values_start(struct tic_graph *graph)
{
    users.graph = graph;
}

bool tic_redo_is_used(const struct tic_handle *handle)
{
    pthread_mutex_lock(&users.mutex);
    bool used = tic_redo_keeper(handle)->restart.redo.users > 0;
    pthread_mutex_unlock(&users.mutex);
    return used;
}

bool tic_redo_gives_back(struct tic_handle *handle)
{
    struct tic_redo_place *place = &tic_redo_keeper(handle)->restart.redo;

    pthread_mutex_lock(&users.mutex);
    bool waits = place->gives_back = place->users > 0;
    pthread_mutex_unlock(&users.mutex);
    return waits;
}

/* ---- what they read -------------------------------------------------------------------------- */

static struct tic_redo_reads *create_reads(uint64_t key, unsigned count)
{
    struct tic_redo_reads *reads =
        tic_or_stop(malloc(sizeof(*reads) + count * sizeof(reads->ids[0])));

    *reads = (struct tic_redo_reads){.key = key, .count = count};
    return reads;
}

static void note_locked(struct tic_redo_reads *reads)
{
    *users.reads_end = reads;
    users.reads_end = &reads->next;
}

/* It is one of the first, as a rule: they end about as they came. */
static void forget_locked(struct tic_redo_reads *reads)
{
    struct tic_redo_reads **at = &users.reads;

    while (*at != reads)
        at = &(*at)->next;
    *at = reads->next;
    if (users.reads_end == &reads->next)
        users.reads_end = at;
    free(reads);
}

struct tic_redo_user *tic_redo_create_user(uint64_t key, unsigned count)
{
    struct tic_redo_user *user =
        tic_or_stop(calloc(1, sizeof(*user) + 2 * count * sizeof(user->handles[0])));

    user->key = key;
    user->count = count;
    return user;
}

static struct tic_handle **keepers_of(struct tic_redo_user *user)
{
    return user->handles + user->count;
}

static void list_keepers(struct tic_redo_user *user)
{
    struct tic_handle **keepers = keepers_of(user);

    for (unsigned i = 0; i < user->count; i++) {
        struct tic_handle *keeper = user->handles[i] ? tic_redo_keeper(user->handles[i]) : NULL;
        for (unsigned j = 0; j < i && keeper; j++)
            keeper = keepers[j] == keeper ? NULL : keeper;
        keepers[i] = keeper;
    }
}

void tic_redo_note_user(struct tic_redo_user *user)
{
    list_keepers(user);
    user->reads = create_reads(user->key, user->count);
    for (unsigned i = 0; i < user->count; i++)
        user->reads->ids[i] = user->handles[i] ? user->handles[i]->id : UINT64_MAX;
    pthread_mutex_lock(&users.mutex);
    note_locked(user->reads);
    user->number = users.count++;
    for (unsigned i = 0; i < user->count; i++)
        if (keepers_of(user)[i]) {
            keepers_of(user)[i]->restart.redo.users++;
            keepers_of(user)[i]->restart.redo.coming++;
        }
    atomic_store(&users.any, true);
    pthread_mutex_unlock(&users.mutex);
}

struct tic_redo_user *tic_redo_note_reader(struct starpu_task *task, uint64_t key)
{
    unsigned count = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
    struct tic_redo_user *reader = tic_redo_create_user(key, count);

    for (unsigned i = 0; i < count; i++)
        if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
            reader->handles[i] = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
    tic_redo_note_user(reader);
    reader->reads->called = true;
    return reader;
}

/* ---- calls that were put off ----------------------------------------------------------------- */

struct tic_redo_call *tic_redo_create_call(const struct tic_handle *handle, void (*play)(void *),
                                           const void *argument, size_t size)
{
    struct tic_redo_call *call = tic_or_stop(calloc(1, sizeof(*call) + size));

    call->play = play;
    call->keeper = tic_redo_keeper(handle);
    memcpy(call->argument, argument, size);
    return call;
}

void tic_redo_play_call(void *arg)
{
    struct tic_redo_call *call = arg;

    tic_replay_play(call->play, call->argument);
    free(call);
}

/* The first of its data, when those before it have begun. */
static void check_due_locked(struct tic_redo_call *call)
{
    if (!call || call->due || call->waits > 0)
        return;
    call->due = true;
    *users.due_end = call;
    users.due_end = &call->next_due;
    atomic_store(&users.any_due, true);
}

bool tic_redo_put_off(struct tic_redo_call *call)
{
    struct tic_redo_place *place = &call->keeper->restart.redo;
    struct tic_redo_call **end = &place->first;

    pthread_mutex_lock(&users.mutex);
    call->number = users.count;
    call->waits = place->coming;
    bool waits = call->waits > 0 || place->first;
    while (waits && *end)
        end = &(*end)->next;
    if (waits)
        *end = call;
    pthread_mutex_unlock(&users.mutex);
    return waits;
}

static void take_locked(struct tic_redo_call *call)
{
    struct tic_redo_call **at = &call->keeper->restart.redo.first;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (!call->due)
        return;
    for (at = &users.due; *at != call;)
        at = &(*at)->next_due;
    *at = call->next_due;
    if (!call->next_due)
        users.due_end = at;
}

/* Its data may go with it. */
static void make_locked(struct tic_redo_call *call)
{
    take_locked(call);
    check_due_locked(call->keeper->restart.redo.first);
    pthread_mutex_unlock(&users.mutex);
    tic_redo_play_call(call);
    pthread_mutex_lock(&users.mutex);
}

void tic_redo_catch_up(void)
{
    if (!atomic_load_explicit(&users.any_due, memory_order_relaxed))
        return;
    pthread_mutex_lock(&users.making);
    pthread_mutex_lock(&users.mutex);
    while (users.due)
        make_locked(users.due);
    atomic_store(&users.any_due, false);
    pthread_mutex_unlock(&users.mutex);
    pthread_mutex_unlock(&users.making);
}

/* The first call of its data that comes before the user, or NULL. */
static struct tic_redo_call *call_before(const struct tic_handle *keeper, unsigned long number)
{
    struct tic_redo_call *call = keeper ? keeper->restart.redo.first : NULL;

    while (call && call->leaves && call->number <= number)
        call = call->next;
    return call && call->number <= number ? call : NULL;
}

void tic_redo_make_calls(struct tic_redo_user *user)
{
    struct tic_redo_call *call;

    pthread_mutex_lock(&users.making);
    pthread_mutex_lock(&users.mutex);
    for (unsigned i = 0; i < user->count; i++)
        while ((call = call_before(keepers_of(user)[i], user->number)) != NULL)
            make_locked(call);
    pthread_mutex_unlock(&users.mutex);
    pthread_mutex_unlock(&users.making);
}

/* ---- what becomes of them -------------------------------------------------------------------- */

static void begin_locked(struct tic_redo_user *user)
{
    user->begun = true;
    for (unsigned i = 0; i < user->count; i++) {
        struct tic_redo_place *place =
            keepers_of(user)[i] ? &keepers_of(user)[i]->restart.redo : NULL;
        for (struct tic_redo_call *call = place ? place->first : NULL; call; call = call->next)
            call->waits -= call->number > user->number;
        if (place) {
            place->coming--;
            check_due_locked(place->first);
        }
    }
}

static void give_back_locked(struct tic_handle *keeper)
{
    if (keeper->restart.redo.users > 0 || !keeper->restart.redo.gives_back)
        return;
    keeper->restart.redo.gives_back = false;
    pthread_mutex_unlock(&users.mutex);
    tic_data_restore_leaving(keeper);
    pthread_mutex_lock(&users.mutex);
}

static void end_locked(struct tic_redo_user *user)
{
    struct tic_handle **keepers = keepers_of(user);

    forget_locked(user->reads);
    for (unsigned i = 0; i < user->count; i++)
        if (keepers[i])
            keepers[i]->restart.redo.users--;
    for (unsigned i = 0; i < user->count; i++)
        if (keepers[i])
            give_back_locked(keepers[i]);
    user->ended = true;
}

/* Calls may be due. */
static void unlock_and_free(struct tic_redo_user *user)
{
    bool over = user && user->begun && user->ended, asks = users.due != NULL;

    pthread_mutex_unlock(&users.mutex);
    if (over)
        free(user);
    if (asks)
        tic_replay_ask_main();
}

void tic_redo_note_begun(struct tic_redo_user *kernel)
{
    pthread_mutex_lock(&users.mutex);
    begin_locked(kernel);
    unlock_and_free(kernel);
}

void tic_redo_end_use(struct tic_redo_user *user)
{
    pthread_mutex_lock(&users.mutex);
    begin_locked(user);
    end_locked(user);
    unlock_and_free(user);
}

void tic_redo_end_kernel(uint64_t key)
{
    if (!atomic_load_explicit(&users.any, memory_order_relaxed))
        return;
    pthread_mutex_lock(&users.mutex);
    struct tic_redo_user **at = &users.running, *user;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    user = *at;
    if (user) {
        *at = user->next;
        end_locked(user);
    }
    unlock_and_free(user);
    tic_replay_end_kernel(key);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool shares_memory(const struct tic_handle *handle, uint64_t id)
{
    bool found = handle->id == id;

    tic_lock(&users.graph->lock);
    for (unsigned long i = 0; i < handle->listing.overlap_count && !found; i++)
        found = handle->listing.overlaps[i]->id == id;
    tic_unlock(&users.graph->lock);
    return found;
}

/* What somebody has to do with data that is to get a value. */
enum use { USES_NOT, USES_THIS, USES_OTHER };

/* value: what the handle is to have, with its layout; or NULL. */
static bool has_part(const struct tic_handle *handle, const struct tic_layout *value,
                     const struct tic_line_read *read, uint64_t id)
{
    const struct tic_handle *part = tic_graph_find_handle(users.graph, id);
    const char *base = handle->layout.base;

    if (!part || !value || (char *)part->layout.base < base ||
        (char *)part->layout.base + tic_layout_span(&part->layout) >
            base + tic_layout_span(&handle->layout))
        return false;
    struct tic_layout there = part->layout;
    there.base = (char *)value->base + ((char *)part->layout.base - base);
    return tic_layout_checksum(&there) == read->checksum;
}

static enum use use_of(const struct tic_redo_reads *reads, const struct tic_handle *handle,
                       uint64_t checksum, const struct tic_layout *value)
{
    struct tic_line_read read;
    enum use use = USES_NOT;

    for (unsigned i = 0; i < reads->count && use != USES_OTHER; i++) {
        if (!shares_memory(handle, reads->ids[i]))
            continue;
        bool same = tic_graph_find_read(users.graph, reads->key, i, &read) &&
                    (reads->ids[i] == handle->id ? read.checksum == checksum
                                                 : has_part(handle, value, &read, reads->ids[i]));
        use = same ? USES_THIS : USES_OTHER;
    }
    return use;
}

/* The value is there if a kernel reads it; one that reads another value there comes first: *key. */
static enum use find_use(const struct tic_handle *handle, uint64_t checksum, uint64_t *key)
{
    enum use use = USES_NOT;

    pthread_mutex_lock(&users.mutex);
    for (const struct tic_redo_user *kernel = users.running; kernel && use != USES_OTHER;
         kernel = kernel->next) {
        const enum use its = use_of(kernel->reads, handle, checksum, NULL);
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

    while ((use = find_use(handle, saved->checksum, &key)) == USES_OTHER)
        tic_replay_await_kernel(key);
    /* Who holds it now held it then, beside whoever is to see it: for reading, the same value. */
    if (use == USES_NOT && atomic_load(&handle->use.holds) == 0)
        tic_data_redo(handle, saved);
}

static bool reads_content(struct starpu_task *task, unsigned buffer, struct tic_handle *handle)
{
    return handle && STARPU_TASK_GET_MODE(task, buffer) & STARPU_R &&
           tic_handle_has_content(handle);
}

/* Of what nobody had written nothing is logged. */
static bool is_value_of_line(struct tic_handle *handle, uint64_t key, unsigned buffer)
{
    struct tic_line_read read;

    if (handle->family || handle->use.by_callback.replayed > 0)
        return false;
    return tic_graph_find_read(&tic_session->graph, key, buffer, &read)
               ? read.checksum == tic_data_recovered_value(handle).checksum
               : atomic_load(&handle->saving.version) == 0;
}

bool tic_redo_keeps_values(struct starpu_task *task, uint64_t key)
{
    const unsigned count = STARPU_TASK_GET_NBUFFERS(task);
    unsigned i = 0;

    for (; i < count; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (reads_content(task, i, handle) && !is_value_of_line(handle, key, i))
            break;
    }
    return i == count;
}

static bool find_for_kernel(const struct tic_redo_user *kernel, struct starpu_task *task,
                            unsigned i, struct tic_saved *saved)
{
    struct tic_handle *handle = kernel->handles[i];
    bool found = false;

    tic_lock(&tic_session->submit);
    if (kernel->stays && reads_content(task, i, handle) && handle->restart.pending) {
        *saved = tic_data_recovered_value(handle);
        found = true;
    } else if (handle) {
        found = find_locked(task, i, kernel->key, saved);
    }
    tic_unlock(&tic_session->submit);
    return found;
}

/* It is there, and stays: it does not come back at the cut. */
static void keep(struct tic_handle *handle)
{
    tic_lock(&tic_session->submit);
    if (handle->restart.pending) {
        handle->restart.pending = false;
        handle->restart.live = handle->restart.restored = true;
    }
    tic_unlock(&tic_session->submit);
}

static void begin_to_show(struct tic_redo_reads *reads)
{
    pthread_mutex_lock(&users.mutex);
    reads->shown = true;
    pthread_mutex_unlock(&users.mutex);
}

void tic_redo_show_kernel(struct tic_redo_user *kernel, struct starpu_task *task)
{
    struct tic_saved saved;

    begin_to_show(kernel->reads);
    for (unsigned i = 0; i < kernel->count; i++) {
        if (find_for_kernel(kernel, task, i, &saved))
            tic_redo_show(kernel->handles[i], &saved);
        if (kernel->stays && reads_content(task, i, kernel->handles[i]))
            keep(kernel->handles[i]);
    }
    pthread_mutex_lock(&users.mutex);
    kernel->next = users.running;
    users.running = kernel;
    pthread_mutex_unlock(&users.mutex);
}

/* It is shown what it reads in this memory when it begins. */
static bool is_to_be_shown(const struct tic_redo_reads *reads, const struct tic_handle *handle)
{
    struct tic_line_read read;
    bool is = !reads->shown && !tic_replay_is_made();

    for (unsigned i = 0; i < reads->count && is; i++)
        is = !shares_memory(handle, reads->ids[i]) ||
             tic_graph_find_read(users.graph, reads->key, i, &read);
    return is;
}

bool tic_redo_may_see(struct tic_handle *handle, uint64_t checksum, const struct tic_layout *value,
                      bool observed)
{
    pthread_mutex_lock(&users.mutex);
    const struct tic_redo_reads *reads = users.reads;
    while (reads && ((observed && reads->called && reads->shown) || is_to_be_shown(reads, handle) ||
                     use_of(reads, handle, checksum, value) != USES_OTHER))
        reads = reads->next;
    pthread_mutex_unlock(&users.mutex);
    return !reads && atomic_load(&handle->use.holds) == 0;
}

void tic_redo_show_reader(const struct tic_redo_user *reader)
{
    struct tic_redo_reads *reads = reader->reads;
    struct tic_line_read read;

    begin_to_show(reads);
    for (unsigned i = 0; i < reads->count; i++) {
        if (!tic_graph_find_read(users.graph, reads->key, i, &read))
            continue;
        struct tic_handle *handle = tic_graph_find_handle(users.graph, reads->ids[i]);
        if (handle && handle->data)
            tic_redo_show(handle, &(struct tic_saved){{read.extent, read.row}, read.checksum});
        else if (handle && handle->use.main_writes && tic_replay_is_made())
            tic_data_stop_made("when a callback began, as main() held what it reads");
    }
}
