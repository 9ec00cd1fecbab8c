/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stubs of kernels that nvcc generates keep handles in variables of their own: the first launch, in
 * a task, fills them in. So these are known in programs without a table of symbols, too. The call
 * does what it always does. */
#include <dlfcn.h>
#include <string.h>

#include "base/next.h"
#include "session/context.h"
#include "unseen/statics.h"

/* There may be several of NVIDIA's libraries: that of the caller comes first. */
static void *find_next(const void *caller, const void *own)
{
    static _Atomic(void *) known;
    Dl_info object;
    void *library =
        dladdr(caller, &object) != 0 ? dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, "__cudaGetKernel") : NULL;

    if (library)
        dlclose(library);
    return found && found != own ? found : tic_next_function(&known, "__cudaGetKernel");
}

__attribute__((visibility("default"))) int __cudaGetKernel(void **handle, const void *stub);
int __cudaGetKernel(void **handle, const void *stub)
{
    enum { UNKNOWN = 999 }; /* cudaErrorUnknown */
    int (*real)(void **, const void *);
    void *function = find_next(__builtin_return_address(0), (const void *)__cudaGetKernel);

    memcpy(&real, &function, sizeof(real));
    if (tic_session && tic_session_context() == TIC_CONTEXT_TASK)
        tic_statics_note_stub((const char *)handle, stub);
    return real ? real(handle, stub) : UNKNOWN;
}
