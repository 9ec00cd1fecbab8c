/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of hints about where data is wanted next. */
#include "interpose/position.h"
#include "real/real.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/nodes.h"

/* starpu_data_wont_use asks for an idle prefetch itself, after it has released the data, which
 * main() may have invalidated or unregistered by then. To main memory it would move what a window
 * fetches when a line is due. */
static bool moves_nothing(unsigned node, unsigned async)
{
    return async != 0 && node == STARPU_MAIN_RAM && tic_session_watches();
}

/* StarPU refuses to move data for which nobody has been submitted who writes it, as where that task
 * is skipped; and main() cannot tell whether a hint was followed. */
static bool may_lack_value(starpu_data_handle_t data)
{
    const struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;

    return handle && (handle->restart.pending || !tic_session_is_replayed(tic_session));
}

#define HINT(name, idle, parameters, arguments)                                                    \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        if ((idle) && moves_nothing(node, async))                                                  \
            return 0;                                                                              \
        TIC_LINT(call);                                                                            \
        if (may_lack_value(data))                                                                  \
            return 0;                                                                              \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
        if (!tic_nodes_several)                                                                    \
            TIC_LINT(goes_on, #name, false);                                                       \
        return result;                                                                             \
    }

HINT(starpu_data_fetch_on_node, false, (starpu_data_handle_t data, unsigned node, unsigned async),
     (data, node, async))
HINT(starpu_data_prefetch_on_node, false,
     (starpu_data_handle_t data, unsigned node, unsigned async), (data, node, async))
HINT(starpu_data_prefetch_on_node_prio, false,
     (starpu_data_handle_t data, unsigned node, unsigned async, int priority),
     (data, node, async, priority))
HINT(starpu_data_idle_prefetch_on_node, true,
     (starpu_data_handle_t data, unsigned node, unsigned async), (data, node, async))
HINT(starpu_data_idle_prefetch_on_node_prio, true,
     (starpu_data_handle_t data, unsigned node, unsigned async, int priority),
     (data, node, async, priority))

/* A hint; it needs no value. */
WRAPPER void starpu_data_wont_use(starpu_data_handle_t data)
{
    TIC_LINT(call);
    if (may_lack_value(data))
        return;
    tic_guard++;
    RESOLVED(starpu_data_wont_use)(data);
    tic_guard--;
    TIC_LINT(goes_on, "starpu_data_wont_use", false);
}
