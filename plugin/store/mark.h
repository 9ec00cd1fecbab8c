/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mark beside recovery lines: tasks of this run have written memory that is not registered data.
 * That is found after they have, so lines from before do not say it. Calls of the file system by
 * path, any thread. */
#ifndef TIC_STORE_MARK_H
#define TIC_STORE_MARK_H

#include <stdbool.h>

/* sync: forced to the disk. 0, also where there is a mark; or -errno. */
int tic_mark_set(const char *directory, bool sync);
/* True, too, where that cannot be told. */
bool tic_mark_is_set(const char *directory);
/* 0, also where there is none; or -errno. */
int tic_mark_clear(const char *directory);
/* Is it the name of the mark? */
bool tic_mark_is_named(const char *name);

#endif
