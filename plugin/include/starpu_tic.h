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

struct starpu_codelet;

/**
 * Declares that kernels of a codelet may call starpu_tic_task_failed(). From then on what its tasks
 * write (STARPU_W, STARPU_RW, STARPU_REDUX), and arguments that StarPU frees (cl_arg_free), is copied
 * before each kernel: a copy in memory of each datum that is written. The functions of the codelet
 * (cpu_funcs) become functions of the library, which call them. STARPU_TIC_RETRY does the same from
 * outside, in protected runs. Any thread, before the first task of the codelet is submitted and
 * after its CPU functions were set; also before starpu_init(), and without protection.
 * @param codelet one of sequential tasks (STARPU_SEQ).
 * @return 0; -EINVAL: it has no CPU function, or is one of parallel tasks, or StarPU is not there;
 *         -ENOSPC: 256 kernels are known already.
 */
int starpu_tic_codelet_can_fail(struct starpu_codelet *codelet);

/**
 * Tells, in the CPU function of a codelet, that this execution has failed: what it has written is
 * wrong. When the function returns, the written data is put back to its values from before the task,
 * and the function is executed again, on another worker where one is free soon; for up to
 * STARPU_TIC_RETRIES times (3). Nobody else sees anything of an execution that failed: not other
 * tasks, not main(), not recovery lines. starpu_task_get_current() tells the same task each time.
 *
 * The program is stopped with exit status 76, after one message, and its recovery lines are kept,
 * where the last try fails, too; where the codelet was not declared (at once, in this call); where
 * this execution has submitted tasks; where it has changed the size of data; and where a datum that
 * it writes cannot be put back: its interface has no memory of known shape, or it was registered
 * several times.
 *
 * Believed: that the function has written nothing else that its second execution would find: no
 * variables, no arguments that belong to the program, no files; and that it has not freed its
 * arguments. Only the thread that StarPU has called the function in may call it.
 * @return 0: it is noted, and the function should return now; -EPERM: this is no CPU function of a
 *         task.
 */
int starpu_tic_task_failed(void);

#ifdef __cplusplus
}
#endif

#endif
