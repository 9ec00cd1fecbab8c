/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded: threads of libstarputic cannot be created, as where a limit is reached.
 * TIC_TEST_ERRNO: the error. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    Dl_info info;

    if (dladdr(__builtin_return_address(0), &info) != 0 && strstr(info.dli_fname, "libstarputic"))
        return atoi(getenv("TIC_TEST_ERRNO"));
    return real(thread, attributes, run, argument);
}
