/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of this process as it is now, kept by a child process that does nothing. Both share it
 * page by page until one writes, so it takes the time of a page table and not that of a copy. */
#pragma once

#include "base/layout.h"

struct tic_image;

/* The program neither hears of the process nor waits for it, and it holds no file open; it ends
 * when this process does. NULL: there can be none (no process, no right to read its memory). Any
 * thread.
 */
struct tic_image *tic_image_take(void);
/* Has it what the layout is now, and will be the same later? False for memory that processes share,
 * and for what is kept from child processes. */
bool tic_image_has(const struct tic_image *image, const struct tic_layout *layout);
/* Packs what the layout was then; in a hurry (or NULL) it stops. 0 and the checksum of
 * tic_layout_checksum; -ECANCELED; -EFAULT: it has not this memory; -ESRCH: somebody has ended the
 * process; other -errno. */
int tic_image_read(const struct tic_image *image, const struct tic_layout *layout, char *to,
                   const _Atomic bool *hurry, uint64_t *checksum);
void tic_image_drop(struct tic_image *image);
