/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random numbers of the C library: the state of these functions is memory of the library's own,
 * which no restart restores. Kernels that call them are told. The calls do what they always do. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/next.h"
#include "session/context.h"
#include "session/kernels.h"
#include "session/marks.h"
#include "unseen/statics.h"
#include "real/real.h"

static _Atomic bool is_told;

/* Policies of StarPU ask, too, while a kernel submits tasks. */
static bool is_of_starpu(const void *caller)
{
    static _Atomic(const void *) known;
    Dl_info its, starpu;
    void *function;

    if (atomic_load_explicit(&known, memory_order_relaxed) == caller)
        return true;
    memcpy(&function, &tic_real.starpu_task_submit, sizeof(function));
    bool is = dladdr(caller, &its) != 0 && dladdr(function, &starpu) != 0 &&
              its.dli_fbase == starpu.dli_fbase;
    if (is)
        atomic_store_explicit(&known, caller, memory_order_relaxed);
    return is;
}

static void note(const char *call, const void *caller)
{
    if (!tic_session || tic_guard > 0 || atomic_load_explicit(&is_told, memory_order_relaxed) ||
        tic_session_context() != TIC_CONTEXT_TASK || is_of_starpu(caller) ||
        tic_marks_of(tic_kernels_current_task()) == TIC_MARK_CAN_SKIP ||
        atomic_exchange(&is_told, true))
        return;
    tic_statics_note_call(tic_kernels_current_task(), call);
}

#define CALL(type, name)                                                                           \
    __attribute__((visibility("default"))) type name(void);                                        \
    type name(void)                                                                                \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
                                                                                                   \
        note(#name, __builtin_return_address(0));                                                  \
        return real();                                                                             \
    }

CALL(int, rand)
CALL(long, random)
CALL(double, drand48)
CALL(long, lrand48)
CALL(long, mrand48)
