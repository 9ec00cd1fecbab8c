/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of registered data that we pin where StarPU has CUDA or HIP devices: copies of pageable
 * memory are five times slower, and hold a worker. A block of malloc() is pinned as a whole, as a
 * driver refuses copies that cross the border of what is pinned. What the program has pinned, or
 * pins later, is its own. All threads, without locks. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

/* Is anything pinned? */
bool tic_pins_are_any(void);

/* StarPU runs: data of so many bytes or more is pinned; 0: none. */
void tic_pins_start(uint64_t least);
/* StarPU stops. */
void tic_pins_end(void);

/* Data was registered. */
void tic_pins_register(starpu_data_handle_t data, int home_node);
/* Data is about to leave: where it lies, or NULL. */
const void *tic_pins_place(starpu_data_handle_t data);
/* It has left; later: when its last task has ended. */
void tic_pins_leave(const void *at, bool later);
/* All tasks have ended. */
void tic_pins_settle(void);
/* The program gives this memory back, or pins it. */
void tic_pins_release(const void *at, size_t bytes);
