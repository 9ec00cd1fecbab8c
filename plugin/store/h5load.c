/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the part of the store that needs libhdf5. As a rule HDF5 lies inside of it and is seen by
 * nobody else. A build without HDF5's archive (configure) loads the shared library: RTLD_LOCAL
 * hides it from the application, RTLD_DEEPBIND hides the application's from us, if that is another
 * one. A program that has the same one shares it with us, and may have its variables in its own
 * memory (COPY relocations), where RTLD_DEEPBIND does not look. What does not look into a store
 * loads nothing. */
#include "store/h5load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const troubles[] = {
    [TIC_H5_DEAD] =
        "libhdf5 does not work in this program. (If the program has HDF5 of its own: build "
        "starpu-tic with the archive of HDF5, see configure --with-hdf5-archive)",
    [TIC_H5_RACES] = "the program has the same libhdf5, which is not for several threads (build "
                     "starpu-tic with the archive of HDF5, see configure --with-hdf5-archive)",
};

static const int load_modes[] = {
#if !defined(TIC_HDF5_INSIDE) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, /* sanitizers refuse it */
#endif
    RTLD_NOW | RTLD_LOCAL,
};

/* Beside the library: in its folder of plug-ins when installed, else in the build tree. */
static void *open_beside(const char *library, int mode)
{
    static const char *const places[] = {"starputic/tic-store.so", "tic-store.so"};
    char path[PATH_MAX];
    const char *slash = strrchr(library, '/');
    int folder = slash ? (int)(slash - library) : 0;
    void *object = NULL;

    for (size_t i = 0; !object && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s%s%s", folder, library, slash ? "/" : "", places[i]);
        object = dlopen(path, mode);
    }
    return object;
}

static const struct tic_h5_ops *load(const char *library, int mode, const char **reason)
{
    void *object = open_beside(library, mode);
    const struct tic_h5_ops *ops = object ? dlsym(object, TIC_H5_OPS_SYMBOL) : NULL;

    if (!ops) {
        *reason = dlerror();
        if (!*reason)
            *reason = "no tic-store.so beside libstarputic.so";
        return NULL;
    }
    enum tic_h5_trouble trouble = ops->trouble();
    if (trouble == TIC_H5_FINE)
        return ops;
    *reason = troubles[trouble];
    dlclose(object);
    return NULL;
}

const struct tic_h5_ops *tic_h5_load(const char *library, const char **reason)
{
    const struct tic_h5_ops *ops = NULL;

    for (size_t i = 0; !ops && i < sizeof(load_modes) / sizeof(load_modes[0]); i++)
        ops = load(library, load_modes[i], reason);
    return ops;
}
