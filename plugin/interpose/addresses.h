/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses in recorded values, which this run has elsewhere. */
#pragma once

#include <stdbool.h>

struct tic_handle;

/* Its memory is about to be used for the first time: addresses in it are logged, so that a restart
 * can tell whether tasks have written them. Under the submission lock, or main() itself. */
void tic_addresses_note(struct tic_handle *handle);
/* May a recorded value of it hold addresses that another process had? */
bool tic_addresses_are_sought(const struct tic_handle *handle);
/* Puts those that its memory holds now into a recorded value, without gaps; true when there are
 * some. Stops where tasks may have written one: nobody knows what it means. */
bool tic_addresses_take_own(const struct tic_handle *handle, char *recorded);
