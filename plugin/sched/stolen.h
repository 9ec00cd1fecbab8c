/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the tasks that a worker has taken were stolen, and from whom. A worker may take further
 * tasks before it begins those that it has, and one thread may drive several workers, as for
 * devices and slaves: so this is known of each worker, not of each thread. */
#pragma once

struct starpu_task;

enum { TIC_STOLEN = 8 }; /* more than StarPU lets a worker have (its pipeline) */

/* Of one worker; touched only by the thread that drives it. All zero at first. */
struct tic_stolen {
    struct tic_stolen_task {
        const struct starpu_task *task;
        unsigned victim;
    } tasks[TIC_STOLEN];
    unsigned next;
};

/* The worker takes the task. victim: -1 if from its own queue. */
void tic_stolen_note(struct tic_stolen *stolen, const struct starpu_task *task, int victim);
/* From whom it was stolen, or -1. */
int tic_stolen_victim_of(const struct tic_stolen *stolen, const struct starpu_task *task);
