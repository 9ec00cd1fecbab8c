/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recovery line says about the run: program, arguments, host, versions. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "interpose/session.h"

static char *text_or_empty(const char *text)
{
    return strdup(text ? text : "");
}

/* argv as the kernel knows it: '\0'-ended strings. */
static char *read_command_line(size_t *size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *text = NULL;
    size_t used = 0, capacity = 0;

    while (file && !feof(file)) {
        if (used == capacity) {
            capacity = capacity ? capacity * 2 : 4096;
            char *grown = realloc(text, capacity);
            if (!grown)
                break;
            text = grown;
        }
        used += fread(text + used, 1, capacity - used, file);
        if (ferror(file))
            break;
    }
    if (file)
        fclose(file);
    *size = used;
    return text;
}

static void fill_arguments(struct tic_line *about)
{
    size_t size;
    char *line = read_command_line(&size);
    size_t skip = line && size > 0 ? strnlen(line, size - 1) + 1 : 0; /* argv[0] */

    if (line && size > skip) {
        memmove(line, line + skip, size - skip);
        about->arguments = line;
        about->arguments_size = size - skip;
    } else {
        free(line);
        about->arguments = text_or_empty("");
        about->arguments_size = 0;
    }
}

void tic_about_fill(struct tic_line *about)
{
    char path[PATH_MAX] = "", host[HOST_NAME_MAX + 1] = "", version[32];
    int major, minor, release;

    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    about->program = text_or_empty(slash ? slash + 1 : path);
    fill_arguments(about);
    about->directory = getcwd(NULL, 0);
    if (!about->directory)
        about->directory = text_or_empty("");
    gethostname(host, sizeof(host) - 1);
    about->host = text_or_empty(host);
    about->version = text_or_empty(PACKAGE_VERSION);
    tic_real.starpu_get_version(&major, &minor, &release);
    snprintf(version, sizeof(version), "%d.%d", major, minor);
    about->starpu = text_or_empty(version);
}

char *tic_about_directory(const struct tic_line *about)
{
    char *name = NULL;
    XXH64_hash_t hash = XXH3_64bits_withSeed(about->arguments, about->arguments_size,
                                             XXH3_64bits(about->program, strlen(about->program)));
    if (asprintf(&name, "%s-%08x.tic", about->program, (unsigned)hash) < 0)
        return NULL;
    return name;
}
