/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that its interface packs, which main() may read by its own pointers after it has waited:
 * only that interface knows where it lies. What tasks have declared to write is logged as it is
 * packed, if it is small, and a restart unpacks it at the same wait; and of larger data what the
 * line holds, where no task that was done writes it later. Owner thread only; no lock is held, as
 * the interface may be the program's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tic_handle;

/* The data comes, with a home in main memory, or leaves. */
void tic_looks_packed_add(struct tic_handle *handle);
void tic_looks_packed_remove(const struct tic_handle *handle);
/* main() comes back from this wait: in the recorded run, and in its replay. */
void tic_looks_packed_log(uint64_t wait);
/* main() begins an operation, or waits: what it has changed since it came back from a wait is to be
 * saved. */
void tic_looks_packed_compare(void);
/* It comes to the recovered cut: small data is as it was then. */
void tic_looks_packed_arrive(bool (*waits)(const struct tic_handle *handle));
bool tic_looks_packed_has(uint64_t wait); /* something to give back */
void tic_looks_packed_give_back(uint64_t wait);
