/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"

enum { MOST = 65536 };

/* Never freed: a message may be under way. */
struct text {
    struct text *before; /* of the same data */
    char plain[TIC_NAME_BYTES + 1];
    char shown[TIC_NAME_BYTES + 8];
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
    return tic_first_from(id, names, count);
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
    return tic_insert(names, count, capacity, at, &(struct name){id, text});
}

/* As much of it as there is room for, in whole characters of UTF-8; a line of text. */
static void copy_name(char plain[TIC_NAME_BYTES + 1], const char *name)
{
    size_t size = strnlen(name, TIC_NAME_BYTES + 1);

    if (size > TIC_NAME_BYTES)
        size = TIC_NAME_BYTES;
    for (unsigned back = 0; back < 3 && (name[size] & 0xc0) == 0x80; back++)
        size--;
    for (size_t i = 0; i < size; i++)
        plain[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? ' ' : name[i];
    plain[size] = '\0';
}

int tic_names_set(uint64_t id, const char *name)
{
    struct text *text = calloc(1, sizeof(*text));

    if (!text)
        return -ENOMEM;
    copy_name(text->plain, name);
    snprintf(text->shown, sizeof(text->shown), " \"%s\"", text->plain);
    pthread_mutex_lock(&lock);
    int status = set_locked(id, text);
    pthread_mutex_unlock(&lock);
    if (status)
        free(text);
    return status;
}

static const struct text *find(uint64_t id)
{
    pthread_mutex_lock(&lock);
    unsigned long at = find_locked(id);
    const struct text *text = at < count && names[at].id == id ? names[at].text : NULL;
    pthread_mutex_unlock(&lock);
    return text;
}

const char *tic_name_of(uint64_t id)
{
    const struct text *text = find(id);

    return text ? text->shown : "";
}

const char *tic_name_plain(uint64_t id)
{
    const struct text *text = find(id);

    return text ? text->plain : NULL;
}

void tic_names_each(tic_names_visit visit, void *arg)
{
    pthread_mutex_lock(&lock);
    for (unsigned long i = 0; i < count; i++)
        visit(arg, names[i].id, names[i].text->plain);
    pthread_mutex_unlock(&lock);
}
