/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory there is. */
#ifndef TIC_BASE_MEMORY_H
#define TIC_BASE_MEMORY_H

#include <stdint.h>

/* Bytes that this process may use at most: what the machine has, or what its control groups allow.
 */
uint64_t tic_memory_total(void);

/* Bytes of this process that are in memory; UINT64_MAX: not known. */
uint64_t tic_memory_resident(void);

/* Bytes that are free now, or can be made free without swapping; UINT64_MAX: not known. */
uint64_t tic_memory_available(void);

/* The smallest limit of these control groups and of those above them, in bytes; UINT64_MAX: none.
 * groups: a file as /proc/self/cgroup; mount: where the groups are, /sys/fs/cgroup. */
uint64_t tic_memory_limit(const char *groups, const char *mount);

#endif
