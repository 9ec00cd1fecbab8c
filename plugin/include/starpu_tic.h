/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file starpu_tic.h
 * starpu-tic protects StarPU programs without any change to them. This interface is for programs
 * that want to take part: ask for a checkpoint at a good moment, or find out that they continue an
 * earlier run. All functions may be called from any thread, at any time, also when the program
 * runs without protection.
 */
#ifndef STARPU_TIC_H
#define STARPU_TIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this header: major, minor, patch. */
#define STARPU_TIC_MAJOR_VERSION 0
#define STARPU_TIC_MINOR_VERSION 1
#define STARPU_TIC_PATCH_VERSION 0

/**
 * Version of the library in use.
 * @param major, minor, patch receive the parts; each may be NULL.
 */
void starpu_tic_get_version(int *major, int *minor, int *patch);

/**
 * Asks for a local checkpoint now, without waiting for the period to pass. Returns at once; the
 * checkpoint is taken in the background ("local checkpoint" of Jafar, Krings and Gautier, TIC).
 * @return 0; -ENOTCONN when this run is not protected (no starpu_init yet, protocol off, or
 *         protection ended with a message).
 */
int starpu_tic_checkpoint_request(void);

/** How far a run has come that continues an earlier one. All counts in tasks. */
struct starpu_tic_progress {
    int recovered;            /**< 1 when this run continues an earlier one, else 0 */
    uint64_t recovered_tasks; /**< done according to the recovery line it started from */
    uint64_t skipped_tasks;   /**< of these, submitted again and skipped so far */
    int replaying;            /**< 1 until the last of them was submitted again */
};

/**
 * Tells whether this run recovers and how far it is.
 * @param progress receives the answer; all zero when this run is not protected.
 * @return 0; -ENOTCONN as above.
 */
int starpu_tic_get_progress(struct starpu_tic_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
