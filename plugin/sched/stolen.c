/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the tasks that a worker has taken were stolen. */
#include "sched/stolen.h"

#include <stddef.h>

void tic_stolen_note(struct tic_stolen *stolen, const struct starpu_task *task, int victim)
{
    /* The structure of an earlier task may have been there. */
    for (unsigned i = 0; i < TIC_STOLEN; i++)
        if (stolen->tasks[i].task == task)
            stolen->tasks[i].task = NULL;
    if (victim < 0)
        return;
    stolen->tasks[stolen->next] = (struct tic_stolen_task){task, (unsigned)victim};
    stolen->next = (stolen->next + 1) % TIC_STOLEN;
}

int tic_stolen_victim_of(const struct tic_stolen *stolen, const struct starpu_task *task)
{
    int victim = -1;

    for (unsigned i = 0; i < TIC_STOLEN && victim < 0; i++)
        if (stolen->tasks[i].task == task)
            victim = (int)stolen->tasks[i].victim;
    return victim;
}
