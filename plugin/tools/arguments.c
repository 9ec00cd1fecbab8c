/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "tools/tool.h"

/* ---- values of options ----------------------------------------------------------------------- */

static const struct {
    const char *option, *words;
} values[] = {
    {"backoff", "seconds, from 0 to 86400"},
    {"cpus", "numbers of CPU workers, with commas between them"},
    {"keep", "a whole number from 1 on"},
    {"kills", "a whole number from 1 to 100000"},
    {"line", "the number of a recovery line"},
    {"max-restarts", "a whole number from 0 on"},
    {"mtbf", "seconds, above 0"},
    {"period", "seconds, above 0"},
    {"protocol", "tic, sel or tic+sel"},
    {"seed", "a whole number from 0 on"},
    {"timeout", "seconds, from 0 on"},
    {"type", "float, int or uint"},
};

int tic_arguments_refuse(const char *command, const struct option *options, int option,
                         const char *value)
{
    while (options->name && options->val != option)
        options++;
    for (size_t i = 0; options->name && i < sizeof(values) / sizeof(values[0]); i++)
        if (strcmp(values[i].option, options->name) == 0)
            fprintf(stderr, "starpu-tic: --%s %s: it must be %s\n", options->name, value,
                    values[i].words);
    fprintf(stderr, "`starpu-tic %s --help` tells more\n", command);
    return TIC_TOOL_USAGE;
}

/* ---- directories ----------------------------------------------------------------------------- */

bool tic_arguments_is_run(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    bool is_run = false;

    while (directory && !is_run && (entry = readdir(directory)))
        is_run = strncmp(entry->d_name, "p0-", 3) == 0 || strncmp(entry->d_name, "p0.", 3) == 0;
    if (directory)
        closedir(directory);
    return is_run;
}

void tic_arguments_cannot_read(const char *path, int status)
{
    fprintf(stderr, "starpu-tic: cannot read %s: %s%s\n", path, strerror(-status),
            status == -ENOENT
                ? ". A run makes its directory when it begins, and removes it when it ends well"
            : status == -ENOTDIR ? ". Name the directory of a run"
                                 : "");
}

/* Those of the current folder: how many, or -1 after a message. */
static int find_here(glob_t *found)
{
    int status = glob("*.tic/", 0, NULL, found);

    if (status != 0 && status != GLOB_NOMATCH)
        fputs("starpu-tic: cannot read the current folder\n", stderr);
    else if (found->gl_pathc != 1)
        fprintf(stderr, "starpu-tic: name a directory of recovery lines: %s\n",
                found->gl_pathc == 0 ? "there is no *.tic here" : "there are several *.tic here");
    return found->gl_pathc == 1 ? 1 : -1;
}

int tic_arguments_each(int count, char **paths, bool plain, tic_arguments_visit visit, void *arg)
{
    glob_t found = {0};
    int worst = TIC_TOOL_OK;

    if (count == 0) {
        count = find_here(&found);
        paths = found.gl_pathv;
        if (count == 1)
            paths[0][strlen(paths[0]) - 1] = '\0'; /* the slash */
    }
    for (int i = 0; i < count; i++) {
        if (plain && count > 1)
            printf("%s%s:\n", i > 0 ? "\n" : "", paths[i]);
        int status = visit(paths[i], arg);
        worst = status > worst ? status : worst;
    }
    globfree(&found);
    return count < 0 ? TIC_TOOL_USAGE : worst;
}
