/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/content.h"
#include "base/thread.h"
#include "store/linefile.h"
#include "store/store.h"
#include "tools/arguments.h"
#include "tools/json_text.h"
#include "tools/saved.h"
#include "tools/scale.h"
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

/* The values lie in blocks of the segments, which a store knows. */
static int read_part(const char *folder, const char *name, struct tic_jobs_line *job)
{
    struct tic_line line = {0};
    struct tic_store store;
    int status = tic_tool_open_store(&store, folder);

    if (status)
        return status;
    status = tic_linefile_read(store.directory, name, store.h5, &line);
    status = status ? status : tic_store_complete(&store, &line);
    add_part(job, &line);
    tic_line_clear(&line);
    tic_store_close(&store);
    return status;
}

static void read_parts(const char *directory, struct tic_jobs_line *job)
{
    char folder[PATH_MAX];

    for (unsigned i = 0; i < job->line.ranks && job->status == 0; i++) {
        tic_job_folder(directory, job->line.generation, i, folder);
        job->status = read_part(folder, job->line.parts[i].name, job);
        job->bad = job->status ? (int)i : -1;
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
    *jobs = (struct tic_jobs){NULL, 0};
    if (!tic_arguments_is_job(directory))
        return false;
    uint64_t *numbers = tic_job_line_list(directory, &jobs->count);
    jobs->lines = calloc(jobs->count + 1, sizeof(*jobs->lines));
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

/* ---- a row each --------------------------------------------------------------------------------
 */

static double age_of(const struct tic_jobs_line *job)
{
    double age = (double)tic_nanoseconds(CLOCK_REALTIME) * 1e-9 - job->created;

    return age > 0 ? age : 0;
}

static json_t *line_json(const struct tic_jobs_line *job, const char *state)
{
    json_t *parts = json_array();
    char path[PATH_MAX];

    for (unsigned i = 0; i < job->line.ranks; i++) {
        tic_job_beside("", job->line.generation, i, "", job->line.parts[i].name, path);
        json_array_append_new(parts, json_string(path + 1));
    }
    return json_pack("{s:I, s:b, s:s, s:I, s:b, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:o}",
                     "number", (json_int_t)job->line.number, "good", job->status == 0, "state",
                     state, "ranks", (json_int_t)job->line.ranks, "any_ranks",
                     job->line.why[0] == '\0', "why_as_many", job->line.why, "created",
                     job->created, "age", age_of(job), "tasks_done", (json_int_t)job->tasks_done,
                     "tasks_submitted", (json_int_t)job->tasks_submitted, "handles",
                     (json_int_t)job->handles, "bytes", (json_int_t)job->bytes, "in_transit",
                     (json_int_t)job->line.in_transit, "parts", parts);
}

static void print_line(const struct tic_jobs_line *job, const char *state)
{
    char age[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT], bytes[TIC_SCALE_TEXT], data[TIC_SCALE_TEXT];

    if (job->status) {
        printf("%8" PRIu64 "  %s\n", job->line.number, state);
        return;
    }
    tic_scale_duration(age, age_of(job));
    tic_scale_count(done, job->tasks_done);
    tic_scale_count(data, job->handles);
    tic_scale_bytes(bytes, (double)job->bytes);
    printf("%8" PRIu64 "  %12s  %5u  %14s  %10s  %10s  %s\n", job->line.number, age,
           job->line.ranks, done, data, bytes, job->line.why[0] ? job->line.why : "yes");
}

json_t *tic_jobs_json(const struct tic_jobs *jobs)
{
    json_t *lines = json_array();
    char state[128];

    for (unsigned long i = 0; i < jobs->count; i++) {
        tic_jobs_describe(&jobs->lines[i], state, sizeof(state));
        json_array_append_new(lines, line_json(&jobs->lines[i], state));
    }
    return lines;
}

static void print_lines(const struct tic_jobs *jobs)
{
    char state[128];

    printf("%8s  %12s  %5s  %14s  %10s  %10s  %s\n", "job line", "age", "ranks", "tasks done",
           "data", "size", "any number of ranks");
    for (unsigned long i = 0; i < jobs->count; i++) {
        tic_jobs_describe(&jobs->lines[i], state, sizeof(state));
        print_line(&jobs->lines[i], state);
    }
}

int tic_jobs_tell(struct tic_jobs *jobs, const char *directory, bool as_json)
{
    int status = TIC_TOOL_OK;

    for (unsigned long i = 0; i < jobs->count; i++)
        status = jobs->lines[i].status ? TIC_TOOL_FAILED : status;
    if (as_json)
        tic_json_print(json_pack("{s:o, s:o}", "path", tic_json_text(directory), "job_lines",
                                 tic_jobs_json(jobs)),
                       17);
    else if (jobs->count == 0)
        printf("no line of all ranks in %s\n", directory);
    else
        print_lines(jobs);
    tic_jobs_clear(jobs);
    return status;
}
