/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of commuting writes. */
#ifndef TIC_INTERPOSE_COMMUTE_H
#define TIC_INTERPOSE_COMMUTE_H

#include <starpu.h>

/* Before a task is submitted: its commuting writes come in the order of submission. */
void tic_commute_in_order(struct starpu_task *task);
/* Before its kernel, which sees the modes that the application gave. */
void tic_commute_show(struct starpu_task *task);

#endif
