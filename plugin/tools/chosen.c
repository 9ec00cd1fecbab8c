/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/chosen.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/data_names.h"
#include "tools/arguments.h"
#include "tools/tool.h"

struct search {
    struct tic_chosen *chosen;
    const char *file; /* NULL: any */
    uint64_t number;  /* 0: any */
    unsigned skip;    /* lines that can be read, still */
    unsigned skipped;
    int status; /* of the line that is wanted, if it cannot be read; -ENOENT: it is not there */
};

static bool take_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct search *search = arg;
    bool is_named = search->file || search->number > 0;

    if ((search->file && strcmp(search->file, name) != 0) ||
        (search->number > 0 && line->number != search->number && status == 0))
        return false;
    if (status != 0) {
        if (search->file || !is_named)
            search->status = status;
        return search->file != NULL;
    }
    if (search->skip > 0) {
        search->skip--;
        search->skipped++;
        return false;
    }
    search->chosen->line = *line;
    search->chosen->has_line = true;
    memset(line, 0, sizeof(*line));
    return true;
}

static void tell(const char *path, const struct search *search)
{
    if (search->number > 0)
        fprintf(stderr, "starpu-tic: no line %" PRIu64 " in %s that can be read\n", search->number,
                path);
    else if (search->status != -ENOENT)
        fprintf(stderr, "starpu-tic: %s: %s\n", path, tic_store_reason(search->status));
    else
        fprintf(stderr,
                search->skipped > 0
                    ? "starpu-tic: %s holds one recovery line, and there is no other to "
                      "compare it with: wait for the next one, or name another directory\n"
                : search->file ? "starpu-tic: %s is no recovery line\n"
                               : "starpu-tic: no recovery line in %s\n",
                path);
}

int tic_chosen_open(struct tic_chosen *chosen, const char *path, uint64_t number, unsigned skip)
{
    struct search search = {.chosen = chosen, .number = number, .skip = skip, .status = -ENOENT};
    char directory[PATH_MAX], name[PATH_MAX];
    struct stat info;
    bool is_line = stat(path, &info) == 0 && S_ISREG(info.st_mode);

    memset(chosen, 0, sizeof(*chosen));
    snprintf(directory, sizeof(directory), "%s", path);
    snprintf(name, sizeof(name), "%s", path);
    search.file = is_line ? basename(name) : NULL;
    int status = tic_tool_open_store(&chosen->store, is_line ? dirname(directory) : path);
    chosen->is_open = status == 0;
    status = status ? status : tic_store_walk(&chosen->store, take_line, &search);
    if (status)
        tic_arguments_cannot_read(path, status);
    else if (!chosen->has_line)
        tell(path, &search);
    if (chosen->has_line && status == 0) {
        tic_data_names_load(&chosen->line.known.names);
        return 0;
    }
    tic_chosen_close(chosen);
    return -1;
}

void tic_chosen_close(struct tic_chosen *chosen)
{
    if (chosen->has_line)
        tic_line_clear(&chosen->line);
    if (chosen->is_open)
        tic_store_close(&chosen->store);
    memset(chosen, 0, sizeof(*chosen));
}

bool tic_chosen_parse_number(const char *text, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

bool tic_chosen_take_number(const char *value, void *to)
{
    uint64_t *number = to;

    return tic_chosen_parse_number(value, number) && *number > 0;
}
