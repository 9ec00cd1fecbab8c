/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing data in main memory by an access, where StarPU has several nodes: a task might run in
 * other memory, and there may be no processor for one. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

/* Comes in StarPU's order like a task that writes the data; `write` gets the argument and the
 * interface, on any thread. NULL: nothing is to be written. False when there is no access. */
bool tic_fill_submit(starpu_data_handle_t data, void (*write)(void *arg, void *interface),
                     void *arg);
