/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of commuting writes. After a crash many commuting tasks are ready at once that became
 * ready one after the other before. In the order of submission their sums are rounded as they were.
 * Not where explicit dependencies may contradict that order: an edge against it needs a task with a
 * tag or with declared dependencies that is submitted before the commuting ones. */
#include "interpose/commute.h"

#include <stdbool.h>
#include <stdlib.h>

void tic_commute_show(struct starpu_task *task)
{
    enum starpu_data_access_mode *ours = task->dyn_modes;
    bool hidden = false;
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);

    task->dyn_modes = NULL;
    for (unsigned i = 0; i < buffers; i++) {
        enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
        hidden |= mode != ours[i];
        if ((mode & ~STARPU_COMMUTE) != ours[i]) {
            task->dyn_modes = ours; /* the application's own */
            return;
        }
    }
    if (hidden)
        free(ours);
    else
        task->dyn_modes = ours;
}

void tic_commute_in_order(struct starpu_task *task)
{
    unsigned buffers = STARPU_TASK_GET_NBUFFERS(task);
    bool commutes = false;

    for (unsigned i = 0; i < buffers; i++)
        commutes |= (STARPU_TASK_GET_MODE(task, i) & STARPU_COMMUTE) != 0;
    if (buffers > STARPU_NMAXBUFS)
        return;
    enum starpu_data_access_mode *modes =
        commutes && !task->dyn_modes ? malloc(buffers * sizeof(*modes)) : NULL;
    if (!modes)
        return;
    for (unsigned i = 0; i < buffers; i++)
        modes[i] = STARPU_TASK_GET_MODE(task, i) & ~STARPU_COMMUTE;
    task->dyn_modes = modes; /* StarPU prefers them to the codelet's, and frees them */
}
