/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session: one protected StarPU instance, from starpu_init to the end of the process. */
#ifndef TIC_INTERPOSE_SESSION_H
#define TIC_INTERPOSE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/beacon.h"
#include "base/settings.h"
#include "real/real.h"
#include "recovery/recovery.h"

struct tic_report;

struct tic_session {
    struct tic_settings settings; /* immutable after open */
    struct tic_graph graph;
    struct tic_store store;
    struct tic_snapshot snapshot;
    struct tic_beacon *beacon;      /* immutable after start; NULL unless somebody supervises */
    struct tic_report *report;      /* immutable after open; NULL unless `starpu-tic check` asks */
    bool opened_store;              /* owner thread only */
    bool ended;                     /* owner thread only: protection ended before StarPU did */
    uint64_t starts;                /* owner thread only: of StarPU */
    bool recovered;                 /* immutable after start */
    uint64_t recovered_tasks;       /* immutable after start */
    uint64_t recovered_submissions; /* immutable after start: known from the earlier run */
    struct tic_lock submit;         /* what the program did so far: submissions, uses, restores */
    _Atomic bool paused;            /* StarPU is; relaxed */
    _Atomic unsigned holds;         /* accesses that the program has not released */
    bool restored_all;              /* owner thread only: no recovered value waits any more */
    bool waits_by_callback;         /* owner thread only: main() has asked for such an access */
    _Atomic bool racy;              /* some order in the program is a race; relaxed */
    bool asks_successors;           /* immutable after open: main() asked for successors of tasks */
    bool explicit_dependencies; /* guarded by submit: a task had a tag or declared dependencies */
    pid_t process;              /* immutable after start */
    /* The policies in use, as they were; each immutable once a task was submitted to its context.
     */
    struct starpu_sched_policy policies[STARPU_NMAX_SCHED_CTXS];
    _Atomic bool watching; /* StarPU runs and calls matter; owner thread writes; seq_cst */

    _Atomic uint64_t spawned;         /* relaxed: statistics: tasks not submitted by main() */
    _Atomic uint64_t skipped;         /* relaxed: statistics */
    _Atomic uint64_t restored;        /* relaxed: statistics */
    _Atomic uint64_t forced_used;     /* relaxed: tasks that forced checkpoints stood in for */
    _Atomic uint64_t stand_ins;       /* relaxed: of these, tasks of ours that wrote the results */
    _Atomic uint64_t reduction_tasks; /* relaxed: statistics: tasks of ours that reductions need */
    _Atomic uint64_t rerun; /* relaxed: tasks executed again because they write no handle */
};

/* The one session of this process; NULL while nothing is protected. Set by the owner thread before
 * StarPU starts, never freed before exit. */
extern struct tic_session *tic_session;

/* ---- life ----------------------------------------------------------------------------------- */
/* The next event of this kind, on the owner thread, before or while StarPU runs: replaces *value
 * in a replay, else records it. Opens an existing store when it is called before starpu_init. */
void tic_session_event(enum tic_event kind, int64_t *value);
/* What main() asked, on the owner thread: recorded, unless there are recorded events that the
 * replay has not come to; then false. */
bool tic_session_note(enum tic_event kind, int64_t value);
/* The session whose events main() comes to now, perhaps before starpu_init; NULL: none. */
struct tic_session *tic_session_of_events(void);
/* The session of this process, perhaps before starpu_init; NULL: none, or not yet. */
struct tic_session *tic_session_opened(void);
/* Around the real starpu_initialize. `before` may replace the configuration (into *copy). */
struct starpu_conf *tic_session_on_initialize_before(struct starpu_conf *conf,
                                                     struct starpu_conf *copy, const char **sched);
void tic_session_on_initialize_after(int result);
/* Around each start and shutdown of StarPU, by whatever thread: one at a time. */
void tic_session_enter_life(void);
void tic_session_leave_life(void);
/* Inside: after each start. */
void tic_session_count_start(int result);
/* True when StarPU stops with this call, and the session with it. */
bool tic_session_on_shutdown_before(void);
void tic_session_on_shutdown_after(void);

/* The call, and the task in whose kernel or callback this thread makes it; valid until the next one
 * of the thread. */
const char *tic_session_place(const char *call);
/* Ends protection: the program runs on unprotected. Any thread. On another than the owner's in a
 * recovered run no more lines are taken, but the replay goes on, which main() may be in the middle
 * of: who calls sees to the values that it uses itself. */
void tic_session_unprotect(const char *what, const char *why);
/* The same, and the replay ends, too: after restoring all that a recovered run still needs; which
 * stops when its replay is not complete. */
void tic_session_unprotect_now(const char *what, const char *why);
/* Ends protection by a call after which `starpu-tic check`, which goes on otherwise, would change
 * what the program computes: our own accesses take it that data is in main memory only. */
void tic_session_stop_watching(const char *what, const char *why);

/* True while calls of the application matter, and this thread is not inside a real call. */
static inline bool tic_session_is_watching(void);
/* Who calls. */
enum tic_context {
    TIC_CONTEXT_MAIN,     /* the thread that called starpu_init, outside of tasks and callbacks */
    TIC_CONTEXT_CALLBACK, /* a callback of a task */
    TIC_CONTEXT_TASK,     /* the kernel of a task */
    TIC_CONTEXT_THREAD,   /* another thread of the application */
    TIC_CONTEXT_STARPU,   /* StarPU itself, on a worker */
};
enum tic_context tic_session_context(void);
static inline bool tic_session_is_owner(void)
{
    return tic_session_context() == TIC_CONTEXT_MAIN;
}
/* Did the replay submit everything that the recovered cut knows? */
bool tic_session_is_replayed(struct tic_session *session);

/* ---- guard ---------------------------------------------------------------------------------- */
/* Depth of real calls on this thread: nested calls of StarPU's own are not the application's. */
extern __thread int tic_guard __attribute__((tls_model("initial-exec")));
/* Is this the thread that called starpu_init? */
extern __thread bool tic_is_owner __attribute__((tls_model("initial-exec")));
/* Nonzero while an application callback runs on this thread. */
extern __thread int tic_in_callback __attribute__((tls_model("initial-exec")));

static inline bool tic_session_is_watching(void)
{
    return tic_guard == 0 && tic_session && atomic_load(&tic_session->watching);
}

#endif
