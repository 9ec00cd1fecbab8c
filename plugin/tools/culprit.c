/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which task may make a program crash. */
#include "tools/culprit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMED = 4 };

void tic_culprits_read(struct tic_culprits *culprits, const struct tic_beacon *beacon)
{
    culprits->count = 0;
    for (unsigned i = 0; i < TIC_BEACON_TASKS; i++) {
        const struct tic_beacon_task *task = &beacon->running[i];
        struct tic_culprit *culprit = &culprits->tasks[culprits->count];
        culprit->number = atomic_load(&task->number);
        memcpy(culprit->name, task->name, sizeof(culprit->name));
        culprit->name[sizeof(culprit->name) - 1] = '\0'; /* it may have died while writing */
        culprits->count += culprit->number != 0;
    }
}

static bool holds(const struct tic_culprits *culprits, const struct tic_culprit *task)
{
    for (unsigned i = 0; i < culprits->count; i++)
        if (culprits->tasks[i].number == task->number &&
            strcmp(culprits->tasks[i].name, task->name) == 0)
            return true;
    return false;
}

void tic_culprits_intersect(struct tic_culprits *culprits, const struct tic_culprits *others)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < culprits->count; i++)
        if (holds(others, &culprits->tasks[i]))
            culprits->tasks[kept++] = culprits->tasks[i];
    culprits->count = kept;
}

void tic_culprits_describe(const struct tic_culprits *culprits, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < culprits->count && i < MOST_NAMED && used < size; i++) {
        const struct tic_culprit *task = &culprits->tasks[i];
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"",
                                 i == 0 ? " Running at both crashes: task " : ", ", task->name);
        if (task->number != TIC_BEACON_NO_NUMBER && used < size)
            used += (size_t)snprintf(text + used, size - used, " (submission %" PRIu64 ")",
                                     task->number - 1);
    }
    if (culprits->count > MOST_NAMED && used < size)
        used += (size_t)snprintf(text + used, size - used, " and %u more",
                                 culprits->count - MOST_NAMED);
    if (culprits->count > 0 && used < size)
        snprintf(text + used, size - used, ".");
}
