/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several ranks of an MPI program: what the library beside StarPU-MPI (plugin/mpi) and the core
 * tell each other. Neither knows more of the other; types of MPI and StarPU stay out. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/failpoint.h"

/* Where this rank is with the line that all take. */
enum tic_ranks_step {
    TIC_RANKS_WAIT,      /* for others */
    TIC_RANKS_CUT,       /* it is to cut, at once */
    TIC_RANKS_SAVE,      /* all have cut */
    TIC_RANKS_COMMITTED, /* the line counts */
    TIC_RANKS_DROPPED,   /* there is none */
    TIC_RANKS_UNKNOWN,   /* rank 0 is gone, and may have committed it; or there will be no more */
};

/* What main() does with data itself. */
enum tic_ranks_use {
    TIC_RANKS_READS,
    TIC_RANKS_WRITES,
    TIC_RANKS_LEAVES,
    TIC_RANKS_INVALIDATES, /* StarPU-MPI does */
};

/* The line that a run begins from. */
struct tic_ranks_choice {
    uint64_t number;
    char part[64];   /* of this rank; "": it has none to go on from */
    char folder[32]; /* for its lines, in the directory of the job */
    unsigned ranks;  /* of the line */
    bool results;    /* those of tasks beyond the line may be used */
    char why[128];   /* "", or why newer ones, or with -ERANGE all, need as many */
};

/* What the core calls. */
struct tic_ranks {
    /* Before anything of the run: the newest job line in the directory of which all parts are good;
     * all ranks come to the same. 1; 0: there is none; -ERANGE: it is of another number of ranks;
     * other -errno. */
    int (*choose)(const char *directory, struct tic_ranks_choice *choice);
    /* Results of this rank's tasks may be used in a restart if those of all ranks may; or no more,
     * which is on the disk then. After choose; by threads that are apart. 0 or -errno. */
    int (*log)(bool logs);
    /* main() is to use data itself, and has not yet. */
    void (*come)(void *data, enum tic_ranks_use use);
    /* The checkpoint thread, in this order. */
    /* A line is due here: are all about to take one? Rank 0 asks them to; wanted: also for another
     * rank. */
    bool (*begin)(bool wanted);
    void (*ready)(void);               /* what may wait is done */
    enum tic_ranks_step (*step)(void); /* any time */
    void (*cut)(void);      /* about to raise the epoch, under the graph lock: holds sends */
    void (*tell_cut)(void); /* it was raised */
    /* Messages that the line needs have not come yet. tells: name one in a message, once. */
    bool (*has_late)(bool tells);
    void (*part)(const char *name, uint64_t size, uint64_t hash); /* is on the disk */
    void (*end)(const char *why); /* this rank is done with the line; without a part because of: */

    /* Any thread. An access that StarPU-MPI asks for, or gives back. caller: the address. False: it
     * is the program's. */
    bool (*takes_access)(void *data, const void *caller, void (**callback)(void *),
                         void **argument);
    bool (*takes_release)(void *data, const void *caller);
    bool (*is_caller)(const void *caller);
    void (*await_sends)(void); /* until StarPU-MPI has all sends whose data was granted */
    void (*remove)(void);      /* the run has succeeded, and this rank's lines are gone */
};

/* What it asks of data and tasks, which another number of ranks may take over; immutable. */
struct tic_ranks_tasks {
    bool (*knows)(void *data); /* it is the program's, and protected */
    bool (*is_main)(void);     /* does this thread do what main() does? */
    /* Of main(): tasks that it has submitted. Of the checkpoint thread, at a line: is one done? */
    uint64_t (*position)(void);
    bool (*is_done)(uint64_t task);
    /* What of this run only a rank with its history can do again, or NULL. Any thread. */
    const char *(*bound)(void);
    /* What it is, if any rank could have its value, and bytes. Else false. */
    bool (*describe)(void *data, uint64_t *id, uint64_t *size);
    uint64_t (*hash_input)(void *data); /* what main() has put there; 0: nothing */
};

/* Reductions; immutable. */
struct tic_ranks_reductions {
    /* Reductions, by main(): can they be protected? The share of another rank: data to be received
     * into, which is added and goes; where a share went, the value begins anew; all tasks end. */
    bool (*reduces)(void *data);
    void *(*open_share)(void *data);
    void (*add_share)(void *data, void *share);
    void (*begin_anew)(void *data);
    void (*await_tasks)(void);
};

/* What the library calls where the program communicates; immutable. */
struct tic_ranks_messages {
    /* Of main(). It begins an operation of this data. detached: callbacks may do so, too. */
    void (*operate)(void *data, bool detached);
    /* It begins a call that waits, after which it may look at data, and comes back. frame: where
     * its caller's begins. */
    void (*begin_wait)(const void *frame);
    void (*end_wait)(const char *call);
    bool (*answer)(bool ended); /* what main() is to hear, which asks whether a message has */
    /* It asks for a message with this data. done: a restart does not make it. */
    void (*note_asked)(void *data, bool receives, bool done);
    /* StarPU-MPI is about to be asked for it, or ours writes it; and: it begins, after all cuts
     * that do not count it. */
    void (*note_made)(void *data, bool receives);
    void (*note_begun)(void *data);
    /* A restart keeps what was not done from StarPU until main() is at the cut; true, play will be
     * called with a copy of its argument. */
    bool (*keeps)(void);
    bool (*queue)(void *data, void (*play)(void *arg), const void *arg, size_t size);
    /* Puts ours in the place of a callback. It is called when StarPU-MPI would do so, or when that
     * is not asked as the message was done. name: four numbers, the same of the message in each
     * run; data: what has come, which the callback may look at, or NULL. False: no memory. */
    bool (*wrap)(void *data, const uint64_t *name, void (**callback)(void *), void **argument);
    /* For writing; the callback comes when it is granted. */
    void (*acquire)(void *data, void (*callback)(void *arg), void *arg);
    void (*release)(void *data);
    /* The value as bytes, malloc'ed; NULL: it cannot be had. And from such. */
    void *(*copy)(void *data, size_t *size);
    bool (*fill)(void *data, const void *bytes, size_t size);
    void (*note_granted)(void *data); /* StarPU-MPI may receive into it from now on */
    /* It has; this calls note when no cut can be between this and that. */
    void (*note_received)(void *data, void (*note)(void *arg), void *arg);
};

/* What the library calls; immutable. */
struct tic_ranks_core {
    unsigned rank, count; /* as the launcher tells */
    void (*log)(enum tic_level level, const char *format, ...)
        __attribute__((format(printf, 2, 3)));                               /* tic_log */
    int (*start_thread)(pthread_t *thread, void *(*run)(void *), void *arg); /* base/thread.h */
    void (*pass)(enum tic_failpoint point);                                  /* base/failpoint.h */
    void (*guard)(int by); /* calls of this thread are not the program's while the sum is not 0 */
    const char *(*directory)(void); /* of the job's lines; NULL: this run is not protected */
    unsigned (*keep)(void);         /* so many of them */
    bool (*logs)(void);             /* results of tasks */
    int (*hash)(const char *path, uint64_t *size, uint64_t *hash); /* of a file; 0 or -errno */
    /* A part of a line, in its folder, of this program: for part_value, malloc'ed, NULL: it has
     * none. NULL: it cannot be read. */
    void *(*open_part)(const char *folder, const char *name);
    void *(*part_value)(void *part, uint64_t id, size_t *size);
    void (*note_hold)(double since); /* sends were held, from this second of CLOCK_MONOTONIC on */
    bool (*request)(void);           /* a line is to be taken; false: none can be */
    void (*take)(void);              /* the same, and it is waited for */
    void (*wake)(void);              /* the step may be another one */
    void (*unprotect)(const char *call, const char *why); /* by a call of main() */
    void (*stop)(const char *why);                        /* a restart cannot go on */
    void (*start_again)(const char *why);                 /* the next start can */
    void (*give_up)(const char *why);                     /* the same by a thread of ours */
    struct tic_ranks_tasks tasks;
    struct tic_ranks_reductions reductions;
    struct tic_ranks_messages messages;
};

/* Exported by the core. NULL: the core takes this process as one without ranks. */
const struct tic_ranks_core *starpu_tic_ranks_attach(const struct tic_ranks *library);
