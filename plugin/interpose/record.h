/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEL: what main() does, in the event log; on the owner thread. */
#pragma once

#include <starpu.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

struct tic_handle;

void tic_record_created(struct starpu_task *task, uint64_t sequence);
/* The result of this task was found, and stands in for it. */
void tic_record_restored(uint64_t sequence);
/* main() has put this content into the data. */
void tic_record_input(const struct tic_handle *handle, uint64_t hash);
void tic_record_registered(const struct tic_handle *handle);
void tic_record_unregistered(const struct tic_handle *handle);
void tic_record_acquired(struct tic_handle *handle, bool writes);
/* main() asks for a message with it. What it was told by then is on the disk before others know. */
void tic_record_message(struct tic_handle *handle, bool receives);
/* main() has written it within an access, and tasks have not used it since. */
void tic_record_written(struct tic_handle *handle);
/* known: how many events were known before this one. */
void tic_record_event(uint64_t known, enum tic_event kind, int64_t value);
void tic_record_run(void);
