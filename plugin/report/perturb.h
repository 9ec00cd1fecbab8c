/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stacks in runs of `starpu-tic check` (STARPU_TIC_REPORT): what the program has never written
 * holds the same bytes in each run of the same kind, and others where MALLOC_PERTURB_ is set, by
 * which glibc does so to what malloc gives. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern bool tic_perturbs; /* immutable once constructors have run */

void tic_perturb_below(size_t bytes);

/* The application goes on in this thread: what it calls finds these bytes on the stack. */
static inline void tic_perturb_stack(void)
{
    enum { REACH = 32768 };

    if (__builtin_expect(tic_perturbs, 0))
        tic_perturb_below(REACH);
}
