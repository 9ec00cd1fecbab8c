/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Relative paths mean where the process began. */
#include "base/path.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char start[PATH_MAX]; /* immutable after once */
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct known {
    struct known *next;
    char text[];
};
static struct known *all;                                 /* guarded by mutex; entries stay */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf */

static void note(void)
{
    /* "(unreachable)/..." is what the kernel says of a directory outside of the process's root. */
    if (!getcwd(start, sizeof(start)) || start[0] != '/')
        start[0] = '\0';
}

__attribute__((constructor)) static void note_start(void)
{
    pthread_once(&once, note);
}

const char *tic_path_start(void)
{
    note_start(); /* other constructors may come before ours */
    return start;
}

static const char *keep(const char *text)
{
    struct known *entry;
    size_t size = strlen(text) + 1;

    pthread_mutex_lock(&mutex);
    for (entry = all; entry && strcmp(entry->text, text) != 0; entry = entry->next)
        ;
    if (!entry && (entry = malloc(sizeof(*entry) + size))) {
        memcpy(entry->text, text, size);
        entry->next = all;
        all = entry;
    }
    pthread_mutex_unlock(&mutex);
    return entry ? entry->text : NULL;
}

const char *tic_path_absolute(const char *path)
{
    char whole[2 * PATH_MAX];

    if (path[0] == '/' || path[0] == '\0')
        return keep(path);
    if (tic_path_start()[0] == '\0' || strlen(path) >= PATH_MAX)
        return NULL;
    snprintf(whole, sizeof(whole), "%s/%s", start, path);
    return keep(whole);
}
