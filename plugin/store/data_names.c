/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/data_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "store/schema.h"

static void print(void *arg, uint64_t id, const char *name)
{
    fprintf(arg, TIC_LINE_NAME_FORMAT "%s%c", (unsigned long long)id, name, 0);
}

int tic_data_names_describe(struct tic_line_text *names)
{
    FILE *stream = open_memstream(&names->text, &names->size);

    if (!stream)
        return -ENOMEM;
    tic_names_each(print, stream);
    if (fclose(stream) == 0)
        return 0;
    free(names->text);
    *names = (struct tic_line_text){0};
    return -ENOMEM;
}

/* The name of an entry; NULL: it is none. */
static const char *parse(const char *entry, unsigned long long *id)
{
    int size = 0;

    if (!isdigit((unsigned char)entry[0]) || sscanf(entry, TIC_LINE_NAME_SCAN, id, &size) != 1 ||
        entry[size] != ' ' || !entry[size + 1])
        return NULL;
    return entry + size + 1;
}

int tic_data_names_load(const struct tic_line_text *names)
{
    unsigned long long id;
    int status = 0;

    for (size_t at = 0; at < names->size && status == 0; at += strlen(names->text + at) + 1) {
        const char *name = parse(names->text + at, &id);
        status = name ? tic_names_set(id, name) : 0;
    }
    return status == -ENOSPC ? 0 : status;
}

bool tic_data_names_are_sane(const struct tic_line_text *names)
{
    unsigned long long id, before = 0;

    if (names->size > 0 && names->text[names->size - 1] != '\0')
        return false;
    for (size_t at = 0; at < names->size; at += strlen(names->text + at) + 1) {
        if (!parse(names->text + at, &id) || (at > 0 && id <= before))
            return false;
        before = id;
    }
    return true;
}
