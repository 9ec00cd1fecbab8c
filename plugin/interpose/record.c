/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEL: what main() does, in the event log: it creates tasks, registers, unregisters and accesses
 * data, and meets nondeterministic events. */
#include "interpose/record.h"

#include <stdlib.h>
#include <string.h>

#include "session/context.h"
#include "session/lookup.h"
#include "session/task.h"
#include "snapshot/forced.h"
#include "snapshot/provide.h"
#include "snapshot/ranks.h"

enum { NAME_WORDS = 8 }; /* of a codelet */

/* On the owner thread, while the checkpoint thread runs. */
static bool is_keeping_results(void)
{
    const struct tic_session *session = tic_session;

    return session &&
           (session->snapshot.options.log_all || session->snapshot.options.forced_percent > 0) &&
           session->snapshot.started && !session->snapshot.options.dry &&
           !tic_snapshot_is_broken(&tic_session->snapshot) && tic_session_is_owner();
}

static bool is_logging(void)
{
    return is_keeping_results() && tic_session->snapshot.options.log_all;
}

static int append(enum tic_logged kind, const uint64_t *words, size_t count)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    return tic_snapshot_append(snapshot, tic_snapshot_owner_writer(snapshot), kind, words, count,
                               NULL);
}

/* In a restart the result waits for main(), too, until a line has the task. */
static void keep_what_main_holds(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    for (unsigned i = 0; i < buffers && atomic_load(&tic_session->holds) > 0; i++) {
        struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        if (handle && STARPU_TASK_GET_MODE(task, i) & STARPU_W &&
            atomic_load(&handle->use.holds) > 0)
            tic_reuse_exclude(handle);
    }
}

void tic_record_created(struct starpu_task *task, uint64_t sequence)
{
    uint64_t words[TIC_LOG_MOST_WORDS];
    size_t used = 2;

    if (!tic_session->snapshot.options.log_all || !is_logging())
        return;
    keep_what_main_holds(task);
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    const char *name = tic_task_name(task);
    for (unsigned i = 0; i < buffers && used < TIC_LOG_MOST_WORDS - NAME_WORDS; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        words[used++] = (handle ? handle->id : 0) << TIC_LOG_MODE_BITS |
                        (STARPU_TASK_GET_MODE(task, i) & 0xffff);
    }
    words[0] = sequence;
    words[1] = used - 2;
    memset(&words[used], 0, NAME_WORDS * 8);
    strncpy((char *)&words[used], name, NAME_WORDS * 8 - 1);
    append(TIC_LOGGED_CREATED, words, used + strlen((char *)&words[used]) / 8 + 1);
}

void tic_record_restored(uint64_t sequence)
{
    if (is_logging())
        append(TIC_LOGGED_RESTORED, &sequence, 1);
}

/* Results of stolen tasks come from inputs, too. */
void tic_record_input(const struct tic_handle *handle, uint64_t hash)
{
    const uint64_t words[2] = {handle->id, hash};

    if (is_keeping_results())
        append(TIC_LOGGED_INPUT, words, 2);
}

void tic_record_registered(const struct tic_handle *handle)
{
    const uint64_t words[2] = {handle->id,
                               handle->packer ? 0 : tic_shape_bytes(&handle->layout.shape)};

    if (is_logging())
        append(TIC_LOGGED_REGISTERED, words, 2);
}

void tic_record_unregistered(const struct tic_handle *handle)
{
    if (is_logging())
        append(TIC_LOGGED_UNREGISTERED, &handle->id, 1);
}

void tic_record_written(struct tic_handle *handle)
{
    if (is_logging())
        tic_reuse_note_use(handle, &tic_session->snapshot.cut);
}

void tic_record_acquired(struct tic_handle *handle, bool writes)
{
    const uint64_t words[3] = {handle->id, 1u | (writes ? 2u : 0),
                               tic_session->graph.signature.position};

    if (!is_logging())
        return;
    tic_reuse_note_use(handle, &tic_session->snapshot.cut);
    append(TIC_LOGGED_ACQUIRED, words, 3);
}

void tic_record_event(uint64_t known, enum tic_event kind, int64_t value)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    uint64_t count, hash;

    if (!tic_session || !snapshot->started || !snapshot->options.log_all) /* else lines have it */
        return;
    tic_snapshot_events(snapshot, &count, &hash);
    const uint64_t words[4] = {known, kind, (uint64_t)value, hash};
    if (count != known + 1) /* a replay delivered it */
        return;
    tic_session->unforced |= snapshot->ranks != NULL;
    if (!is_logging() || append(TIC_LOGGED_EVENT, words, 4) != 0)
        tic_snapshot_withdraw_results(snapshot);
}

void tic_record_message(struct tic_handle *handle, bool receives)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    tic_record_acquired(handle, true); /* results after it come after it in a restart, too */
    if (receives || !tic_session->unforced || !is_logging())
        return;
    tic_session->unforced = false;
    if (snapshot->store->sync && !tic_snapshot_force_log(snapshot))
        tic_snapshot_withdraw_results(snapshot);
}

void tic_record_run(void)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;
    const struct tic_account *earlier = &snapshot->recovery.earlier;
    const uint64_t words[6] = {tic_session->recovered ? snapshot->store->kept[0].number : 0,
                               snapshot->recovery.result_count,
                               earlier->runs + 1,
                               earlier->spent,
                               earlier->lost,
                               snapshot->recovery.extended};

    if (is_logging())
        append(TIC_LOGGED_RUN, words, 6);
}
