/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rolling signature of a submission context: one 32-bit value per submission, so that a replay
 * that differs is caught at the first submission that differs. Only the context's own thread adds;
 * published entries may be read by the checkpoint thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/line.h"

/* Low bits of an entry that tell of the arguments, if it does. */
enum { TIC_SIGNATURE_ARGUMENTS = (1 << 12) - 1 };

struct tic_signature {
    uint64_t rolling; /* owner thread only */
    bool compares;    /* immutable after load: entries tell of arguments, too */
    bool ignores;     /* immutable after load: of an earlier run they may be others */
    bool mixed;       /* immutable after load: runs with words of other sizes saw other arguments */
    uint64_t position; /* owner thread only: submissions seen by this run */
    uint64_t first;    /* changed only while no task runs and main() waits: of the entries before it
                          no line needs one, and they are forgotten */
    uint64_t in_blocks;     /* checkpoint thread only, once it runs: entries in blocks on disk */
    _Atomic uint64_t count; /* entries: recorded before, or seen by this run; release/acquire */
    _Atomic(uint32_t *) *blocks; /* fixed table: entries never move; slots atomic */
};

int tic_signature_init(struct tic_signature *signature);
void tic_signature_fini(struct tic_signature *signature);
/* Appends an entry recorded by an earlier run; before any submission. 0 or -ENOMEM. */
int tic_signature_load(struct tic_signature *signature, uint32_t entry);
/* Accounts for the next submission, by hashes of what it is and of its arguments (0: unknown).
 * 0; -EILSEQ when an earlier run submitted something else here; -EINVAL when it was the same with
 * other arguments; -ENOMEM. */
int tic_signature_submit(struct tic_signature *signature, uint64_t content, uint64_t arguments);
/* The next submission has this number, after others with this signature, whose entries are
 * forgotten. Nobody else uses the signature meanwhile. */
void tic_signature_forget(struct tic_signature *signature, uint64_t position, uint64_t rolling);
uint32_t tic_signature_entry(const struct tic_signature *signature, uint64_t index);
uint64_t tic_signature_count(const struct tic_signature *signature);
