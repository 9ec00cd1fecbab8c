/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which data closed pages (pages.h) have covered whenever main() had waited for tasks, and which
 * not. A check says it, and runs go by it (report/advice.h). Owner thread only. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Why nothing was closed when main() went on. */
enum tic_unwatched { TIC_UNWATCHED_TIME, TIC_UNWATCHED_TASKS, TIC_UNWATCHED_COUNT };

/* Pages are to be closed, and so many handles were registered. False when out of memory. */
bool tic_watched_begin(uint64_t ids);
/* Data that is to be watched then. covered: all of its pages are closed. */
void tic_watched_note(uint64_t id, uint64_t bytes, bool covered);
/* Nothing is closed: none of this many handles counts as watched. */
void tic_watched_miss(uint64_t ids, enum tic_unwatched why);
/* Adds "unwatched", [data whose pages hold other memory, too; the first of it; its bytes],
 * "missed", [calls, those without time, those with tasks], "watched", [data, of data that tasks
 * wrote], and "seen", a list of [first id, last id]. */
void tic_watched_report(json_t *report);
