/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A family: handles that share memory, because partitions of one of them were planned. */
#include "graph/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int append(struct tic_handle ***items, unsigned long *count, unsigned long *capacity,
                  struct tic_handle *handle)
{
    void *grown = tic_grow(*items, capacity, *count + 1, sizeof(**items));
    if (!grown)
        return -ENOMEM;
    *items = grown;
    (*items)[(*count)++] = handle;
    return 0;
}

static int overlap(struct tic_handle *a, struct tic_handle *b)
{
    int status = append(&a->overlaps, &a->overlap_count, &a->overlap_capacity, b);
    return status ? status : append(&b->overlaps, &b->overlap_count, &b->overlap_capacity, a);
}

static struct tic_family *found(struct tic_handle *root)
{
    struct tic_family *family = calloc(1, sizeof(*family));

    if (!family || append(&family->members, &family->count, &family->capacity, root) != 0) {
        tic_family_free(family);
        return NULL;
    }
    family->root = root;
    family->submitted_writes = root->submitted_writes;
    family->pending = root->pending;
    family->live = root->live;
    atomic_store(&family->writes, atomic_load(&root->version));
    return family;
}

static int join_locked(struct tic_family *family, struct tic_handle *child, unsigned long others)
{
    int status = 0;

    for (unsigned long i = 0; i < others && status == 0; i++)
        if (tic_layout_overlaps(&family->members[i]->layout, &child->layout))
            status = overlap(family->members[i], child);
    status = status ? status
                    : append(&family->members, &family->count, &family->capacity, child);
    child->family = family;
    family->pending |= child->pending;
    if (atomic_load(&child->version) > atomic_load(&family->writes)) /* a recovered one */
        atomic_store(&family->writes, atomic_load(&child->version));
    return status;
}

int tic_family_join(struct tic_graph *graph, struct tic_handle *parent,
                    struct tic_handle **children, unsigned count)
{
    int status = 0;

    tic_lock(&graph->lock);
    if (!parent->family)
        parent->family = found(parent);
    if (!parent->family)
        status = -ENOMEM;
    unsigned long others = status ? 0 : parent->family->count; /* siblings do not overlap */
    for (unsigned i = 0; i < count && status == 0; i++)
        status = join_locked(parent->family, children[i], others);
    tic_unlock(&graph->lock);
    return status;
}

struct tic_handle **tic_family_due(struct tic_graph *graph, struct tic_handle *handle, uint64_t cut,
                                   unsigned long *count)
{
    struct tic_handle **due = NULL;
    unsigned long capacity = 0;

    *count = 0;
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < handle->overlap_count; i++) {
        struct tic_handle *other = handle->overlaps[i];
        bool gone = other->gone_since != 0 && other->gone_since <= cut;
        if (gone || !tic_handle_is_due(other, cut))
            continue;
        if (append(&due, count, &capacity, other) != 0) {
            free(due);
            due = NULL;
            *count = 1;
            break;
        }
    }
    tic_unlock(&graph->lock);
    return due;
}

bool tic_family_is_stale(struct tic_graph *graph, const struct tic_handle *handle)
{
    bool stale = false;

    if (!handle->family)
        return false;
    uint64_t version = atomic_load(&handle->version);
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < handle->overlap_count && !stale; i++)
        stale = atomic_load(&handle->overlaps[i]->version) > version;
    tic_unlock(&graph->lock);
    return stale;
}

static void forget_overlap(struct tic_handle *handle, const struct tic_handle *other)
{
    for (unsigned long i = 0; i < handle->overlap_count; i++)
        if (handle->overlaps[i] == other)
            handle->overlaps[i--] = handle->overlaps[--handle->overlap_count];
}

void tic_family_prune(struct tic_graph *graph, struct tic_family *family, uint64_t epoch)
{
    uint64_t version = atomic_load(&family->root->version);

    tic_lock(&graph->lock);
    for (unsigned long i = family->count; i-- > 1;) {
        struct tic_handle *member = family->members[i];
        if (member->data || member->pending || atomic_load(&member->version) > version)
            continue;
        for (unsigned long k = 0; k < member->overlap_count; k++)
            forget_overlap(member->overlaps[k], member);
        family->members[i] = family->members[--family->count];
        member->gone_since = epoch;
    }
    tic_unlock(&graph->lock);
}

static int by_version(const void *a, const void *b)
{
    const struct tic_handle *x = *(struct tic_handle *const *)a;
    const struct tic_handle *y = *(struct tic_handle *const *)b;
    return x->current.version < y->current.version ? -1 : x->current.version > y->current.version;
}

struct tic_handle **tic_family_pending(struct tic_graph *graph, struct tic_family *family,
                                       unsigned long *count)
{
    struct tic_handle **pending = calloc(family->count, sizeof(struct tic_handle *));

    *count = 0;
    tic_lock(&graph->lock);
    for (unsigned long i = 0; pending && i < family->count; i++)
        if (family->members[i]->pending)
            pending[(*count)++] = family->members[i];
    tic_unlock(&graph->lock);
    if (pending)
        qsort(pending, *count, sizeof(struct tic_handle *), by_version);
    return pending;
}

void tic_family_free(struct tic_family *family)
{
    if (family)
        free(family->members);
    free(family);
}
