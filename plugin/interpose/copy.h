/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu_data_cpy as a task of ours. */
#ifndef TIC_INTERPOSE_COPY_H
#define TIC_INTERPOSE_COPY_H

#include <starpu.h>

/* A task that copies `from` into `to`; NULL, with protection ended, when it cannot be ours. */
struct starpu_task *tic_data_copy_task(starpu_data_handle_t to, starpu_data_handle_t from,
                                       int asynchronous, void (*callback)(void *), void *arg);

#endif
