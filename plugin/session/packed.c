/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/packed.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

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
static uint64_t hash_value(const char *bytes, size_t size, uint64_t hash)
{
    enum { LEAST_ADDRESS = 1 << 16, ADDRESS_BITS = 47 };
    uint64_t value = 0;

    if (size != 1 && size != 2 && size != 4 && size != 8)
        return hash;
    memcpy(&value, bytes, size);
    if (size == sizeof(void *) && value >= LEAST_ADDRESS && value >> ADDRESS_BITS == 0)
        value = LEAST_ADDRESS;
    return XXH3_64bits_withSeed(&value, sizeof(value), hash);
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

bool tic_packed_hash(const struct starpu_task *task, uint64_t *hash)
{
    size_t size = task->cl_arg ? task->cl_arg_size : 0;

    if (!task->cl_arg)
        return true;
    if (tic_packed_is_number(task)) {
        *hash = XXH3_64bits_withSeed(&task->cl_arg, sizeof(task->cl_arg), *hash);
        return true;
    }
    if (!are_packed(task->cl_arg, size) || tic_packed_has_pointer(task))
        return false;
    *hash = XXH3_64bits_withSeed(task->cl_arg, size, *hash);
    return true;
}
