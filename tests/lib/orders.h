/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the scenarios of tests/lib/orders.c share: their tables, and tasks. */
#ifndef TIC_TEST_ORDERS_H
#define TIC_TEST_ORDERS_H

#include "lib/steps.h"

/* One table per file orders_*.c; each ends with a NULL name. */
extern const struct mode orders_access[], orders_alias[], orders_callbacks[], orders_children[],
    orders_ends[], orders_held[], orders_inside[], orders_late[], orders_looks[], orders_parts[],
    orders_reductions[], orders_threads[];

/* Codelets of one buffer and an int by value, beside step_codelet. */
extern struct starpu_codelet step_late_codelet; /* a step, when a line may have been taken */
extern struct starpu_codelet assign_codelet;    /* STARPU_W: becomes the number */
extern struct starpu_codelet commute_codelet;   /* STARPU_RW | STARPU_COMMUTE: adds the number */
extern struct starpu_codelet reduce_codelet;    /* STARPU_REDUX: adds the number */
extern struct starpu_codelet look_codelet;      /* STARPU_R: adds what it reads to the counter */
extern struct starpu_codelet join_codelet;      /* no int; STARPU_RW, STARPU_R: join */
extern struct starpu_codelet fold_codelet;      /* the same: add_other */

/* Kernels of two buffers and no int. */
void join(void *buffers[], void *arg);      /* the first takes a step by the second */
void add_other(void *buffers[], void *arg); /* the second is added to the first */

/* A task that is not submitted yet; a pair is of a codelet of two buffers and no int. */
struct starpu_task *build(struct starpu_codelet *codelet, starpu_data_handle_t handle, int number);
struct starpu_task *build_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                               starpu_data_handle_t from);
void submit_and_wait(struct starpu_task *task);

void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, int number);
void submit_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                 starpu_data_handle_t from);
void submit_row(starpu_data_handle_t handle, int first); /* a few steps */
/* A step whose callback gets the argument. */
void submit_called(starpu_data_handle_t handle, void (*callback)(void *), void *arg);

/* Contributions to what has reduction methods from now on. */
void submit_contributions(starpu_data_handle_t handle);
starpu_data_handle_t make_reducible(starpu_data_handle_t handle);

starpu_data_handle_t register_homeless(void); /* a variable */
starpu_data_handle_t register_shared(void);   /* the variable below */
extern uint64_t shared;
uint64_t read_value(starpu_data_handle_t handle);
void note(uint64_t value); /* adds it to the counter so that the order of several shows */

#endif
