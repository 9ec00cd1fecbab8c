/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables of main() that it has named. Owner thread only. */
#include "interpose/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/layout.h"
#include "session/symbol.h"

struct variable {
    char *name;
    char *memory;
    size_t bytes;
};

static struct {
    struct variable *items;
    unsigned long count, capacity;
    size_t bytes; /* of all */
    bool closed;
} variables;

static bool is_known(const char *name)
{
    unsigned long i = 0;

    while (i < variables.count && strcmp(variables.items[i].name, name) != 0)
        i++;
    return i < variables.count;
}

/* Its memory is there, and may be written. */
static bool is_usable(const char *memory, size_t bytes)
{
    const struct tic_layout layout = {
        .shape = {.element_size = 1, .ndim = 1, .dims = {bytes, 1, 1, 1}},
        .base = (char *)(uintptr_t)memory,
        .stride = {1}};

    return tic_layout_is_mapped(&layout) && tic_layout_is_writable(&layout);
}

int tic_variables_add(const char *name, void *memory, size_t bytes)
{
    if (!name || !*name || !memory || bytes == 0 || bytes > UINT32_MAX - variables.bytes ||
        is_known(name))
        return -EINVAL;
    if (variables.closed)
        return -EBUSY;
    if (!is_usable(memory, bytes))
        return -EACCES;
    char *copy = strdup(name);
    if (!copy || tic_append(variables.items, variables.count, variables.capacity,
                            &(struct variable){copy, memory, bytes}) != 0) {
        free(copy);
        return -ENOMEM;
    }
    variables.bytes += bytes;
    return 0;
}

void tic_variables_close(void)
{
    variables.closed = true;
}

static bool has_address(const struct variable *variable)
{
    uint64_t word;

    for (size_t at = 0; at + sizeof(word) <= variable->bytes; at += sizeof(word)) {
        memcpy(&word, variable->memory + at, sizeof(word));
        if (tic_symbol_may_be_pointer(word) && tic_symbol_is_pointer(word))
            return true;
    }
    return false;
}

static const char *find(bool (*is_wanted)(const struct variable *variable))
{
    for (unsigned long i = 0; i < variables.count; i++)
        if (is_wanted(&variables.items[i]))
            return variables.items[i].name;
    return NULL;
}

static bool is_gone(const struct variable *variable)
{
    return !is_usable(variable->memory, variable->bytes);
}

const char *tic_variables_find_gone(void)
{
    return find(is_gone);
}

const char *tic_variables_find_address(void)
{
    return find(has_address);
}

int tic_variables_list(const char *place, struct tic_line_text *names)
{
    FILE *stream = open_memstream(&names->text, &names->size);

    if (!stream)
        return -ENOMEM;
    fprintf(stream, "%s%c", place, 0);
    for (unsigned long i = 0; i < variables.count; i++)
        fprintf(stream, "%zu %s%c", variables.items[i].bytes, variables.items[i].name, 0);
    return fclose(stream) == 0 ? 0 : -ENOMEM;
}

int tic_variables_copy(struct tic_line_bytes *bytes)
{
    unsigned char *at = malloc(variables.bytes + 1);

    if (!at)
        return -ENOMEM;
    bytes->items = at;
    bytes->count = variables.bytes;
    for (unsigned long i = 0; i < variables.count; at += variables.items[i++].bytes)
        memcpy(at, variables.items[i].memory, variables.items[i].bytes);
    return 0;
}

void tic_variables_give_back(const struct tic_line_bytes *bytes)
{
    const unsigned char *at = bytes->items;

    for (unsigned long i = 0; i < variables.count; at += variables.items[i++].bytes)
        memcpy(variables.items[i].memory, at, variables.items[i].bytes);
}
