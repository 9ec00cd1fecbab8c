/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which task may make a program crash: one that was running at both of two crashes. */
#pragma once

#include <stddef.h>

#include "base/beacon.h"

struct tic_culprits {
    unsigned count;
    struct tic_culprit {
        uint64_t number; /* as in struct tic_beacon_task */
        char name[TIC_BEACON_NAME];
    } tasks[TIC_BEACON_TASKS];
};

/* The tasks that were running when the program died. */
void tic_culprits_read(struct tic_culprits *culprits, const struct tic_beacon *beacon);
/* Keeps those that are in both. */
void tic_culprits_intersect(struct tic_culprits *culprits, const struct tic_culprits *others);
/* A sentence about them, with a blank before it; empty if there is none. */
void tic_culprits_describe(const struct tic_culprits *culprits, char *text, size_t size);
