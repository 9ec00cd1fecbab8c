/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that StarPU may move out of main memory between accesses: without a home node, where there
 * is a disk. Its value is saved within accesses only, in which StarPU leaves it where it is.
 *
 * An access for writing only would not bring the value back that is lost by it: it becomes one for
 * reading and writing, if there is a value. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "graph/handle.h"
#include "session/accesses.h"

/* Asks StarPU for accesses to read: the values are in main memory then, and are saved if the active
 * cut needs them. */
void tic_movable_ask(struct tic_handle **handles, unsigned long count);
/* Nobody begins to ask any more, as it leaves, or is invalidated: waits for those who do. */
void tic_movable_leave(struct tic_handle *handle);
/* It is partitioned: nobody asks any more, until it is whole again. What main memory lacks is
 * brought there. Owner thread. */
void tic_movable_close(struct tic_handle *handle);
void tic_movable_open(struct tic_handle *handle);
/* Around what saves it on the owner thread when its tasks have ended. False: it is in main memory,
 * and stays there, or there is no value. */
bool tic_movable_hold(struct tic_handle *handle);
void tic_movable_drop(starpu_data_handle_t data);

/* Why the task cannot be protected, or NULL; before it is submitted. */
const char *tic_movable_refuse(const struct starpu_task *task, const struct tic_accesses *accesses);
/* Before its writes are counted, and after values were restored that it needs: values stay. False
 * when out of memory. Under the submission lock. */
bool tic_movable_keep(struct starpu_task *task, const struct tic_accesses *accesses);
/* The same for an access of main(): its mode. */
enum starpu_data_access_mode tic_movable_mode(starpu_data_handle_t data,
                                              enum starpu_data_access_mode mode);

/* The caller has an access in main memory, on several nodes: its value is there. */
void tic_movable_found(struct tic_handle *handle);
/* main() has got one. */
void tic_movable_find(starpu_data_handle_t data);
