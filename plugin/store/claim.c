/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who uses a store: number, start and machine of a process. */
#include "store/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "store/schema.h"

enum { CLAIM_SIZE = 256, STAT_SIZE = 1024 };

static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, size - 1);

    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Clock ticks between the start of the machine and that of this process. The name of the program,
 * in parentheses, may hold anything. */
static bool read_start(unsigned long long *ticks)
{
    enum { NAME = 2, START = 22 };
    char text[STAT_SIZE];
    const char *at = read_text("/proc/self/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

    for (int field = NAME; at && field < START; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%llu", ticks) == 1;
}

/* Differs in each program that a process executes. */
static unsigned long long read_image(void)
{
    unsigned long long image = 0;
    const void *random = (const void *)getauxval(AT_RANDOM);

    if (random)
        memcpy(&image, random, sizeof(image));
    return image;
}

/* *process: how many of the bytes tell the process, and are the same in all of its programs. */
static bool describe(char claim[CLAIM_SIZE], size_t *process)
{
    char boot[64];
    unsigned long long ticks;

    if (!read_start(&ticks) || !read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
        return false;
    boot[strcspn(boot, "\n")] = '\0';
    *process = (size_t)snprintf(claim, CLAIM_SIZE, TIC_LOCK_FORMAT, (long)getpid(), ticks, boot);
    snprintf(claim + *process, CLAIM_SIZE - *process, TIC_LOCK_IMAGE, read_image());
    return true;
}

bool tic_claim_is_followed(int file)
{
    char ours[CLAIM_SIZE], there[CLAIM_SIZE];
    ssize_t got = pread(file, there, sizeof(there) - 1, 0);
    size_t process;

    if (got <= 0 || !describe(ours, &process))
        return false;
    there[got] = '\0';
    return strncmp(ours, there, process) == 0 && strcmp(ours, there) != 0;
}

bool tic_claim_is_followed_in(const char *directory)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/" TIC_FILE_LOCK, directory, 0u);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool followed = file >= 0 && tic_claim_is_followed(file);
    if (file >= 0)
        close(file);
    return followed;
}

static int write_whole(int file, const char *claim)
{
    size_t size = strlen(claim);
    ssize_t put = pwrite(file, claim, size, 0);

    if (put != (ssize_t)size)
        return put < 0 ? -errno : -EIO;
    return ftruncate(file, (off_t)size) == 0 ? 0 : -errno;
}

int tic_claim_write(int file)
{
    char claim[CLAIM_SIZE];
    size_t process;

    if (!describe(claim, &process))
        return 0;
    return write_whole(file, claim);
}
