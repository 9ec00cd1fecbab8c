/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that tasks had submitted, submitted again in a restart. */
#ifndef TIC_INTERPOSE_RESUBMIT_H
#define TIC_INTERPOSE_RESUBMIT_H

#include <stdint.h>

/* A task was skipped: submits those that it had submitted and that are not done. */
void tic_spawn_submit_kept(uint64_t root);

#endif
