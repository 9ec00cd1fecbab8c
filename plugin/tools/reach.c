/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/reach.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

bool tic_reach_find(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH"), *end;

    if (strchr(command, '/') || !folders)
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX && access(path, X_OK) == 0;
    for (const char *at = folders;; at = end + 1) {
        end = strchrnul(at, ':');
        int size =
            snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - at), end > at ? at : ".", command);
        if (size < PATH_MAX && access(path, X_OK) == 0)
            return true;
        if (*end == '\0')
            return false;
    }
}

/* It names no loader, and is none (ld.so PROGRAM). */
static bool is_static(int fd, const ElfW(Ehdr) * header, const char *path)
{
    const char *slash = strrchr(path, '/');
    ElfW(Phdr) segment;

    for (unsigned i = 0; i < header->e_phnum; i++)
        if (pread(fd, &segment, sizeof(segment),
                  (off_t)(header->e_phoff + i * header->e_phentsize)) != sizeof(segment) ||
            segment.p_type == PT_INTERP)
            return false;
    return strncmp(slash ? slash + 1 : path, "ld", 2) != 0;
}

/* NULL: it can be reached, as far as the file tells; a script can. */
static const char *why_not(int fd, const char *path)
{
    ElfW(Ehdr) header, own;
    struct stat file;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool known = self >= 0 && read(self, &own, sizeof(own)) == sizeof(own);

    if (self >= 0)
        close(self);
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return NULL;
    if ((file.st_mode & S_ISUID && file.st_uid != getuid()) ||
        (file.st_mode & S_ISGID && file.st_gid != getgid()))
        return "runs with rights of another user (set-user-ID or set-group-ID)";
    if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "has capabilities of its own (getcap)";
    if (!known || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
        header.e_ident[EI_DATA] != own.e_ident[EI_DATA] || header.e_machine != own.e_machine)
        return "is built for another architecture than starpu-tic";
    return is_static(fd, &header, path) ? "is statically linked" : NULL;
}

void tic_reach_tell(const char *command)
{
    char path[PATH_MAX];
    int fd = tic_reach_find(command, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const char *why = fd >= 0 ? why_not(fd, path) : NULL;

    if (fd >= 0)
        close(fd);
    if (why)
        fprintf(
            stderr,
            "starpu-tic: %s %s, so no library can be preloaded: StarPU in it is not protected\n",
            command, why);
}

bool tic_reach_is_parallel(const char *command, const char *subcommand)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "srun"};
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"};
    const char *slash = strrchr(command, '/'), *name = slash ? slash + 1 : command;
    bool is = false, first = true;

    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
        is |= strncmp(name, launchers[i], strlen(launchers[i])) == 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        is |= getenv(counts[i]) && atoi(getenv(counts[i])) > 1;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
        first &= !getenv(ranks[i]) || atoi(getenv(ranks[i])) == 0;
    if (is && first)
        fprintf(stderr,
                "starpu-tic: %s tells of one process: name the program itself, without mpirun "
                "(starpu-tic explain mpi)\n",
                subcommand);
    return is;
}
