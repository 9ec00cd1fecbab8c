/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() is told of what it asks StarPU: who asks, and which answers are not the recorded
 * ones.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "session/context.h"

/* Numbers of the calls in real/answers.def are below the first, what tells their questions apart is
 * taken modulo the second. Both decide what is on disk. */
enum { TIC_ANSWER_CALLS = 32, TIC_ANSWER_KEYS = 8 };
enum tic_answer {
#define ANSWER(number, type, name, parameters, arguments, key) TIC_##name = number,
#define LISTED(number, name) TIC_##name = number,
#define ASKED(number, name) TIC_##name = number,
#include "real/answers.def"
#undef ANSWER
};

/* Numbers of workers. */
struct tic_workers {
    unsigned count;    /* immutable while StarPU runs: real; 0: it does not, or not protected */
    unsigned combined; /* immutable while StarPU runs */
    bool mixed;        /* immutable while StarPU runs: some of them are devices */
    unsigned earlier;  /* immutable while StarPU runs: of the run before, if others stand in */
    unsigned recorded; /* owner thread only: by the line, for this start; 0: main() did not ask */
    int told_combined; /* owner thread only; -1: not yet */
    _Atomic unsigned told; /* owner thread writes; 0: main() has not asked */
};
extern struct tic_workers tic_workers;

/* When a session is made. */
void tic_answers_start(void);
/* Does main() ask, and not StarPU itself? `caller` is where the call returns to. */
bool tic_answers_are_asked(const void *caller);
/* Is this a place in StarPU's code? */
bool tic_answers_are_starpu(const void *caller);
/* The part of the store that has HDF5 is loaded, with this in it. */
void tic_answers_note_store(const void *place);
/* Does main() call, or the program's first thread, outside of callbacks, and not we, the C library
 * or the loader? False before our constructors. */
bool tic_answers_are_main(const void *caller);
/* An answer of this call is not the recorded one: the message of a replay that differs names it. */
void tic_answers_differ(const char *call, const char *how);
/* The ending of a word. */
const char *tic_told_plural(unsigned count);
/* Did main() ask for successors of tasks in the recorded run? */
bool tic_successors_were_asked(const struct tic_graph *graph);
