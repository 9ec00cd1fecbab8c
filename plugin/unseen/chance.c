/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random numbers of the C library: the state of these functions is memory of the library's own,
 * which no restart restores. Kernels that call them are told. The calls do what they always do. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "session/context.h"
#include "unseen/statics.h"
#include "real/real.h"

static _Atomic bool is_told;

static void note(const char *call)
{
    if (!tic_session || tic_guard > 0 || atomic_load_explicit(&is_told, memory_order_relaxed) ||
        tic_session_context() != TIC_CONTEXT_TASK || atomic_exchange(&is_told, true))
        return;
    tic_statics_note_call(tic_real.starpu_task_get_current(), call);
}

static void *find(_Atomic(void *) *known, const char *name)
{
    void *function = atomic_load_explicit(known, memory_order_relaxed);

    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, function, memory_order_relaxed);
    }
    return function;
}

#define CALL(type, name)                                                                           \
    __attribute__((visibility("default"))) type name(void);                                        \
    type name(void)                                                                                \
    {                                                                                              \
        static _Atomic(void *) known;                                                              \
        void *function = find(&known, #name);                                                      \
        type (*real)(void);                                                                        \
                                                                                                   \
        memcpy(&real, &function, sizeof(real));                                                    \
        note(#name);                                                                               \
        return real();                                                                             \
    }

CALL(int, rand)
CALL(long, random)
CALL(double, drand48)
CALL(long, lrand48)
CALL(long, mrand48)
