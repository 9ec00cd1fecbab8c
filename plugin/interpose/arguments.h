/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of tasks that kernels change, up to a size. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/context.h"
#include "snapshot/cut.h"

enum { TIC_ARGUMENTS_BYTES = 1 << 20, TIC_ARGUMENTS_CHUNK = 32 };
/* The first word of an entry that tells when a task ended, and where its arguments were. */
#define TIC_ARGUMENTS_HEAD UINT64_C(0xffffffff)

/* The kernel of a task is about to run on this worker. */
void tic_arguments_begin(struct starpu_task *task, struct tic_slot *slot, uint64_t key);
/* It has returned. True if it has changed its arguments: its result lies not only in its data. */
bool tic_arguments_end(struct tic_slot *slot);
/* The task is skipped in a restart: its arguments are as its kernel left them, when the history
 * says so, or now. */
void tic_arguments_give_back_locked(const struct starpu_task *task, uint64_t key);
