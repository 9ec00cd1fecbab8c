/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of codelets, and functions of ours that stand in their place where a kernel may
 * have to be executed more than once (interpose/repeat.h). StarPU calls the function that the
 * codelet names when the task begins; ours knows which one stood there, whoever calls it. */
#pragma once

#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef void (*tic_kernel_function)(void *buffers[], void *argument);

enum { TIC_KERNELS = 256 };

struct tic_kernel {
    tic_kernel_function function; /* the codelet's; immutable once ours stands in its place */
    _Atomic bool can_fail;        /* relaxed: it may call starpu_tic_task_failed() */
    _Atomic bool submits;         /* relaxed: it has submitted a task */
};

/* Called in the place of a codelet's function; set before the first one is replaced. */
typedef void (*tic_kernels_runner)(struct tic_kernel *kernel, void *buffers[], void *argument);
extern tic_kernels_runner tic_kernels_run;

/* Puts ours in the place of the CPU functions of a codelet; for good. 0; -EINVAL: it has none, or
 * is one of parallel tasks; -ENOSPC: there are TIC_KERNELS already. Any thread. */
int tic_kernels_replace(struct starpu_codelet *codelet, bool can_fail);
/* The codelet's own function, if this is one of ours; else the same. Any thread. */
tic_kernel_function tic_kernels_original(tic_kernel_function function);
/* The codelet's own functions of an implementation, for each kind of worker (NULL: it has none):
 * processors first. False: it has none at all. Any thread. */
enum { TIC_KERNEL_KINDS = 4 };
bool tic_kernels_of(const struct starpu_codelet *codelet, unsigned implementation,
                    const void *functions[TIC_KERNEL_KINDS]);
/* Its first one, or NULL. Any thread. */
const void *tic_kernels_first(const struct starpu_codelet *codelet);
/* May a kernel of this codelet fail, by the word of the program or the user? Any thread. */
bool tic_kernels_can_fail(const struct starpu_codelet *codelet);
/* Is the kernel a function of this codelet? */
bool tic_kernels_is_of(const struct tic_kernel *kernel, const struct starpu_codelet *codelet);

/* ---- on whose behalf a thread executes a kernel -----------------------------------------------
 */

/* While a kernel is executed that ours stand for: its task, and the worker that StarPU gave it to,
 * which waits meanwhile if it is another one. */
struct tic_acting {
    struct starpu_task *task; /* NULL: none */
    int worker;
};
extern __thread struct tic_acting tic_acting __attribute__((tls_model("initial-exec")));

/* As StarPU's functions of these names, for the worker on whose behalf this thread acts. */
struct starpu_task *tic_kernels_current_task(void);
int tic_kernels_current_worker(void);

/* ---- statistics: relaxed ----------------------------------------------------------------------
 */

struct tic_kernels_counts {
    _Atomic uint64_t retried;             /* executions of tasks that had failed */
    _Atomic uint64_t retried_elsewhere;   /* of these on another worker than the last one */
    _Atomic uint64_t certified;           /* tasks whose two executions wrote the same */
    _Atomic uint64_t certified_elsewhere; /* of these on two workers */
    _Atomic uint64_t differing;           /* tasks whose executions did not */
    uint64_t seed;                        /* of the sample; immutable after the start */
    _Atomic uint64_t left_out;            /* tasks that were drawn and not certified */
};
extern struct tic_kernels_counts tic_kernels_counts;

static inline void tic_kernels_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}
