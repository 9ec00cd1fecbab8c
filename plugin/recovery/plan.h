/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan of one recovery: of what the event log tells, which versions will be needed. These are
 * read, so that a damaged one is no surprise later; the others are not even looked at. */
#pragma once

#include "snapshot/snapshot.h"

/* Says of the values that results hold what becomes of them, and drops results whose needed values
 * are damaged. What it cannot know stays unknown. Owner thread, after the results were found and
 * the line was loaded. 0 or -ENOMEM. */
int tic_recovery_plan(struct tic_snapshot *snapshot);
