/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a program has come that was killed. */
#include "tools/progress.h"

#include "store/eventlog.h"
#include "store/forced.h"
#include "store/store.h"
#include "tools/jobs.h"
#include "tools/tool.h"

/* Values are not checked: the restart does that, and says so. */
static bool note_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct tic_progress *progress = arg;

    (void)name;
    if (status != 0)
        return false;
    progress->line = line->number;
    progress->tasks_done = line->tasks_done;
    progress->tasks_submitted = line->tasks_submitted;
    return true;
}

static bool count_result(void *arg, const struct tic_log_record *record)
{
    struct tic_progress *progress = arg;
    struct tic_forced forced;

    progress->results += tic_forced_decode(record, &forced);
    return true;
}

/* Of all ranks. */
static struct tic_progress read_job(const struct tic_jobs *jobs)
{
    const struct tic_jobs_line *job = tic_jobs_newest(jobs);

    return job ? (struct tic_progress){job->line.number, job->tasks_done, job->tasks_submitted, 0}
               : (struct tic_progress){0};
}

struct tic_progress tic_progress_read(const char *directory, bool uses_results)
{
    struct tic_progress progress = {0};
    struct tic_store store;
    struct tic_jobs jobs;

    if (tic_jobs_read(directory, &jobs)) {
        progress = read_job(&jobs);
        tic_jobs_clear(&jobs);
        return progress;
    }
    if (tic_tool_open_store(&store, directory) != 0)
        return progress;
    tic_store_walk(&store, note_line, &progress);
    if (uses_results)
        tic_eventlog_walk(&store, count_result, &progress);
    tic_store_close(&store);
    return progress;
}
