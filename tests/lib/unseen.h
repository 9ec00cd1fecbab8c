/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of tests/lib/unseen.c, and what they share: tiles, tasks on them, main()'s history. */
#ifndef TIC_TEST_UNSEEN_H
#define TIC_TEST_UNSEEN_H

#include <inttypes.h>
#include <starpu.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 160, LENGTH = 512 };

/* Contiguous memory, registered as one vector per tile. */
struct tiles {
    uint64_t *at;
    unsigned count;
    size_t length; /* of a tile, in elements */
    starpu_data_handle_t handles[MOST_TILES];
};

struct mode {
    const char *name;
    void (*run)(void);
};

extern struct starpu_codelet update_codelet;  /* RW; the number of the task as packed argument */
extern struct starpu_codelet combine_codelet; /* RW, R; the same */

void must(int status);
/* The usual number of phases, times the second argument of the program. */
unsigned phases(unsigned usual);

/* ---- values: integers only, so that every run computes the same ------------------------------ */

uint64_t mix(uint64_t one, uint64_t other);
uint64_t digest(const uint64_t *at, size_t n);
/* Computes for about two milliseconds. */
uint64_t churn(uint64_t from);
/* What all kernels do to a tile; `from` may be `to`. */
void work(uint64_t *to, const uint64_t *from, size_t n, unsigned number);
/* Adds to main()'s history, which the program prints. */
void note(uint64_t value);

/* ---- tiles ----------------------------------------------------------------------------------- */

void tiles_allocate(struct tiles *tiles, unsigned count, size_t length, uint64_t seed);
void tiles_register(struct tiles *tiles);
void tiles_unregister(struct tiles *tiles);
/* Allocates, fills and registers. */
void tiles_make(struct tiles *tiles, unsigned count, size_t length, uint64_t seed);
/* Unregisters, notes the digest, and frees. */
void tiles_drop(struct tiles *tiles);
uint64_t *tile(const struct tiles *tiles, unsigned which);
uint64_t tiles_digest(const struct tiles *tiles);
/* Changes all elements, by pointer: what main() does behind StarPU's back. */
void tiles_rescale(struct tiles *tiles, unsigned number);

uint64_t *elements(void *buffer);
void submit_update(starpu_data_handle_t tile, unsigned number);
void submit_updates(const struct tiles *tiles, unsigned number);
void submit_combine(starpu_data_handle_t to, starpu_data_handle_t from, unsigned number);

/* ---- modes ----------------------------------------------------------------------------------- */

/* unseen_reads.c */
void run_readglobal(void);
void run_readglobal_large(void);
void run_readhalo(void);
void run_readrows(void);
void run_argresult(void);
void run_argstate(void);
void run_argshared(void);
void run_argcallback(void);
void run_resize(void);

/* unseen_loops.c */
void run_history(void);
void run_history_4096(void);
void run_history_4104(void);
void run_decide(void);
void run_sumlarge(void);
void run_flag(void);
void run_flag_acquire(void);
void run_flag_decide(void);
void run_flag_many(void);

/* unseen_phases.c */
void run_rescale(void);
void run_phases50(void);
void run_phaseread(void);
void run_ownwork(void);
void run_noacquire_init(void);
void run_reads_only(void);
void run_closed(void);

/* unseen_kernels.c */
void run_kernelwrite_arg(void);
void run_kernelwrite_global(void);
void run_kernelwrite_never(void);
void run_kernelwrite_leaves(void);
void run_read_kept(void);
void run_kernelwrite_token(void);
void run_declared_read(void);
void run_padding(void);

/* unseen_effects.c */
void run_result_arg(void);
void run_result_global(void);
void run_result_synchronous(void);
void run_kernel_state(void);

/* unseen_tokens.c */
void run_void_arg(void);
void run_void_global(void);
void run_void_unregistered(void);
void run_acquiretoken(void);

/* unseen_waits.c */
void run_partialwait(void);
void run_partialwait_keep(void);
void run_fillsubmit(void);
void run_callbackread(void);
void run_callbackwrite(void);
void run_callbackwrite_other(void);
void run_callbackread_large(void);
void run_wokenread(void);
void run_finished(void);
void run_finishedmany(void);
void run_callbackworker(void);
void run_condition(void);
void run_asking(void);
void run_joined(void);
void run_paused(void);
void run_polling(void);

/* unseen_parts.c */
void run_partition(void);
void run_planned(void);
void run_parted(void);
void run_plannedread(void);
void run_rereg(void);
void run_overlap(void);
void run_halves(void);
void run_twoplans(void);

#endif
