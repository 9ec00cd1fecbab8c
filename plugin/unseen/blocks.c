/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/blocks.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structures.h"
#include "unseen/heap.h"
#include "unseen/objects.h"
#include "unseen/others.h"
#include "unseen/present.h"
#include "session/nodes.h"
#include "session/symbol.h"
#include "base/error.h"
#include "base/content.h"
#include "unseen/spans.h"

/* ---- what is mapped -------------------------------------------------------------------------- */

/* Memory that the program has mapped itself (mmap, shmat). */

enum { PAGE = 4096 };

static struct {
    struct mapping {
        struct tic_span span;
        bool whole; /* it is one mapping, and not several that touch */
    } * items;
    unsigned long count, capacity;
    bool is_read;
} mappings; /* ascending; guarded by the caller */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* A segment of an object is private and has its file. */
static bool is_of_program(const char *rights, const char *path)
{
    if (!starts(rights, "rw"))
        return false;
    if (starts(path, "/dev/") && !starts(path, "/dev/zero") && !starts(path, "/dev/shm/"))
        return false;
    return path[0] != '[';
}

static void take_line(const char *line)
{
    unsigned long long begin, end;
    char rights[8];
    int path = 0;

    if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %n", &begin, &end, rights, &path) != 3 ||
        path == 0 || !is_of_program(rights, line + path))
        return;
    tic_append(
        mappings.items, mappings.count, mappings.capacity,
        &(struct mapping){.span = {(const char *)(uintptr_t)begin, (const char *)(uintptr_t)end},
                          .whole = rights[3] == 's' || line[path] == '/'});
}

static void read_all(void)
{
    FILE *file = tic_content_open("/proc/self/maps");
    char line[512];

    mappings.count = 0;
    mappings.is_read = true;
    while (file && fgets(line, sizeof(line), file)) {
        bool ends = strchr(line, '\n') != NULL;
        take_line(line);
        while (!ends && fgets(line, sizeof(line), file))
            ends = strchr(line, '\n') != NULL;
    }
    if (file)
        fclose(file);
}

static void tic_mapped_forget(void)
{
    mappings.is_read = false;
}

/* The bytes from this page on that can only belong to the mapping that begins there, or in which it
 * lies: up to the end of one that is shared or has a file; one page of private memory, as the
 * kernel makes one of such mappings that touch, and the next may be anybody's. 0: none that the
 * program can write, the heap, a stack, an object or a device. Reads the list of mappings at the
 * first call after tic_mapped_forget(). One thread at a time. */
static size_t tic_mapped_bytes(const char *at)
{
    if ((uintptr_t)at % PAGE != 0 || tic_symbol_is_in_object(at))
        return 0;
    if (!mappings.is_read)
        read_all();
    for (unsigned long i = 0; i < mappings.count; i++) {
        const struct mapping *mapping = &mappings.items[i];
        if (tic_span_has(&mapping->span, at))
            return mapping->whole ? (size_t)(mapping->span.end - at) : PAGE;
    }
    return 0;
}

enum {
    MOST_TARGETS = 256, /* of pointers in arguments */
    TARGET_BYTES = 64,  /* of one that is no block of the heap */
    MOST_BASES = 1024,
    MOST_PLACES = 512,
    MOST_SEARCHED = 256 << 20, /* bytes, for pointers */
    MOST_WITHIN = 512,         /* blocks that are searched for pointers, */
    WITHIN_BYTES = 4096,       /* each of no more than this */
    MOST_PROBES = 1024,        /* of what may be pointers in them */
    MOST_CONTENTS = 256,       /* small data that is searched for pointers */
    MOST_PARTS = 64            /* of data, whose structures are known by their size */
};

static const size_t most_bytes = (size_t)1 << 40; /* of a block */

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
    size_t handle_size; /* of StarPU's structure for data, or 0 */
    bool has_more;
} blocks;

/* The block of malloc() in which data lies, or NULL: it begins there, or no more than 4 KiB before.
 * Variables are in no block, whatever lies before them. */
static const char *block_of(const char *base, size_t *bytes)
{
    *bytes = tic_heap_block(base, most_bytes);
    const char *block = *bytes > 0 ? base : tic_heap_around(base, most_bytes, bytes);
    return block && !tic_symbol_is_in_object(base) ? block : NULL;
}

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

    if (blocks.handle_size == 0)
        blocks.handle_size = tic_heap_block((const char *)handle->data, most_bytes);
    if (!tic_handle_has_memory(handle))
        return;
    if (is_in_last(base))
        return;
    block = block_of(base, &bytes);
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

/* StarPU changes its own structures, which programs point to: those of data lie in one block if it
 * was partitioned. malloc() gives out 8 bytes more than was asked for, at most. */
static bool is_of_starpu(size_t size)
{
    size_t data = blocks.handle_size > 0 ? blocks.handle_size - sizeof(size_t) : SIZE_MAX;
    size_t over = size / data > 0 ? size % data : data;

    return (size >= sizeof(struct starpu_task) && size < sizeof(struct starpu_task) + 24) ||
           (size / data <= MOST_PARTS && over <= (size / data + 1) * sizeof(size_t));
}

/* A stream of the GNU C library (fopen): what tasks print is no data, and its lists lead
 * everywhere.
 */
static bool is_stream(const char *at, size_t size)
{
    const uint32_t magic = 0xfbad0000, mask = 0xffff0000;
    uint32_t flags;

    return size >= sizeof(FILE) && tic_heap_read(at, (char *)&flags, sizeof(flags)) &&
           (flags & mask) == magic;
}

/* What dlopen() gives: the dynamic linker changes it whenever somebody loads a library. */
struct linked {
    const void *at;
    bool found;
};

/* The linker's list stands still while it calls this. */
static int find_linked(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct linked *linked = arg;

    (void)info;
    (void)size;
    for (const struct link_map *map = _r_debug.r_map; map && !linked->found; map = map->l_next)
        linked->found = map == linked->at;
    return 1;
}

static bool is_of_linker(const char *at, size_t size)
{
    struct linked linked = {.at = at};

    if (size >= sizeof(struct link_map))
        dl_iterate_phdr(find_linked, &linked);
    return linked.found;
}

/* An object of a device's library, which programs point to: it changes whenever that is used. */
static bool is_of_device(const char *at, size_t size)
{
    const void *first;

    return tic_nodes_several && size >= sizeof(first) &&
           tic_heap_read(at, (char *)&first, sizeof(first)) && tic_nodes_is_device_table(first);
}

/* As `range` says, from this place on. */
static void watch(struct tic_beside range, const char *at, size_t otherwise)
{
    if (tic_structure_was(at)) /* programs have many handles: before the kernel is asked */
        return;
    size_t size = tic_heap_block(at, most_bytes);
    if (size > 0 && (is_of_starpu(size) || is_stream(at, size) || is_of_linker(at, size) ||
                     is_of_device(at, size)))
        return;
    range.zeros = size > 0 ? at : NULL;
    range.block = size;
    if (size == 0)
        size = tic_mapped_bytes(at);
    if (size == 0)
        size = otherwise;
    if (size == 0)
        return;
    range.span = (struct tic_span){at, at + size};
    tic_beside_add(&range);
    if (range.block > 0 && size <= WITHIN_BYTES && blocks.within_count < MOST_WITHIN &&
        range.kind != TIC_BESIDE_OF_DATA)
        blocks.within[blocks.within_count++] = range;
}

bool tic_blocks_has(const struct tic_beside *range)
{
    return range->block == 0 || tic_heap_block(range->zeros, most_bytes) == range->block;
}

/* The stack below main()'s own is used while it waits. Old targets may be variables of functions
 * that have returned. */
static void watch_targets(const struct tic_others *others)
{
    const uintptr_t here = (uintptr_t)others->frame, most = 8 << 20;
    const struct tic_beside range = {.kind = TIC_BESIDE_OF_ARGUMENT, .path = ""};

    for (unsigned i = 0; i < blocks.target_count; i++) {
        const char *at = blocks.targets[i];
        uintptr_t place = (uintptr_t)at;
        if (!tic_objects_have(at) && !tic_spans_has(&others->known, at) &&
            !(place > here - most && place < here))
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

    if (!may_lead(at) || tic_spans_has(known, at))
        return false;
    memcpy(&word, at, sizeof(word));
    if (tic_objects_have(word))
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
            if (!may_lead(copy + at) || tic_spans_has(known, word) || tic_objects_have(word) ||
                tic_structure_was(word) || is_within(word))
                continue;
            probes++;
            if (tic_heap_block(word, most_bytes) > 0)
                watch(range, word, 0);
        }
    }
}

static int compare_bases(const void *a, const void *b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;

    return left < right ? -1 : left > right;
}

static void watch_bases(const struct tic_others *others)
{
    const struct tic_beside range = {.kind = TIC_BESIDE_OF_DATA, .path = ""};
    const char *end = NULL;
    unsigned count = 0;

    blocks.last_block = NULL;
    qsort(blocks.bases, blocks.base_count, sizeof(*blocks.bases), compare_bases);
    for (unsigned i = 0; i < blocks.base_count; i++)
        if (count == 0 || blocks.bases[count - 1] != blocks.bases[i])
            blocks.bases[count++] = blocks.bases[i];
    tic_others_keep_bases(others, blocks.bases, &count);
    blocks.base_count = count;
    for (unsigned i = 0; i < count; i++) {
        if (blocks.bases[i] < end) /* blocks do not lie in each other */
            continue;
        size_t size;
        const char *block = block_of(blocks.bases[i], &size);
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

    tic_mapped_forget();
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
