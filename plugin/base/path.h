/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Relative paths mean where the process began, whatever directory it is in later. */
#pragma once

/* The working directory when the process began, or when this library was opened. Empty: it had been
 * removed by then. Valid until the process ends. */
const char *tic_path_start(void);

/* The absolute path of `path`, which may be empty and then stays so. NULL: out of memory, or `path`
 * is relative and there is no start. One text for equal paths, valid until the process ends. */
const char *tic_path_absolute(const char *path);
