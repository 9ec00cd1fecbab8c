/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of declares.c: what it declares, and the tasks that this concerns. */
#ifndef TIC_TESTS_DECLARES_H
#define TIC_TESTS_DECLARES_H

#include <starpu.h>
#include <stdint.h>

enum { DATA = 5, LENGTH = 32 };

extern starpu_data_handle_t handles[DATA]; /* vectors of LENGTH uint32_t */
extern struct starpu_codelet stepper;      /* changes one */
void step(void *buffers[], void *arg);
/* In the mode of the codelet's first access. */
void insert(struct starpu_codelet *codelet, starpu_data_handle_t data);

void skip_readers(unsigned rounds);
void skip_statistics(unsigned rounds);
void skip_mixture(unsigned rounds);
void skip_chance(unsigned rounds);
void skip_tokens(unsigned rounds);
void skip_parents(unsigned rounds);
void effects(unsigned rounds);
void effects_and_data(unsigned rounds);
void effects_packed(unsigned rounds);
void effects_packed_late(unsigned rounds);
void excluded(unsigned rounds);
void excluded_once(unsigned rounds);
void excluded_early(unsigned rounds);
void excluded_points(unsigned rounds);
void excluded_both(unsigned rounds);
void excluded_commute(unsigned rounds);
void excluded_kernel(unsigned rounds);
void excluded_order(unsigned rounds);
void excluded_callback(unsigned rounds);
void excluded_plan(unsigned rounds);
void excluded_twice(unsigned rounds);
void excluded_redux(unsigned rounds);
void excluded_reduced(unsigned rounds);
void excluded_inputs(unsigned rounds);
void excluded_late(unsigned rounds);
void excluded_in_turn(unsigned rounds);
void excluded_packed(unsigned rounds);
void excluded_fails(unsigned rounds);
void excluded_status(unsigned rounds);

#endif
