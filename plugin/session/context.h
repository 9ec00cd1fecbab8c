/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session of this process, and who calls: main(), a callback, a kernel, another thread, or
 * StarPU inside of a real call. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/beacon.h"
#include "base/lint.h"
#include "base/settings.h"
#include "real/real.h"
#include "snapshot/snapshot.h"

struct tic_session {
    struct tic_settings settings; /* immutable after open */
    struct tic_graph graph;
    struct tic_store store;
    struct tic_snapshot snapshot;
    struct tic_beacon *beacon;      /* immutable after start; NULL unless somebody supervises */
    bool report;                    /* immutable after open: `starpu-tic check` asks */
    bool opened_store;              /* owner thread only */
    bool ended;                     /* owner thread only: protection ended before StarPU did */
    uint64_t starts;                /* owner thread only: of StarPU */
    bool recovered;                 /* immutable after start */
    uint64_t recovered_tasks;       /* immutable after start */
    uint64_t recovered_submissions; /* immutable after start: known from the earlier run */
    struct tic_lock submit;         /* what the program did so far: submissions, uses, restores */
    _Atomic bool paused;            /* StarPU is; relaxed */
    _Atomic unsigned holds;         /* accesses that the program has not released */
    _Atomic bool has_memory;        /* data is, or was, in memory that is main()'s own */
    bool restored_all;              /* owner thread only: no recovered value waits any more */
    bool waits_by_ranks;            /* owner thread only: main() waits by StarPU-MPI */
    bool unforced;                  /* owner thread only: main() was told what only the log has */
    bool waits_by_callback;         /* owner thread only: main() has asked for such an access */
    uint64_t asking; /* owner thread only: it submits a task, or asks for an access, with a callback
                        of this key minus 1; 0: no */
    _Atomic bool racy;          /* some order in the program is a race; relaxed */
    bool asks_successors;       /* immutable after open: main() asked for successors of tasks */
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
/* The calling thread is that of main(), as StarPU has started. */
void tic_session_own(void);

/* Is this the thread that called starpu_init? */
extern __thread bool tic_is_owner __attribute__((tls_model("initial-exec")));
/* Nonzero while an application callback runs on this thread. */
extern __thread int tic_in_callback __attribute__((tls_model("initial-exec")));

/* The same inside a real call, and on threads of StarPU. */
static inline bool tic_session_watches(void)
{
    return tic_session && atomic_load(&tic_session->watching);
}

/* Is this the thread of main(), inside the call that asks for the callback of this key? */
static inline bool tic_session_asks(uint64_t key)
{
    return tic_is_owner && tic_session->asking == key + 1;
}

static inline bool tic_session_is_watching(void)
{
    return tic_guard == 0 && tic_session_watches();
}

/* Tasks were submitted to other contexts than the first. */
bool tic_hooks_has_contexts(void);
/* One is. Under the submission lock. */
void tic_contexts_note_other(void);

/* May main() look at data after it has waited for tasks? Not where the user promises that nothing
 * touches data but as declared (STARPU_TIC_VERIFY=0). */
static inline bool tic_session_may_look(const struct tic_session *session)
{
    return session->settings.verify > 0;
}
/* At this? */
static inline bool tic_session_sees(const struct tic_handle *handle)
{
    return tic_session->snapshot.verify.looks && tic_handle_has_memory(handle) &&
           handle->empty != TIC_EXCLUDED;
}

/* In a restart, values of the recovered cut wait: main() has not come to it, or others have still
 * to do what they had done by it. */
static inline bool tic_position_is_ahead(void)
{
    return __builtin_expect(tic_session && atomic_load(&tic_session->snapshot.replaying), 0);
}

/* Operations of main() begun so far. */
uint64_t tic_clock_now(void);
