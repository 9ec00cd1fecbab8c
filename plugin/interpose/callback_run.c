/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/callback_run.h"

#include "interpose/looks.h"
#include "replay/replay.h"
#include "session/context.h"

static __thread const struct tic_running_callback *here __attribute__((tls_model("initial-exec")));

/* A quiescent line is taken while none is open. Where one is, the line waits for it, and others may
 * begin. */
void tic_callback_open(void)
{
    struct tic_session *session = tic_session;
    _Atomic uint32_t *open = &session->graph.callbacks_open;

    while (atomic_fetch_add(open, 1) == 0 && atomic_load(&session->snapshot.verify.closed)) {
        atomic_fetch_sub(open, 1);
        tic_verify_await_open(&session->snapshot);
    }
}

void tic_callback_close(struct tic_running_callback *running)
{
    tic_snapshot_end_callback(&tic_session->snapshot, running);
    atomic_fetch_sub(&tic_session->graph.callbacks_open, 1);
}

struct tic_running_callback tic_callback_here(uint64_t key)
{
    return (struct tic_running_callback){
        .nested = tic_session_asks(key), .in_main = tic_is_owner && !here, .outer = here};
}

bool tic_callback_is_of_access(void)
{
    return here && here->of_access;
}

bool tic_callback_is_put_off(void)
{
    return tic_replay_is_on() && (!here || tic_replay_is_actor());
}

void tic_callback_run(void (*run)(void *), void *argument,
                      const struct tic_running_callback *running)
{
    const struct tic_running_callback *outer = here;
    int guard = tic_guard;

    here = running;
    TIC_LINT(look, true);
    tic_guard = 0;
    tic_in_callback++;
    run(argument);
    tic_in_callback--;
    tic_guard = guard;
    here = outer;
    atomic_fetch_add_explicit(&tic_session->graph.told, 1, memory_order_relaxed);
}

void tic_callback_begin(uint64_t key, void (*run)(void *), void *argument)
{
    struct tic_session *session = tic_session;
    struct tic_running_callback running = tic_callback_here(key);

    tic_callback_open();
    if (session->recovered)
        tic_looks_show_callback(key);
    if (atomic_load(&session->watching))
        tic_snapshot_begin_callback(&session->snapshot, key, &running);
    tic_callback_run(run, argument, &running);
    tic_callback_close(&running);
}

static bool is_main(void)
{
    return tic_session_is_watching() && tic_session_is_owner();
}

static void note(enum tic_history_kind kind)
{
    if (here)
        tic_snapshot_note_call(&tic_session->snapshot, here, kind);
    else
        tic_snapshot_note_main(&tic_session->snapshot, kind, 0);
}

/* Inside of another one it is of a task without a kernel that this has submitted, and that no
 * restart knows again: what it calls is none of the calls of the actor that the replay runs. */
static bool is_nested(void)
{
    return here && here->outer;
}

void tic_callback_note_call(bool lets_go)
{
    if (__builtin_expect(here || (lets_go && is_main()), 0) && tic_guard == 0 &&
        (is_nested() || !tic_replay_note_call(!here)))
        note(TIC_HISTORY_CALL);
}

void tic_callback_end_call(bool lets_go)
{
    if (__builtin_expect(here || (lets_go && is_main()), 0) && tic_guard == 0 &&
        (is_nested() || !tic_replay_end_call(!here, lets_go)) && lets_go)
        note(TIC_HISTORY_CALLED);
}
