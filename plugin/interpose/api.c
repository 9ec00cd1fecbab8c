/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public interface, starpu_tic.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/thread.h"
#include "interpose/exclude.h"
#include "interpose/point.h"
#include "interpose/repeat.h"
#include "interpose/retry.h"
#include "interpose/typed.h"
#include "interpose/variables.h"
#include "report/unprotected.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "starpu_tic.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void starpu_tic_get_version(int *major, int *minor, int *patch)
{
    if (major)
        *major = STARPU_TIC_MAJOR_VERSION;
    if (minor)
        *minor = STARPU_TIC_MINOR_VERSION;
    if (patch)
        *patch = STARPU_TIC_PATCH_VERSION;
}

static struct tic_session *protected_session(void)
{
    struct tic_session *session = tic_session;
    if (!session || !atomic_load(&session->watching) || tic_snapshot_is_broken(&session->snapshot))
        return NULL;
    return session;
}

PUBLIC int starpu_tic_checkpoint_request(void)
{
    struct tic_session *session = protected_session();
    if (!session)
        return -ENOTCONN;
    tic_snapshot_request(&session->snapshot);
    return 0;
}

/* For functions that only the owner thread may call. 0 or -errno. A restart whose protection has
 * ended goes on skipping tasks, which it compares with what was declared in the run before. */
static int find_handle(struct _starpu_data_state *data, struct tic_handle **handle)
{
    if (!protected_session() && !(tic_session_watches() && tic_session->recovered))
        return -ENOTCONN;
    if (!tic_session_is_owner())
        return -EPERM;
    *handle = data ? tic_handle_of(data) : NULL;
    return *handle ? 0 : -EINVAL;
}

PUBLIC int starpu_tic_data_set_type(struct _starpu_data_state *data, const char *type)
{
    struct tic_handle *handle;
    int status = find_handle(data, &handle);

    if (status)
        return status;
    return type ? tic_typed_declare(handle, type) : -EINVAL;
}

PUBLIC int starpu_tic_codelet_can_fail(struct starpu_codelet *codelet)
{
    return tic_repeat_declare(codelet);
}

PUBLIC int starpu_tic_task_failed(void)
{
    return tic_retry_note_failed() ? 0 : -EPERM;
}

PUBLIC int starpu_tic_codelet_can_skip(struct starpu_codelet *codelet)
{
    return tic_marks_set(codelet, TIC_MARK_CAN_SKIP);
}

PUBLIC int starpu_tic_codelet_has_effects(struct starpu_codelet *codelet)
{
    return tic_marks_set(codelet, TIC_MARK_HAS_EFFECTS);
}

PUBLIC int starpu_tic_data_set_name(struct _starpu_data_state *data, const char *name)
{
    struct tic_handle *handle;
    int status = find_handle(data, &handle);

    if (status)
        return status;
    return name && *name ? tic_names_set(handle->id, name) : -EINVAL;
}

PUBLIC int starpu_tic_data_exclude(struct _starpu_data_state *data)
{
    struct tic_handle *handle;
    int status = find_handle(data, &handle);

    return status ? status : tic_exclude_data(handle);
}

static const char *why_unprotected(struct tic_session *session)
{
    if (session && tic_snapshot_is_broken(&session->snapshot))
        return tic_protection_reason(&session->snapshot.protection);
    const char *why = tic_unprotected_reason();
    if (why)
        return why;
    return session ? "StarPU does not run" : "StarPU was not started, or STARPU_TIC_PROTOCOL=off";
}

static void describe_protected(struct tic_session *session, struct starpu_tic_status *status)
{
    struct tic_snapshot *snapshot = &session->snapshot;
    uint64_t line = atomic_load(&snapshot->counts.committed_ns);
    uint64_t now = tic_nanoseconds(CLOCK_MONOTONIC);

    status->is_suspended = tic_protection_is_suspended(&snapshot->protection);
    status->lines = atomic_load(&snapshot->counts.checkpoints);
    status->bytes = atomic_load(&session->store.counts.bytes_written);
    status->age = line > 0 ? (double)(now - line) * 1e-9 : -1;
    status->period = atomic_load(&snapshot->period);
    snprintf(status->protocol, sizeof(status->protocol), "%s",
             tic_protocol_names[session->settings.protocol]);
}

PUBLIC int starpu_tic_get_status(struct starpu_tic_status *status, size_t size)
{
    struct tic_session *session = protected_session();
    struct starpu_tic_status now = {.is_protected = session != NULL, .age = -1};

    if (!status || size == 0)
        return -EINVAL;
    if (session)
        describe_protected(session, &now);
    else
        snprintf(now.reason, sizeof(now.reason), "%s", why_unprotected(tic_session));
    memcpy(status, &now, size < sizeof(now) ? size : sizeof(now));
    return session ? 0 : -ENOTCONN;
}

PUBLIC int starpu_tic_get_progress(struct starpu_tic_progress *progress)
{
    struct tic_session *session = protected_session();

    memset(progress, 0, sizeof(*progress));
    if (!session)
        return -ENOTCONN;
    progress->recovered = session->recovered;
    progress->recovered_tasks = session->recovered_tasks;
    progress->skipped_tasks = atomic_load(&session->skipped);
    progress->replaying = progress->skipped_tasks < progress->recovered_tasks;
    return 0;
}

PUBLIC int starpu_tic_protect_memory(const char *name, void *memory, size_t bytes)
{
    if (protected_session() && !tic_session_is_owner())
        return -EPERM;
    return tic_variables_add(name, memory, bytes);
}

PUBLIC int starpu_tic_commit_point_at(const char *place)
{
    struct tic_session *session = protected_session();
    const char *slash = place ? strrchr(place, '/') : NULL;

    if (!session)
        return -ENOTCONN;
    if (!tic_session_is_owner())
        return -EPERM;
    return place && !session->report ? tic_point_come(slash ? slash + 1 : place) : 0;
}
