/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/mapped.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/content.h"
#include "unseen/spans.h"
#include "session/symbol.h"

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

void tic_mapped_forget(void)
{
    mappings.is_read = false;
}

size_t tic_mapped_bytes(const char *at)
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
