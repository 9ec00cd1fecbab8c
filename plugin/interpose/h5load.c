/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the part of the store that needs libhdf5 as an object of its own: RTLD_LOCAL hides our
 * libhdf5 from the application, RTLD_DEEPBIND hides the application's from us. */
#include "interpose/h5load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOAD_MODE (RTLD_NOW | RTLD_LOCAL) /* sanitizers refuse RTLD_DEEPBIND */
#else
#define LOAD_MODE (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

/* Beside this library: in its folder of plug-ins when installed, else in the build tree. */
static void *open_beside(void)
{
    static const char *const places[] = {"starputic/tic-store.so", "tic-store.so"};
    char path[PATH_MAX];
    Dl_info self;

    if (!dladdr((void *)open_beside, &self) || !self.dli_fname)
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s%s%s", folder, self.dli_fname, slash ? "/" : "",
                 places[i]);
        void *object = dlopen(path, LOAD_MODE);
        if (object)
            return object;
    }
    return NULL;
}

const struct tic_h5_ops *tic_h5_load(void)
{
    void *object = open_beside();
    const struct tic_h5_ops *ops = object ? dlsym(object, TIC_H5_OPS_SYMBOL) : NULL;

    if (!ops) {
        const char *reason = dlerror();
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot load the store module: %s. Is starpu-tic installed "
                 "completely?",
                 reason ? reason : "no tic-store.so beside libstarputic.so");
    }
    return ops;
}
