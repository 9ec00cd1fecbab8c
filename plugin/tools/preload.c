/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding the library: putting it into LD_PRELOAD, and the store module beside it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "store/h5load.h"
#include "store/store.h"
#include "tools/needed.h"
#include "tools/reach.h"
#include "tools/tool.h"

#define LIBRARY "libstarputic.so"
#define SYSCALLS "tic-syscalls.so"

/* The library beside the tool wherever it was moved to, in the build tree, or where it was
 * installed. */
static int find_library(char path[PATH_MAX])
{
    static const char *const beside[] = {".libs/" LIBRARY, "../lib/" LIBRARY};
    char self[PATH_MAX], candidate[PATH_MAX + sizeof("/.libs/" LIBRARY)];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s", self, beside[i]);
        if (realpath(candidate, path))
            return 0;
    }
    return realpath(TIC_LIBDIR "/" LIBRARY, path) ? 0 : -ENOENT;
}

/* As the store module: in the library's folder of plug-ins when installed, else beside it. */
static int find_syscalls(const char *library, char path[PATH_MAX])
{
    static const char *const places[] = {"starputic/" SYSCALLS, SYSCALLS};
    char candidate[PATH_MAX + sizeof("starputic/" SYSCALLS)];
    int folder = (int)(strrchr(library, '/') - library);

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(candidate, sizeof(candidate), "%.*s/%s", folder, library, places[i]);
        if (realpath(candidate, path))
            return 0;
    }
    return -ENOENT;
}

static int preload(const char *library, bool first)
{
    const char *before = getenv("LD_PRELOAD");
    char *both = NULL;

    if (!before || !before[0])
        return setenv("LD_PRELOAD", library, 1);
    if (asprintf(&both, "%s:%s", first ? library : before, first ? before : library) < 0)
        return -1;
    int status = setenv("LD_PRELOAD", both, 1);
    free(both);
    return status;
}

/* What comes first is called. */
static int preload_ours(const char *library)
{
    const char *before = getenv("LD_PRELOAD");

    return preload(library, before && strstr(before, "libstarpu-"));
}

/* AddressSanitizer ends a program whose first library it is not. */
static int preload_first(const char *command)
{
    char path[PATH_MAX], library[NAME_MAX + 1];
    const char *before = getenv("LD_PRELOAD");

    if (!tic_reach_find(command, path) || !tic_needed_first(path, library) ||
        (before && strstr(before, library)))
        return 0;
    return preload(library, true);
}

bool tic_tool_may_preload(void)
{
    char library[PATH_MAX], self[8];

    bool is_there = find_library(library) == 0;
    if (is_there && !strpbrk(library, " :"))
        return true;
    if (is_there)
        fprintf(stderr,
                "starpu-tic: %s cannot be preloaded, as LD_PRELOAD ends names at blanks and "
                "colons. Install starpu-tic where the path has none\n",
                library);
    else if (readlink("/proc/self/exe", self, sizeof(self)) < 0)
        fprintf(
            stderr,
            "starpu-tic: cannot find %s: /proc, which tells where starpu-tic itself is, cannot be "
            "read (%s), and it is not in " TIC_LIBDIR "\n",
            LIBRARY, strerror(errno));
    else
        fprintf(stderr,
                "starpu-tic: cannot find %s beside starpu-tic, in ../lib or in " TIC_LIBDIR "\n",
                LIBRARY);
    return false;
}

int tic_tool_preload(const char *command)
{
    char library[PATH_MAX], syscalls[PATH_MAX];
    const char *pages = getenv(TIC_SETTING_PREFIX "PAGES");
    bool looks = (pages && strcmp(pages, "1") == 0) || getenv(TIC_SETTING_PREFIX "WRITES");

    if (!tic_tool_may_preload())
        return -1;
    if (find_library(library) != 0 || preload_ours(library) != 0 ||
        (looks && (find_syscalls(library, syscalls) != 0 || preload(syscalls, true) != 0)) ||
        preload_first(command) != 0) {
        fprintf(stderr, "starpu-tic: cannot preload %s\n", looks ? LIBRARY ", " SYSCALLS : LIBRARY);
        return -1;
    }
    return 0;
}

const struct tic_h5_ops *tic_tool_load_store(void)
{
    char library[PATH_MAX];
    const char *reason = "no " LIBRARY;
    const struct tic_h5_ops *h5 = find_library(library) == 0 ? tic_h5_load(library, &reason) : NULL;

    if (!h5) {
        fprintf(stderr, "starpu-tic: cannot load the store module: %s\n", reason);
        exit(TIC_TOOL_FAILED);
    }
    return h5;
}

int tic_tool_open_store(struct tic_store *store, const char *path)
{
    return tic_store_open(store, path, TIC_STORE_READ, false, tic_tool_load_store());
}
