/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/ask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quiet.h"
#include "store/schema.h"

enum { TEXT_SIZE = 128, MOST_ANSWER = 65536 };

static const char *const kind_names[] = {"status", "checkpoint"};
enum { KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

static void path_of_ask(char path[PATH_MAX], const char *directory)
{
    snprintf(path, PATH_MAX, "%s/" TIC_FILE_ASK, directory, 0u);
}

static void path_of_answer(char path[PATH_MAX], const char *directory, const struct tic_ask *ask)
{
    snprintf(path, PATH_MAX, "%s/" TIC_FILE_ANSWER, directory, 0u, (unsigned long long)ask->number);
}

/* A whole new file, or none. */
static int make_file(const char *path, const char *text)
{
    struct tic_quiet quiet;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    tic_quiet_begin(&quiet);
    size_t length = strlen(text);
    ssize_t written = write(fd, text, length);
    int status = written == (ssize_t)length ? 0 : written < 0 ? -errno : -EIO;
    tic_quiet_end(&quiet);
    close(fd);
    if (status)
        unlink(path);
    return status;
}

/* How many bytes, or -1. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

/* ---- who asks ------------------------------------------------------------------------------- */

bool tic_ask_is_used(const char *directory)
{
    char path[PATH_MAX];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    snprintf(path, sizeof(path), "%s/" TIC_FILE_LOCK, directory, 0u);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    bool used = fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    close(fd);
    return used;
}

int tic_ask_put(const char *directory, const struct tic_ask *ask)
{
    char path[PATH_MAX], text[TEXT_SIZE];

    path_of_ask(path, directory);
    snprintf(text, sizeof(text), TIC_ASK_FORMAT, kind_names[ask->kind],
             (unsigned long long)ask->number);
    int status = make_file(path, text);
    return status == -EEXIST ? -EBUSY : status;
}

char *tic_ask_read(const char *directory, const struct tic_ask *ask)
{
    char path[PATH_MAX];
    char *text = malloc(MOST_ANSWER);

    path_of_answer(path, directory, ask);
    if (text && read_file(path, text, MOST_ANSWER) > 0) {
        unlink(path);
        return text;
    }
    free(text);
    return NULL;
}

/* The question may be another's by now. */
void tic_ask_withdraw(const char *directory, const struct tic_ask *ask)
{
    char path[PATH_MAX], text[TEXT_SIZE], ours[TEXT_SIZE];

    path_of_ask(path, directory);
    snprintf(ours, sizeof(ours), TIC_ASK_FORMAT, kind_names[ask->kind],
             (unsigned long long)ask->number);
    if (read_file(path, text, sizeof(text)) > 0 && strcmp(text, ours) == 0)
        unlink(path);
    path_of_answer(path, directory, ask);
    unlink(path);
}

/* ---- the run -------------------------------------------------------------------------------- */

static bool parse(const char *text, struct tic_ask *ask)
{
    enum { MOST_NUMBER = 99999999 };
    char kind[32], again[TEXT_SIZE];
    unsigned long long number;

    if (sscanf(text, "starpu-tic ask %31s %llu", kind, &number) != 2 || number == 0 ||
        number > MOST_NUMBER)
        return false;
    snprintf(again, sizeof(again), TIC_ASK_FORMAT, kind, number);
    for (unsigned i = 0; i < KINDS; i++)
        if (strcmp(kind, kind_names[i]) == 0 && strcmp(text, again) == 0) {
            *ask = (struct tic_ask){.kind = i, .number = number};
            return true;
        }
    return false;
}

/* What has no end of a line yet is being written. */
bool tic_ask_take(const char *directory, struct tic_ask *ask)
{
    char path[PATH_MAX], text[TEXT_SIZE];

    path_of_ask(path, directory);
    if (read_file(path, text, sizeof(text)) <= 0 || !strchr(text, '\n'))
        return false;
    unlink(path);
    return parse(text, ask);
}

int tic_ask_answer(const char *directory, const struct tic_ask *ask, const char *text)
{
    char path[PATH_MAX], written[PATH_MAX + 8];

    path_of_answer(path, directory, ask);
    snprintf(written, sizeof(written), "%s.new", path);
    int status = make_file(written, text);
    if (status == 0 && rename(written, path) != 0) {
        status = -errno;
        unlink(written);
    }
    return status;
}

static bool is_answer(const char *name)
{
    char again[64];
    unsigned long long number = 0;
    unsigned process = 0;

    if (sscanf(name, TIC_FILE_ANSWER, &process, &number) != 2 || process != 0)
        return false;
    snprintf(again, sizeof(again), TIC_FILE_ANSWER, 0u, number);
    size_t length = strlen(again);
    return strncmp(name, again, length) == 0 &&
           (name[length] == '\0' || strcmp(name + length, ".new") == 0);
}

void tic_ask_clear(const char *directory)
{
    char path[PATH_MAX];
    DIR *entries = opendir(directory);
    struct dirent *entry;

    path_of_ask(path, directory);
    unlink(path);
    while (entries && (entry = readdir(entries)))
        if (is_answer(entry->d_name))
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}
