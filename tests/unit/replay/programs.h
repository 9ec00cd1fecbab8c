/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small programs for the explorer, and what they are made of. The result of each is the same in any
 * order of events that StarPU allows. */
#ifndef TIC_REPLAY_PROGRAMS_H
#define TIC_REPLAY_PROGRAMS_H

#include "explore.h"
#include "fake.h"

/* Each ends with a NULL name. */
extern const struct tic_program tic_programs_tasks[], tic_programs_main[], tic_programs_parts[],
    tic_programs_callbacks[], tic_programs_declared[];
/* What fails today: run by name only. */

enum { TIC_VARIABLES = 4 };
extern uint64_t tic_values[TIC_VARIABLES];
extern starpu_data_handle_t tic_data[TIC_VARIABLES]; /* of these values */
extern uint64_t tic_seen; /* not registered: what tasks without output saw, in order */

/* StarPU with workers, and the first variables registered. */
void tic_open(unsigned workers, unsigned variables);
/* Waits for all tasks, unregisters the variables, and tells their values and what was seen. */
void tic_close(uint64_t *result);
starpu_data_handle_t tic_register_homeless(void);

/* Codelets of variables. A number is given by value. */
extern struct starpu_codelet tic_step;   /* STARPU_RW: 31 times as much, and a number */
extern struct starpu_codelet tic_assign; /* STARPU_W: a number */
extern struct starpu_codelet tic_join;   /* STARPU_RW, STARPU_R: 31 times as much, and the other */
extern struct starpu_codelet tic_see;    /* STARPU_R: adds to what was seen */

struct starpu_task *tic_build(struct starpu_codelet *codelet, starpu_data_handle_t data,
                              uint64_t number);
struct starpu_task *tic_build_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                                   starpu_data_handle_t from);
void tic_submit_built(struct starpu_task *task);
void tic_submit(struct starpu_codelet *codelet, starpu_data_handle_t data, uint64_t number);
void tic_submit_pair(struct starpu_codelet *codelet, starpu_data_handle_t to,
                     starpu_data_handle_t from);
void tic_acquire(starpu_data_handle_t data, enum starpu_data_access_mode mode);

#endif
