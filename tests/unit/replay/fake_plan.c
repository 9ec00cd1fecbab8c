/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Planned partitions of vectors into equal parts, which the program switches itself: a task without
 * a kernel writes what is used next, and what is used no more is invalidated. */
#include <stdlib.h>
#include <string.h>

#include "fake_int.h"

void starpu_vector_filter_block(void *parent, void *child, struct starpu_data_filter *filter,
                                unsigned index, unsigned count)
{
    const struct starpu_vector_interface *whole = parent;
    struct starpu_vector_interface *part = child;

    (void)filter;
    *part = *whole;
    part->nx = whole->nx / count;
    part->ptr = whole->ptr + (uintptr_t)index * part->nx * whole->elemsize;
    part->dev_handle = part->ptr;
}

void starpu_data_partition_plan(starpu_data_handle_t whole, struct starpu_data_filter *filter,
                                starpu_data_handle_t *parts)
{
    struct starpu_vector_interface interface;

    for (unsigned i = 0; i < filter->nchildren; i++) {
        filter->filter_func(whole->interface, &interface, filter, i, filter->nchildren);
        starpu_data_register(&parts[i], whole->home_node, &interface, whole->ops);
        parts[i]->valid = false;
    }
}

static struct starpu_codelet *switch_codelet(unsigned parts)
{
    struct starpu_codelet *codelet = calloc(1, sizeof(*codelet));

    if (!codelet || parts + 1 > STARPU_NMAXBUFS)
        fake_stop("too many parts");
    codelet->where = STARPU_NOWHERE;
    codelet->name = "switch";
    codelet->nbuffers = (int)parts + 1;
    return codelet;
}

static void submit_switch(starpu_data_handle_t whole, enum starpu_data_access_mode whole_mode,
                          unsigned count, starpu_data_handle_t *parts,
                          enum starpu_data_access_mode parts_mode)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = switch_codelet(count);
    task->handles[0] = whole;
    task->cl->modes[0] = whole_mode;
    for (unsigned i = 0; i < count; i++) {
        task->handles[i + 1] = parts[i];
        task->cl->modes[i + 1] = parts_mode;
    }
    if (starpu_task_submit(task) != 0)
        fake_stop("a switch is refused");
}

void starpu_data_partition_submit(starpu_data_handle_t whole, unsigned count,
                                  starpu_data_handle_t *parts)
{
    submit_switch(whole, STARPU_RW, count, parts, STARPU_W);
    starpu_data_invalidate_submit(whole);
}

void starpu_data_unpartition_submit(starpu_data_handle_t whole, unsigned count,
                                    starpu_data_handle_t *parts, int node)
{
    (void)node;
    submit_switch(whole, STARPU_W, count, parts, STARPU_RW);
    for (unsigned i = 0; i < count; i++)
        starpu_data_invalidate_submit(parts[i]);
}

void starpu_data_partition_clean(starpu_data_handle_t whole, unsigned count,
                                 starpu_data_handle_t *parts)
{
    (void)whole;
    for (unsigned i = 0; i < count; i++)
        starpu_data_unregister_submit(parts[i]);
}
