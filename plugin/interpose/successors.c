/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Successors of a task, as the application may list them: its own tasks only. Tasks of ours (order
 * tokens, restores, accumulators of reductions) are successors to StarPU, too.
 *
 * A task that a restart skips has no successors, and is none. So the number that main() was told is
 * recorded; a restart that would tell it another one stops, instead of letting it go another way.
 */
#include <stdlib.h>

#include "base/error.h"
#include "interpose/answers.h"
#include "session/context.h"
#include "session/task.h"
#include "report/told.h"

/* ---- the list -------------------------------------------------------------------------------- */

typedef int (*lister)(struct starpu_task *task, unsigned size, struct starpu_task **tasks);

/* All that StarPU knows, allocated; NULL when out of memory. */
static struct starpu_task **list_all(lister list, struct starpu_task *task, unsigned *count)
{
    enum { FIRST = 32 };
    struct starpu_task **all = NULL;

    for (unsigned size = FIRST;; size *= 2) {
        struct starpu_task **grown = realloc(all, size * sizeof(struct starpu_task *));
        if (!grown) {
            free(all);
            return NULL;
        }
        all = grown;
        *count = (unsigned)list(task, size, all);
        if (*count < size)
            return all;
    }
}

/* StarPU tells of no more tasks than there is room for. */
static int list_others(lister list, struct starpu_task *task, unsigned size,
                       struct starpu_task **tasks)
{
    unsigned all_count, count = 0;
    struct starpu_task **all = list_all(list, task, &all_count);

    if (!all)
        return list(task, size, tasks);
    for (unsigned i = 0; i < all_count && count < size; i++)
        if (!tic_task_is_own(all[i]))
            tasks[count++] = all[i];
    free(all);
    return (int)count;
}

/* ---- what main() was told -------------------------------------------------------------------- */

static void compare(enum tic_answer call, const char *name, int count)
{
    int64_t recorded = count;

    if (tic_answer(call, 0, &recorded) && recorded != count)
        tic_stop(
            TIC_EXIT_DIVERGED,
            "the replay differs from the recorded run: %s gives main() %d tasks, and gave %lld. "
            "Tasks that are done are no successors in a restart, and have none: it cannot go "
            "on here. The recovery lines in %s are untouched",
            name, count, (long long)recorded, tic_session->store.path);
}

#define LISTED(number, name)                                                                       \
    WRAPPER int name(struct starpu_task *task, unsigned size, struct starpu_task *tasks[])         \
    {                                                                                              \
        bool asked = tic_answers_are_asked(__builtin_return_address(0));                           \
        lister list = RESOLVED(name);                                                              \
        int count =                                                                                \
            tic_task_has_own() ? list_others(list, task, size, tasks) : list(task, size, tasks);   \
        if (asked)                                                                                 \
            compare(TIC_##name, #name, count);                                                     \
        return count;                                                                              \
    }
#define ANSWER(number, type, name, parameters, arguments, key)
#include "real/answers.def"
#undef ANSWER
