/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closed pages: how `starpu-tic check` finds data that main() touches by its plain pointer, outside
 * of an access. Only with STARPU_TIC_REPORT and STARPU_TIC_PAGES=1. Between two calls of StarPU,
 * while there is no task, mprotect closes the pages of registered data, and a handler of SIGSEGV
 * notes each access. A page is closed if all of it belongs to data that main() does not hold. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* When the session begins: from now on the core tells of calls. */
void tic_pages_begin(void);

/* The application returns from this call (a literal), in which it has waited for tasks or not.
 * Does nothing on another thread than the owner. While there are tasks nothing is closed; after a
 * wait that is told. */
void tic_pages_close(const char *call, bool waited);

/* Adds the findings to a report. */
void tic_pages_report(json_t *report);
