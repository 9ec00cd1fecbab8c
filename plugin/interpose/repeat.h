/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels that may be executed more than once: because they may fail (starpu_tic_codelet_can_fail,
 * STARPU_TIC_RETRY), or because they are certified (STARPU_TIC_CERTIFY). The functions of their
 * codelets are replaced by ours, which keep what the task writes before they call the codelet's. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "snapshot/cut.h"

/* What the settings say. Before StarPU starts; also for a run without protection. */
void tic_repeat_set(const struct tic_settings *settings);

/* Is there a kernel that may be executed more than once? relaxed */
extern _Atomic bool tic_repeat_is_on;
/* A protected task begins on this worker. StarPU reads the function of its codelet after this. */
void tic_repeat_begin_slow(struct starpu_task *task, const struct tic_slot *slot, uint64_t key);
static inline void tic_repeat_begin(struct starpu_task *task, const struct tic_slot *slot,
                                    uint64_t key)
{
    if (__builtin_expect(atomic_load_explicit(&tic_repeat_is_on, memory_order_relaxed), 0))
        tic_repeat_begin_slow(task, slot, key);
}

/* The program's word that kernels of the codelet may fail. 0 or -errno, as in starpu_tic.h. */
int tic_repeat_declare(struct starpu_codelet *codelet);
