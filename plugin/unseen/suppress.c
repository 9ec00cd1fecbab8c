/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/suppress.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/content.h"
#include "session/elf.h"

#define SUPPRESSION(pattern, whose) pattern,
static const char *const table[] = {
#include "unseen/suppressions.def"
};

static struct {
    char **items;
    unsigned long count, capacity;
} own; /* immutable after tic_suppress_read() */

static const char *const kinds[] = {"symbol:", "section:", "object:"};

static bool is_pattern(const char *line)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(line, kinds[i], strlen(kinds[i])) == 0 && line[strlen(kinds[i])])
            return true;
    return false;
}

static void take_line(const char *path, unsigned number, char *line)
{
    line += strspn(line, " \t");
    line[strcspn(line, "#\n")] = '\0';
    for (size_t end = strlen(line); end > 0 && strchr(" \t\r", line[end - 1]); end--)
        line[end - 1] = '\0';
    if (line[0] == '\0')
        return;
    if (!is_pattern(line))
        tic_stop(TIC_EXIT_REFUSED,
                 "STARPU_TIC_SUPPRESSIONS: line %u of %s is none of symbol:PATTERN, "
                 "section:PATTERN, object:PATTERN and # COMMENT",
                 number, path);
    char *copy = strdup(line);
    if (!copy || tic_append(own.items, own.count, own.capacity, &copy) != 0)
        tic_stop(TIC_EXIT_REFUSED, "STARPU_TIC_SUPPRESSIONS: out of memory");
}

void tic_suppress_read(const char *path)
{
    char *line = NULL;
    size_t size = 0;

    if (path[0] == '\0')
        return;
    FILE *file = tic_content_open(path);
    if (!file)
        tic_stop(TIC_EXIT_REFUSED, "STARPU_TIC_SUPPRESSIONS: cannot read %s: %s", path,
                 strerror(errno));
    for (unsigned number = 1; getline(&line, &size, file) >= 0; number++)
        take_line(path, number, line);
    free(line);
    fclose(file);
}

static bool matches(const char *pattern, const char *kind, const char *name)
{
    size_t length = strlen(kind);

    return strncmp(pattern, kind, length) == 0 && fnmatch(pattern + length, name, 0) == 0;
}

static bool has(const char *kind, const char *name)
{
    for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (matches(table[i], kind, name))
            return true;
    for (unsigned long i = 0; i < own.count; i++)
        if (matches(own.items[i], kind, name))
            return true;
    return false;
}

bool tic_suppress_has_object(const char *name)
{
    return has("object:", name);
}

static void visit(enum tic_elf_kind kind, const char *name, const char *begin, size_t size,
                  void *arg)
{
    if (has(kind == TIC_ELF_SYMBOL ? "symbol:" : "section:", name))
        tic_spans_add(arg, begin, size);
}

bool tic_suppress_add(const void *address, struct tic_spans *known)
{
    enum { MOST = 16 }; /* as many as objects.c looks at */
    static const void *added[MOST];
    static unsigned count;
    struct tic_elf_place place;
    Dl_info object;

    if (dladdr(address, &object) == 0)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (added[i] == object.dli_fbase)
            return false;
    if (count == MOST)
        return false;
    added[count++] = object.dli_fbase;
    return tic_elf_each(address, &place, visit, known);
}
