/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types of elements: names, and the other byte order. */
#include "base/types.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"

enum { MOST_TYPES = 1 << 14, MOST_RUNS = 64, MOST_NAME = 1024 };

struct run {
    uint64_t count;
    unsigned width;
};

struct type {
    char *name;
    uint64_t number;
    uint64_t bytes;
    bool sparse; /* indices, then elements */
    unsigned run_count;
    struct run runs[];
};

static const struct base {
    const char *name;
    unsigned width, count;
    enum tic_type_kind kind;
} bases[] = {
    {"char", 1, 1, TIC_TYPE_OTHER},           {"bool", 1, 1, TIC_TYPE_OTHER},
    {"int8", 1, 1, TIC_TYPE_OTHER},           {"uint8", 1, 1, TIC_TYPE_OTHER},
    {"short", 2, 1, TIC_TYPE_OTHER},          {"int16", 2, 1, TIC_TYPE_OTHER},
    {"uint16", 2, 1, TIC_TYPE_OTHER},         {"int", 4, 1, TIC_TYPE_OTHER},
    {"unsigned", 4, 1, TIC_TYPE_OTHER},       {"int32", 4, 1, TIC_TYPE_OTHER},
    {"uint32", 4, 1, TIC_TYPE_OTHER},         {"float", 4, 1, TIC_TYPE_FLOAT},
    {"int64", 8, 1, TIC_TYPE_OTHER},          {"uint64", 8, 1, TIC_TYPE_OTHER},
    {"double", 8, 1, TIC_TYPE_DOUBLE},        {"complex-float", 4, 2, TIC_TYPE_OTHER},
    {"complex-double", 8, 2, TIC_TYPE_OTHER},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct type *) types[MOST_TYPES]; /* set once, under lock; release */
static unsigned long count;                      /* guarded by lock */

static const struct type *get(uint64_t type)
{
    const uint64_t index = type & UINT32_MAX;

    return index > 0 && index <= MOST_TYPES
               ? atomic_load_explicit(&types[index - 1], memory_order_acquire)
               : NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

static const struct base *find_base(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
        if (strlen(bases[i].name) == length && memcmp(bases[i].name, name, length) == 0)
            return &bases[i];
    return NULL;
}

/* One of those between commas. */
static const struct base *parse_item(const char *text, size_t length, uint64_t *times)
{
    const char *star = memchr(text, '*', length);
    size_t digits = star ? (size_t)(star - text) : 0;

    *times = star ? 0 : 1;
    for (size_t i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9' || *times > UINT32_MAX)
            return NULL;
        *times = *times * 10 + (uint64_t)(text[i] - '0');
    }
    if (*times == 0)
        return NULL;
    return star ? find_base(star + 1, length - digits - 1) : find_base(text, length);
}

static void add_run(struct type *type, uint64_t times, unsigned width)
{
    struct run *last = type->run_count > 0 ? &type->runs[type->run_count - 1] : NULL;

    type->bytes += times * width;
    if (last && last->width == width)
        last->count += times;
    else
        type->runs[type->run_count++] = (struct run){times, width};
}

static const char sparse_prefix[] = "sparse:";
enum { SPARSE_PREFIX = sizeof(sparse_prefix) - 1 };

static bool is_sparse(const char *name, size_t length)
{
    return length > SPARSE_PREFIX && memcmp(name, sparse_prefix, SPARSE_PREFIX) == 0;
}

static struct type *parse(const char *name, size_t length, enum tic_type_kind *kind)
{
    struct type *type = calloc(1, sizeof(*type) + MOST_RUNS * sizeof(type->runs[0]));
    const bool sparse = is_sparse(name, length);
    const char *at = name + (sparse ? SPARSE_PREFIX : 0), *end = name + length;
    bool fine = type && length > 0 && length <= MOST_NAME;

    *kind = TIC_TYPE_OTHER;
    while (fine && at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma ? comma : end) - at);
        uint64_t times;
        const struct base *base = parse_item(at, size, &times);
        fine = base && type->run_count < MOST_RUNS;
        if (!fine)
            break;
        add_run(type, times * base->count, base->width);
        *kind = size == length && times == 1 ? base->kind : TIC_TYPE_OTHER;
        at += size + 1;
    }
    if (fine)
        type->sparse = sparse;
    if (fine && (type->name = strndup(name, length)))
        return type;
    free(type);
    return NULL;
}

/* Takes the type over. */
static uint64_t enter_locked(struct type *type, enum tic_type_kind kind)
{
    if (count == MOST_TYPES) {
        free(type->name);
        free(type);
        return TIC_TYPE_UNKNOWN;
    }
    type->number = (count + 1) | (uint64_t)kind << TIC_TYPE_KIND_BIT;
    atomic_store_explicit(&types[count++], type, memory_order_release);
    return type->number;
}

static uint64_t look_up_locked(const char *name, size_t length)
{
    for (unsigned long i = count; i-- > 0;) {
        const struct type *type = atomic_load_explicit(&types[i], memory_order_relaxed);
        if (strlen(type->name) == length && memcmp(type->name, name, length) == 0)
            return type->number;
    }
    return TIC_TYPE_UNKNOWN;
}

uint64_t tic_type_find(const char *name, size_t length)
{
    return is_sparse(name, length) ? TIC_TYPE_UNKNOWN : tic_type_find_stored(name, length);
}

uint64_t tic_type_find_stored(const char *name, size_t length)
{
    enum tic_type_kind kind;

    pthread_mutex_lock(&lock);
    uint64_t number = look_up_locked(name, length);
    struct type *type = number ? NULL : parse(name, length, &kind);
    if (type)
        number = enter_locked(type, kind);
    pthread_mutex_unlock(&lock);
    return number;
}

const char *tic_type_name(uint64_t type)
{
    const struct type *found = get(type);
    return found ? found->name : "";
}

uint64_t tic_type_bytes(uint64_t type)
{
    const struct type *found = get(type);
    return found ? found->bytes : 0;
}

/* ---- sparse matrices ------------------------------------------------------------------------ */

/* Of the numbers that the type, or the second half of a sparse one, consists of; 0: of several. */
static unsigned width_of(const struct type *type)
{
    return type->run_count == 1 || (type->sparse && type->run_count == 2)
               ? type->runs[type->run_count - 1].width
               : 0;
}

/* The name is one that any process parses. Indices and elements of one width are one run. */
uint64_t tic_type_sparse(uint64_t indices, uint64_t element, uint64_t bytes)
{
    static const char *const names[] = {
        [0] = NULL, [1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64"};
    const struct type *of = get(element);
    const unsigned width = of ? width_of(of) : 0;
    char name[128];

    if (width == 0 || indices == 0 || bytes == 0 || bytes % width != 0)
        return TIC_TYPE_UNKNOWN;
    int length =
        snprintf(name, sizeof(name), "%s%llu*uint32,%llu*%s", sparse_prefix,
                 (unsigned long long)indices, (unsigned long long)(bytes / width), names[width]);
    return tic_type_find_stored(name, (size_t)length);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Elements of one byte are what an interface has packed, or what somebody registered in bytes. */
bool tic_type_fits(uint64_t type, const struct tic_shape *shape)
{
    const uint64_t bytes = tic_type_bytes(type);

    return bytes > 0 && tic_shape_bytes(shape) % bytes == 0 &&
           (shape->element_size % bytes == 0 || shape->element_size == 1);
}

static void swap_one(char *bytes, unsigned width)
{
    for (unsigned i = 0; i < width / 2; i++) {
        char byte = bytes[i];
        bytes[i] = bytes[width - 1 - i];
        bytes[width - 1 - i] = byte;
    }
}

static void swap_run(char *bytes, uint64_t times, unsigned width)
{
    for (uint64_t i = 0; i < times; i++, bytes += width) {
        uint32_t narrow;
        uint64_t wide;
        if (width == 4) {
            memcpy(&narrow, bytes, 4);
            narrow = __builtin_bswap32(narrow);
            memcpy(bytes, &narrow, 4);
        } else if (width == 8) {
            memcpy(&wide, bytes, 8);
            wide = __builtin_bswap64(wide);
            memcpy(bytes, &wide, 8);
        } else {
            swap_one(bytes, width);
        }
    }
}

void tic_type_swap(uint64_t type, char *bytes, uint64_t size)
{
    const struct type *found = get(type);

    for (uint64_t at = 0; found && at + found->bytes <= size;)
        for (unsigned i = 0; i < found->run_count; i++) {
            swap_run(bytes + at, found->runs[i].count, found->runs[i].width);
            at += found->runs[i].count * found->runs[i].width;
        }
}
