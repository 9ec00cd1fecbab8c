/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

enum { MOST = 65536 };

/* Never freed: a message may be under way. */
struct text {
    struct text *before; /* of the same data */
    char shown[72];
};

struct name {
    uint64_t id;
    struct text *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct name *names;                               /* guarded by lock: ascending id */
static unsigned long count, capacity;                    /* the same */

/* The first that is not before it. */
static unsigned long find_locked(uint64_t id)
{
    unsigned long low = 0, high = count;

    while (low < high) {
        unsigned long middle = (low + high) / 2;
        if (names[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int set_locked(uint64_t id, struct text *text)
{
    unsigned long at = find_locked(id);

    if (at < count && names[at].id == id) {
        text->before = names[at].text;
        names[at].text = text;
        return 0;
    }
    if (count >= MOST)
        return -ENOSPC;
    void *grown = tic_grow(names, &capacity, count + 1, sizeof(*names));
    if (!grown)
        return -ENOMEM;
    names = grown;
    for (unsigned long i = count++; i > at; i--)
        names[i] = names[i - 1];
    names[at] = (struct name){id, text};
    return 0;
}

int tic_names_set(uint64_t id, const char *name)
{
    struct text *text = calloc(1, sizeof(*text));

    if (!text)
        return -ENOMEM;
    snprintf(text->shown, sizeof(text->shown), " \"%.64s\"", name);
    pthread_mutex_lock(&lock);
    int status = set_locked(id, text);
    pthread_mutex_unlock(&lock);
    if (status)
        free(text);
    return status;
}

const char *tic_name_of(uint64_t id)
{
    pthread_mutex_lock(&lock);
    unsigned long at = find_locked(id);
    const char *text = at < count && names[at].id == id ? names[at].text->shown : "";
    pthread_mutex_unlock(&lock);
    return text;
}
