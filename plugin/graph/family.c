/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A family: handles that share memory, because partitions of one of them were planned. */
#include "graph/family.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static int overlap(struct tic_handle *a, struct tic_handle *b)
{
    int status =
        tic_append(a->listing.overlaps, a->listing.overlap_count, a->listing.overlap_capacity, &b);
    return status ? status
                  : tic_append(b->listing.overlaps, b->listing.overlap_count,
                               b->listing.overlap_capacity, &a);
}

/* Tasks in flight may still count versions outside of the family: it begins after them. */
static void count_in(struct tic_family *family, const struct tic_handle *handle)
{
    uint64_t version = atomic_load(&handle->saving.version) + handle->use.submitted_writes;

    if (version > atomic_load(&family->writes))
        atomic_store(&family->writes, version);
    family->submitted_writes += handle->use.submitted_writes;
    family->pending |= handle->restart.pending;
    family->live |= handle->restart.live;
}

static struct tic_family *found(struct tic_handle *root)
{
    struct tic_family *family = calloc(1, sizeof(*family));

    if (!family || tic_append(family->members, family->count, family->capacity, &root) != 0) {
        free(family);
        return NULL;
    }
    family->root = root;
    root->listing.is_root = true;
    family->planned = true;
    count_in(family, root);
    return family;
}

/* A value that was restored early may be later than one that waits: they are restored together. */
static void put_off_locked(struct tic_family *family)
{
    for (unsigned long i = 0; family->pending && i < family->count; i++)
        if (tic_handle_put_off(family->members[i]))
            family->live = false;
}

/* Workers look at `shares` first, which is where they look anyway. */
static void belong(struct tic_handle *handle, struct tic_family *family)
{
    handle->family = family;
    atomic_store_explicit(&handle->shares, family != NULL, memory_order_release);
}

static int join_locked(struct tic_family *family, struct tic_handle *child, unsigned long others)
{
    int status = 0;

    for (unsigned long i = 0; i < others && status == 0; i++)
        if (tic_layout_overlaps(&family->members[i]->layout, &child->layout))
            status = overlap(family->members[i], child);
    status = status ? status : tic_append(family->members, family->count, family->capacity, &child);
    count_in(family, child);
    belong(child, family);
    return status;
}

/* ---- memory that is registered several times ------------------------------------------------ */

static int meet_locked(struct tic_handle *other, void *arg)
{
    struct tic_handle *handle = arg;
    struct tic_family *family = other->family, *own = handle->family;

    if (!tic_layout_overlaps(&other->layout, &handle->layout))
        return 0;
    if (own && family)
        return own == family ? 0 : -ENOTSUP; /* it overlaps what it met before, too */
    if (own) {
        own->planned = false;
        int status = join_locked(own, other, 0);
        put_off_locked(own);
        return status ? status : overlap(other, handle);
    }
    if (!family) {
        family = found(other);
        belong(other, family);
    }
    if (!family)
        return -ENOMEM;
    family->planned = false;
    int status = join_locked(family, handle, family->count);
    put_off_locked(family);
    return status;
}

int tic_family_meet(struct tic_graph *graph, struct tic_handle *handle)
{
    const char *begin = handle->layout.base, *end = begin + tic_layout_span(&handle->layout);

    tic_lock(&graph->lock);
    int status = tic_views_visit(&graph->views, begin, end, meet_locked, handle);
    if (status == 0)
        tic_views_add(&graph->views, handle);
    tic_unlock(&graph->lock);
    return status;
}

void tic_family_part(struct tic_graph *graph, struct tic_handle *handle)
{
    tic_lock(&graph->lock);
    tic_views_remove(&graph->views, handle);
    tic_unlock(&graph->lock);
}

/* ---- planned partitions --------------------------------------------------------------------- */

int tic_family_join(struct tic_graph *graph, struct tic_handle *parent,
                    struct tic_handle **children, unsigned count)
{
    int status = 0;

    tic_lock(&graph->lock);
    if (!parent->family)
        belong(parent, found(parent));
    if (!parent->family)
        status = -ENOMEM;
    if (parent->family)
        parent->family->has_plans = true;
    atomic_store_explicit(&graph->has_plans, true, memory_order_relaxed);
    unsigned long others = status ? 0 : parent->family->count; /* siblings do not overlap */
    for (unsigned i = 0; i < count && status == 0; i++)
        status = join_locked(parent->family, children[i], others);
    if (status == 0)
        put_off_locked(parent->family);
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
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++) {
        struct tic_handle *other = handle->listing.overlaps[i];
        if (tic_handle_is_gone(other, cut) ||
            (!tic_handle_is_due(other, cut) && !tic_handle_is_unchecked(other, cut)))
            continue;
        if (tic_append(due, *count, capacity, &other) != 0) {
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
    uint64_t version = atomic_load(&handle->saving.version);
    tic_lock(&graph->lock);
    for (unsigned long i = 0; i < handle->listing.overlap_count && !stale; i++)
        stale = atomic_load(&handle->listing.overlaps[i]->saving.version) > version;
    tic_unlock(&graph->lock);
    return stale;
}

static void forget_overlap(struct tic_handle *handle, const struct tic_handle *other)
{
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        if (handle->listing.overlaps[i] == other)
            handle->listing.overlaps[i--] =
                handle->listing.overlaps[--handle->listing.overlap_count];
}

bool tic_family_covers(const struct tic_layout *whole, const struct tic_layout *part)
{
    return tic_layout_span(whole) == tic_shape_bytes(&whole->shape) && part->base >= whole->base &&
           part->base + tic_layout_span(part) <= whole->base + tic_layout_span(whole);
}

/* Was all of its memory written since, as one? */
static bool is_superseded(const struct tic_family *family, const struct tic_handle *member)
{
    uint64_t version = atomic_load(&member->saving.version);
    bool newer = family->planned && atomic_load(&family->root->saving.version) >= version;

    for (unsigned long i = 0; i < member->listing.overlap_count && !newer; i++)
        newer = atomic_load(&member->listing.overlaps[i]->saving.version) > version &&
                tic_family_covers(&member->listing.overlaps[i]->layout, &member->layout);
    return newer;
}

bool tic_family_prune(struct tic_graph *graph, struct tic_family *family, uint64_t epoch)
{
    bool fine = true;

    tic_lock(&graph->lock);
    for (unsigned long i = family->count; i-- > 1;) {
        struct tic_handle *member = family->members[i];
        if (member->data || member->restart.pending || member->use.given_back ||
            atomic_load(&member->use.users) > 0 || !is_superseded(family, member))
            continue;
        for (unsigned long k = 0; k < member->listing.overlap_count; k++)
            forget_overlap(member->listing.overlaps[k], member);
        family->members[i] = family->members[--family->count];
        fine &= tic_graph_leave_locked(graph, member, epoch);
    }
    tic_unlock(&graph->lock);
    return fine;
}

static int by_version(const void *a, const void *b)
{
    const struct tic_handle *x = *(struct tic_handle *const *)a;
    const struct tic_handle *y = *(struct tic_handle *const *)b;
    return tic_order(x->saving.current.version, y->saving.current.version);
}

struct tic_handle **tic_family_pending(struct tic_graph *graph, struct tic_family *family,
                                       unsigned long *count)
{
    struct tic_handle **pending = calloc(family->count, sizeof(struct tic_handle *));

    *count = 0;
    tic_lock(&graph->lock);
    for (unsigned long i = 0; pending && i < family->count; i++)
        if (family->members[i]->restart.pending)
            pending[(*count)++] = family->members[i];
    tic_unlock(&graph->lock);
    if (pending)
        qsort(pending, *count, sizeof(struct tic_handle *), by_version);
    return pending;
}
