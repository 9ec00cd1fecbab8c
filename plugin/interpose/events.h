/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nondeterministic events of main(). */
#ifndef TIC_INTERPOSE_EVENTS_H
#define TIC_INTERPOSE_EVENTS_H

#include <stdint.h>

#include "graph/graph.h"

/* The next event of this kind, on the owner thread, before or while StarPU runs: replaces *value
 * in a replay, else records it. Opens an existing store when it is called before starpu_init. */
void tic_session_event(enum tic_event kind, int64_t *value);

#endif
