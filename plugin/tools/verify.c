/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic verify: whether a directory of recovery lines is undamaged, and if not, what is, and
 * which line a restart would continue from. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/doneset.h"
#include "history/history.h"
#include "store/forced.h"
#include "store/linefile.h"
#include "store/mirror.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/store.h"
#include "tools/arguments.h"
#include "tools/events.h"
#include "tools/jobs.h"
#include "tools/tool.h"

/* What is told of each line at most. */
enum { MOST_TOLD = 20 };

/* A segment of results. */
struct peeked {
    bool is;
    uint64_t number;
    int fd, status; /* status: of its header */
    struct tic_line_extent *extents;
    size_t count;
};

struct verification {
    struct tic_store *store;
    unsigned found, good;
    uint64_t newest_good; /* if good > 0 */
    /* of the line at hand */
    const struct tic_line *line;
    uint64_t rows, damaged;
    unsigned damaged_logs;
    /* of the newest good line */
    struct tic_doneset done;    /* then also tasks whose results were looked at */
    struct tic_doneset written; /* handles whose newest result was looked at */
    bool spawned;
    uint64_t last_segment; /* that it knows */
    uint64_t damaged_results;
    struct peeked peeked; /* the last one: many results are in one */
};

static void tell_row(const struct verification *verification,
                     const struct tic_line_reference *reference, int status)
{
    const struct tic_line_extent *extent = &verification->line->extents[*reference->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    int fd = tic_store_peek_segment(verification->store, extent->segment);

    printf("  %s, entry %zu", reference->table, reference->index);
    if (strcmp(reference->table, TIC_LINE_READS) == 0)
        printf(" (task %" PRIx64 ")", reference->id);
    else
        printf(" (handle %" PRIu64 ")", reference->id);
    printf(": " TIC_FILE_SEGMENT, verification->store->process,
           (unsigned long long)extent->segment);
    if (fd == -ENOENT)
        puts(" is missing");
    else
        printf(", dataset " TIC_SEGMENT_DATASET ", row %u, at byte %" PRIu64 ": %s\n",
               extent->dataset, *reference->row,
               extent->offset + *reference->row * tic_shape_bytes(&shape),
               status == -EBADMSG ? "does not have its checksum" : strerror(-status));
    if (fd >= 0)
        close(fd);
}

static int verify_row(void *arg, const struct tic_line_reference *reference)
{
    struct verification *verification = arg;

    if (strcmp(reference->table, TIC_LINE_BLOCKS) == 0)
        return 0; /* it was read, or there would be no complete line */
    int status = tic_store_check_row(verification->store, verification->line, reference);

    verification->rows++;
    if (status && ++verification->damaged <= MOST_TOLD)
        tell_row(verification, reference, status);
    return 0;
}

static void note_newest(struct verification *verification, const struct tic_line *line)
{
    verification->newest_good = line->number;
    verification->spawned = line->spawned_count > 0 || line->kept_count > 0;
    for (size_t i = 0; i < line->extent_count; i++)
        if (line->extents[i].segment > verification->last_segment)
            verification->last_segment = line->extents[i].segment;
    for (size_t i = 0; i < line->done_count; i++)
        verification->spawned |= tic_doneset_add_range(&verification->done, line->done[i]) != 0;
}

static bool verify_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct verification *verification = arg;

    if (status == -ENOENT)
        return false; /* a run has just removed it */
    verification->found++;
    verification->line = line;
    verification->rows = verification->damaged = 0;
    printf("%s\n", name);
    if (status) {
        const char *why = status == -EBADMSG ? tic_linefile_explain(verification->store->directory,
                                                                    name, verification->store->h5)
                                             : tic_store_reason(status);
        printf("  damaged: %s\n",
               why ? why
                   : "a block of its tables is damaged, or its number is not that of its name");
        return false;
    }
    tic_line_each(line, verify_row, verification);
    const char *table = tic_history_find_difference(line, true);
    if (verification->damaged > MOST_TOLD)
        printf("  and %" PRIu64 " more\n", verification->damaged - MOST_TOLD);
    if (verification->damaged > 0)
        printf("  damaged: %" PRIu64 " of %" PRIu64 " values\n", verification->damaged,
               verification->rows);
    else if (table)
        printf("  damaged: its history does not fit %s\n", table);
    else
        printf("  good: %" PRIu64 " tasks done, %" PRIu64 " values\n", line->tasks_done,
               verification->rows);
    if (verification->damaged == 0 && !table && verification->good++ == 0)
        note_newest(verification, line);
    return false;
}

/* ---- results in the event log ---------------------------------------------------------------- */

/* Of several records of a task the last one counts, and none if the line has the task as done: the
 * rows of others may hold other values by now. */
static bool counts(struct tic_doneset *known, uint64_t number)
{
    return tic_doneset_add(known, number) == 0;
}

static void forget(struct peeked *peeked)
{
    if (peeked->is && peeked->fd >= 0)
        close(peeked->fd);
    free(peeked->extents);
    *peeked = (struct peeked){0};
}

static const struct peeked *peek(struct verification *verification, uint64_t number)
{
    struct peeked *peeked = &verification->peeked;

    if (peeked->is && peeked->number == number)
        return peeked;
    forget(peeked);
    int fd = tic_store_peek_segment(verification->store, number);
    *peeked = (struct peeked){.is = true, .number = number, .fd = fd};
    peeked->status = fd < 0 ? fd : tic_segment_read(fd, &peeked->extents, &peeked->count);
    return peeked;
}

/* Of segments that the line does not know a restart reads where their rows are. */
static int check_place(const struct peeked *peeked, const struct tic_forced_output *output)
{
    for (size_t i = 0; i < peeked->count; i++) {
        const struct tic_line_extent *extent = &peeked->extents[i];
        struct tic_shape shape = tic_line_extent_shape(extent);
        if (output->offset >= extent->offset && tic_shape_bytes(&shape) == output->bytes &&
            (output->offset - extent->offset) / output->bytes < extent->rows)
            return 0;
    }
    return -EBADMSG;
}

static int verify_output(struct verification *verification, const struct tic_forced_output *output)
{
    const struct tic_shape shape = {1, 1, {output->bytes, 1, 1, 1}, 0};
    const struct peeked *peeked = peek(verification, output->segment);
    bool known = output->segment <= verification->last_segment;
    int status = peeked->fd < 0 ? peeked->fd : known ? 0 : peeked->status;
    uint64_t checksum = 0;

    status = status || known ? status : check_place(peeked, output);
    char *bytes = status ? NULL : malloc(output->bytes + 1);
    if (!bytes)
        return status ? status : -ENOMEM;
    struct tic_layout layout = tic_layout_packed(&shape, bytes);
    status = tic_layout_read(&layout, peeked->fd, (off_t)output->offset, &checksum);
    free(bytes);
    return status == 0 && checksum != output->checksum ? -EBADMSG : status;
}

/* The newest record first: where a later task has written the handle, the row of this value may
 * hold another one by now. */
static void verify_result(struct verification *verification, const struct tic_forced *forced)
{
    bool told = false;

    for (uint64_t i = 0; i < forced->count; i++) {
        const struct tic_forced_output *output = &forced->outputs[i];
        int status =
            counts(&verification->written, output->id) ? verify_output(verification, output) : 0;
        if (status == 0 || told)
            continue;
        if (verification->damaged_results++ < MOST_TOLD)
            printf("  task %" PRIu64 " (handle %" PRIu64 "): " TIC_FILE_SEGMENT ", at byte %" PRIu64
                   ": %s\n",
                   forced->sequence, output->id, verification->store->process,
                   (unsigned long long)output->segment, output->offset,
                   status == -EBADMSG || status == -ENODATA ? "does not have its checksum"
                                                            : strerror(-status));
        told = true;
    }
}

/* Those that a restart from the newest line can use. */
static int verify_results(struct verification *verification)
{
    struct tic_events events = {0};
    struct tic_forced forced;
    uint64_t count = 0;
    int status = tic_events_load(verification->store, &events);

    if (status == 0 && events.count > 0)
        puts("event log");
    for (size_t i = events.count; i-- > 0 && status == 0;) { /* the newest first */
        if (!tic_forced_decode(&events.items[i], &forced) ||
            !counts(&verification->done, forced.sequence))
            continue;
        count++;
        verify_result(verification, &forced);
    }
    if (verification->damaged_results > 0)
        printf("  damaged: %" PRIu64 " of %" PRIu64
               " results of tasks, which a restart executes again\n",
               verification->damaged_results, count);
    else if (status == 0 && events.count > 0)
        printf("  good: %" PRIu64 " results of tasks\n", count);
    tic_events_clear(&events);
    forget(&verification->peeked);
    return status;
}

/* What an older line leaves to the log may be gone, and tasks of others than main() have no results
 * there that count. */
static bool has_results(const struct verification *verification)
{
    return verification->good > 0 && verification->good == verification->found &&
           !verification->spawned;
}

/* ---- a directory ----------------------------------------------------------------------------- */

static int verify_directory(const char *path)
{
    struct tic_store store;
    struct verification verification = {.store = &store};
    int status = tic_tool_open_store(&store, path);

    tic_doneset_init(&verification.done);
    tic_doneset_init(&verification.written);
    if (status == 0) {
        status = tic_store_walk(&store, verify_line, &verification);
        if (status == 0 && has_results(&verification))
            status = verify_results(&verification);
        verification.damaged_logs = store.damaged_logs;
        tic_store_close(&store);
    }
    tic_doneset_fini(&verification.done);
    tic_doneset_fini(&verification.written);
    if (status) {
        tic_arguments_cannot_read(path, status);
        return TIC_TOOL_NOTHING;
    }
    if (verification.good == 0) {
        printf(verification.found == 0 ? "no recovery line in %s\n"
                                       : "no recovery line in %s can be used\n",
               path);
        return TIC_TOOL_NOTHING;
    }
    if (verification.good == verification.found)
        return verification.damaged_logs == 0 && verification.damaged_results == 0
                   ? TIC_TOOL_OK
                   : TIC_TOOL_FAILED;
    printf("a restart continues from recovery line %" PRIu64 "\n", verification.newest_good);
    return TIC_TOOL_FAILED;
}

/* Of a job: its lines, then what each rank has. */
static int verify_job(const char *path, struct tic_jobs *jobs)
{
    const struct tic_jobs_line *newest = tic_jobs_newest(jobs);
    int status = TIC_TOOL_OK;
    char text[PATH_MAX];

    for (unsigned long i = 0; i < jobs->count; i++) {
        const struct tic_jobs_line *job = &jobs->lines[i];
        tic_jobs_describe(job, text, sizeof(text));
        printf("job line %" PRIu64 "\n  %s%s\n", job->line.number, job->status ? "damaged: " : "",
               text);
        status = job->status ? TIC_TOOL_FAILED : status;
    }
    if (status && newest)
        printf("a restart continues from job line %" PRIu64 "\n", newest->line.number);
    if (!newest)
        printf("no line of all ranks in %s can be used\n", path);
    for (unsigned i = 0; newest && i < newest->line.ranks; i++) {
        tic_job_folder(path, newest->line.generation, i, text);
        printf("rank %u:\n", i);
        if (verify_directory(text) != TIC_TOOL_OK)
            status = TIC_TOOL_FAILED;
    }
    status = newest ? status : TIC_TOOL_NOTHING;
    tic_jobs_clear(jobs);
    return status;
}

/* The copies that are there: their paths (malloc'ed). How many. */
static unsigned find_copies(const char *directory, char *paths[TIC_COPIES])
{
    unsigned count = 0;
    struct stat info;

    for (unsigned i = 0; i < TIC_COPIES; i++) {
        paths[count] = tic_mirror_path(directory, i);
        if (paths[count] && stat(paths[count], &info) == 0 && S_ISDIR(info.st_mode))
            count++;
        else
            free(paths[count]);
    }
    return count;
}

/* One of the copies may be being written. */
static int verify(const char *path, void *arg)
{
    char *copies[TIC_COPIES];
    unsigned count = find_copies(path, copies), seen[TIC_TOOL_NOTHING + 1] = {0};
    struct tic_jobs jobs;

    (void)arg;
    if (tic_jobs_read(path, &jobs))
        return verify_job(path, &jobs);
    if (count == 0)
        return verify_directory(path);
    for (unsigned i = 0; i < count; i++) {
        printf("copy %s:\n", copies[i]);
        seen[verify_directory(copies[i])]++;
        free(copies[i]);
    }
    return seen[TIC_TOOL_FAILED] ? TIC_TOOL_FAILED
           : seen[TIC_TOOL_OK]   ? TIC_TOOL_OK
                                 : TIC_TOOL_NOTHING;
}

int tic_tool_verify(int argc, char **argv)
{
    int status = tic_options_read(argc, argv, &(struct tic_option){0}, false, NULL);

    return status >= 0 ? status
                       : tic_arguments_each(argc - optind, argv + optind, true, verify, NULL);
}
