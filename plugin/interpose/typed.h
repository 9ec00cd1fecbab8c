/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types of the elements of data, as the program, the user, or the line of an earlier run declares
 * them; and hashes of content that are the same on every machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct starpu_task;
struct tic_accesses;
struct tic_handle;
struct tic_layout;

/* Data was registered, or is a part of another one, else NULL. Owner thread. */
void tic_typed_register(struct tic_handle *handle, const struct tic_handle *parent);
/* The same elements as those of another one, unless something else was said. Owner thread. */
void tic_typed_inherit(struct tic_handle *handle, const struct tic_handle *from);
/* A task is submitted. Under the submission lock. */
void tic_typed_note_task(const struct starpu_task *task, const struct tic_accesses *accesses);
/* The program declares it: 0; -EINVAL: it does not fit; -EBUSY: tasks use the data already. */
int tic_typed_declare(struct tic_handle *handle, const char *name);

/* XXH3-64 of the bytes as a little-endian machine has them, if the type is known; else of those of
 * this machine, which no other one takes for its own. */
uint64_t tic_typed_hash(const struct tic_layout *layout);
/* Could a run have got this hash for the same content, here or on another machine? */
bool tic_typed_is_hash_of(const struct tic_layout *layout, uint64_t hash);
