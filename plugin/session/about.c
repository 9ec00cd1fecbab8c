/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recovery line says about the run: program, arguments, host, versions. */
#include "session/about.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/input.h"
#include "real/real.h"
#include "store/line.h"

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
        about->arguments.text = line;
        about->arguments.size = size - skip;
    } else {
        free(line);
        about->arguments.text = text_or_empty("");
        about->arguments.size = 0;
    }
}

/* ---- which build ------------------------------------------------------------------------------
 */

enum { ID_MOST = 64 };

/* Of the notes of a segment: owner "GNU", type NT_GNU_BUILD_ID. */
static char *find_build_id(const char *at, size_t size)
{
    char text[2 * ID_MOST + 1];

    for (const char *end = at + size; end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr));) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof(*note), *id = name + (note->n_namesz + 3) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note->n_descsz <= ID_MOST) {
            for (size_t i = 0; i < note->n_descsz; i++)
                snprintf(text + 2 * i, 3, "%02x", (unsigned char)id[i]);
            return strdup(text);
        }
        at = id + (note->n_descsz + 3) / 4 * 4;
    }
    return NULL;
}

/* The executable comes first. */
static int visit_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    char **build = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !*build; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            *build = find_build_id((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                                   info->dlpi_phdr[i].p_memsz);
    return 1;
}

static char *describe_build(void)
{
    char *build = NULL;

    dl_iterate_phdr(visit_program, &build);
    if (build)
        return build;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    build = fd < 0 ? NULL : tic_input_hash_of(fd);
    if (fd >= 0)
        close(fd);
    return build;
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
    about->build = describe_build();
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
