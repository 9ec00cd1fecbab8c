/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of hints about where data is wanted next. */
#include "real/real.h"
#include "report/pages.h"
#include "session/context.h"
#include "session/lookup.h"

/* starpu_data_wont_use asks for an idle prefetch itself, after it has released the data, which
 * main() may have invalidated or unregistered by then. What tasks have written is in main memory,
 * or on its way there: nothing moves. */
static bool moves_nothing(unsigned node, unsigned async)
{
    return async != 0 && node == STARPU_MAIN_RAM && tic_session_watches();
}

/* StarPU has no value yet that is restored later. */
#define HINT(name, idle, parameters, arguments)                                                    \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        if ((idle) && moves_nothing(node, async))                                                  \
            return 0;                                                                              \
        tic_pages_open();                                                                          \
        struct tic_handle *handle = tic_session_is_watching() ? tic_handle_of(data) : NULL;        \
        if (handle && handle->pending)                                                             \
            return 0;                                                                              \
        tic_guard++;                                                                               \
        int result = RESOLVED(name) arguments;                                                     \
        tic_guard--;                                                                               \
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
    tic_pages_open();
    bool watching = tic_session_is_watching();
    struct tic_handle *handle = watching ? tic_handle_of(data) : NULL;
    if (handle && handle->pending)
        return;
    tic_guard++;
    RESOLVED(starpu_data_wont_use)(data);
    tic_guard--;
}
