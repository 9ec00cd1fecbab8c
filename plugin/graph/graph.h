/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* G_i, the part of the dataflow graph that this process knows: the registry of handles, done tasks,
 * signatures, inputs and events, now and as recovered. No StarPU in here. */
#pragma once

#include "graph/doneset.h"
#include "graph/handle.h"
#include "graph/signature.h"
#include "graph/spawn.h"
#include "graph/views.h"
#include "history/history.h"

/* kinds of logged events; the numbers are on disk */
enum tic_event {
    TIC_EVENT_TIME = 1,
    TIC_EVENT_REDUX_WIDTH = 2,
    TIC_EVENT_START = 3,
    TIC_EVENT_TRY = 4,
    /* What main() asked StarPU. A restart that asks less often, or more often, goes on. */
    TIC_EVENT_WORKERS = 5,  /* the number of workers that it was told, once for each start */
    TIC_EVENT_COMBINED = 6, /* the same of combined workers */
    TIC_EVENT_SAME = 7,     /* so many questions were answered like the last one of the same kind */
    TIC_EVENT_ASKED = 8,    /* the position at which main() goes on after the answers before it */
    TIC_EVENT_ANSWER = 16,  /* and numbers from there on: an answer of the call of that number */
};

/* What the recovery line says that the run continues from. All 0 in a first run. Immutable after
 * load, if nothing else is said; a count belongs to the array above it. */
struct tic_recovered {
    struct tic_line_value *values; /* guarded by the graph lock: ascending id; claimed ones have id
                                      UINT64_MAX */
    bool *claimed;                 /* guarded by the graph lock: of each value */
    size_t value_count;
    struct tic_doneset done;
    uint64_t tasks;              /* how many tasks were done */
    uint64_t clock;              /* operations of main() begun at the cut */
    uint64_t position;           /* with the waits since */
    bool positioned;             /* it has the position of main() */
    bool quiescent;              /* the line was a quiescent one */
    uint64_t workers;            /* of the run that wrote the line */
    struct tic_line_look *looks; /* ascending wait, id, part */
    size_t look_count;
    uint64_t last_look; /* last wait among them; 0: none */
    uint64_t *looked;   /* data that looks name, ascending; maybe several times */
    size_t looked_count;
    struct tic_line_input *inputs; /* ascending id */
    size_t input_count;
    struct tic_line_event *events;
    size_t event_count;
    struct tic_line_acquire *acquires; /* in program order */
    size_t acquire_count;
    struct tic_line_read *reads; /* ascending (task, buffer) */
    size_t read_count;
    uint64_t *main_writes; /* handle ids of recovered writes by main(), ascending */
    size_t main_write_count;
    struct tic_line_point point; /* owner thread only: main() has not come to its first commit
                                    point, where it goes on from the line; texts belong to the line.
                                    number 0: it has, or the line is of none */
};

struct tic_graph {
    struct tic_lock lock;

    /* guarded by lock */
    struct tic_handle **handles;
    unsigned long handle_count, handle_capacity;
    struct tic_handle_list changed; /* the next line may name their values anew; each is listed */
    struct tic_handle_list gone;    /* to be freed when no cut sees them any more */
    struct tic_tail inputs;         /* in order of first use */
    struct tic_tail events;
    struct tic_tail acquires;   /* in program order */
    struct tic_tail reads;      /* by the epoch in which the task started */
    struct tic_tail looks;      /* wait by wait */
    struct tic_history history; /* all of these but events are projections of it */

    _Atomic uint64_t registered; /* handles ever; under lock; relaxed */
    _Atomic uint64_t clock;      /* operations of main() begun; owner thread writes; release */
    _Atomic uint64_t position;   /* where main() is: clock << TIC_WAIT_BITS, and waits since; owner
                                    thread writes; seq_cst */
    _Atomic bool cuts;    /* one is taken: main() does nothing at its next position until then */
    _Atomic bool returns; /* main(), from a wait, and logs what it may look at: no cut is taken */
    _Atomic uint64_t threads; /* 1 + position when a thread that is not main() submitted last */
    _Atomic uint32_t told;    /* callbacks that have run: they may tell main(); and that it
                                 was told that there are no tasks; relaxed */
    _Atomic uint32_t callbacks_open; /* of tasks that have begun, and running ones: not returned */
    _Atomic uint64_t calls; /* of main() that wait, begun and ended: odd while it is inside one;
                               owner thread writes; seq_cst */

    /* owner thread only */
    uint64_t next_handle;
    uint64_t next_event; /* events replayed or logged by this run */
    uint64_t next_asked; /* index of a recorded TIC_EVENT_ASKED, if it is not before next_event */
    uint64_t next_acquire;
    struct tic_views views;

    struct tic_signature signature; /* see there */
    struct tic_spawns spawns;       /* see there */

    struct tic_recovered recovered; /* see there */
    uint64_t event_chain;           /* guarded by lock: hash of all events */
    _Atomic bool has_plans;         /* partitions were planned; relaxed */
    struct tic_doneset done;        /* checkpoint thread only, once it runs */
};

/* What main() can know of tasks that end: the same number means that it was told nothing. */
static inline uint64_t tic_graph_knowledge(const struct tic_graph *graph)
{
    return (uint64_t)atomic_load_explicit(&graph->told, memory_order_relaxed) << 32 |
           (uint32_t)atomic_load(&graph->calls);
}

int tic_graph_init(struct tic_graph *graph);
void tic_graph_fini(struct tic_graph *graph);

/* Takes over what a complete line says; before anything else happens. 0 or -ENOMEM. */
int tic_graph_load(struct tic_graph *graph, struct tic_line *line);

/* Registers the next handle; claims the recovered value of the same id, if any (then `pending` is
 * set). NULL when out of memory. */
struct tic_handle *tic_graph_add_handle(struct tic_graph *graph);
/* What the recovered line says of the value of a handle, or NULL. */
struct tic_line_value *tic_graph_find_value(const struct tic_graph *graph, uint64_t id);
/* The registered handle of this id, or NULL. Under the submission lock. */
struct tic_handle *tic_graph_find_handle(struct tic_graph *graph, uint64_t id);
/* The next line may name the value of this handle anew. False when out of memory. */
bool tic_graph_note_changed_locked(struct tic_graph *graph, struct tic_handle *handle);
/* The same, outside of the lock. */
bool tic_graph_note_changed(struct tic_graph *graph, struct tic_handle *handle);
/* The handle leaves the graph in this epoch. False when out of memory. */
bool tic_graph_leave_locked(struct tic_graph *graph, struct tic_handle *handle, uint64_t epoch);
/* Frees handles that have left and that no cut > `cut` can see. */
void tic_graph_reclaim(struct tic_graph *graph, uint64_t cut);

/* The hash that was recorded, or 0. */
uint64_t tic_graph_recorded_input(const struct tic_graph *graph, uint64_t id);
/* Compares with, or adds to, the recorded inputs. 0; -EILSEQ when an earlier run read other
 * content; -ENOMEM. epoch: of the first use; lines of cuts before know nothing of it, as a restart
 * may number other data so then. */
int tic_graph_note_input(struct tic_graph *graph, uint64_t id, uint64_t hash, uint64_t epoch);
/* The next event, but for answers: replaced by the recorded value in a replay, else recorded. 0;
 * -EILSEQ when the recorded run had an event of another kind here; -ENOMEM. */
int tic_graph_event(struct tic_graph *graph, enum tic_event kind, int64_t *value);
/* Records an event. There is no recorded one left. 0 or -ENOMEM. */
int tic_graph_note_event(struct tic_graph *graph, enum tic_event kind, int64_t value);
/* The recorded event that comes next in a replay, answers too; NULL: there is none. */
const struct tic_line_event *tic_graph_next_event(const struct tic_graph *graph);
/* main() comes to this position: recorded answers of questions that it asked before are over. How
 * many it did not ask for. */
uint64_t tic_graph_end_answers(struct tic_graph *graph, uint64_t position);
/* The recorded number of workers, or combined workers, for this start of StarPU; -1: main() did not
 * ask. With `earlier`, of an earlier start if there is none for this one. */
int64_t tic_graph_find_workers(const struct tic_graph *graph, enum tic_event kind, uint64_t start,
                               bool earlier);

/* The events so far are a recorded run, which begins now. Before anything else happens. */
void tic_graph_rewind_events(struct tic_graph *graph);
/* The hash of events up to and with this one, after that of those before it; 0: none. */
uint64_t tic_graph_chain(uint64_t hash, const struct tic_line_event *event);

/* Does the recorded run have an event of this kind that this run has not come to? Then *value. */
bool tic_graph_expects(struct tic_graph *graph, enum tic_event kind, int64_t *value);

/* The next access of main(), if the recovered cut knows it; else NULL. */
const struct tic_line_acquire *tic_graph_replay_acquire(struct tic_graph *graph);
/* Appends an access of this run, granted in `epoch`. 0 or -ENOMEM. */
int tic_graph_note_acquire_locked(struct tic_graph *graph, const struct tic_line_acquire *acquire,
                                  uint64_t epoch);
/* Does main(), within the recovered cut, still come to unpartition this handle? */
bool tic_graph_expects_unpartition(const struct tic_graph *graph, uint64_t id);

/* Whose read it is, and of which datum. */
struct tic_reader {
    enum tic_history_role role;
    uint64_t handle; /* id */
};

/* What a recovered task that is executed again read by this access. False: nothing is recorded. */
bool tic_graph_find_read(struct tic_graph *graph, uint64_t task, uint32_t buffer,
                         struct tic_line_read *read);
/* Any thread. 0 or -ENOMEM. */
int tic_graph_note_read(struct tic_graph *graph, const struct tic_line_read *read,
                        const struct tic_reader *reader, uint64_t epoch);
int tic_graph_note_read_locked(struct tic_graph *graph, const struct tic_line_read *read,
                               const struct tic_reader *reader, uint64_t epoch);

/* The bytes of a datum as main() may see them after its wait number `wait`, which returns in this
 * epoch; without bytes: as when it was looked at last, or TIC_LOOK_PARTIAL. 0 or -ENOMEM. */
int tic_graph_note_look_locked(struct tic_graph *graph, uint64_t wait, uint64_t id,
                               const char *bytes, uint32_t size, uint64_t epoch);
/* The entries of a wait in the recovered line; *count of them. */
const struct tic_line_look *tic_graph_find_looks(const struct tic_graph *graph, uint64_t wait,
                                                 size_t *count);

/* Those of one part of a datum; several, if several runs have logged it. */
const struct tic_line_look *tic_graph_find_look(const struct tic_graph *graph, uint64_t wait,
                                                uint64_t id, uint32_t part, size_t *count);
/* Has the recovered line a value of this datum that main() or a callback could look at? */
bool tic_graph_was_looked_at(const struct tic_graph *graph, uint64_t id);
/* The last wait that has entries there; 0: none. */
uint64_t tic_graph_last_look(const struct tic_graph *graph);

/* Appends an entry to the history, of where main() is now. 0 or -ENOMEM. */
int tic_graph_note_locked(struct tic_graph *graph, struct tic_line_entry entry, uint64_t epoch);

/* ---- describing a cut; the checkpoint thread, after everything is saved ---------------------- */

/* Fills a new line for this cut (arrays malloc'ed) with all but the values: of tables that only
 * grow, the tails. 0 or -ENOMEM. */
int tic_graph_describe(struct tic_graph *graph, uint64_t cut, struct tic_line *line);
/* So many entries of the tail of a table lie in blocks now. */
void tic_graph_drop_tail(struct tic_graph *graph, uint32_t number, size_t count);
/* Puts the values of these handles for this cut into the index. 0, -ENOMEM, or -EINVAL: a value is
 * missing. */
int tic_graph_index(struct tic_graph *graph, uint64_t cut, const struct tic_handle_list *handles,
                    struct tic_index *index);
/* All values of this cut, ascending by id, into the line: what the index must hold. Costs what
 * there is, so only checks of it use this. */
int tic_graph_describe_values(struct tic_graph *graph, uint64_t cut, struct tic_line *line);
