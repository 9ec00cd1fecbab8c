/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closed pages: how `starpu-tic check` finds data that main() touches by its plain pointer, outside
 * of an access. Only with STARPU_TIC_REPORT and STARPU_TIC_PAGES=1. Between two calls of StarPU,
 * while there is no task, mprotect closes the pages of registered data, and a handler of SIGSEGV
 * notes each access. A page is closed if all of it belongs to data that main() does not hold. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "report/perturb.h"

/* Owner thread writes, before tasks exist. */
extern bool tic_pages_enabled;
extern _Atomic bool tic_pages_are_closed; /* relaxed: the handler opens pages, too */

/* When the session begins; report: pages are to be closed. */
void tic_pages_enable(bool report);
void tic_pages_open_all(void);
void tic_pages_close_all(const char *call, bool waited);

/* The application calls StarPU. Any thread. */
static inline void tic_pages_open(void)
{
    if (__builtin_expect(atomic_load_explicit(&tic_pages_are_closed, memory_order_relaxed), 0))
        tic_pages_open_all();
}

/* The application returns from this call (a literal), in which it has waited for tasks or not.
 * Does nothing on another thread than the owner. While there are tasks nothing is closed; after a
 * wait that is told. */
static inline void tic_pages_close(const char *call, bool waited)
{
    tic_perturb_stack();
    if (__builtin_expect(tic_pages_enabled, 0))
        tic_pages_close_all(call, waited);
}

/* Adds the findings to a report. */
void tic_pages_report(json_t *report);
