/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What StarPU programs of several modes share: numbers of main() registered as variables, and a
 * task that changes one of them so that a lost, doubled or misplaced task shows in the result. */
#ifndef TIC_TEST_STEPS_H
#define TIC_TEST_STEPS_H

#include <starpu.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAINS = 6, LENGTH = 60, STEPS_VALUES = 169 };

extern uint64_t values[STEPS_VALUES];
extern starpu_data_handle_t handles[STEPS_VALUES]; /* of the values */
extern uint64_t counter;                           /* atomic: not registered, no task's output */
extern struct starpu_codelet step_codelet;         /* one buffer, STARPU_RW; an int by value */

struct mode {
    const char *name;
    void (*run)(void);
};

void must(int status);
uint64_t *variable(void *buffer);
void count(uint64_t by);

void submit_step(int which, int number);
/* LENGTH steps on each of CHAINS values, the first of them given. */
void submit_steps(int first);

/* Start StarPU with all values registered; the other way round. */
void steps_open(void);
void steps_close(void);

/* main() of a program whose first argument names a mode; the table ends with a NULL name. Prints a
 * hash of the values, and the counter. Exit status. */
int steps_main(int argc, char **argv, const struct mode *modes);

#endif
