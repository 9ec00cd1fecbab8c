/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/uses.h"

#include "graph/family.h"
#include "session/context.h"

void tic_data_note_main_use_of_overlaps(struct tic_handle *handle, bool writes,
                                        uint64_t submissions)
{
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        *(writes ? &handle->listing.overlaps[i]->use.main_used.written
                 : &handle->listing.overlaps[i]->use.main_used.read) = submissions;
}

void tic_data_note_family_write(struct tic_handle *handle, bool live)
{
    struct tic_family *family = handle->family;

    tic_data_note_valid(handle);
    family->submitted_writes++;
    family->live |= live;
}

void tic_data_note_valid(struct tic_handle *handle)
{
    if (!handle)
        return;
    atomic_store_explicit(&handle->use.invalid, false, memory_order_relaxed);
    if (!handle->family)
        return;
    tic_lock(&tic_session->graph.lock); /* any thread */
    for (unsigned long i = 0; i < handle->listing.overlap_count; i++)
        atomic_store_explicit(&handle->listing.overlaps[i]->use.invalid, false,
                              memory_order_relaxed);
    tic_unlock(&tic_session->graph.lock);
}

void tic_data_note_hold(struct tic_handle *handle, bool holds)
{
    if (!handle || (!holds && atomic_load(&handle->use.holds) == 0))
        return;
    atomic_fetch_add(&handle->use.holds, holds ? 1u : -1u);
    atomic_fetch_add(&tic_session->holds, holds ? 1u : -1u);
}
