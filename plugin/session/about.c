/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recovery line says about the run: program, arguments, host, versions. */
#include "session/about.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/input.h"
#include "base/content.h"
#include "real/real.h"
#include "session/builds.h"
#include "store/line.h"

static char *text_or_empty(const char *text)
{
    return strdup(text ? text : "");
}

static void fill_arguments(struct tic_line *about)
{
    size_t size; /* argv as the kernel knows it: '\0'-ended strings */
    char *line = tic_content_read("/proc/self/cmdline", &size);
    size_t skip = line && size > 0 ? strnlen(line, size - 1) + 1 : 0; /* argv[0] */

    if (line && size > skip) {
        memmove(line, line + skip, size - skip);
        about->arguments.text = line;
        about->arguments.size = size - skip;
    } else {
        free(line);
        about->arguments.text = text_or_empty("");
        about->arguments.size = 0;
    }
}

/* The name that the program was loaded by. A file that was removed or replaced since then has "
 * (deleted)" behind it. */
static void read_program(char path[PATH_MAX])
{
    static const char gone[] = " (deleted)";
    struct stat loaded, named;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    size_t end = length > (ssize_t)strlen(gone) ? (size_t)length - strlen(gone) : 0;

    path[length > 0 ? length : 0] = '\0';
    if (end > 0 && strcmp(path + end, gone) == 0 && stat("/proc/self/exe", &loaded) == 0 &&
        (stat(path, &named) != 0 || loaded.st_ino != named.st_ino || loaded.st_dev != named.st_dev))
        path[end] = '\0';
}

void tic_about_fill(struct tic_line *about)
{
    char path[PATH_MAX] = "", host[HOST_NAME_MAX + 1] = "", version[32];
    int major, minor, release;

    read_program(path);
    const char *slash = strrchr(path, '/');
    about->program = text_or_empty(slash ? slash + 1 : path);
    fill_arguments(about);
    about->directory = getcwd(NULL, 0);
    if (!about->directory)
        about->directory = text_or_empty("");
    about->build = tic_builds_of_program();
    about->input = tic_input_hash();
    if (!about->input)
        about->input = text_or_empty("");
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
    XXH64_hash_t hash = XXH3_64bits_withSeed(about->arguments.text, about->arguments.size,
                                             XXH3_64bits(about->program, strlen(about->program)));
    if (asprintf(&name, "%s-%08x.tic", about->program, (unsigned)hash) < 0)
        return NULL;
    return name;
}
