/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding the library: putting it into LD_PRELOAD, and the store module beside it. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/settings.h"
#include "store/h5load.h"
#include "store/store.h"
#include "tools/arguments.h"
#include "tools/reach.h"
#include "tools/tool.h"
#include "base/content.h"

/* ---- what a program needs first -------------------------------------------------------------- */

/* Libraries that a program needs to come first, of all that are preloaded. */

struct file {
    const char *bytes; /* mapped */
    size_t size;
};

static const void *at(const struct file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* NULL: the file has none. */
static const ElfW(Phdr) * next_segment(const struct file *file, unsigned type, unsigned *i)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file->bytes;
    const ElfW(Phdr) *segments =
        at(file, header->e_phoff, header->e_phnum * (uint64_t)sizeof(*segments));

    for (; segments && *i < header->e_phnum; (*i)++)
        if (segments[*i].p_type == type)
            return &segments[(*i)++];
    return NULL;
}

/* What will be at an address when the file is loaded. */
static const void *loaded(const struct file *file, uint64_t address, uint64_t size)
{
    const ElfW(Phdr) * segment;
    unsigned i = 0;

    while ((segment = next_segment(file, PT_LOAD, &i)))
        if (address - segment->p_vaddr < segment->p_filesz)
            return at(file, segment->p_offset + (address - segment->p_vaddr), size);
    return NULL;
}

static bool is_wanted(const char *name)
{
    return strncmp(name, "libasan.so", strlen("libasan.so")) == 0 ||
           strncmp(name, "libclang_rt.asan", strlen("libclang_rt.asan")) == 0;
}

static bool find(const struct file *file, char library[NAME_MAX + 1])
{
    unsigned i = 0;
    const ElfW(Phdr) *dynamic = next_segment(file, PT_DYNAMIC, &i);
    const ElfW(Dyn) *entries = dynamic ? at(file, dynamic->p_offset, dynamic->p_filesz) : NULL;
    size_t count = entries ? dynamic->p_filesz / sizeof(*entries) : 0, size = 0;
    uint64_t address = 0;

    for (size_t k = 0; k < count; k++) {
        address = entries[k].d_tag == DT_STRTAB ? entries[k].d_un.d_ptr : address;
        size = entries[k].d_tag == DT_STRSZ ? entries[k].d_un.d_val : size;
    }
    const char *names = size ? loaded(file, address, size) : NULL;
    for (size_t k = 0; names && names[size - 1] == '\0' && k < count; k++) {
        const char *name = names + entries[k].d_un.d_val;
        if (entries[k].d_tag == DT_NEEDED && entries[k].d_un.d_val < size && is_wanted(name))
            return snprintf(library, NAME_MAX + 1, "%s", name) <= NAME_MAX;
    }
    return false;
}

/* The run-time library of AddressSanitizer, if the file is a program that is linked with it; its
 * name as the program has it. */
static bool tic_needed_first(const char *path, char library[NAME_MAX + 1])
{
    struct file file = {.bytes = NULL};

    file.bytes = tic_content_map(path, &file.size);
    if (!file.bytes)
        return false;
    bool found = file.size >= sizeof(ElfW(Ehdr)) && memcmp(file.bytes, ELFMAG, SELFMAG) == 0 &&
                 file.bytes[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                 find(&file, library);
    munmap((void *)file.bytes, file.size);
    return found;
}

#define LIBRARY "libstarputic.so"
#define SYSCALLS "tic-syscalls.so"
#define RANKS "libstarputic-mpi.so"

/* The first of two places, from the folder of the tool on, that is there; else the third one. */
static int find_place(const char *const places[3], char path[PATH_MAX])
{
    char self[PATH_MAX], candidate[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < 2; i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s", self, places[i]);
        if (realpath(candidate, path))
            return 0;
    }
    return realpath(places[2], path) ? 0 : -ENOENT;
}

/* The library beside the tool wherever it was moved to, in the build tree, or where it was
 * installed. */
static int find_library(char path[PATH_MAX])
{
    static const char *const places[] = {".libs/" LIBRARY, "../lib/" LIBRARY,
                                         TIC_LIBDIR "/" LIBRARY};

    return find_place(places, path);
}

int tic_tool_find_module(char path[PATH_MAX])
{
    static const char *const places[] = {"bindings/python", "../share/starpu-tic/python",
                                         TIC_DATADIR "/starpu-tic/python"};

    return find_place(places, path);
}

/* As the store module: in the library's folder of plug-ins when installed, else beside it. */
static int find_beside(const char *library, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"starputic/", ""};
    char candidate[PATH_MAX + 64];
    int folder = (int)(strrchr(library, '/') - library);

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(candidate, sizeof(candidate), "%.*s/%s%s", folder, library, places[i], name);
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
    char library[PATH_MAX], more[PATH_MAX];
    const char *ranks = getenv(TIC_SETTING_PREFIX "RANKS");
    const char *pages = getenv(TIC_SETTING_PREFIX "PAGES");
    bool looks = (pages && strcmp(pages, "1") == 0) || getenv(TIC_SETTING_PREFIX "WRITES");

    if (!tic_tool_may_preload())
        return -1;
    if (find_library(library) != 0 || preload_ours(library) != 0 ||
        (looks && (find_beside(library, SYSCALLS, more) != 0 || preload(more, true) != 0)) ||
        (ranks && strcmp(ranks, "try") == 0 &&
         (find_beside(library, RANKS, more) != 0 || preload(more, false) != 0)) ||
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
    return tic_arguments_is_job(path)
               ? -EISDIR
               : tic_store_open(store, path, TIC_STORE_READ, false, tic_tool_load_store());
}
