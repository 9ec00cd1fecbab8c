/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random StarPU programs whose result does not depend on scheduling: what their parts share.
 *
 * main() works in phases that end with a wait for all tasks. Items are data that main()'s own tasks
 * access in any mode; in a phase, frozen ones are only read. Whoever else submits (callbacks,
 * kernels, threads) reads frozen items, adds to sinks, where order does not matter, and has a lane,
 * a variable that nobody else uses in this phase. */
#ifndef TIC_TESTS_FUZZ_FLOW_H
#define TIC_TESTS_FUZZ_FLOW_H

#include <starpu.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "features.h"

/* ---- choices (main thread) ------------------------------------------------------------------- */

extern uint64_t flow_features; /* a bit each */
extern unsigned flow_us;       /* how long tasks take, about */
extern uint64_t flow_hash;     /* of all that main() has seen */

uint64_t flow_random(void);
static inline unsigned flow_below(unsigned n)
{
    return (unsigned)(flow_random() % n);
}
static inline bool flow_has(enum flow_feature feature)
{
    return (flow_features >> feature) & 1;
}
/* Any thread: takes some time, or none, so that threads meet in other orders; by the environment
 * variable FLOW_JITTER, a seed. What is random here decides nothing else. */
void flow_jitter(void);
void flow_linger(void); /* more often: whoever calls it holds data, and a line may come meanwhile */
/* In a kernel: is it to fail? By the environment variable FLOW_FAIL, percent, in a protected run.
 */
bool flow_is_to_fail(void);
/* The feature is on, and one in n times it is time for it. */
static inline bool flow_chance(enum flow_feature feature, unsigned n)
{
    return flow_has(feature) && flow_below(n) == 0;
}
/* What main() has seen decides what it does next. */
void flow_stir(void);
void flow_trace(const char *what, uint64_t which, uint64_t value);
void flow_fold(const void *bytes, size_t size);
void flow_fold_number(uint64_t number);
_Noreturn void flow_fail(const char *what);

/* ---- data ------------------------------------------------------------------------------------ */

enum { FLOW_ITEMS = 28, FLOW_PARTS = 12, FLOW_PLANS = 2, FLOW_SINKS = 4, FLOW_LANES = 40 };
enum flow_kind { FLOW_VARIABLE, FLOW_VECTOR, FLOW_MATRIX, FLOW_BLOCK, FLOW_KINDS };

struct flow_plan {
    starpu_data_handle_t parts[FLOW_PARTS];
    unsigned count; /* 0: not planned */
    bool submitted; /* explicitly; then only its parts may be used */
};

struct flow_item {
    enum flow_kind kind;
    bool homeless;
    bool filled;   /* it has a value */
    bool frozen;   /* only read in this phase */
    bool fresh;    /* its memory was never set: other bytes in every run */
    bool lent;     /* to a callback, perhaps beyond this phase's tasks */
    bool excluded; /* no line holds it: tasks that write it write nothing else that is saved */
    bool reduces;
    bool explicit_plans;
    unsigned nx, ny, nz, ld; /* ld: row length in memory, in elements */
    size_t element, bytes;
    unsigned char *memory;
    starpu_data_handle_t data;              /* NULL: not registered */
    starpu_data_handle_t twin;              /* the same memory, or half of it; or NULL */
    bool on_twin;                           /* the one in use */
    starpu_data_handle_t parts[FLOW_PARTS]; /* of a partition; leaves */
    unsigned part_count;
    struct flow_plan plans[FLOW_PLANS];
    struct flow_plan nested; /* of the first part of the first plan */
};

extern struct flow_item flow_items[FLOW_ITEMS];
extern unsigned flow_item_count;
extern starpu_data_handle_t flow_sinks[FLOW_SINKS], flow_lanes[FLOW_LANES], flow_gate;

void flow_item_create(void);
void flow_item_register(struct flow_item *item);
void flow_item_unregister(struct flow_item *item); /* main() looks at its memory */
void flow_item_vanish(struct flow_item *item);     /* unregister_submit */
void flow_item_twin(struct flow_item *item);       /* makes one, or changes to the other */
/* Undoes partitions and plans. */
void flow_item_join(struct flow_item *item);
/* A handle of the item that tasks may use now. */
starpu_data_handle_t flow_item_pick(const struct flow_item *item);
/* It may be read only. StarPU 1.3 fails to switch nested plans for tasks that only read. */
static inline bool flow_item_is_readable(const struct flow_item *item)
{
    return item->data && item->filled && !item->nested.count;
}
bool flow_item_is_whole(const struct flow_item *item); /* no partition, no plan, no twin */
void flow_data_open(void);  /* after starpu_init: sinks, lanes and items */
void flow_data_close(void); /* unregisters and folds them all */
void flow_data_begin_phase(void);
unsigned flow_lane_take(void); /* an index; one that nobody has in this phase */

/* The bytes of an interface, row by row. */
struct flow_bytes {
    unsigned char *base;
    size_t row;
    unsigned rows, planes;
    size_t row_stride, plane_stride;
};
struct flow_bytes flow_bytes_of(void *interface);

/* parts.c */
void flow_parts_partition(struct flow_item *item);
void flow_parts_unpartition(struct flow_item *item);
void flow_parts_plan(struct flow_item *item);
void flow_parts_switch(struct flow_item *item);
void flow_parts_clean(struct flow_item *item);
starpu_data_handle_t flow_parts_pick(const struct flow_item *item);

/* ---- tasks ----------------------------------------------------------------------------------- */

enum { FLOW_BUFFERS = 20 };

/* What a kernel does with a buffer. */
enum flow_use {
    FLOW_READ,
    FLOW_WRITE,
    FLOW_SET, /* to the same in each task */
    FLOW_UPDATE,
    FLOW_ADD,
    FLOW_SCRATCH_USE,
    FLOW_NOTHING
};
enum flow_effect { FLOW_NO_EFFECT, FLOW_SUM, FLOW_CHAIN };

/* The arguments of every task, by value and without pointers. */
struct flow_work {
    uint32_t salt, us;
    uint8_t count, effect, depth, children;
    uint16_t lane, sink;
    uint8_t hidden, peek; /* an index plus one, or 0 */
    uint8_t look;         /* the same */
    bool changes;         /* what is hidden */
    uint8_t uses[FLOW_BUFFERS];
};

extern _Atomic uint64_t flow_sum;   /* effects in any order */
extern uint64_t flow_chain;         /* effects in the order of the gate */
extern _Atomic uint64_t flow_calls; /* of callbacks and prologues */

extern struct starpu_codelet flow_codelet, flow_fold_codelet, flow_init_codelet;

struct starpu_task *flow_task(const struct flow_work *work);
void flow_task_add(struct starpu_task *task, starpu_data_handle_t data,
                   enum starpu_data_access_mode mode, enum flow_use use);
void flow_task_submit(struct starpu_task *task);
/* A random task of main(), not submitted yet. Without effects of its order. */
struct starpu_task *flow_task_random(void);
/* A task that updates a variable. */
struct starpu_task *flow_task_update(starpu_data_handle_t data, uint32_t salt);

void flow_submit_begin_life(void);     /* after starpu_init */
starpu_tag_t flow_tag_take(void);      /* one that no other task depends on */
void flow_tasks_submit_random(void);   /* with random properties */
void flow_tasks_submit_detached(void); /* a group ordered by explicit dependencies only */
void flow_tasks_resubmit(void);

/* ---- spawn.c: who else submits ----------------------------------------------------------------
 */
void flow_spawn_children(const struct flow_work *work); /* in a kernel */
/* One that submits, to a lane that nobody else uses if it is alone. */
void flow_spawn_callback(struct starpu_task *task, bool alone);
void flow_spawn_parent(struct starpu_task *task);       /* its kernel submits */
void flow_spawn_thread(void);
void flow_spawn_join(void);
void flow_spawn_late(void); /* blocked tasks whose callbacks or children come after later ones */

/* ---- behind.c: what StarPU does not see --------------------------------------------------------
 */
void flow_behind_open(void);
void flow_behind_close(void);
void flow_behind_add(struct starpu_task *task);
uint64_t flow_behind_read(const struct flow_work *work, uint64_t state);
void flow_behind_write(const struct flow_work *work, uint64_t state);
void flow_behind_end_phase(void); /* after main() has waited for all tasks */

/* ---- look.c: prologues that read ---------------------------------------------------------------
 */
bool flow_look_may(const struct flow_item *item);
void flow_look_set(struct starpu_task *task, unsigned item); /* which it may write */
/* False: the task stays as it is. */
bool flow_look_add(struct starpu_task *task);
uint64_t flow_look_found(const struct flow_work *work, uint64_t state);
void flow_look_end_phase(void);

/* ---- hear.c: callbacks that read ---------------------------------------------------------------
 */
uint64_t flow_hear(starpu_data_handle_t data, uint64_t state);
void flow_hear_random(void);

/* ---- ask.c ------------------------------------------------------------------------------------
 */
void flow_ask(void);

/* ---- access.c: main() reads and writes ---------------------------------------------------------
 */
void flow_access_random(void);
void flow_access_callback(void);
void flow_access_copy(void);

#endif
