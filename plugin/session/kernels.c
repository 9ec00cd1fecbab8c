/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of codelets, and functions of ours that stand in place of those for processors. */
#include "session/kernels.h"

#include <errno.h>
#include <pthread.h>

#include "real/real.h"
#include "real/since.h"

tic_kernels_runner tic_kernels_run;
__thread struct tic_acting tic_acting __attribute__((tls_model("initial-exec")));
struct tic_kernels_counts tic_kernels_counts;

/* A leaf. Guards the addition of kernels, which are never removed. */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct tic_kernel kernels[TIC_KERNELS];
static _Atomic unsigned count; /* release: those below it are complete */

/* A function for each place, as StarPU tells it nothing but the task's buffers and arguments. */
#define STAND_IN(place)                                                                            \
    static void stand_in_##place(void *buffers[], void *argument)                                  \
    {                                                                                              \
        tic_kernels_run(&kernels[0x##place], buffers, argument);                                   \
    }
#define NAME(place) stand_in_##place,
#define SIXTEEN(each, high)                                                                        \
    each(high##0) each(high##1) each(high##2) each(high##3) each(high##4) each(high##5)            \
        each(high##6) each(high##7) each(high##8) each(high##9) each(high##a) each(high##b)        \
            each(high##c) each(high##d) each(high##e) each(high##f)
#define ALL(each)                                                                                  \
    SIXTEEN(each, 0)                                                                               \
    SIXTEEN(each, 1)                                                                               \
    SIXTEEN(each, 2)                                                                               \
    SIXTEEN(each, 3)                                                                               \
    SIXTEEN(each, 4)                                                                               \
    SIXTEEN(each, 5)                                                                               \
    SIXTEEN(each, 6)                                                                               \
    SIXTEEN(each, 7)                                                                               \
    SIXTEEN(each, 8)                                                                               \
    SIXTEEN(each, 9)                                                                               \
    SIXTEEN(each, a)                                                                               \
    SIXTEEN(each, b)                                                                               \
    SIXTEEN(each, c)                                                                               \
    SIXTEEN(each, d)                                                                               \
    SIXTEEN(each, e)                                                                               \
    SIXTEEN(each, f)
ALL(STAND_IN)
static const tic_kernel_function stand_ins[] = {ALL(NAME)};
_Static_assert(sizeof(stand_ins) / sizeof(stand_ins[0]) == TIC_KERNELS, "one for each kernel");

/* The place of ours; TIC_KERNELS: it is none. */
static unsigned find_stand_in(tic_kernel_function function)
{
    unsigned known = atomic_load_explicit(&count, memory_order_acquire), place = 0;

    while (place < known && stand_ins[place] != function)
        place++;
    return place < known ? place : TIC_KERNELS;
}

/* The same of a codelet's function, which gets one if there is room. */
static unsigned find_or_add(tic_kernel_function function)
{
    unsigned place = 0;

    pthread_mutex_lock(&adding);
    while (place < count && kernels[place].function != function)
        place++;
    if (place == count && place < TIC_KERNELS) {
        kernels[place].function = function;
        atomic_store_explicit(&count, place + 1, memory_order_release);
    }
    pthread_mutex_unlock(&adding);
    return place;
}

int tic_kernels_replace(struct starpu_codelet *codelet, bool can_fail)
{
    if (codelet->type != STARPU_SEQ || !codelet->cpu_funcs[0])
        return -EINVAL;
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && codelet->cpu_funcs[i]; i++) {
        unsigned place = find_stand_in(codelet->cpu_funcs[i]);
        if (place == TIC_KERNELS) {
            place = find_or_add(codelet->cpu_funcs[i]);
            if (place == TIC_KERNELS)
                return -ENOSPC;
            /* Another worker may read it: both functions do for it. */
            __atomic_store_n(&codelet->cpu_funcs[i], stand_ins[place], __ATOMIC_RELEASE);
        }
        if (can_fail)
            atomic_store_explicit(&kernels[place].can_fail, true, memory_order_relaxed);
    }
    return 0;
}

tic_kernel_function tic_kernels_original(tic_kernel_function function)
{
    unsigned place = find_stand_in(function);

    return place < TIC_KERNELS ? kernels[place].function : function;
}

bool tic_kernels_of(const struct starpu_codelet *codelet, unsigned implementation,
                    const void *functions[TIC_KERNEL_KINDS])
{
    functions[0] = (const void *)tic_kernels_original(codelet->cpu_funcs[implementation]);
    functions[1] = (const void *)codelet->cuda_funcs[implementation];
    functions[2] = (const void *)codelet->opencl_funcs[implementation];
#if TIC_STARPU_1_4
    functions[3] = (const void *)codelet->hip_funcs[implementation];
#else
    functions[3] = NULL;
#endif
    return functions[0] || functions[1] || functions[2] || functions[3];
}

const void *tic_kernels_first(const struct starpu_codelet *codelet)
{
    const void *functions[TIC_KERNEL_KINDS];
    unsigned kind = 0;

    if (!tic_kernels_of(codelet, 0, functions))
        return NULL;
    while (!functions[kind])
        kind++;
    return functions[kind];
}

bool tic_kernels_can_fail(const struct starpu_codelet *codelet)
{
    bool can_fail = false;

    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && codelet->cpu_funcs[i] && !can_fail; i++) {
        unsigned place = find_stand_in(codelet->cpu_funcs[i]);
        can_fail = place < TIC_KERNELS &&
                   atomic_load_explicit(&kernels[place].can_fail, memory_order_relaxed);
    }
    return can_fail;
}

bool tic_kernels_is_of(const struct tic_kernel *kernel, const struct starpu_codelet *codelet)
{
    bool is_of = false;

    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && !is_of; i++)
        is_of = codelet->cpu_funcs[i] == stand_ins[kernel - kernels];
    return is_of;
}

struct starpu_task *tic_kernels_current_task(void)
{
    return tic_acting.task ? tic_acting.task : tic_real.starpu_task_get_current();
}

int tic_kernels_current_worker(void)
{
    return tic_acting.task ? tic_acting.worker : tic_real.starpu_worker_get_id();
}
