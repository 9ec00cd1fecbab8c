/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool print(FILE *file, const struct tic_job_line *line)
{
    fprintf(file,
            "starpu-tic job line 1\nnumber %" PRIu64 "\njob %s\nranks %u\nin-transit %" PRIu64 "\n",
            line->number, line->token, line->ranks, line->in_transit);
    for (unsigned i = 0; i < line->ranks; i++)
        fprintf(file, "part %u %.*s\n", i, (int)line->parts[i].size,
                (const char *)line->parts[i].bytes);
    fprintf(file, "end\n");
    return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

static int force_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;

    if (fd >= 0)
        close(fd);
    return status;
}

int tic_job_line_write(const char *directory, const struct tic_job_line *line)
{
    char name[PATH_MAX], fresh[PATH_MAX + 8];

    if (snprintf(name, sizeof(name), "%s/job-line-%" PRIu64, directory, line->number) >=
        (int)sizeof(name))
        return -ENAMETOOLONG;
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    FILE *file = fopen(fresh, "we");
    int status = file && print(file, line) ? 0 : -errno;
    if (file && fclose(file) != 0 && status == 0)
        status = -errno;
    if (status == 0 && rename(fresh, name) != 0)
        status = -errno;
    if (status)
        unlink(fresh);
    if (status == 0 && (status = force_directory(directory)) != 0)
        unlink(name);
    return status;
}

void tic_job_line_remove(const char *directory, uint64_t number)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s/job-line-%" PRIu64, directory, number) < (int)sizeof(name))
        unlink(name);
}
