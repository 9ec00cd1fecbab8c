/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/next.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

void *tic_next_function(_Atomic(void *) *known, const char *name)
{
    /* volatile: to the compiler dlsym() never comes back here */
    static __thread volatile bool looking __attribute__((tls_model("initial-exec")));
    void *function = atomic_load_explicit(known, memory_order_relaxed);

    if (function || looking)
        return function;
    looking = true;
    function = dlsym(RTLD_NEXT, name); /* all threads find the same */
    looking = false;
    atomic_store_explicit(known, function, memory_order_relaxed);
    return function;
}

void *tic_next_of(const void *caller, const void *own, const char *name)
{
    _Atomic(void *) known = NULL;
    Dl_info object;
    void *library =
        dladdr(caller, &object) != 0 ? dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = library ? dlsym(library, name) : NULL;

    if (library)
        dlclose(library);
    return found && found != own ? found : tic_next_function(&known, name);
}
