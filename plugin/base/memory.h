/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory there is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where the system tells of control groups. */
#define TIC_MEMORY_GROUPS "/proc/self/cgroup"
#define TIC_MEMORY_MOUNT "/sys/fs/cgroup"

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

/* Bytes that the limits of these control groups, and of those above them, leave: file pages that
 * are on disk count as free. UINT64_MAX: there is no limit. */
uint64_t tic_memory_left_in(const char *groups, const char *mount);

/* Bytes that this process may still take: what the machine, its control groups, RLIMIT_AS and
 * RLIMIT_DATA leave, less what it has asked the system for and not touched yet; UINT64_MAX: not
 * known. */
uint64_t tic_memory_left(void);

/* The one budget of all memory of ours that grows with the program's data. False: so much is not to
 * be taken, as the program may need it: a quarter of what is left is ours, so it shrinks as the
 * program grows. Who gets no memory does without. Any thread. */
bool tic_memory_may_take(uint64_t bytes);
/* The same of address space that no memory stands behind: only RLIMIT_AS counts it. */
bool tic_memory_may_reserve(uint64_t bytes);
/* The same of a forked image of the process: each page that the program changes is copied. */
bool tic_memory_may_fork(void);
/* Has somebody been refused in the last looks, so that what is held had better be written? */
bool tic_memory_is_short(void);

/* Times that memory of ours was not taken. */
uint64_t tic_memory_refused(void);

/* Processes of this control group that the system has killed as its memory was used up. */
uint64_t tic_memory_kills(const char *groups, const char *mount);
