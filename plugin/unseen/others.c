/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/others.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "session/context.h"
#include "unseen/heap.h"
#include "session/symbol.h"
#include "real/real.h"

struct visit {
    const struct tic_span *span;
    void (*visit)(const struct tic_span *run, void *arg);
    void *arg;
};

static int visit_run(char *run, uint64_t bytes, void *arg)
{
    const struct visit *visit = arg;
    const struct tic_span *span = visit->span;
    struct tic_span common = {run > span->begin ? run : span->begin,
                              run + bytes < span->end ? run + bytes : span->end};

    if (common.begin < common.end)
        visit->visit(&common, visit->arg);
    return 0;
}

static bool has_home(const struct tic_handle *handle)
{
    return handle->home_node >= 0 && handle->is_value;
}

static void visit_spans(const struct tic_spans *spans, struct visit *visits)
{
    for (unsigned long i = tic_spans_from(spans, visits->span->begin);
         i < spans->count && spans->items[i].begin < visits->span->end; i++)
        visit_run((char *)(uintptr_t)spans->items[i].begin,
                  (uint64_t)(spans->items[i].end - spans->items[i].begin), visits);
}

void tic_others_visit(const struct tic_others *all, const struct tic_span *span,
                      void (*visit)(const struct tic_span *run, void *arg), void *arg)
{
    struct visit visits = {span, visit, arg};

    visit_spans(&all->known, &visits);
    visit_spans(&all->waited, &visits);
    tic_lock(&all->graph->lock);
    for (unsigned long i = 0; i < all->graph->handle_count; i++) {
        const struct tic_handle *handle = all->graph->handles[i];
        if (has_home(handle) && handle->layout.base < span->end &&
            handle->layout.base + tic_layout_span(&handle->layout) > span->begin)
            tic_layout_visit(&handle->layout, visit_run, &visits);
    }
    tic_unlock(&all->graph->lock);
}

/* ---- of one wait ---------------------------------------------------------------------------- */

/* An interface of the program's own says with pack_data what its data holds, but not where. */
static bool add_packed(struct tic_others *all, const struct tic_handle *handle)
{
    const char *interface =
        tic_real.starpu_data_get_interface_on_node(handle->data, (unsigned)handle->home_node);
    size_t size = tic_real.starpu_data_get_interface_ops(handle->data)->interface_size;
    bool found = false;

    for (size_t at = 0; at + sizeof(char *) <= size; at += sizeof(char *)) {
        const char *word;
        memcpy(&word, interface + at, sizeof(word));
        if (!tic_symbol_is_address((uintptr_t)word))
            continue;
        size_t bytes = tic_heap_block(word);
        if (bytes == 0 || tic_spans_add(&all->waited, word, bytes) != 0)
            return false;
        found = true;
    }
    return found;
}

bool tic_others_add_data(struct tic_others *all, const struct tic_handle *handle)
{
    const struct tic_layout *layout = &handle->layout;

    if (!has_home(handle))
        return true;
    return handle->packer ? handle->parent || add_packed(all, handle)
                          : tic_spans_add(&all->waited, layout->base, tic_layout_span(layout)) == 0;
}

bool tic_others_begin_wait(struct tic_others *all)
{
    bool known = true;

    all->waited.count = 0;
    tic_lock(&all->graph->lock);
    for (unsigned long i = 0; i < all->graph->handle_count && known; i++) {
        const struct tic_handle *handle = all->graph->handles[i];
        /* One that leaves (starpu_data_unregister_submit) may be taken off the list in this wait.
         */
        if (handle->data && (handle->packer || atomic_load(&handle->saving.leaves)))
            known = tic_others_add_data(all, handle);
    }
    tic_unlock(&all->graph->lock);
    return known;
}

int tic_others_by_base(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return tic_order((uintptr_t)*x, (uintptr_t)*y);
}

void tic_others_each_data(const struct tic_others *all,
                          void (*visit)(const struct tic_handle *handle, void *arg), void *arg)
{
    tic_lock(&all->graph->lock);
    for (unsigned long i = 0; i < all->graph->handle_count; i++)
        if (all->graph->handles[i]->listing.gone_since == 0)
            visit(all->graph->handles[i], arg);
    tic_unlock(&all->graph->lock);
}

struct bases {
    const char **items;
    bool *are_there;
    unsigned count;
};

static void keep_base(const struct tic_handle *handle, void *arg)
{
    const struct bases *bases = arg;
    const char *base = handle->layout.base, **found;

    if (!has_home(handle) || tic_handle_is_freed(handle))
        return;
    found = tic_find(&base, bases->items, bases->count, tic_others_by_base);
    if (found)
        bases->are_there[found - bases->items] = true;
}

void tic_others_keep_bases(const struct tic_others *all, const char **bases, unsigned *count)
{
    struct bases list = {bases, *count > 0 ? calloc(*count, sizeof(bool)) : NULL, *count};
    unsigned kept = 0;

    if (list.are_there)
        tic_others_each_data(all, keep_base, &list);
    for (unsigned i = 0; i < *count && list.are_there; i++)
        if (list.are_there[i])
            bases[kept++] = bases[i];
    *count = kept;
    free(list.are_there);
}

/* ---- a page --------------------------------------------------------------------------------- */

enum { GRAINS = TIC_OTHERS_PAGE / TIC_OTHERS_GRAIN, WORDS = GRAINS / 64 };

void tic_others_mark(struct tic_others_page *page, size_t first, size_t after)
{
    for (size_t grain = first / TIC_OTHERS_GRAIN; grain * TIC_OTHERS_GRAIN < after; grain++)
        page->grains[grain / 64] |= (uint64_t)1 << grain % 64;
}

struct marks {
    struct tic_others_page page;
    const char *begin;
};

static void mark_run(const struct tic_span *run, void *arg)
{
    struct marks *marks = arg;

    tic_others_mark(&marks->page, (size_t)(run->begin - marks->begin),
                    (size_t)(run->end - marks->begin));
}

struct tic_others_page tic_others_page(const struct tic_others *all, const char *begin, size_t size)
{
    struct marks marks = {.begin = begin};
    struct tic_span span = {begin, begin + size};

    tic_others_visit(all, &span, mark_run, &marks);
    return marks.page;
}

bool tic_others_has_all(const struct tic_others_page *page)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (page->grains[i] != UINT64_MAX)
            return false;
    return true;
}

bool tic_others_covers(const struct tic_others_page *more, const struct tic_others_page *less)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (less->grains[i] & ~more->grains[i])
            return false;
    return true;
}

void tic_others_hide(const struct tic_others_page *page, char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += TIC_OTHERS_GRAIN)
        if (page->grains[at / TIC_OTHERS_GRAIN / 64] >> at / TIC_OTHERS_GRAIN % 64 & 1)
            memset(bytes + at, 0, size - at < TIC_OTHERS_GRAIN ? size - at : TIC_OTHERS_GRAIN);
}
