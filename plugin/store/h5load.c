/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the part of the store that needs libhdf5 as an object of its own: RTLD_LOCAL hides our
 * libhdf5 from the application, RTLD_DEEPBIND hides the application's from us. Debian's libhdf5
 * brings some forty libraries, so what does not look into a store does without. */
#include "store/h5load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOAD_MODE (RTLD_NOW | RTLD_LOCAL) /* sanitizers refuse RTLD_DEEPBIND */
#else
#define LOAD_MODE (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

/* Beside the library: in its folder of plug-ins when installed, else in the build tree. */
static void *open_beside(const char *library)
{
    static const char *const places[] = {"starputic/tic-store.so", "tic-store.so"};
    char path[PATH_MAX];
    const char *slash = strrchr(library, '/');
    int folder = slash ? (int)(slash - library) : 0;
    void *object = NULL;

    for (size_t i = 0; !object && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s%s%s", folder, library, slash ? "/" : "", places[i]);
        object = dlopen(path, LOAD_MODE);
    }
    return object;
}

const struct tic_h5_ops *tic_h5_load(const char *library, const char **reason)
{
    void *object = open_beside(library);
    const struct tic_h5_ops *ops = object ? dlsym(object, TIC_H5_OPS_SYMBOL) : NULL;

    if (!ops) {
        *reason = dlerror();
        if (!*reason)
            *reason = "no tic-store.so beside libstarputic.so";
    }
    return ops;
}
