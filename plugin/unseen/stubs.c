/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stubs of kernels that nvcc generates keep handles in variables of their own: the first launch, in
 * a task, fills them in. So these are known in programs without a table of symbols, too. The call
 * does what it always does. */
#include "base/next.h"
#include "session/context.h"
#include "unseen/statics.h"

__attribute__((visibility("default"))) int __cudaGetKernel(void **handle, const void *stub);
int __cudaGetKernel(void **handle, const void *stub)
{
    enum { UNKNOWN = 999 }; /* cudaErrorUnknown */
    TIC_REAL(__cudaGetKernel, tic_next_of(__builtin_return_address(0),
                                          (const void *)__cudaGetKernel, "__cudaGetKernel"));

    if (tic_session && tic_session_context() == TIC_CONTEXT_TASK)
        tic_statics_note_stub((const char *)handle, stub);
    return real ? real(handle, stub) : UNKNOWN;
}
