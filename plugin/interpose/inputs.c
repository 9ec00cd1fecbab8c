/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/inputs.h"

#include <errno.h>

#include "base/error.h"
#include "base/names.h"
#include "interpose/addresses.h"
#include "session/context.h"
#include "session/lookup.h"
#include "interpose/record.h"
#include "interpose/typed.h"
#include "session/uses.h"

_Noreturn void tic_data_stop_input(const struct tic_handle *handle)
{
    tic_stop(TIC_EXIT_REFUSED,
             "the input of this run differs: handle %llu%s (number of registration) held other "
             "data in the recorded run when a task first read it. Start with the same input to "
             "continue; or start over: name another STARPU_TIC_DIR, or remove %s. If the "
             "content does not matter, STARPU_TIC_INPUTS=ignore skips this check",
             (unsigned long long)handle->id, tic_name_of(handle->id), tic_session->store.path);
}

/* The handle in whose value the line holds that of this one: a part has none of its own when its
 * partition is over in the recovered cut. */
static const struct tic_handle *holder_of(const struct tic_handle *handle)
{
    while (tic_data_is_past_part(handle))
        handle = handle->parent;
    return handle;
}

/* It was unregistered by the recovered cut, so no task that was not done can need its content.
 * Those that are executed again may: redo_values.c. */
static bool had_left(const struct tic_handle *handle)
{
    return tic_session->graph.recovered.positioned && !handle->family && !handle->restart.pending &&
           !handle->restart.restored && !handle->restart.live;
}

/* The line holds what it held then, or what came of that, and gives it back before any task that
 * was not done runs. Data may have left within the operation of main() in which the line was cut,
 * after that operation has used it. */
static bool is_saved(struct tic_handle *handle, bool executes)
{
    const struct tic_handle *holder = holder_of(handle);
    bool ahead = tic_position_is_ahead();

    handle->restart.differs =
        tic_session->settings.inputs == TIC_INPUTS_SAVE && holder->imaged &&
        ((ahead && tic_data_is_pending(holder)) || ((ahead || !executes) && had_left(holder)));
    return handle->restart.differs;
}

static void tell_input(const struct tic_handle *handle)
{
    static bool told; /* under the submission lock */

    if (!told)
        tic_log(TIC_LOG_INFO,
                "data %llu%s held other content when a task first read it: that is used again; "
                "starpu-tic explain inputs",
                (unsigned long long)handle->id, tic_name_of(handle->id));
    told = true;
}

void tic_data_note_use(struct tic_handle *handle, bool reads, bool executes)
{
    struct tic_session *session = tic_session;

    /* At its first mention no task can be writing it. */
    if (handle->use.mentioned)
        return;
    handle->use.mentioned = true;
    tic_addresses_note(handle);
    uint64_t recorded = tic_graph_recorded_input(&session->graph, handle->id);
    if (!reads || !session->settings.inputs || tic_data_holds_values(handle) ||
        (recorded != 0 && handle->restart.restored) || /* whatever main() had put there */
        handle->restart.shown || /* a callback may submit it later than it did */
        handle->home_node < 0 || !handle->supported ||
        (tic_handle_is_empty(handle) && !tic_handle_is_excluded(handle)) || handle->packer)
        return;
    uint64_t hash = tic_typed_hash(&handle->layout);
    if (recorded != 0 && recorded != hash && tic_typed_is_hash_of(&handle->layout, recorded))
        hash = recorded; /* of another machine */
    int status = tic_graph_note_input(&session->graph, handle->id, hash,
                                      atomic_load(&session->snapshot.cut.epoch));
    if (status == 0 && recorded == 0)
        tic_record_input(handle, hash);
    if (status == -EILSEQ && is_saved(handle, executes)) {
        tell_input(handle);
        return;
    }
    if (status == -EILSEQ)
        tic_data_stop_input(handle);
    tic_snapshot_need(&session->snapshot, status == 0);
}
