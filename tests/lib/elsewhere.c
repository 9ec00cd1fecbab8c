/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded: the program goes to the directory TIC_TEST_GO before it starts StarPU, as programs do
 * that compute in a scratch directory. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int starpu_init(void *conf);
int starpu_init(void *conf)
{
    static int (*real)(void *);
    const char *folder = getenv("TIC_TEST_GO");

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "starpu_init");
    if (folder && chdir(folder) != 0)
        abort();
    return real(conf);
}
