/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that the program hands to the kernel: a system call does not fault on closed pages, it
 * fails (EFAULT). tic-syscalls.so tells before such a call; it is preloaded where `starpu-tic
 * check` and `rehearse` close pages, and nowhere else. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The call may read this memory, or write it; the program goes on at `caller` after it. Any thread,
 * also in handlers of signals. */
typedef void (*tic_syscalls_hook)(const void *memory, size_t size, bool is_written, void *caller);

/* What tic-syscalls.so exports: an _Atomic(tic_syscalls_hook), NULL at first. */
#define TIC_SYSCALLS_HOOK "tic_syscalls_told"
