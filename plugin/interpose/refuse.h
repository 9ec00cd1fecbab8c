/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that cannot be protected. */
#ifndef TIC_INTERPOSE_REFUSE_H
#define TIC_INTERPOSE_REFUSE_H

#include <starpu.h>

#include "session/context.h"

struct tic_accesses;

/* Why this task ends protection, or NULL. Under the submission lock. */
const char *tic_refuse_task(struct starpu_task *task, const struct tic_accesses *accesses,
                            enum tic_context context);

#endif
