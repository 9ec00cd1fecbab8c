/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of main() that open files: what it reads there is an input, and a restart must read the
 * same. The calls do what they always do; afterwards the file is noted (store/files.h). They may
 * come before any constructor, and in handlers of signals. */
/* Calls with offsets of both sizes are defined here, by their own names. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/context.h"
#include "base/next.h"
#include "base/path.h"
#include "interpose/opening.h"
#include "recovery/recovery.h"
#include "report/told.h"
#include "store/files.h"

/* All immutable after start(). */
static char home[PATH_MAX], store[PATH_MAX], models[PATH_MAX];

/* ---- which files ------------------------------------------------------------------------------
 */

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return length > 1 && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || folder[length - 1] == '/');
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), size = strlen(end);

    return length >= size && strcmp(path + length - size, end) == 0;
}

/* What belongs to the machine, to StarPU or to caches says nothing of the run. */
static bool is_input(const char *path)
{
    static const char *const folders[] = {"/proc",    "/sys",      "/dev", "/etc",       "/usr",
                                          "/lib",     "/lib32",    "/bin", "/sbin",      "/lib64",
                                          "/run",     "/boot",     "/opt", "/var/spool", "/var/lib",
                                          "/var/run", "/var/cache"};
    size_t length = strlen(home);

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (is_below(path, folders[i]))
            return false;
    if (length > 0 && strncmp(path, home, length) == 0 && path[length] == '/' &&
        path[length + 1] == '.' && path[length + 2] != '.' && path[length + 2] != '/')
        return false;
    return !is_below(path, store) && !is_below(path, models) && !strstr(path, "/.starpu/") &&
           !strstr(path, "/.cache/") && !strstr(path, "/__pycache__/") && !strstr(path, ".so.") &&
           !ends_with(path, ".so") && !ends_with(path, ".pyc");
}

/* The path as the program names it, relative to where it was started; NULL: no input, or unknown.
 * Between tic_files_begin() and tic_files_end(): the buffer is static, as handlers of signals have
 * small stacks. */
static const char *name_of(int directory, const char *path)
{
    static char name[2 * PATH_MAX];
    char link[32];
    ssize_t length = 0;

    if (strlen(path) >= PATH_MAX)
        return NULL;
    if (path[0] == '/')
        return is_input(path) ? path : NULL;
    if (directory == AT_FDCWD) {
        length = syscall(SYS_getcwd, name, PATH_MAX) - 1;
    } else {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
        length = readlink(link, name, PATH_MAX - 1);
    }
    if (length <= 0)
        return NULL;
    name[length] = '\0';
    bool at_start = strcmp(name, tic_path_start()) == 0;
    name[length] = '/';
    strcpy(name + length + 1, path);
    if (!is_input(name))
        return NULL;
    return at_start ? name + length + 1 : name;
}

/* ---- notes ------------------------------------------------------------------------------------
 */

static void stop_other(const char *name, enum tic_files_verdict verdict)
{
    struct tic_session *session = tic_session_opened();

    if (!session ||
        (!tic_position_is_ahead() && tic_session && tic_recovery_is_complete(&session->graph)))
        return; /* what follows is live: another run may read other files */
    tic_recovery_stop_other_file(session->store.path, name, verdict);
}

enum use { READS, WRITES, ANEW };

/* Leaves errno as it is. */
static void note(int directory, const char *path, int fd, enum use use)
{
    int error = errno;

    if (!tic_files_begin())
        return;
    const char *name = name_of(directory, path);
    if (name && use == READS) {
        enum tic_files_verdict verdict = tic_files_note(name, fd);
        if (verdict != TIC_FILES_SAME)
            stop_other(name, verdict);
    } else if (name) {
        tic_files_note_written(name, use == ANEW);
    }
    tic_files_end();
    errno = error;
}

__attribute__((unused)) static void note_open(const void *caller, int directory, const char *path,
                                              int flags, int fd)
{
    if (!tic_answers_are_main(caller) || (flags & (O_DIRECTORY | O_PATH)) != 0)
        return;
    if ((flags & O_ACCMODE) == O_RDONLY && (fd >= 0 || errno == ENOENT))
        note(directory, path, fd, READS);
    else if ((flags & O_ACCMODE) != O_RDONLY && fd >= 0)
        note(directory, path, fd, (flags & (O_TRUNC | O_EXCL)) != 0 ? ANEW : WRITES);
}

__attribute__((unused)) static void note_stream(const void *caller, const char *path,
                                                const char *mode, FILE *file)
{
    if (!path || !tic_answers_are_main(caller))
        return;
    if (mode[0] == 'r' && !strchr(mode, '+') && (file || errno == ENOENT))
        note(AT_FDCWD, path, file ? fileno(file) : -1, READS);
    else if (file && (mode[0] != 'r' || strchr(mode, '+')))
        note(AT_FDCWD, path, fileno(file), mode[0] == 'w' ? ANEW : WRITES);
}

static void keep(char place[PATH_MAX], const char *variable)
{
    const char *text = getenv(variable);

    snprintf(place, PATH_MAX, "%s", text ? text : "");
}

/* Of a program that opens StarPU itself, later, files count from starpu_init on. A shell or the
 * like has none. */
__attribute__((constructor)) static void start(void)
{
    keep(home, "HOME");
    keep(store, TIC_SETTING_PREFIX "DIR");
    keep(models, "STARPU_PERF_MODEL_DIR");
    if (dlsym(RTLD_NEXT, "starpu_task_create"))
        tic_files_start();
}

/* ---- the calls --------------------------------------------------------------------------------
 */

#if __SIZEOF_LONG__ == 8 /* else open() and open64() differ, and no file is noted */

#define CALLER __builtin_return_address(0)
#define PUBLIC __attribute__((visibility("default")))
/* The same function by another name: where long has 64 bits these do not differ. */
#define ALIAS(of) __attribute__((visibility("default"), alias(of)))

enum { OPEN, OPENAT, OPEN_2, OPENAT_2, FOPEN, FREOPEN, CALLS };
static const char *const names[CALLS] = {"open64",       "openat64", "__open64_2",
                                         "__openat64_2", "fopen64",  "freopen64"};
static _Atomic(void *) found[CALLS];

static void *find(unsigned call)
{
    return tic_next_function(&found[call], names[call]);
}

/* A handler of a signal must not come first. */
__attribute__((constructor)) static void find_all(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        find(i);
}

static bool has_mode(int flags)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int tic_opens_open(const char *path, int flags, ...) __asm__("open64") PUBLIC;
int tic_opens_open(const char *path, int flags, ...)
{
    TIC_REAL(tic_opens_open, find(OPEN));
    va_list args;

    va_start(args, flags);
    int fd = has_mode(flags) ? real(path, flags, va_arg(args, mode_t)) : real(path, flags);
    va_end(args);
    note_open(CALLER, AT_FDCWD, path, flags, fd);
    return fd;
}

int tic_opens_openat(int directory, const char *path, int flags, ...) __asm__("openat64") PUBLIC;
int tic_opens_openat(int directory, const char *path, int flags, ...)
{
    TIC_REAL(tic_opens_openat, find(OPENAT));
    va_list args;

    va_start(args, flags);
    int fd = has_mode(flags) ? real(directory, path, flags, va_arg(args, mode_t))
                             : real(directory, path, flags);
    va_end(args);
    note_open(CALLER, directory, path, flags, fd);
    return fd;
}

/* What compilers make of these two with _FORTIFY_SOURCE. */
int tic_opens_open_2(const char *path, int flags) __asm__("__open64_2") PUBLIC;
int tic_opens_open_2(const char *path, int flags)
{
    TIC_REAL(tic_opens_open_2, find(OPEN_2));
    int fd = real(path, flags);

    note_open(CALLER, AT_FDCWD, path, flags, fd);
    return fd;
}

int tic_opens_openat_2(int directory, const char *path, int flags) __asm__("__openat64_2") PUBLIC;
int tic_opens_openat_2(int directory, const char *path, int flags)
{
    TIC_REAL(tic_opens_openat_2, find(OPENAT_2));
    int fd = real(directory, path, flags);

    note_open(CALLER, directory, path, flags, fd);
    return fd;
}

FILE *tic_opens_fopen(const char *path, const char *mode) __asm__("fopen64") PUBLIC;
FILE *tic_opens_fopen(const char *path, const char *mode)
{
    TIC_REAL(tic_opens_fopen, find(FOPEN));
    FILE *file = real(path, mode);

    note_stream(CALLER, path, mode, file);
    return file;
}

FILE *tic_opens_freopen(const char *path, const char *mode, FILE *old) __asm__("freopen64") PUBLIC;
FILE *tic_opens_freopen(const char *path, const char *mode, FILE *old)
{
    TIC_REAL(tic_opens_freopen, find(FREOPEN));
    FILE *file = real(path, mode, old);

    note_stream(CALLER, path, mode, file);
    return file;
}

int tic_opens_open_too(const char *, int, ...) __asm__("open") ALIAS("open64");
int tic_opens_openat_too(int, const char *, int, ...) __asm__("openat") ALIAS("openat64");
int tic_opens_open_2_too(const char *, int) __asm__("__open_2") ALIAS("__open64_2");
int tic_opens_openat_2_too(int, const char *, int) __asm__("__openat_2") ALIAS("__openat64_2");
FILE *tic_opens_fopen_too(const char *, const char *) __asm__("fopen") ALIAS("fopen64");
FILE *tic_opens_freopen_too(const char *, const char *, FILE *) __asm__("freopen")
    ALIAS("freopen64");

#endif
