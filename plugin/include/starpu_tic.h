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
#define STARPU_TIC_MINOR_VERSION 2
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

struct _starpu_data_state; /* starpu_data_handle_t points to one */

/**
 * Declares what the elements of data are. A restart on a machine of the other byte order needs to
 * know; where nobody has declared it (see also STARPU_TIC_TYPES) such a restart is refused. Parts
 * of a partition have the type of the whole. Only the thread that called starpu_init() may call it,
 * after the registration of the data and before the first task that uses it.
 * @param data data of the application.
 * @param type "double", "int32,2*float": numbers that one element holds, one after the other
 * without gaps. char, bool, int8 to int64, uint8 to uint64, short, int, unsigned, float, double,
 *        complex-float, complex-double; no type whose size differs between machines. Of CSR and
 * BCSR matrices the type of the values: index arrays are known.
 * @return 0; -ENOTCONN as above; -EINVAL: no such type, or elements are of another size; -EBUSY: a
 *         task uses the data already; -EPERM: another thread.
 */
int starpu_tic_data_set_type(struct _starpu_data_state *data, const char *type);

#ifdef __cplusplus
}
#endif

#endif
