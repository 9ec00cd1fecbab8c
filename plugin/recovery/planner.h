/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recovery planner: which tasks must be executed again, given what they access and which of
 * the versions that they wrote are durable. A pure function of its input; no StarPU, no files.
 *
 * Data consists of atoms, so that a partition shares them with its root. Every write makes a new
 * version of each atom that it touches. Writes that commute, or contribute to a reduction, one
 * after the other in program order, are a run: nobody knows in which order they happened, so what
 * one of them left is no version. The run has one when all of it is durable and none of it is
 * executed again; else, if its version is needed, all of it is executed again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tic_plan_mode {
    TIC_PLAN_R = 1,
    TIC_PLAN_W = 2,
    TIC_PLAN_RW = 3,
    TIC_PLAN_SCRATCH = 4, /* neither reads nor writes what others see */
    TIC_PLAN_REDUX = 8,
    TIC_PLAN_COMMUTE = 16,
};

struct tic_plan_data {
    uint32_t first, atoms; /* those that it consists of */
    bool needed;           /* its last version is: main() may read it, or tasks that are to come */
};

struct tic_plan_access {
    uint32_t data;
    uint32_t mode; /* enum tic_plan_mode */
    bool durable;  /* the version that it wrote is; of runs: what was there when the task ended */
};

struct tic_plan_task {
    uint64_t first; /* in accesses */
    uint32_t count;
    bool always; /* executed in any case: its effect lies elsewhere, or main() accesses data */
};

struct tic_plan_graph {
    const struct tic_plan_task *tasks; /* in program order */
    size_t task_count;
    const struct tic_plan_access *accesses;
    size_t access_count;
    const struct tic_plan_data *data;
    size_t data_count;
    size_t atom_count;
};

/* The smallest set. executes: of each task; restores: of each access, whether the version that it
 * wrote must be read from the store (of a run: marked at its last access in program order). What is
 * in neither is not even looked at. Initial versions are main()'s to make. 0, -EINVAL or -ENOMEM.
 */
int tic_plan(const struct tic_plan_graph *graph, bool *executes, bool *restores);
