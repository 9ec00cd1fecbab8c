/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Accesses of main() that may fail, and those that come by callback. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "interpose/tasks.h"

/* ---- starpu_data_acquire_try ---------------------------------------------------------------- */

static int64_t failures; /* owner thread only: since the last success */

/* A success is an event, with the number of failures before it. */
enum tic_try tic_access_replay_try(void)
{
    int64_t expected;

    if (!tic_session_is_owner() ||
        !tic_graph_expects(&tic_session->graph, TIC_EVENT_TRY, &expected))
        return TIC_TRY_REALLY;
    if (failures < expected) {
        failures++;
        return TIC_TRY_FAIL;
    }
    tic_session_event(TIC_EVENT_TRY, &expected);
    failures = 0;
    return TIC_TRY_SUCCEED;
}

void tic_access_after_try(bool success)
{
    int64_t count = failures++;

    if (!success || !tic_session_is_owner())
        return;
    tic_session_event(TIC_EVENT_TRY, &count);
    failures = 0;
}

/* ---- starpu_data_acquire_cb ----------------------------------------------------------------- */

struct wait {
    struct tic_handle *handle;
    uint64_t key;
    bool logs; /* what it reads */
    void (*callback)(void *);
    void *argument;
};

static __thread struct tic_handle *held /* by a callback that replays an access */
    __attribute__((tls_model("initial-exec")));

bool tic_access_is_replayed_release(const struct tic_handle *handle)
{
    if (!handle || held != handle)
        return false;
    held = NULL;
    return true;
}

static __thread bool running __attribute__((tls_model("initial-exec")));

bool tic_access_is_running(void)
{
    return running;
}

static void run(void (*callback)(void *), void *argument)
{
    running = true;
    tic_callback_run(callback, argument);
    running = false;
}

static void granted(void *arg)
{
    struct wait wait = *(struct wait *)arg;

    free(arg);
    if (wait.logs)
        tic_reads_log_access(wait.handle, wait.key);
    run(wait.callback, wait.argument);
}

static const char *why_not(const struct tic_handle *handle, enum starpu_data_access_mode mode)
{
    if (!tic_session_is_owner())
        return "accesses with a callback that tasks, callbacks or other threads ask for are not "
               "protected yet";
    if (!handle || (!handle->supported && tic_data_holds_values(handle)))
        return "accesses with a callback to data that cannot be saved are not protected yet";
    if (mode != STARPU_R && !tic_handle_is_empty(handle))
        return "accesses with a callback that write are not protected yet";
    return NULL;
}

bool tic_access_on_callback_before(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                                   void (**callback)(void *), void **argument)
{
    static uint64_t count; /* owner thread only */
    struct tic_handle *handle = tic_handle_of(data);
    struct tic_line_read read;
    const char *why = why_not(handle, mode);

    if (why) {
        tic_session_unprotect("starpu_data_acquire_cb", why);
        return false;
    }
    uint64_t words[2] = {UINT64_C(0x6361), count++};
    uint64_t key = XXH3_64bits(words, sizeof(words)) | TIC_SPAWN_KEY;
    bool waits = handle->family ? handle->family->pending : handle->pending;
    if (waits && tic_graph_find_read(&tic_session->graph, key, 0, &read)) {
        struct tic_saved saved = {{read.extent, read.row}, read.checksum};
        tic_data_deliver(handle, &saved);
        held = handle;
        run(*callback, *argument);
        held = NULL;
        return true;
    }
    struct wait *wait = malloc(sizeof(*wait));
    if (!wait) {
        tic_session_unprotect("starpu_data_acquire_cb", "out of memory");
        return false;
    }
    /* Recorded accesses to what main() made read it again; the others what tasks wrote. */
    bool values = tic_data_holds_values(handle);
    if (values)
        tic_data_restore(handle, false);
    *wait = (struct wait){handle, key, values, *callback, *argument};
    *callback = granted;
    *argument = wait;
    return false;
}
