/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Store, graph and snapshot put together without StarPU: tests play workers and owner thread. */
#ifndef TIC_LIB_RIG_H
#define TIC_LIB_RIG_H

#include <pthread.h>

#include "lib/tmpdir.h"
#include "snapshot/snapshot.h"

/* The last slot belongs to the task that holds a cut open. */
enum { TIC_RIG_WORKERS = 4, TIC_RIG_HOLDER = TIC_RIG_WORKERS };

struct tic_rig {
    struct tic_tmpdir dir;
    struct tic_store store;
    struct tic_graph graph;
    struct tic_snapshot snapshot;
    const char *program, *starpu, *argument; /* what runs: a test may change it before a start */
    bool running;
    pthread_t checkpoint;        /* of a held cut */
    _Atomic int checkpoint_done; /* it returned, with this status + 1000; 0: not yet */
};

void tic_rig_open(struct tic_rig *rig);
void tic_rig_close(struct tic_rig *rig);
/* The same at the end of a test, which has failed if protection ended in it: then -1, else 0. */
int tic_rig_finish(struct tic_rig *rig);
/* As if the process had been killed: only files survive. */
void tic_rig_stop(struct tic_rig *rig);
/* As if it were started again. True: recovered. */
bool tic_rig_start(struct tic_rig *rig);
/* Its two halves: a test may change settings in between. */
void tic_rig_prepare(struct tic_rig *rig);
bool tic_rig_open_store(struct tic_rig *rig);
bool tic_rig_restart(struct tic_rig *rig);

/* ---- the owner thread ----------------------------------------------------------------------- */
/* A handle for `words` 64-bit words. */
struct tic_handle *tic_rig_register(struct tic_rig *rig, uint64_t *base, uint64_t words);
/* Makes the number of submissions of this run at least `count`; false when the replay differs. */
bool tic_rig_submit(struct tic_rig *rig, uint64_t count);
/* Rows for `count` values of this handle's shape. */
void tic_rig_provide(struct tic_rig *rig, const struct tic_handle *handle, uint64_t count);

/* ---- workers -------------------------------------------------------------------------------- */
/* A task that writes one handle, or none (NULL), from its begin to its end hook. */
void tic_rig_begin(struct tic_rig *rig, unsigned worker, uint64_t sequence,
                   struct tic_handle *handle);
void tic_rig_end(struct tic_rig *rig, unsigned worker);
/* A whole task on worker 0 that sets the first word of the handle's memory. */
void tic_rig_task(struct tic_rig *rig, uint64_t sequence, struct tic_handle *handle, uint64_t word);

/* ---- checkpoints ---------------------------------------------------------------------------- */
/* Starts a checkpoint in a thread of its own; returns when its cut is taken. A task that writes
 * nothing keeps the cut from ending. */
void tic_rig_hold(struct tic_rig *rig);
/* Lets it end; its status. */
int tic_rig_release(struct tic_rig *rig);

/* The newest line that is good, payload and all, as another process finds it. False: none. */
bool tic_rig_newest(const struct tic_rig *rig, struct tic_line *line);
/* The line's value of a handle; NULL when it has none. */
const struct tic_line_value *tic_rig_find(const struct tic_line *line, uint64_t id);
/* The first `words` words of a value. */
void tic_rig_read(const struct tic_rig *rig, const struct tic_line *line,
                  const struct tic_line_value *value, uint64_t *out, uint64_t words);
bool tic_rig_is_done(const struct tic_line *line, uint64_t sequence);

#endif
