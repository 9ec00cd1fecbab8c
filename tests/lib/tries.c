/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: how often StarPU was asked whether data is at rest. Says so on the
 * standard error in the end. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <starpu.h>
#include <stdio.h>

static _Atomic long tries;

int starpu_data_acquire_on_node_try(starpu_data_handle_t data, int node,
                                    enum starpu_data_access_mode mode)
{
    int (*next)(starpu_data_handle_t, int, enum starpu_data_access_mode) =
        dlsym(RTLD_NEXT, "starpu_data_acquire_on_node_try");

    atomic_fetch_add(&tries, 1);
    return next(data, node, mode);
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "tries: %ld\n", atomic_load(&tries));
}
