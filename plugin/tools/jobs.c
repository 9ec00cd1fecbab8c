/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/content.h"
#include "store/linefile.h"
#include "store/store.h"
#include "tools/saved.h"
#include "tools/tool.h"

static void add_part(struct tic_jobs_line *job, const struct tic_line *line)
{
    job->created = line->created > job->created ? line->created : job->created;
    job->tasks_done += line->tasks_done;
    job->tasks_submitted += line->tasks_submitted;
    job->handles += line->value_count;
    for (size_t i = 0; i < line->value_count; i++)
        job->bytes += tic_saved_value_bytes(line, &line->values[i]);
}

static void read_parts(const char *directory, struct tic_jobs_line *job)
{
    for (unsigned i = 0; i < job->line.ranks && job->status == 0; i++) {
        struct tic_line line = {0};
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/p%u", directory, i);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        job->status =
            fd < 0 ? -errno
                   : tic_linefile_read(fd, job->line.parts[i].name, tic_tool_load_store(), &line);
        job->bad = job->status ? (int)i : -1;
        add_part(job, &line);
        tic_line_clear(&line);
        if (fd >= 0)
            close(fd);
    }
}

static struct tic_jobs_line read_line(const char *directory, uint64_t number)
{
    struct tic_jobs_line job = {.bad = -1};

    job.status = tic_job_line_read(directory, number, &job.line);
    if (job.status == 0)
        job.bad = tic_job_line_find_bad(directory, &job.line, tic_content_hash);
    if (job.bad >= 0)
        job.status = -EBADMSG;
    read_parts(directory, &job);
    job.line.number = number;
    return job;
}

bool tic_jobs_read(const char *directory, struct tic_jobs *jobs)
{
    uint64_t *numbers = tic_job_line_list(directory, &jobs->count);

    jobs->lines = jobs->count > 0 ? calloc(jobs->count, sizeof(*jobs->lines)) : NULL;
    for (unsigned long i = 0; i < jobs->count && jobs->lines; i++)
        jobs->lines[i] = read_line(directory, numbers[i]);
    free(numbers);
    return jobs->lines != NULL;
}

void tic_jobs_clear(struct tic_jobs *jobs)
{
    for (unsigned long i = 0; i < jobs->count && jobs->lines; i++)
        tic_job_line_clear(&jobs->lines[i].line);
    free(jobs->lines);
    *jobs = (struct tic_jobs){NULL, 0};
}

const struct tic_jobs_line *tic_jobs_newest(const struct tic_jobs *jobs)
{
    for (unsigned long i = 0; i < jobs->count; i++)
        if (jobs->lines[i].status == 0)
            return &jobs->lines[i];
    return NULL;
}

void tic_jobs_describe(const struct tic_jobs_line *job, char *text, size_t size)
{
    if (job->bad >= 0)
        snprintf(text, size, "the part of rank %d is missing, or damaged", job->bad);
    else
        snprintf(text, size, "%s", tic_store_reason(job->status));
}
