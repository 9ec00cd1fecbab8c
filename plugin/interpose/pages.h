/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which data does main() touch outside of an access, by its plain pointer? Only for
 * `starpu-tic check` (STARPU_TIC_REPORT with STARPU_TIC_PAGES=1): between two calls of StarPU,
 * while there is no task, the pages of registered data are closed by mprotect, and a handler of
 * SIGSEGV notes who comes to them. Pages are closed that lie wholly in one piece of data that
 * main() does not hold by an access. */
#ifndef TIC_INTERPOSE_PAGES_H
#define TIC_INTERPOSE_PAGES_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Owner thread writes, before tasks exist. */
extern bool tic_pages_enabled;
extern _Atomic bool tic_pages_are_closed; /* relaxed: the handler opens what comes too early */

/* When the session begins: whether anything of this happens at all. */
void tic_pages_enable(bool report);
void tic_pages_open_all(void);
void tic_pages_close_all(const char *call);

/* The application calls StarPU. Any thread. */
static inline void tic_pages_open(void)
{
    if (__builtin_expect(atomic_load_explicit(&tic_pages_are_closed, memory_order_relaxed), 0))
        tic_pages_open_all();
}

/* The application returns from this call (a literal). Does nothing on another thread than the
 * owner, and while there are tasks. */
static inline void tic_pages_close(const char *call)
{
    if (__builtin_expect(tic_pages_enabled, 0))
        tic_pages_close_all(call);
}

/* Adds to a report what was found. */
void tic_pages_report(json_t *report);

#endif
