/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said at the end of a process that has run StarPU past us: opened with RTLD_DEEPBIND, as
 * hosts of plug-ins do, it binds its own calls and those of the plug-in to itself. One in a
 * namespace of dlmopen() cannot be found. */
#include "report/missed.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/settings.h"

static _Atomic bool seen; /* relaxed */
static pid_t process;     /* immutable after start: forks say nothing */

void tic_missed_note_start(void)
{
    atomic_store_explicit(&seen, true, memory_order_relaxed);
}

bool tic_missed_has_start(void)
{
    return atomic_load_explicit(&seen, memory_order_relaxed);
}

__attribute__((constructor)) static void note_process(void)
{
    process = getpid();
}

static int find_library(struct dl_phdr_info *object, size_t size, void *path)
{
    static const char start[] = "libstarpu-1.";
    const char *slash = strrchr(object->dlpi_name, '/');

    (void)size;
    if (!slash || strncmp(slash + 1, start, strlen(start)) != 0)
        return 0;
    *(const char **)path = object->dlpi_name;
    return 1;
}

/* It keeps the number when it is shut down. */
static bool has_had_workers(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    unsigned (*count)(void) = NULL;

    if (library)
        *(void **)&count = dlsym(library, "starpu_worker_get_count");
    return count && count() > 0;
}

__attribute__((destructor)) static void tell_if_missed(void)
{
    const char *path = NULL, *protocol = getenv(TIC_SETTING_PREFIX "PROTOCOL");

    if (tic_missed_has_start() || process != getpid() || (protocol && strcmp(protocol, "off") == 0))
        return;
    dl_iterate_phdr(find_library, &path);
    if (path && has_had_workers(path))
        tic_log(TIC_LOG_WARN,
                "this run was not protected: the program's StarPU (%s) was not reached; starpu-tic "
                "explain not-reached",
                path);
}
