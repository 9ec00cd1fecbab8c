/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regular files that the program opens to write, or renames: noted in the file STARPU_TIC_WRITES,
 * with who does so, as "\0WHO\0PATH\0K" each. K of the first note of a path: + it was not there;
 * = it was, and the file STARPU_TIC_WRITES.before/N holds its content, N being the place of the
 * note; ? it was, and is not kept. tools/written.c reads the notes. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#if __SIZEOF_LONG__ == 8 /* else open() and open64() differ, and no file is noted */

#define CALLER __builtin_return_address(0)
#define WRAPPER __attribute__((visibility("default")))
/* The same function by another name: where long has 64 bits these do not differ. */
#define ALIAS(of) __attribute__((visibility("default"), alias(of)))

enum { KEPT_MOST = 1 << 28, WHO = 256 }; /* bytes */

/* Written by whoever is first, always the same. */
static struct {
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(openat64)                                                                             \
    FUNCTION(fopen64)                                                                              \
    FUNCTION(freopen64)                                                                            \
    FUNCTION(mkostemp64)                                                                           \
    FUNCTION(renameat2)
#define POINTER(name) __typeof__(&(name)) name;
    FUNCTIONS(POINTER)
} real;

static char notes_path[PATH_MAX]; /* immutable after start() */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("STARPU_TIC_WRITES");

#define RESOLVE(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name);
    FUNCTIONS(RESOLVE)
    snprintf(notes_path, sizeof(notes_path), "%s", path ? path : "");
}

/* A constructor of another library may come first. */
#define REAL(name) (real.name ? real.name : (start(), real.name))

/* ---- notes ---------------------------------------------------------------------------------- */

static bool is_of_machine(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           strncmp(path, "/sys/", 5) == 0 || strstr(path, "/.starpu/") ||
           strstr(path, "/.cache/") || strstr(path, "/__pycache__/");
}

static void tell_who(char who[WHO])
{
    int (*is_up)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "starpu_is_initialized");
    int (*worker)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "starpu_worker_get_id");
    void *(*current)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "starpu_task_get_current");
    char *(*name)(void *) = (char *(*)(void *))dlsym(RTLD_DEFAULT, "starpu_task_get_name");
    bool up = is_up && worker && current && name && is_up();
    void *task = up ? current() : NULL;

    if (task)
        snprintf(who, WHO, "task %s", name(task) ? name(task) : "without a name");
    else
        strcpy(who, up && worker() >= 0    ? "a callback"
                    : gettid() == getpid() ? "main()"
                                           : "another thread");
}

/* The content that the file has now, as number `place`. */
static bool keep(const char *link, const struct stat *info, long long place)
{
    char name[PATH_MAX + 32];
    ssize_t sent = 1;

    snprintf(name, sizeof(name), "%s.before/%lld", notes_path, place);
    int from = real.openat64(AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
    int to = from < 0 || info->st_size > KEPT_MOST
                 ? -1
                 : real.openat64(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (to >= 0 && sent > 0)
        sent = sendfile(to, from, NULL, KEPT_MOST);
    bool kept = to >= 0 && sent == 0 && fchmod(to, info->st_mode & 07777) == 0;
    close(from);
    close(to);
    return kept;
}

/* The notes are this thread's alone until they are closed. */
static void append(int notes, const char *path, const char *link, const struct stat *info,
                   bool was_there)
{
    char who[WHO], note[PATH_MAX + WHO + 8];
    off_t size = lseek(notes, 0, SEEK_END);
    void *text = mmap(NULL, (size_t)size + 1, PROT_READ, MAP_PRIVATE, notes, 0);

    if (text == MAP_FAILED)
        return;
    tell_who(who);
    size_t length = (size_t)snprintf(note, sizeof(note), "%c%s%c%s%c", 0, who, 0, path, 0);
    bool known = memmem(text, (size_t)size, note + 1 + strlen(who), strlen(path) + 2);
    bool noted = known && memmem(text, (size_t)size, note, length);
    munmap(text, (size_t)size + 1);
    note[length] = (char)(known || !was_there ? '+' : keep(link, info, size) ? '=' : '?');
    if (!noted && write(notes, note, length + 1) < 0)
        notes_path[0] = '\0';
}

/* fd: the file, or its name alone (O_PATH). Leaves errno as it is. */
static void note(int fd, bool was_there)
{
    char link[32], path[PATH_MAX];
    struct stat info;
    int error = errno;

    is_inside = true;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length > 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && !is_of_machine(path)) {
        int notes =
            real.openat64(AT_FDCWD, notes_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (flock(notes, LOCK_EX) == 0)
            append(notes, path, link, &info, was_there);
        close(notes);
    }
    is_inside = false;
    errno = error;
}

/* Notes the file of this name, if there is one. False: there is none. */
static bool note_name(int directory, const char *path, int flags, bool was_there)
{
    int error = errno, fd = real.openat64(directory, path, O_PATH | O_CLOEXEC | flags);
    bool is_there = fd >= 0 || errno != ENOENT;

    errno = error;
    if (fd < 0)
        return is_there;
    note(fd, was_there);
    close(fd);
    return true;
}

/* Before a call that may write. True: a file that it makes is to be noted after it. What StarPU and
 * we ourselves write is not. */
static bool look(const void *caller, int directory, const char *path, int flags)
{
    Dl_info info = {.dli_fname = NULL};

    if (!notes_path[0] || is_inside || !path)
        return false;
    dladdr(caller, &info);
    const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    if (slash && (strncmp(slash, "/libstarpu", 10) == 0 || strncmp(slash, "/tic-", 5) == 0))
        return false;
    return !note_name(directory, path, flags, true);
}

static int note_new(bool is_new, int fd)
{
    if (is_new && fd >= 0)
        note(fd, false);
    return fd;
}

/* ---- the calls ------------------------------------------------------------------------------ */

static int open_at(const void *caller, int directory, const char *path, int flags, mode_t mode)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
    bool is_new = writes && look(caller, directory, path, 0);

    return note_new(is_new, REAL(openat64)(directory, path, flags, mode));
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

WRAPPER int open64(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(CALLER, AT_FDCWD, path, flags, mode);
}

WRAPPER int openat64(int directory, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(CALLER, directory, path, flags, mode);
}

WRAPPER int creat64(const char *path, mode_t mode)
{
    return open_at(CALLER, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

static FILE *open_stream(const void *caller, const char *path, const char *mode, FILE *old)
{
    bool writes = mode[0] != 'r' || strchr(mode, '+');
    bool is_new = writes && look(caller, AT_FDCWD, path, 0);

    FILE *file = old ? REAL(freopen64)(path, mode, old) : REAL(fopen64)(path, mode);
    note_new(is_new && file, file ? fileno(file) : -1);
    return file;
}

WRAPPER FILE *fopen64(const char *path, const char *mode)
{
    return open_stream(CALLER, path, mode, NULL);
}

WRAPPER FILE *freopen64(const char *path, const char *mode, FILE *old)
{
    return open_stream(CALLER, path, mode, old);
}

WRAPPER int mkostemp64(char *template, int flags)
{
    bool is_new = look(CALLER, AT_FDCWD, template, 0);

    return note_new(is_new, REAL(mkostemp64)(template, flags));
}

WRAPPER int mkstemp64(char *template)
{
    bool is_new = look(CALLER, AT_FDCWD, template, 0);

    return note_new(is_new, REAL(mkostemp64)(template, 0));
}

static int rename_at(const void *caller, int from_at, const char *from, int to_at, const char *to,
                     unsigned flags)
{
    look(caller, from_at, from, O_NOFOLLOW);
    bool is_new = look(caller, to_at, to, O_NOFOLLOW);
    int status = REAL(renameat2)(from_at, from, to_at, to, flags);

    if (is_new && status == 0)
        note_name(to_at, to, O_NOFOLLOW, false);
    return status;
}

WRAPPER int rename(const char *from, const char *to)
{
    return rename_at(CALLER, AT_FDCWD, from, AT_FDCWD, to, 0);
}

WRAPPER int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return rename_at(CALLER, from_at, from, to_at, to, flags);
}

int open(const char *path, int flags, ...) ALIAS("open64");
int openat(int directory, const char *path, int flags, ...) ALIAS("openat64");
int creat(const char *path, mode_t mode) ALIAS("creat64");
FILE *fopen(const char *path, const char *mode) ALIAS("fopen64");
FILE *freopen(const char *path, const char *mode, FILE *old) ALIAS("freopen64");
int mkstemp(char *template) ALIAS("mkstemp64");
int mkostemp(char *template, int flags) ALIAS("mkostemp64");

#endif
