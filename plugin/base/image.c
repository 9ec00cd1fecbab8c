/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/image.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/content.h"

#define XXH_STATIC_LINKING_ONLY /* the streaming state on the stack needs its definition */
#include <xxhash.h>
#ifdef HAVE_XXH3_64BITS_UPDATE_DISPATCH
#include <xxh_x86dispatch.h>
#endif

enum { PIECE = 1 << 18 }; /* bytes that are hashed while they are in cache */

struct tic_image {
    pid_t process;
    struct tic_image *next; /* of those that have been ended and may not have gone yet */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards: */
static struct tic_image *ended;
static atomic_bool unavailable; /* it was tried in vain */

/* ---- the process ----------------------------------------------------------------------------- */

/* Of libraries' memory it has what their threads left in the middle of something: only system
 * calls, and none through libraries. Signals are blocked. */
static _Noreturn void stand_still(pid_t parent)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0)
        while (syscall(SYS_getppid) == parent)
            syscall(SYS_nanosleep, &pause, NULL);
    for (;;)
        syscall(SYS_exit_group, 0);
}

/* Without fork()'s handlers, and without a signal at its end, so that no wait() of the program
 * finds it. All arguments are 0, whose order is another on each architecture. -errno. */
static pid_t divide(void)
{
    const pid_t parent = getpid();
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    long child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0)
        stand_still(parent);
    int status = child < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status ? status : (pid_t)child;
}

/* Ours it is while nobody has waited for it. */
static bool has_gone(const struct tic_image *image)
{
    int status;

    return waitpid(image->process, &status, WNOHANG | __WALL) != 0;
}

static void bury_locked(void)
{
    struct tic_image **place = &ended;

    while (*place) {
        struct tic_image *image = *place;
        if (has_gone(image)) {
            *place = image->next;
            free(image);
        } else {
            place = &image->next;
        }
    }
}

void tic_image_drop(struct tic_image *image)
{
    int before = errno;

    if (!has_gone(image)) {
        kill(image->process, SIGKILL);
        pthread_mutex_lock(&mutex);
        image->next = ended;
        ended = image;
        bury_locked();
        pthread_mutex_unlock(&mutex);
    } else {
        free(image);
    }
    errno = before;
}

/* ---- its memory ------------------------------------------------------------------------------ */

static int read_piece(const struct tic_image *image, char *from, char *to, size_t bytes)
{
    while (bytes > 0) {
        struct iovec here = {to, bytes}, there = {from, bytes};
        ssize_t count = process_vm_readv(image->process, &here, 1, &there, 1, 0);
        if (count <= 0)
            return count < 0 ? -errno : -EFAULT;
        from += count;
        to += count;
        bytes -= (size_t)count;
    }
    return 0;
}

struct reading {
    const struct tic_image *image;
    const _Atomic bool *hurry;
    char *to;
    XXH3_state_t *hash;
};

static int read_run(char *run, uint64_t bytes, void *arg)
{
    struct reading *reading = arg;

    for (uint64_t done = 0; done < bytes;) {
        size_t piece = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;
        if (reading->hurry && atomic_load_explicit(reading->hurry, memory_order_relaxed))
            return -ECANCELED;
        int status = read_piece(reading->image, run + done, reading->to, piece);
        if (status)
            return status;
        XXH3_64bits_update(reading->hash, reading->to, piece);
        reading->to += piece;
        done += piece;
    }
    return 0;
}

int tic_image_read(const struct tic_image *image, const struct tic_layout *layout, char *to,
                   const _Atomic bool *hurry, uint64_t *checksum)
{
    XXH3_state_t hash;
    struct reading reading = {.image = image, .hurry = hurry, .to = to, .hash = &hash};

    XXH3_64bits_reset(&hash);
    int status = tic_layout_visit(layout, read_run, &reading);
    *checksum = XXH3_64bits_digest(&hash);
    return status;
}

/* Before Linux 5.12 a page that a device has pinned to write to it could become the child's. */
static bool is_kernel_new(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 12));
}

struct tic_image *tic_image_take(void)
{
    bool available = !atomic_load(&unavailable) && is_kernel_new();
    struct tic_image *image = available ? malloc(sizeof(*image)) : NULL;
    int probe = 1, read = 0;

    if (!image)
        return NULL;
    pthread_mutex_lock(&mutex);
    bury_locked();
    pthread_mutex_unlock(&mutex);
    image->process = divide();
    if (image->process > 0 && read_piece(image, (char *)&probe, (char *)&read, sizeof(read)) == 0 &&
        read == probe)
        return image;
    atomic_store(&unavailable, true);
    if (image->process > 0)
        tic_image_drop(image);
    else
        free(image);
    return NULL;
}

/* ---- what it holds --------------------------------------------------------------------------- */

/* Libraries keep memory that devices write to from child processes, in whole mappings. */
static bool has_mapping(const struct tic_image *image, uintptr_t first)
{
    char byte;

    return read_piece(image, (char *)first, &byte, 1) == 0;
}

/* Lines of the file are sorted: "begin-end rwxp ...", or s for p. */
bool tic_image_has(const struct tic_image *image, const struct tic_layout *layout)
{
    uintptr_t at = (uintptr_t)layout->base, end = at + tic_layout_span(layout), first, last;
    FILE *file = tic_content_open("/proc/self/maps");
    char *line = NULL, mode[5];
    size_t capacity = 0;

    while (file && at < end && getline(&line, &capacity, file) > 0)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &last, mode) == 3 && last > at) {
            if (first > at || mode[0] != 'r' || mode[3] != 'p' || !has_mapping(image, at))
                break;
            at = last;
        }
    if (file)
        fclose(file);
    free(line);
    return at >= end;
}
