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

#include <stddef.h>
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

/**
 * Names data: messages say the name beside the number of registration. Recovery lines hold it, so
 * `starpu-tic info`, `diff`, `extract` and `report` show it, and `extract` takes it in place of the
 * number. Only the thread that called starpu_init() may call it, after the registration.
 * @param name text of a line; the first 64 bytes count. It is copied.
 * @return 0; -ENOTCONN as above; -EINVAL: no name, or no data that is protected; -EPERM: another
 *         thread; -ENOSPC: 65536 data have names; -ENOMEM.
 */
int starpu_tic_data_set_name(struct _starpu_data_state *data, const char *name);

/**
 * Excludes data: no recovery line holds its content, as main() or tasks make it anew (a matrix that
 * is generated, a table, input that is read at the start). A restart executes all tasks that write
 * it again, also those that are done, each with what it read then, in the order of the program: so
 * the content is what it was when somebody reads it, and the result is the same. That pays where
 * making the content takes less time than saving it, and where it is written seldom: what is
 * written a thousand times is written a thousand times again. Parts of a partition
 * (starpu_data_partition()) are excluded with the whole.
 *
 * Tasks that write it
 * - write no other data, but excluded. They may read any; what tasks have written of that is kept
 *   until the end of the run, as it is for tasks that write no data;
 * - have no effects that must not come twice, and write nothing but their data;
 * - compute the same from the data that they declare, read nothing else that changes, and set all
 *   of what they write. That is looked at: a recovery line holds a hash of what each of them wrote,
 *   and a restart in which one writes something else is stopped (70) before anybody reads it
 *   (STARPU_TIC_INPUTS=ignore goes on, where last bits may differ). Of data that its interface
 *   packs it is believed.
 *
 * Tasks that only read it may write what they like, and are skipped when they are done. main() may
 * read and write it within starpu_data_acquire(), fill it before its first task, and get it back.
 *
 * A message ends protection, and names task and data: where a task writes it beside other data;
 * where accesses to it commute, are reductions, come by callback or without sequential consistency,
 * or a task that writes it reads other data without;
 * where tasks, callbacks or other threads submit tasks that use it; where partitions of it are
 * planned, or its memory is registered once more. No line is taken at commit points while excluded
 * data is registered. A restart in which other data is excluded is stopped (70), as its submissions
 * differ.
 *
 * Only the thread that called starpu_init() may call it, after the registration and before a task
 * or main() uses the data.
 * @return 0; -ENOTCONN as above; -EINVAL: no data that is protected, or it is without content;
 *         -EBUSY: it was used; -ENOTSUP: it is a part of other data, its memory is registered
 *         several times, it has methods of a reduction, or StarPU has several memory nodes; -EPERM:
 *         another thread; -ENOMEM.
 */
int starpu_tic_data_exclude(struct _starpu_data_state *data);

/** What protection does at the moment. Later versions append members. */
struct starpu_tic_status {
    int is_protected;  /**< 1: recovery lines are taken */
    int is_suspended;  /**< 1: not at the moment, as the directory cannot be written; it is tried
                          again */
    uint64_t lines;    /**< recovery lines that this run has committed */
    uint64_t bytes;    /**< bytes of values that it has written */
    double age;        /**< seconds since it committed the last one; -1: none yet */
    double period;     /**< seconds between two of them */
    char protocol[16]; /**< "tic", "sel" or "tic+sel"; empty if it is not protected */
    char reason[256];  /**< why it is not protected, as the message said; else empty */
};

/**
 * Tells what protection does.
 * @param status receives the answer, also when this run is not protected.
 * @param size sizeof(struct starpu_tic_status): no more is written.
 * @return 0; -ENOTCONN as above; -EINVAL: no status, or size 0.
 */
int starpu_tic_get_status(struct starpu_tic_status *status, size_t size);

/**
 * Names memory of main()'s own, which is not registered data, and which main() needs to go on from
 * a commit point: counters, the state of a random generator, sums. It holds no addresses: they are
 * others in each run.
 * @param name text that is its own in this program. A restart must name the same memory, in the
 * same order and size.
 * @param memory valid at each commit point.
 * @param bytes its size, in bytes. All together less than 4 GiB; larger data is better registered.
 * @return 0, also when this run is not protected; -EINVAL: no name, no memory, or the name was
 * used; -EBUSY: main() has come to its first commit point; -EACCES: memory that is not there, or may
 *         not be written; -EPERM: another thread than the one that called starpu_init(); -ENOMEM.
 */
int starpu_tic_protect_memory(const char *name, void *memory, size_t bytes);

/**
 * main() is at a commit point: a place in a loop where all that it needs to go on is in registered
 * data and in memory of starpu_tic_protect_memory(), or is as it was when it came here first. When
 * a recovery line is due the call waits for all tasks, and a line is taken that holds nothing of
 * what main() did before; else it returns at once. A restart runs main() up to its first commit
 * point, with the tasks before it. There the call gives data and memory back as they were at the
 * last commit point that a line is of, and main() goes on from there. So a restart takes as long in
 * a loop of 10^6 iterations as in one of ten.
 *
 * What main() tells StarPU by other ways than data, and a later iteration relies on, comes before
 * the first commit point: contexts, modes of reduction, planned partitions. At all commit points
 * the same data is registered; no data is acquired; tasks have no tags. Where that is not so, or it
 * is another place than the first, no line is taken there, as a message says.
 *
 * Only the thread that called starpu_init() may call it.
 * @param place text that tells where it is in the program: starpu_tic_commit_point() is the same
 * with the file and line of the call.
 * @return 1: main() goes on from a later commit point than this, its first: memory has changed;
 *         0: nothing has changed; -ENOTCONN as above; -EPERM: another thread.
 */
int starpu_tic_commit_point_at(const char *place);
#define STARPU_TIC_LINE_TEXT_OF(line) #line
#define STARPU_TIC_LINE_TEXT(line) STARPU_TIC_LINE_TEXT_OF(line)
#define starpu_tic_commit_point()                                                                  \
    starpu_tic_commit_point_at(__FILE__ ":" STARPU_TIC_LINE_TEXT(__LINE__))

struct starpu_codelet;

/**
 * Declares that kernels of a codelet may call starpu_tic_task_failed(). From then on what its tasks
 * write (STARPU_W, STARPU_RW, STARPU_REDUX), and arguments that StarPU frees (cl_arg_free), is
 * copied before each kernel: a copy in memory of each datum that is written. The functions of the
 * codelet (cpu_funcs) become functions of the library, which call them. STARPU_TIC_RETRY does the
 * same from outside, in protected runs. Any thread, before the first task of the codelet is
 * submitted and after its CPU functions were set; also before starpu_init(), and without
 * protection.
 * @param codelet one of sequential tasks (STARPU_SEQ).
 * @return 0; -EINVAL: it has no CPU function, or is one of parallel tasks, or StarPU is not there;
 *         -ENOSPC: 256 kernels are known already.
 */
int starpu_tic_codelet_can_fail(struct starpu_codelet *codelet);

/**
 * Declares that a restart may skip tasks of a codelet that are done, whatever they did beside
 * writing their data: nobody needs that in a restart, neither main() nor other tasks (statistics,
 * progress on the terminal, a log, memory for a moment). Without it a task that writes no data is
 * executed again in each restart, and a restart is refused once tasks were seen to write memory
 * that is not registered data. With it
 * - tasks of the codelet that write no data, or only data without content, are skipped if they are
 *   done according to the recovery line, and what they read is not kept;
 * - memory that changes while only tasks of such codelets run is not looked at. Where others run in
 *   the same wait of main(), it cannot be told who has written, and a restart is refused as before;
 * - pointers in their arguments do not end protection, nor does rand() in their kernels.
 *
 * Believed: that nobody needs it. Any thread, before the first task of the codelet is submitted and
 * after its functions were set; also before starpu_init(), and without protection. The structure
 * stays where it is as long as tasks use it.
 * @return 0; -EINVAL: no codelet, or one that has effects; -ENOSPC: 256 codelets are declared.
 */
int starpu_tic_codelet_can_skip(struct starpu_codelet *codelet);

/**
 * Declares that tasks of a codelet have effects beside writing their data that a restart must have
 * again: they write files that the program reads, count in its variables, send something.
 * - A task that writes no data, or only data without content, is executed again in each restart,
 * with the values that it read, also with STARPU_TIC_RERUN=0. It comes after the tasks before it
 * and before those behind it, as far as data says so.
 * - One that writes data, too, ends protection with a message: a restart that skips it would not
 * have the effects, and one that executes it again would write the data twice. Two tasks, one for
 * the data and one that only reads it, are protected.
 *
 * When and by whom it may be called is as for starpu_tic_codelet_can_skip().
 * @return 0; -EINVAL: no codelet, or one that can be skipped; -ENOSPC: 256 codelets are declared.
 */
int starpu_tic_codelet_has_effects(struct starpu_codelet *codelet);

/**
 * Tells, in the CPU function of a codelet, that this execution has failed: what it has written is
 * wrong. When the function returns, the written data is put back to its values from before the
 * task, and the function is executed again, on another worker where one is free soon; for up to
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
