/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that nobody has touched yet: large tables often are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Opens and closes the kernel's list of pages. One thread at a time. */
void tic_present_begin(void);
void tic_present_end(void);
/* Is some of it in memory, or on swap? True also if the kernel does not tell. Between these two. */
bool tic_present_has(const char *at, size_t size);
