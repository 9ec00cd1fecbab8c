/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/builds.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/content.h"
#include "base/thread.h"
#include "recovery/recovery.h"
#include "session/kernels.h"
#include "session/task.h"
#include "store/files.h"

/* ---- which build ------------------------------------------------------------------------------
 */

enum { ID_MOST = 64 };

/* Of the notes of a segment: owner "GNU", type NT_GNU_BUILD_ID. */
static const char *find_id_in(const char *at, size_t size, size_t *length)
{
    const char *end = at + size;

    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof(*note), *id = name + (note->n_namesz + 3) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note->n_descsz <= ID_MOST && id + note->n_descsz <= end) {
            *length = note->n_descsz;
            return id;
        }
        at = id + (note->n_descsz + 3) / 4 * 4;
    }
    return NULL;
}

/* Some notes are in the file only. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * note)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
            note->p_vaddr >= segment->p_vaddr &&
            note->p_vaddr + note->p_memsz <= segment->p_vaddr + segment->p_filesz)
            return true;
    }
    return false;
}

static const char *find_id(const struct dl_phdr_info *info, size_t *length)
{
    const char *id = NULL;

    for (int i = 0; i < info->dlpi_phnum && !id; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && is_loaded(info, &info->dlpi_phdr[i]))
            id = find_id_in((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                            info->dlpi_phdr[i].p_memsz, length);
    return id;
}

/* The executable comes first. */
static int describe_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    char **text = arg;
    size_t length;
    const char *id = find_id(info, &length);

    (void)size;
    *text = id ? malloc(2 * length + 1) : NULL;
    for (size_t i = 0; *text && i < length; i++)
        snprintf(*text + 2 * i, 3, "%02x", (unsigned char)id[i]);
    return 1;
}

char *tic_builds_of_program(void)
{
    char *build = NULL;

    dl_iterate_phdr(describe_program, &build);
    if (build)
        return build;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* also of one that was removed */
    build = fd < 0 ? NULL : tic_input_hash_of(fd);
    if (fd >= 0)
        close(fd);
    return build;
}

/* ---- which libraries --------------------------------------------------------------------------
 */

/* Code that was looked at: of a library, or a function that is in none. Under the submission lock.
 */
static struct span {
    uintptr_t begin, end;
} seen[256];
static unsigned seen_count;
static unsigned long long loads, unloads; /* of libraries, as of the last look */

static bool was_seen(uintptr_t at)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (at >= seen[i].begin && at < seen[i].end)
            return true;
    return false;
}

static void note_seen(uintptr_t begin, uintptr_t end)
{
    if (seen_count < sizeof(seen) / sizeof(seen[0]))
        seen[seen_count++] = (struct span){begin, end};
}

static struct span span_of(const struct dl_phdr_info *info)
{
    struct span span = {UINTPTR_MAX, 0};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        span.begin = begin < span.begin ? begin : span.begin;
        span.end = begin + segment->p_memsz > span.end ? begin + segment->p_memsz : span.end;
    }
    return span;
}

static const char *name_of(const struct dl_phdr_info *info)
{
    const char *slash = strrchr(info->dlpi_name, '/');

    return slash ? slash + 1 : info->dlpi_name;
}

/* The program has no name here, and its build is compared by itself. What passes calls on (ctypes)
 * does the same in each of its builds. */
static bool counts(const char *name)
{
    static const char *const others[] = {"libstarpu", "libffi.", "libc.so", "ld-", "linux-"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    return name[0] != '\0';
}

/* ---- what they hold ---------------------------------------------------------------------------
 */

/* The file under the library's name, if it is the one that was loaded, or -1. */
static int open_loaded(const struct dl_phdr_info *info, uintptr_t at)
{
    FILE *maps = tic_content_open("/proc/self/maps");
    int fd = maps ? open(info->dlpi_name, O_RDONLY | O_CLOEXEC) : -1;
    unsigned long long inode = 0, found;
    uintptr_t begin, end;
    char *line = NULL;
    size_t capacity = 0;
    struct stat file;

    while (maps && inode == 0 && getline(&line, &capacity, maps) > 0)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %llu", &begin, &end, &found) == 3 &&
            at >= begin && at < end)
            inode = found;
    free(line);
    if (maps)
        fclose(maps);
    if (fd >= 0 && (fstat(fd, &file) != 0 || file.st_ino != inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Without a build ID the file counts. Where that is gone, no restart can tell which it was, and
 * none is to go on. */
static enum tic_files_verdict note_build(const struct dl_phdr_info *info, const char *name)
{
    size_t length;
    const char *id = find_id(info, &length);
    int fd = id ? -1 : open_loaded(info, span_of(info).begin);
    uint64_t unique = tic_nanoseconds(CLOCK_REALTIME);

    if (!id && fd < 0)
        tic_log(TIC_LOG_WARN,
                "%s has no build ID, and its file is another one: a restart will be refused (link: "
                "-Wl,--build-id)",
                name_of(info));
    enum tic_files_verdict verdict = id ? tic_files_note_build(name, id, length, -1)
                                        : tic_files_note_build(name, &unique, sizeof(unique), fd);
    if (fd >= 0)
        close(fd);
    return verdict;
}

/* A look at libraries, which the loader locks: what it finds is told afterwards. */
struct look {
    uintptr_t at;              /* the function that it is for, if it is for one */
    char other[NAME_MAX + 64]; /* a library that is not the one of the recorded run, or "" */
};

static void note_library(const struct dl_phdr_info *info, struct look *look)
{
    char name[sizeof(look->other)];
    struct span span = span_of(info);

    note_seen(span.begin, span.end);
    if (!counts(name_of(info)) || !tic_files_begin())
        return;
    snprintf(name, sizeof(name), TIC_FILES_BUILD "%s/%s", tic_machine_name(), name_of(info));
    if (note_build(info, name) != TIC_FILES_SAME)
        memcpy(look->other, name, sizeof(name));
    tic_files_end();
}

static void stop_other(const struct look *look, const char *path)
{
    if (look->other[0] && path)
        tic_recovery_stop_other_file(path, look->other, TIC_FILES_OTHER);
}

/* ---- functions of tasks -----------------------------------------------------------------------
 */

static int visit_holder(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct look *look = arg;
    struct span span = span_of(info);
    bool holds = look->at >= span.begin && look->at < span.end;

    (void)size;
    if (holds)
        note_library(info, look);
    return holds;
}

static void note_function(const void *function, const struct starpu_task *task, const char *path)
{
    static bool told; /* under the submission lock */

    if (__builtin_expect(!function || was_seen((uintptr_t)function), 1))
        return;
    struct look look = {.at = (uintptr_t)function};
    if (dl_iterate_phdr(visit_holder, &look) == 0) {
        note_seen(look.at, look.at + 1);
        if (!told)
            tic_log(TIC_LOG_INFO,
                    "a function of task \"%s\" is in no file: a restart cannot tell whether it is "
                    "still the same",
                    task->cl ? tic_task_name(task) : "");
        told = true;
    }
    stop_other(&look, path);
}

void tic_builds_note_task(const struct starpu_task *task, const char *path)
{
    const struct starpu_codelet *codelet = task->cl;
    const void *functions[TIC_KERNEL_KINDS];

    for (unsigned i = 0;
         codelet && i < STARPU_MAXIMPLEMENTATIONS && tic_kernels_of(codelet, i, functions); i++)
        for (unsigned kind = 0; kind < TIC_KERNEL_KINDS; kind++)
            note_function(functions[kind], task, path);
    note_function((const void *)task->callback_func, task, path);
    note_function((const void *)task->prologue_callback_func, task, path);
    note_function((const void *)task->prologue_callback_pop_func, task, path);
}

/* ---- who calls StarPU -------------------------------------------------------------------------
 */

/* Some systems leave addresses in the table as they are in the file. */
static const void *place_of(const struct dl_phdr_info *info, ElfW(Addr) at)
{
    return (const void *)(at < info->dlpi_addr ? at + info->dlpi_addr : at);
}

/* Symbols that others define come first in the table: how many a hash table says, at most. */
static size_t count_imported(const uint32_t *gnu, const ElfW(Word) * hash)
{
    return gnu ? gnu[1] : hash ? hash[1] : 0;
}

static bool imports_starpu(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *gnu = NULL;
    const ElfW(Word) *hash = NULL;

    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *place = place_of(info, dynamic->d_un.d_ptr);
        symbols = dynamic->d_tag == DT_SYMTAB ? place : symbols;
        names = dynamic->d_tag == DT_STRTAB ? place : names;
        gnu = dynamic->d_tag == DT_GNU_HASH ? place : gnu;
        hash = dynamic->d_tag == DT_HASH ? place : hash;
    }
    for (size_t i = 1; symbols && names && i < count_imported(gnu, hash); i++)
        if (symbols[i].st_shndx == SHN_UNDEF &&
            strncmp(names + symbols[i].st_name, "starpu_", strlen("starpu_")) == 0)
            return true;
    return false;
}

static int visit_caller(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (!was_seen(span_of(info).begin) && counts(name_of(info)) && imports_starpu(info))
        note_library(info, arg);
    return 0;
}

static int read_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(struct dl_phdr_info *)arg = *info;
    return 1;
}

void tic_builds_note_callers(const char *path)
{
    struct dl_phdr_info first = {0};
    struct look look = {0};

    dl_iterate_phdr(read_changes, &first);
    if (__builtin_expect(first.dlpi_adds == loads && first.dlpi_subs == unloads, 1))
        return;
    if (first.dlpi_subs != unloads) /* other code may be there now */
        seen_count = 0;
    loads = first.dlpi_adds;
    unloads = first.dlpi_subs;
    dl_iterate_phdr(visit_caller, &look);
    stop_other(&look, path);
}
