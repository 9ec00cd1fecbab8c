/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* G_i, the part of the dataflow graph that this process knows: the registry of handles, done tasks,
 * signatures, inputs and events, now and as recovered. No StarPU in here. */
#ifndef TIC_GRAPH_GRAPH_H
#define TIC_GRAPH_GRAPH_H

#include "graph/doneset.h"
#include "graph/handle.h"
#include "graph/signature.h"
#include "graph/spawn.h"
#include "graph/views.h"

/* kinds of logged events; the numbers are on disk */
enum tic_event {
    TIC_EVENT_TIME = 1,
    TIC_EVENT_REDUX_WIDTH = 2,
    TIC_EVENT_START = 3,
    TIC_EVENT_TRY = 4,
};

/* What a task that writes no handle read, in the epoch in which it started; 0: recovered. */
struct tic_graph_read {
    struct tic_line_read read;
    uint64_t epoch;
};

struct tic_graph {
    struct tic_lock lock;

    /* guarded by lock */
    struct tic_handle **handles;
    unsigned long handle_count, handle_capacity;
    struct tic_line_input *inputs; /* of this run and before, in order of first use */
    unsigned long input_count, input_capacity;
    struct tic_line_event *events;
    unsigned long event_count, event_capacity;
    struct tic_line_acquire *acquires; /* recovered ones first */
    uint64_t *acquire_epochs;          /* 0: recovered */
    unsigned long acquire_count, acquire_capacity, epoch_capacity;
    struct tic_graph_read *reads; /* recovered ones first */
    unsigned long read_count, read_capacity;
    struct tic_line_callback *callbacks; /* that have run; recovered ones first */
    unsigned long callback_count, callback_capacity;
    struct tic_line_value *recovered_values; /* ascending id; claimed ones have id UINT64_MAX */
    bool *recovered_claimed;
    size_t recovered_value_count;

    _Atomic uint64_t clock; /* operations of main() begun; owner thread writes; release */

    /* owner thread only */
    uint64_t next_handle;
    uint64_t next_event; /* events replayed or logged by this run */
    uint64_t next_acquire;
    struct tic_views views;

    struct tic_signature signature; /* see there */
    struct tic_spawns spawns;       /* see there */

    /* immutable after load */
    struct tic_doneset recovered_done;
    size_t recovered_callback_count; /* ascending task */
    uint64_t recovered_clock;        /* main() had come so far at least */
    uint64_t recovered_tasks;        /* how many tasks were done */
    size_t recovered_input_count;
    struct tic_line_input *recovered_inputs; /* ascending id */
    size_t recovered_acquire_count;
    size_t recovered_read_count;     /* ascending (task, buffer) */
    uint64_t *recovered_main_writes; /* handle ids of recovered writes by main(), ascending */
    size_t recovered_main_write_count;

    struct tic_doneset done; /* checkpoint thread only, once it runs */
};

int tic_graph_init(struct tic_graph *graph);
void tic_graph_fini(struct tic_graph *graph);

/* Takes over what a line says; before anything else happens. `signatures` are all of the main
 * context. 0 or -ENOMEM. */
int tic_graph_load(struct tic_graph *graph, const struct tic_line *line);
int tic_graph_load_signatures(struct tic_graph *graph, const uint32_t *entries, size_t count);

/* Registers the next handle; claims the recovered value of the same id, if any (then `pending` is
 * set). NULL when out of memory. */
struct tic_handle *tic_graph_add_handle(struct tic_graph *graph);
/* The registered handle of this id, or NULL. Under the submission lock. */
struct tic_handle *tic_graph_find_handle(struct tic_graph *graph, uint64_t id);
/* Frees handles that no cut > `cut` can see. */
void tic_graph_reclaim(struct tic_graph *graph, uint64_t cut);

/* Compares with, or adds to, the recorded inputs. 0; -EILSEQ when an earlier run read other
 * content; -ENOMEM. */
int tic_graph_note_input(struct tic_graph *graph, uint64_t id, uint64_t hash);
/* The next event: replaced by the recorded value in a replay, else recorded. 0; -EILSEQ
 * when the recorded run had an event of another kind here; -ENOMEM. */
int tic_graph_event(struct tic_graph *graph, enum tic_event kind, int64_t *value);

/* Does the recorded run have an event of this kind that this run has not come to? Then *value. */
bool tic_graph_expects(struct tic_graph *graph, enum tic_event kind, int64_t *value);

/* The next access of main(), if the recovered cut knows it; else NULL. Valid until the next append.
 */
const struct tic_line_acquire *tic_graph_replay_acquire(struct tic_graph *graph);
/* Appends an access of this run, granted in `epoch`. 0 or -ENOMEM. */
int tic_graph_note_acquire(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                           uint64_t epoch);
int tic_graph_note_acquire_locked(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                                  uint64_t epoch);
/* Does main(), within the recovered cut, still come to unpartition this handle? */
bool tic_graph_expects_unpartition(const struct tic_graph *graph, uint64_t id);

/* What a recovered task that is executed again read by this access. False: nothing is recorded. */
bool tic_graph_find_read(struct tic_graph *graph, uint64_t task, uint32_t buffer,
                         struct tic_line_read *read);
/* Any thread. 0 or -ENOMEM. */
int tic_graph_note_read(struct tic_graph *graph, const struct tic_line_read *read, uint64_t epoch);

/* The callback of a task begins. Any thread. 0 or -ENOMEM. */
int tic_graph_note_callback(struct tic_graph *graph, uint64_t task);
/* How far main() must have come before this callback may run in a replay. */
uint64_t tic_graph_callback_clock(struct tic_graph *graph, uint64_t task);

/* Fills values, done, inputs, events, signatures of a new line for this cut (arrays malloc'ed).
 * Checkpoint thread, after everything is saved. 0, -ENOMEM, or -EINVAL: a value is missing. */
int tic_graph_describe(struct tic_graph *graph, uint64_t cut, struct tic_line *line);

#endif
