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

#include "base/apart.h"
#include "base/error.h"
#include "interpose/create.h"
#include "recovery/recovery.h"
#include "session/ranks.h"
#include "snapshot/ranks.h"
#include "store/payload.h"
#include "store/schema.h"

/* Immutable once the session is opened. */
static struct {
    char *job; /* directory */
    struct tic_ranks_choice line;
    struct tic_snapshot *snapshot;
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

/* Of a run of one rank, which was a process as any other. */
static void refuse_one(void)
{
    DIR *stream = opendir(here.job);

    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, "p0-line-", 8) == 0)
            tic_stop(TIC_EXIT_REFUSED,
                     "%s holds recovery lines of one process, from which only one goes on",
                     here.job);
    if (stream)
        closedir(stream);
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

static void choose(void)
{
    int status = tic_ranks_library()->choose(here.job, &here.line);
    char *own = NULL;

    refuse_one();
    if (status == -ERANGE)
        tic_stop(TIC_EXIT_REFUSED,
                 "%s holds recovery lines of another number of ranks than %u: the lines are of %u "
                 "ranks, "
                 "and a restart needs as many: %s",
                 here.job, tic_ranks_count(), here.line.ranks, here.line.why);
    if (status < 0)
        tic_stop(TIC_EXIT_REFUSED, "cannot read the recovery lines in %s: %s", here.job,
                 strerror(-status));
    if (asprintf(&own, "%s/%s", here.job, here.line.folder) >= 0)
        remove_newer(own, here.line.part);
    free(own);
}

/* Twice, where lines are looked for first, and created later. The directory is that of the first
 * time: by default it is named after the program, whose name has the rank then. */
char *tic_ranks_directory(const char *directory, struct tic_snapshot *snapshot)
{
    char *own = NULL;
    bool first = !here.job;

    here.job = first ? strdup(directory) : here.job;
    here.snapshot = snapshot;
    if (!here.job || (first && !name_rank(&snapshot->about)) ||
        (mkdir(here.job, 0700) != 0 && errno != EEXIST))
        return NULL;
    if (first)
        choose();
    snapshot->options.ignore_results |= !here.line.results;
    return asprintf(&own, "%s/%s", here.job, here.line.folder) < 0 ? NULL : own;
}

static bool has_part(const struct tic_session *session)
{
    char name[sizeof(here.line.part)];

    snprintf(name, sizeof(name), TIC_FILE_LINE, session->store.process,
             (unsigned long long)session->store.kept[0].number);
    return strcmp(name, here.line.part) == 0;
}

/* A result comes of other ranks' histories, too: all use theirs, or none does. Who goes on without
 * goes another way, which results of before, and later ones of others, do not know. */
static void settle_results(struct tic_snapshot *snapshot, bool continues)
{
    const struct tic_recovery *recovery = &snapshot->recovery;
    const bool used = here.line.results && !snapshot->options.ignore_results && !recovery->racy &&
                      !recovery->line_lost && !recovery->events_lost &&
                      snapshot->store->damaged_logs == 0;

    if (here.line.number > 0 && snapshot->options.log_all && !used) {
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
    if (here.line.part[0] && !(continues && has_part(session)))
        tic_stop(TIC_EXIT_REFUSED,
                 "rank %u: %s/%s, which the other ranks go on from, cannot be used. Remove %s to "
                 "begin anew",
                 tic_ranks_rank(), session->store.path, here.line.part, here.job);
    if (continues && tic_ranks_rank() == 0)
        tic_log(TIC_LOG_INFO,
                "continuing %u rank%s from job line %" PRIu64 " in %s: %" PRIu64
                " tasks done on rank 0",
                tic_ranks_count(), tic_ranks_count() == 1 ? "" : "s", here.line.number, here.job,
                session->recovered_tasks);
    if (session->opened_store && here.line.why[0] && tic_ranks_rank() == 0)
        tic_log(TIC_LOG_INFO, "newer job lines need as many ranks as they are of: %s",
                here.line.why);
    if (session->opened_store && !continues && here.line.number > 0 && tic_ranks_rank() == 0)
        tic_log(TIC_LOG_INFO, "continuing on %u rank%s from job line %" PRIu64 " of %u ranks in %s",
                tic_ranks_count(), tic_ranks_count() == 1 ? "" : "s", here.line.number,
                here.line.ranks, here.job);
    settle_results(&session->snapshot, continues);
    session->snapshot.verify.percent = 0; /* main() may wait for others before a cut */
    tic_snapshot_join_ranks(&session->snapshot, tic_ranks_library());
}

const char *tic_ranks_job(void)
{
    return here.job;
}

/* ---- parts of other ranks -------------------------------------------------------------------- */

struct part {
    const char *folder, *name;
    struct tic_store store;
    struct tic_line line;
    int status;
    uint64_t id; /* what is asked for */
    char *bytes;
    size_t size;
};

static bool take_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct part *part = arg;

    if (strcmp(name, part->name) != 0)
        return false;
    part->status = status;
    if (status == 0) {
        part->line = *line;
        memset(line, 0, sizeof(*line));
    }
    return true;
}

static void open_apart(void *arg)
{
    struct part *part = arg;

    part->status = tic_store_open(&part->store, part->folder, TIC_STORE_READ, false,
                                  tic_session_load_module());
    int status = part->status ? part->status : tic_store_walk(&part->store, take_line, part);
    part->status = status ? status : part->line.version ? part->status : -ENOENT;
}

/* The same program but for its ranks. */
static void check(const struct part *part)
{
    char *own = here.snapshot->about.program, *theirs = part->line.program;
    const char *end = strstr(own, " (rank ");

    if (end && strncmp(own, theirs, (size_t)(end - own) + 1) == 0)
        here.snapshot->about.program = theirs;
    tic_recovery_check_run(here.snapshot, part->folder, &part->line);
    here.snapshot->about.program = own;
}

void *tic_ranks_open_part(const char *folder, const char *name)
{
    struct part *part = calloc(1, sizeof(*part));

    if (!part)
        return NULL;
    part->folder = folder;
    part->name = name;
    tic_apart_call(open_apart, part);
    if (part->status == 0)
        check(part);
    else
        tic_log(TIC_LOG_WARN, "%s/%s: %s", folder, name, tic_store_reason(part->status));
    return part->status == 0 ? part : NULL;
}

static int read_value(struct part *part, const struct tic_line_value *value)
{
    const struct tic_line_extent *extent = &part->line.extents[value->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    int fd = tic_store_peek_segment(&part->store, extent->segment);
    uint64_t checksum;

    if (fd < 0)
        return fd;
    part->size = tic_shape_bytes(&shape);
    part->bytes = malloc(part->size + 1);
    struct tic_layout layout = tic_layout_packed(&shape, part->bytes);
    struct tic_place place = tic_payload_place(extent, value->row, fd);
    int status =
        part->bytes ? tic_payload_read(part->store.h5, &place, &layout, &checksum) : -ENOMEM;
    close(fd);
    return status == 0 && checksum != value->checksum ? -EBADMSG : status;
}

static void read_apart(void *arg)
{
    struct part *part = arg;
    const struct tic_line_value *value =
        bsearch(&part->id, part->line.values, part->line.value_count, sizeof(*part->line.values),
                tic_line_by_number);

    part->bytes = NULL;
    part->status = value ? read_value(part, value) : 0;
    if (part->status) {
        free(part->bytes);
        part->bytes = NULL;
    }
}

void *tic_ranks_part_value(void *opened, uint64_t id, size_t *size)
{
    struct part *part = opened;

    part->id = id;
    tic_apart_call(read_apart, part);
    if (part->status)
        tic_stop(TIC_EXIT_REFUSED, "cannot read a value in %s: %s", part->store.path,
                 tic_store_reason(part->status));
    *size = part->size;
    return part->bytes;
}
