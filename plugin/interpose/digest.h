/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic rehearse` compares (STARPU_TIC_DIGESTS): a hash of data each time main() gets it
 * back. Data without a layout of its own is left out. Owner thread only. */
#pragma once

#include <stdint.h>

#include "base/layout.h"

struct tic_handle;
struct tic_session;

/* Data that main() is about to get back: its record may be gone by then. */
struct tic_return {
    uint64_t id;
    struct tic_layout layout; /* base NULL: nothing is told */
};

/* Before the real call; `handle` may be NULL. */
struct tic_return tic_digest_before_unregister(const struct tic_handle *handle);
/* After it: tells `starpu-tic check`, too. */
void tic_digest_after_unregister(const struct tic_return *returned);
void tic_digest_after_acquire(struct tic_handle *handle);
void tic_digest_after_unpartition(const struct tic_handle *handle);
/* main() goes on from a commit point. */
void tic_digest_note_resumed(void);

/* Writes what there is so far; does nothing without STARPU_TIC_DIGESTS. */
void tic_digest_write(const struct tic_session *session);
