/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic verify: whether a directory of recovery lines is undamaged, and if not, what is, and
 * which line a restart would continue from. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/eventlog.h"
#include "store/forced.h"
#include "store/linefile.h"
#include "store/mirror.h"
#include "store/schema.h"
#include "store/store.h"
#include "tools/tool.h"

/* What is told of each line at most. */
enum { MOST_TOLD = 20 };

struct verification {
    struct tic_store *store;
    unsigned found, good;
    uint64_t newest_good; /* if good > 0 */
    /* of the line at hand */
    const struct tic_line *line;
    uint64_t rows, damaged;
    unsigned damaged_logs;
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

static bool verify_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct verification *verification = arg;

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
    if (verification->damaged > MOST_TOLD)
        printf("  and %" PRIu64 " more\n", verification->damaged - MOST_TOLD);
    if (verification->damaged > 0)
        printf("  damaged: %" PRIu64 " of %" PRIu64 " values\n", verification->damaged,
               verification->rows);
    else
        printf("  good: %" PRIu64 " tasks done, %" PRIu64 " values\n", line->tasks_done,
               verification->rows);
    if (verification->damaged == 0 && verification->good++ == 0)
        verification->newest_good = line->number;
    return false;
}

static bool count_result(void *arg, const struct tic_log_record *record)
{
    struct tic_forced forced;

    *(uint64_t *)arg += tic_forced_decode(record, &forced);
    return true;
}

/* Which of them are still needed, only a restart finds out; the rows of others hold other values.
 */
static void tell_results(uint64_t results)
{
    if (results > 0)
        printf("event log: %" PRIu64 " results of tasks, not read: a restart checks those that it "
               "uses, and executes again what is damaged\n",
               results);
}

static int verify_directory(const char *path)
{
    struct tic_store store;
    struct verification verification = {.store = &store};
    uint64_t results = 0;
    int status = tic_store_open(&store, path, TIC_STORE_READ, false, &tic_h5_ops);

    if (status == 0) {
        status = tic_store_walk(&store, verify_line, &verification);
        status = status ? status : tic_eventlog_walk(&store, count_result, &results);
        verification.damaged_logs = store.damaged_logs;
        tic_store_close(&store);
    }
    if (status) {
        fprintf(stderr, "starpu-tic: cannot read %s: %s\n", path, strerror(-status));
        return TIC_TOOL_NOTHING;
    }
    tell_results(results);
    if (verification.good == 0) {
        printf(verification.found == 0 ? "no recovery line in %s\n"
                                       : "no recovery line in %s can be used\n",
               path);
        return TIC_TOOL_NOTHING;
    }
    if (verification.good == verification.found)
        return verification.damaged_logs == 0 ? TIC_TOOL_OK : TIC_TOOL_FAILED;
    printf("a restart continues from recovery line %" PRIu64 "\n", verification.newest_good);
    return TIC_TOOL_FAILED;
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
static int verify(const char *path)
{
    char *copies[TIC_COPIES];
    unsigned count = find_copies(path, copies), seen[TIC_TOOL_NOTHING + 1] = {0};

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
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    int option = getopt_long(argc, argv, "h", options, NULL);

    if (option != -1)
        return tic_tool_usage("verify", option == 'h' ? TIC_TOOL_OK : TIC_TOOL_USAGE);
    if (optind + 1 != argc)
        return tic_tool_usage("verify", TIC_TOOL_USAGE);
    return verify(argv[optind]);
}
