/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/blocks.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unseen/heap.h"
#include "unseen/objects.h"
#include "unseen/others.h"
#include "unseen/present.h"
#include "session/nodes.h"
#include "session/symbol.h"
#include "unseen/spans.h"

enum {
    MOST_TARGETS = 256, /* of pointers in arguments */
    TARGET_BYTES = 64,  /* of one within a block, or on the stack */
    MOST_BASES = 1024,
    MOST_PLACES = 512,
    MOST_SEARCHED = 256 << 20, /* bytes, for pointers */
    MOST_WITHIN = 512,         /* blocks that are searched for pointers, */
    WITHIN_BYTES = 4096,       /* each of no more than this */
    MOST_PROBES = 1024,        /* of what may be pointers in them */
    MOST_CONTENTS = 256        /* small data that is searched for pointers */
};

static struct {
    const char *targets[MOST_TARGETS];
    unsigned target_count; /* since main() waited last */
    struct place {         /* of a pointer, in a segment */
        const char *at;
        unsigned segment;
    } places[MOST_PLACES];
    unsigned place_count;
    const char *bases[MOST_BASES];
    unsigned base_count;                     /* of registered data that began a larger block */
    _Atomic(const char *) last_block;        /* of one of them; relaxed */
    size_t last_bytes;                       /* its size: main() has not freed it */
    struct tic_span contents[MOST_CONTENTS]; /* small data */
    unsigned content_count;
    const char *user_data[MOST_TARGETS];
    unsigned user_data_count;
    struct tic_beside within[MOST_WITHIN]; /* small blocks of this wait: structures, as it seems */
    unsigned within_count;
    bool has_more;
} blocks;

/* Arrays are often registered piece by piece, and to look at a block takes system calls. */
static bool is_in_last(const char *base)
{
    const char *block = atomic_load_explicit(&blocks.last_block, memory_order_relaxed);

    return block && base > block && base < block + blocks.last_bytes;
}

void tic_blocks_note_freed(const void *block)
{
    if (block == atomic_load_explicit(&blocks.last_block, memory_order_relaxed))
        atomic_store_explicit(&blocks.last_block, NULL, memory_order_relaxed);
}

void tic_blocks_note_data(const struct tic_handle *handle)
{
    enum { PADDING = 24 }; /* that malloc() gives beyond what was asked for */
    const char *base = handle->layout.base, *block;
    size_t bytes;

    if (!tic_handle_has_memory(handle))
        return;
    if (is_in_last(base))
        return;
    block = tic_heap_around(base, &bytes);
    if (!block || block == blocks.last_block ||
        (block == base && bytes <= tic_layout_span(&handle->layout) + PADDING))
        return;
    blocks.last_block = block;
    blocks.last_bytes = bytes;
    if (blocks.base_count == MOST_BASES)
        blocks.has_more = true;
    else
        blocks.bases[blocks.base_count++] = base;
}

void tic_blocks_note_pointers(const char *const *pointers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned k = 0;
        while (k < blocks.target_count && blocks.targets[k] != pointers[i])
            k++;
        if (k == MOST_TARGETS)
            blocks.has_more = true;
        else if (k == blocks.target_count)
            blocks.targets[blocks.target_count++] = pointers[i];
    }
}

void tic_blocks_forget_pointers(void)
{
    blocks.target_count = 0;
}

/* StarPU changes tasks of the program. malloc() gives out some bytes more than was asked for. */
static bool is_task(size_t size)
{
    return size >= sizeof(struct starpu_task) && size < sizeof(struct starpu_task) + 24;
}

/* An object of a device's library, which programs point to: it changes whenever that is used. */
static bool is_of_device(const char *at, size_t size)
{
    const void *first;

    return tic_nodes_several && size >= sizeof(first) &&
           tic_heap_read(at, (char *)&first, sizeof(first)) && tic_nodes_is_device_table(first);
}

/* As `range` says, from this place on: a block of main(), or so many bytes within one. */
static void watch(struct tic_beside range, const char *at, size_t within)
{
    size_t bytes;
    const char *block = tic_heap_around(at, &bytes);

    if (!block || (block != at && within == 0) || is_task(bytes) || is_of_device(block, bytes))
        return;
    size_t size = (size_t)(block + bytes - at);
    if (block != at && size > within)
        size = within;
    if (tic_heap_is_mapped(block) && size > MOST_SEARCHED) /* pools reserve more than they use */
        size = MOST_SEARCHED;
    range.zeros = tic_heap_is_mapped(block) ? NULL : block;
    range.block = (struct tic_span){block, block + bytes};
    range.span = (struct tic_span){at, at + size};
    tic_beside_add(&range);
    if (size <= WITHIN_BYTES && blocks.within_count < MOST_WITHIN &&
        range.kind != TIC_BESIDE_OF_DATA)
        blocks.within[blocks.within_count++] = range;
}

bool tic_blocks_has(const struct tic_beside *range)
{
    const struct tic_span *block = &range->block;

    return !block->begin || tic_heap_block(block->begin) == (size_t)(block->end - block->begin);
}

/* Below, the stack is used while main() waits. Old targets may be variables of functions that have
 * returned. */
static void watch_targets(const struct tic_others *others)
{
    const uintptr_t here = (uintptr_t)others->frame, most = 8 << 20;
    struct tic_beside range = {.kind = TIC_BESIDE_OF_ARGUMENT, .path = ""};

    for (unsigned i = 0; i < blocks.target_count; i++) {
        const char *at = blocks.targets[i];
        if (tic_objects_have(at) || tic_spans_has(&others->known, at))
            continue;
        range.span = (struct tic_span){at, at + TARGET_BYTES};
        if ((uintptr_t)at - here < most)
            tic_beside_add(&range);
        else
            watch(range, at, TARGET_BYTES);
    }
}

/* What malloc() and mmap() give is aligned. Tables hold small numbers. */
static bool may_lead(const char *at)
{
    enum { ALIGNED = 2 * sizeof(size_t), LEAST = 65536 };
    uintptr_t word;

    memcpy(&word, at, sizeof(word));
    return word >= LEAST && word % ALIGNED == 0 && tic_symbol_is_address(word);
}

static bool watch_pointer(const struct tic_beside *segment, const char *at,
                          const struct tic_spans *known)
{
    struct tic_beside range = *segment;
    const char *word;

    memcpy(&word, at, sizeof(word));
    if (!may_lead(at) || tic_spans_has(known, at) || tic_heap_block(word) == 0)
        return false;
    range.kind = TIC_BESIDE_OF_VARIABLE;
    range.pointer = at;
    watch(range, word, 0);
    return true;
}

/* Where pointers were last time. */
static void watch_places(const struct tic_beside *segments, const struct tic_spans *known)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < blocks.place_count; i++) {
        struct place place = blocks.places[i];
        if (watch_pointer(&segments[place.segment], place.at, known))
            blocks.places[kept++] = place;
    }
    blocks.place_count = kept;
}

static bool is_place(const char *at)
{
    for (unsigned i = 0; i < blocks.place_count; i++)
        if (blocks.places[i].at == at)
            return true;
    return false;
}

static void watch_pointers(const struct tic_beside *segments, unsigned number,
                           const struct tic_spans *known, size_t *left)
{
    enum { STEP = 65536 };
    const struct tic_beside *segment = &segments[number];
    const char *end = segment->span.end - sizeof(char *);

    for (const char *at = segment->span.begin; at <= end;) {
        const char *last = end - at < STEP ? end : at + STEP - sizeof(char *);
        if (at >= segment->zeros && !tic_present_has(at, (size_t)(last - at) + sizeof(char *)))
            at = last + sizeof(char *);
        else if (*left < STEP)
            break;
        else
            *left -= STEP;
        for (; at <= last; at += sizeof(char *))
            if (watch_pointer(segment, at, known) && blocks.place_count < MOST_PLACES &&
                !is_place(at))
                blocks.places[blocks.place_count++] = (struct place){at, number};
    }
}

/* ---- what registered data leads to ------------------------------------------------------------
 */

static void list_content(const struct tic_handle *handle, void *arg)
{
    size_t bytes = (size_t)tic_layout_span(&handle->layout);
    const char *base = handle->layout.base;

    (void)arg;
    if (tic_handle_is_freed(handle))
        return;
    if (handle->use.user_data && blocks.user_data_count < MOST_TARGETS)
        blocks.user_data[blocks.user_data_count++] = handle->use.user_data;
    if (!handle->parent && tic_handle_has_memory(handle) && bytes >= sizeof(char *) &&
        bytes <= WITHIN_BYTES && blocks.content_count < MOST_CONTENTS)
        blocks.contents[blocks.content_count++] = (struct tic_span){base, base + bytes};
}

/* Small data is searched as structures on the heap are: it may be one that describes larger data.
 */
static void watch_contents(const struct tic_others *others)
{
    struct tic_beside range = {.kind = TIC_BESIDE_OF_CONTENT, .path = ""};

    blocks.user_data_count = blocks.content_count = 0;
    tic_others_each_data(others, list_content, NULL);
    for (unsigned i = 0; i < blocks.user_data_count; i++) {
        const char *at = blocks.user_data[i];
        if (!tic_objects_have(at) && !tic_spans_has(&others->known, at))
            watch(range, at, 0);
    }
    for (unsigned i = 0; i < blocks.content_count && blocks.within_count < MOST_WITHIN; i++) {
        range.span = blocks.contents[i];
        blocks.within[blocks.within_count++] = range;
    }
}

static bool is_within(const char *at)
{
    unsigned i = 0;

    while (i < blocks.within_count && blocks.within[i].span.begin != at)
        i++;
    return i < blocks.within_count;
}

/* What structures on the heap point to, and so on. Whole blocks only. */
static void watch_within(const struct tic_spans *known)
{
    char copy[WITHIN_BYTES];
    unsigned probes = 0;

    for (unsigned i = 0; i < blocks.within_count && probes < MOST_PROBES; i++) {
        const struct tic_beside range = blocks.within[i];
        size_t size = (size_t)(range.span.end - range.span.begin);
        if (!tic_heap_read(range.span.begin, copy, size))
            continue;
        for (size_t at = 0; at + sizeof(char *) <= size && probes < MOST_PROBES;
             at += sizeof(char *)) {
            const char *word;
            memcpy(&word, copy + at, sizeof(word));
            if (may_lead(copy + at) && tic_heap_block(word) > 0 && !tic_spans_has(known, word) &&
                !is_within(word)) {
                probes++;
                watch(range, word, 0);
            }
        }
    }
}

static void watch_bases(const struct tic_others *others)
{
    const struct tic_beside range = {.kind = TIC_BESIDE_OF_DATA, .path = ""};
    const char *end = NULL;

    blocks.last_block = NULL;
    unsigned count = (unsigned)tic_sort_once(blocks.bases, blocks.base_count, tic_others_by_base);
    tic_others_keep_bases(others, blocks.bases, &count);
    blocks.base_count = count;
    for (unsigned i = 0; i < count; i++) {
        if (blocks.bases[i] < end) /* blocks do not lie in each other */
            continue;
        size_t size;
        const char *block = tic_heap_around(blocks.bases[i], &size);
        if (!block)
            continue;
        end = block + size;
        watch(range, block, 0);
    }
}

bool tic_blocks_watch(const struct tic_others *others)
{
    const struct tic_spans *known = &others->known;
    const struct tic_beside *segments;
    unsigned count = tic_objects_segments(&segments);
    size_t left = MOST_SEARCHED;

    blocks.within_count = 0;
    watch_places(segments, known);
    watch_targets(others);
    tic_present_begin();
    for (unsigned i = 0; i < count; i++)
        watch_pointers(segments, i, known, &left);
    tic_present_end();
    watch_contents(others);
    watch_within(known);
    watch_bases(others);
    return !blocks.has_more && left > 0;
}
