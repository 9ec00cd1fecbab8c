/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mark beside recovery lines: tasks of this run have written memory that is not registered data.
 * That is found after they have, so lines from before do not say it. Calls of the file system by
 * path, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* what: the memory, in words. sync: forced to the disk. 0, also where there is a mark; or -errno.
 */
int tic_mark_set(const char *directory, const char *what, bool sync);
/* The words of the mark; "" if there are none. */
void tic_mark_read(const char *directory, char *what, size_t size);
/* Sets in `to` what `from` has, forced to the disk. 0 or -errno. */
int tic_mark_copy(const char *from, const char *to);
/* True, too, where that cannot be told. */
bool tic_mark_is_set(const char *directory);
/* 0, also where there is none; or -errno. */
int tic_mark_clear(const char *directory);
/* Is it the name of the mark? */
bool tic_mark_is_named(const char *name);
