/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/place.h"

#include <stdio.h>

#include "session/context.h"
#include "session/kernels.h"
#include "interpose/callback_redo.h"
#include "session/task.h"

const char *tic_session_place(const char *call)
{
    static __thread char place[256];
    struct starpu_task *task = tic_callback_current_task();

    if (!task)
        task = tic_kernels_current_task();
    if (!task || !task->cl)
        return call;
    snprintf(place, sizeof(place), "%s in %stask \"%s\"", call,
             tic_in_callback > 0 ? "the callback of " : "", tic_task_name(task));
    return place;
}
