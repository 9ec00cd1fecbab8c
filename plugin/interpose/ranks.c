/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "session/ranks.h"
#include "snapshot/ranks.h"
#include "store/schema.h"

/* Immutable once the session is opened. */
static struct {
    char *job;       /* directory */
    char part[64];   /* of the job line that the run begins from; "": none */
    uint64_t number; /* of that one */
} here;

void tic_ranks_check(const struct tic_settings *settings)
{
    const char *what = settings->copy[0] ? "STARPU_TIC_COPY"
                       : settings->every ? "STARPU_TIC_EVERY"
                                         : NULL;

    if (what && tic_ranks_library())
        tic_stop(TIC_EXIT_REFUSED,
                 "in a run of several ranks (STARPU_TIC_RANKS) %s is not there "
                 "yet",
                 what);
}

static bool name_rank(struct tic_line *about)
{
    char *program = NULL;

    if (asprintf(&program, "%s (rank %u of %u)", about->program, tic_ranks_rank(),
                 tic_ranks_count()) < 0)
        return false;
    free(about->program);
    about->program = program;
    return true;
}

/* Lines of this rank that are newer than its part of the job line are of none. part: "": there is
 * none. */
static void remove_newer(const char *own, const char *part)
{
    DIR *stream = opendir(own);
    struct dirent *entry;

    while (stream && (entry = readdir(stream))) {
        const char *name = entry->d_name;
        if (name[0] == 'p' && strstr(name, "-line-") && strcmp(name, part) > 0)
            unlinkat(dirfd(stream), name, 0);
    }
    if (stream)
        closedir(stream);
}

/* True: results of tasks beyond the line may be used. */
static bool choose(const char *own)
{
    int status = tic_ranks_library()->choose(here.job, &here.number, here.part);

    if (status == -ERANGE)
        tic_stop(TIC_EXIT_REFUSED,
                 "%s holds recovery lines of another number of ranks than %u, from which a restart "
                 "is not there yet",
                 here.job, tic_ranks_count());
    if (status < 0)
        tic_stop(TIC_EXIT_REFUSED, "cannot read the recovery lines in %s: %s", here.job,
                 strerror(-status));
    remove_newer(own, here.part);
    return status == 1;
}

/* Twice, where lines are looked for first, and created later. */
char *tic_ranks_directory(const char *directory, struct tic_snapshot *snapshot)
{
    char *own = NULL;
    bool first = !here.job;

    here.job = first ? strdup(directory) : here.job;
    if (!here.job || (first && !name_rank(&snapshot->about)) ||
        (mkdir(directory, 0700) != 0 && errno != EEXIST) ||
        asprintf(&own, "%s/p%u", directory, tic_ranks_rank()) < 0)
        return NULL;
    if (first && !choose(own))
        snapshot->options.ignore_results = true;
    return own;
}

static bool has_part(const struct tic_session *session)
{
    char name[sizeof(here.part)];

    snprintf(name, sizeof(name), TIC_FILE_LINE, session->store.process,
             (unsigned long long)session->store.kept[0].number);
    return strcmp(name, here.part) == 0;
}

/* A result comes of other ranks' histories, too: all use theirs, or none does. Who goes on without
 * goes another way, which results of before, and later ones of others, do not know. */
static void settle_results(struct tic_snapshot *snapshot, bool continues)
{
    const struct tic_recovery *recovery = &snapshot->recovery;
    const bool used = !snapshot->options.ignore_results && !recovery->racy &&
                      !recovery->line_lost && !recovery->events_lost &&
                      snapshot->store->damaged_logs == 0;

    if (continues && snapshot->options.log_all && !used) {
        snapshot->options.log_all = false;
        snapshot->options.periodic = true;
        snapshot->options.sync_ns = 0;
        tic_log(tic_ranks_rank() == 0 ? TIC_LOG_INFO : TIC_LOG_DETAIL,
                "results in the event logs are not used: not all of what they come of is known");
    }
    snapshot->recovery.with_ranks = continues && snapshot->options.log_all;
    int status = tic_ranks_library()->log(snapshot->options.log_all);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot write to %s: %s", here.job, strerror(-status));
}

void tic_ranks_join(struct tic_session *session, bool continues)
{
    if (!tic_ranks_library())
        return;
    if (here.part[0] && !(continues && has_part(session)))
        tic_stop(TIC_EXIT_REFUSED,
                 "rank %u: %s/%s, which the other ranks go on from, cannot be used. Remove %s to "
                 "begin anew",
                 tic_ranks_rank(), session->store.path, here.part, here.job);
    if (continues && tic_ranks_rank() == 0)
        tic_log(TIC_LOG_INFO,
                "continuing %u ranks from job line %" PRIu64 " in %s: %" PRIu64
                " tasks done on rank 0",
                tic_ranks_count(), here.number, here.job, session->recovered_tasks);
    settle_results(&session->snapshot, continues);
    session->settings.verify = 0; /* main() may wait for others before a cut */
    session->snapshot.verify.percent = 0;
    tic_snapshot_join_ranks(&session->snapshot, tic_ranks_library());
}

const char *tic_ranks_job(void)
{
    return here.job;
}
