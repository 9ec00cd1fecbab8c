/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that is longer than the memory it is said to have: a restore would write over what belongs
 * to others. */
#pragma once

#include "base/layout.h"

/* Where main() registers data, id its number of registration: what it does not fit in, in words
 * that the next call changes; NULL: it fits, or nobody knows. Owner thread only. */
const char *tic_extent_beyond(uint64_t id, const struct tic_layout *layout);
