/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovered values written back. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/handle.h"
#include "base/layout.h"

/* Stops the start: a value cannot be read; logged: of a result in the event log. */
_Noreturn void tic_data_stop_unreadable(uint64_t id, int status, bool logged);
/* Writes a recorded value for whoever sees it while a restart redoes its history. The recovered
 * value, if a call of main() has needed it already, comes back once more at the cut. */
void tic_data_redo(struct tic_handle *handle, const struct tic_saved *saved);
/* Writes a recorded value of it to memory with the same layout. */
void tic_data_write_to(struct tic_handle *handle, const struct tic_saved *saved,
                       const struct tic_layout *to);
/* The same under the submission lock, on any thread: into its memory, without an access. */
void tic_data_expose_locked(struct tic_handle *handle, const struct tic_saved *saved);
/* Writes the recovered value into the handle, if it still waits for that; now, or by a restore task
 * that later accesses depend on. Under the submission lock. */
void tic_data_restore_locked(struct tic_handle *handle, bool now);
/* The same wherever main() is. */
void tic_data_restore_now_locked(struct tic_handle *handle, bool now);
/* Its value can be written into its memory at once, on any thread. */
bool tic_data_is_in_place(const struct tic_handle *handle);
/* The value that the handle has at the cut. */
struct tic_saved tic_data_recovered_value(struct tic_handle *handle);
/* Control tasks of a replay may name data whose writers were all skipped, and whose value was
 * dropped before the cut: StarPU wants it written once. Under the submission lock. */
void tic_data_make_readable_locked(struct tic_handle *handle);

/* Stops the start: a history that is made of tables (history/history.h) does not tell this. */
_Noreturn void tic_data_stop_made(const char *what);

/* Stops the start if memory that cannot be written holds something else than this checksum says. */
void tic_constant_require(const struct tic_layout *layout, uint64_t checksum, uint64_t id);
/* Stops the start if it is to be changed, and cannot be. */
void tic_constant_refuse(const struct tic_handle *handle);
