/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a line says of the machine that wrote it: architecture, and types of elements. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "store/line.h"

/* ---- machines ------------------------------------------------------------------------------- */

const char *tic_machine_name(void)
{
#if defined(__x86_64__) && defined(__ILP32__)
    return "x32";
#elif defined(__x86_64__)
    return "x86_64";
#elif defined(__i386__)
    return "i386";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__s390x__)
    return "s390x";
#elif defined(__powerpc64__)
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? "ppc64" : "ppc64le";
#elif defined(__riscv)
    return sizeof(void *) == 8 ? "riscv64" : "riscv32";
#elif defined(__arm__)
    return "arm";
#else
    return sizeof(void *) == 8 ? "other-64" : "other-32";
#endif
}

bool tic_machine_is_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* The number of a name that the text has, from 1; 0: it has none such. */
static uint32_t number_of(const struct tic_line_text *text, const char *name)
{
    uint32_t number = 1;

    for (size_t at = 0; at < text->size; at += strlen(text->text + at) + 1, number++)
        if (strcmp(text->text + at, name) == 0)
            return number;
    return 0;
}

static int add_name(struct tic_line_text *text, const char *name)
{
    size_t size = strlen(name) + 1;
    char *grown = realloc(text->text, text->size + size);

    if (!grown)
        return -ENOMEM;
    memcpy(grown + text->size, name, size);
    text->text = grown;
    text->size += size;
    return 0;
}

int tic_line_name_types(struct tic_line *line)
{
    struct tic_line_machine *on = &line->on;
    int status = 0;

    free(on->types.text);
    free(on->extent_types);
    on->types = (struct tic_line_text){0};
    on->extent_type_count = line->extent_count;
    on->extent_types = calloc(line->extent_count + 1, sizeof(*on->extent_types));
    if (!on->extent_types)
        return -ENOMEM;
    for (size_t i = 0; i < line->extent_count && status == 0; i++) {
        const char *name = tic_type_name(line->extents[i].type);
        if (name[0] && number_of(&on->types, name) == 0)
            status = add_name(&on->types, name);
        on->extent_types[i] = name[0] ? number_of(&on->types, name) : 0;
    }
    return status;
}

/* Names that we do not know are of types that nobody has declared, to us. */
static uint64_t find_type(const struct tic_line_text *text, uint32_t number)
{
    size_t at = 0;

    while (number > 1 && at < text->size) {
        at += strlen(text->text + at) + 1;
        number--;
    }
    return number == 1 && at < text->size
               ? tic_type_find_stored(text->text + at, strlen(text->text + at))
               : TIC_TYPE_UNKNOWN;
}

int tic_line_find_types(struct tic_line *line)
{
    const struct tic_line_machine *on = &line->on;

    for (size_t i = 0; i < line->extent_count; i++)
        line->extents[i].type = TIC_TYPE_UNKNOWN;
    if (on->extent_type_count == 0)
        return 0;
    if (on->extent_type_count != line->extent_count ||
        (on->types.size > 0 && on->types.text[on->types.size - 1] != '\0'))
        return -EBADMSG;
    for (size_t i = 0; i < line->extent_count; i++) {
        struct tic_shape shape = tic_line_extent_shape(&line->extents[i]);
        uint64_t type = find_type(&on->types, on->extent_types[i]);
        if (tic_type_fits(type, &shape)) /* else it holds nothing */
            line->extents[i].type = type;
    }
    return 0;
}
