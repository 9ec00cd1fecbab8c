/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Switches between planned partitions, in a restart.
 *
 * StarPU switches by itself when a task is submitted that uses other parts than those in force. A
 * task that a restart skips is not submitted, so its switch does not happen, and the next one that
 * main() asks for may begin from another state than it did. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

enum tic_switch {
    TIC_SWITCH_PARTITION,
    TIC_SWITCH_PARTITION_READONLY,
    TIC_SWITCH_READONLY_ITSELF, /* the same, also called by what does that: counts once */
    TIC_SWITCH_UPGRADE,
    TIC_SWITCH_DOWNGRADE,
    TIC_SWITCH_UNPARTITION,
    TIC_SWITCH_UNPARTITION_READONLY,
    TIC_SWITCH_ALL,    /* calls others */
    TIC_SWITCH_NOTHING /* is left out */
};

/* The program asks for it: makes the state one that StarPU allows it in. Returns what is to be
 * done, which leads to the same state. */
enum tic_switch tic_switch_before(starpu_data_handle_t data, enum tic_switch kind);
/* The program, or StarPU itself, is about to do it. */
void tic_switch_note(starpu_data_handle_t data, enum tic_switch kind);
