/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "session/symbol.h"

/* Arguments packed by StarPU (STARPU_VALUE, starpu_codelet_pack_args): their number, then each
 * with its size, then zeros. Other arguments may have bytes that nobody set. */
static bool are_packed(const char *bytes, size_t size)
{
    int count;
    size_t used = sizeof(count), length;

    if (size < sizeof(count))
        return false;
    memcpy(&count, bytes, sizeof(count));
    for (int i = 0; i < count; i++) {
        if (size - used < sizeof(length))
            return false;
        memcpy(&length, bytes + used, sizeof(length));
        used += sizeof(length);
        if (length > size - used)
            return false;
        used += length;
    }
    while (used < size && bytes[used] == 0)
        used++;
    return count > 0 && used == size;
}

bool tic_packed_is_number(const struct starpu_task *task)
{
    return task->cl_arg && task->cl_arg_size > 0 && !task->cl_arg_free &&
           !tic_symbol_is_memory(task->cl_arg);
}

bool tic_packed_has_pointer(const struct starpu_task *task)
{
    const char *bytes = task->cl_arg;
    size_t used = sizeof(int), length;

    if (!bytes)
        return false;
    if (task->cl_arg_size == 0)
        return true;
    if (tic_packed_is_number(task))
        return false;
    if (!are_packed(bytes, task->cl_arg_size))
        return tic_symbol_has_pointer(bytes, task->cl_arg_size);
    int count;
    memcpy(&count, bytes, sizeof(count));
    for (; count > 0; count--) {
        memcpy(&length, bytes + used, sizeof(length));
        used += sizeof(length);
        if (tic_symbol_has_pointer(bytes + used, length))
            return true;
        used += length;
    }
    return false;
}

/* Aligned to their beginning, as tic_symbol_has_pointer() looks at them. */
static unsigned take_pointers(const char *bytes, size_t size, const char **pointers, unsigned most)
{
    unsigned count = 0;

    for (size_t at = 0; at + sizeof(*pointers) <= size && count < most; at += sizeof(*pointers)) {
        memcpy(&pointers[count], bytes + at, sizeof(*pointers));
        count += tic_symbol_is_pointer((uintptr_t)pointers[count]);
    }
    return count;
}

unsigned tic_packed_pointers(const struct starpu_task *task, const char **pointers, unsigned most)
{
    const char *bytes = task->cl_arg;
    size_t used = sizeof(int), length;
    unsigned found = 0;
    int count;

    if (!bytes || most == 0 || tic_packed_is_number(task))
        return 0;
    if (task->cl_arg_size == 0) {
        pointers[0] = bytes;
        return 1;
    }
    if (!are_packed(bytes, task->cl_arg_size))
        return take_pointers(bytes, task->cl_arg_size, pointers, most);
    memcpy(&count, bytes, sizeof(count));
    for (; count > 0; count--) {
        memcpy(&length, bytes + used, sizeof(length));
        used += sizeof(length);
        found += take_pointers(bytes + used, length, pointers + found, most - found);
        used += length;
    }
    return found;
}

/* Of packed arguments: numbers. An address may be another one in each run, a structure has gaps
 * that nobody sets. */
#if defined(__aarch64__)
enum { ADDRESS_BITS = 48 };
#else
enum { ADDRESS_BITS = 47 };
#endif

static bool is_scalar(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Of a scalar, in the byte order of this machine. */
static uint64_t read_value(const char *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy((char *)&value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(value) - size : 0),
           bytes, size);
    return value;
}

static uint64_t hash_value(const char *bytes, size_t size, uint64_t hash)
{
    enum { LEAST_ADDRESS = 1 << 16 };

    if (!is_scalar(size))
        return hash;
    uint64_t value = read_value(bytes, size);
    if (size == sizeof(void *) && value >= LEAST_ADDRESS && value >> ADDRESS_BITS == 0)
        value = LEAST_ADDRESS;
    return tic_words_hash(&value, 1, hash);
}

uint64_t tic_packed_values(const struct starpu_task *task)
{
    const char *bytes = task->cl_arg;
    size_t used = sizeof(int), length;
    uint64_t hash = 0;
    int count;

    /* Else it belongs to the program, which may have freed it. */
    if (!bytes || task->cl_arg_size == 0 || !task->cl_arg_free)
        return 0;
    if (!are_packed(bytes, task->cl_arg_size))
        return task->cl_arg_size <= 4 ? hash_value(bytes, task->cl_arg_size, hash) : 0;
    memcpy(&count, bytes, sizeof(count));
    for (; count > 0; count--) {
        memcpy(&length, bytes + used, sizeof(length));
        used += sizeof(length);
        hash = hash_value(bytes + used, length, hash);
        used += length;
    }
    return hash;
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static void reverse(char *bytes, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        char byte = bytes[i];
        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = byte;
    }
}

/* Packed arguments as a little-endian machine packs them; of those that are no scalars the bytes as
 * they are. */
static void make_little(char *bytes)
{
    int count;
    size_t used = sizeof(count), length;

    memcpy(&count, bytes, sizeof(count));
    reverse(bytes, sizeof(count));
    for (; count > 0; count--) {
        memcpy(&length, bytes + used, sizeof(length));
        reverse(bytes + used, sizeof(length));
        used += sizeof(length);
        if (is_scalar(length))
            reverse(bytes + used, length);
        used += length;
    }
}
#else
static void make_little(char *bytes)
{
    (void)bytes;
}
#endif

/* The same on machines of both byte orders, if all arguments are scalars. False: out of memory. */
static bool hash_bytes(const struct starpu_task *task, uint64_t *hash)
{
    char *copy = malloc(task->cl_arg_size);

    if (!copy)
        return false;
    memcpy(copy, task->cl_arg, task->cl_arg_size);
    make_little(copy);
    *hash = XXH3_64bits_withSeed(copy, task->cl_arg_size, *hash);
    free(copy);
    return true;
}

/* How far the hash means the same elsewhere. */
static unsigned bound_by(const struct starpu_task *task)
{
    const char *bytes = task->cl_arg;
    size_t used = sizeof(int), length;
    unsigned bound = TIC_BOUND_WORDS; /* sizes are as large as pointers, and long may be */
    int count;

    memcpy(&count, bytes, sizeof(count));
    for (; count > 0; count--) {
        memcpy(&length, bytes + used, sizeof(length));
        used += sizeof(length) + length;
        bound |= is_scalar(length) ? 0 : TIC_BOUND_ORDER;
    }
    return bound;
}

bool tic_packed_hash(const struct starpu_task *task, uint64_t *hash, unsigned *bound)
{
    size_t size = task->cl_arg ? task->cl_arg_size : 0;

    *bound = 0;
    if (!task->cl_arg)
        return true;
    if (tic_packed_is_number(task)) {
        const uint64_t number = (uint64_t)(uintptr_t)task->cl_arg;
        *hash = tic_words_hash(&number, 1, *hash);
        *bound = TIC_BOUND_WORDS;
        return true;
    }
    if (!are_packed(task->cl_arg, size) || tic_packed_has_pointer(task))
        return false;
    *bound = bound_by(task);
    return hash_bytes(task, hash);
}
