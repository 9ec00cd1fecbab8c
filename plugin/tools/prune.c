/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic prune: removes recovery lines that are older than those that are kept, and files that
 * nothing refers to any more. What a restart would begin with stays, with all that it needs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/forced.h"
#include "store/schema.h"
#include "tools/json_text.h"
#include "tools/arguments.h"
#include "tools/chosen.h"
#include "tools/jobs.h"
#include "tools/scale.h"
#include "tools/tool.h"

struct numbers {
    uint64_t *items;
    unsigned long count, capacity;
};

struct pruning {
    struct tic_store *store;
    const struct tic_jobs *jobs; /* of several ranks: the lines that are kept; else NULL */
    unsigned rank;
    char folder[16]; /* of the rank: "p0/"; or "" */
    uint64_t keep;   /* undamaged lines */
    bool is_dry, as_json;
    uint64_t good;         /* so many are kept by now */
    uint64_t unreadable;   /* lines that stay, of which nobody can say what they need */
    struct numbers lines;  /* to be removed */
    struct numbers needed; /* segments */
    const struct tic_line *line;
    json_t *removed; /* names of files */
    uint64_t bytes;
    int status;
};

static int add(struct numbers *numbers, uint64_t number)
{
    return tic_append(numbers->items, numbers->count, numbers->capacity, &number);
}

static bool has(const struct numbers *numbers, uint64_t number)
{
    for (unsigned long i = 0; i < numbers->count; i++)
        if (numbers->items[i] == number)
            return true;
    return false;
}

/* ---- what is needed ------------------------------------------------------------------------- */

static int need_segment(struct pruning *pruning, uint64_t number)
{
    return has(&pruning->needed, number) ? 0 : add(&pruning->needed, number);
}

static int need_row(void *arg, const struct tic_line_reference *reference)
{
    struct pruning *pruning = arg;

    return need_segment(pruning, pruning->line->extents[*reference->extent].segment);
}

/* Of several ranks a line is needed for the part that is named, and no newer one. */
static bool is_over(const struct pruning *pruning, const char *name)
{
    if (!pruning->jobs)
        return pruning->good == pruning->keep;
    for (unsigned long i = 0; i < pruning->jobs->count; i++)
        if (strcmp(pruning->jobs->lines[i].line.parts[pruning->rank].name, name) == 0)
            return false;
    return true;
}

/* From the newest on: what is damaged and newer than what is kept stays, as a restart would tell of
 * it. */
static bool judge_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct pruning *pruning = arg;
    unsigned long long number = 0;
    unsigned process;

    if (status == 0)
        status = tic_store_check(pruning->store, line);
    if (sscanf(name, TIC_FILE_LINE, &process, &number) != 2)
        number = line->number;
    if (is_over(pruning, name)) {
        pruning->status = add(&pruning->lines, number);
    } else if (status == 0) {
        pruning->line = line;
        pruning->good++;
        pruning->status = tic_line_each(line, need_row, pruning);
    } else {
        pruning->unreadable++;
    }
    return pruning->status != 0;
}

static bool need_result(void *arg, const struct tic_log_record *record)
{
    struct pruning *pruning = arg;
    struct tic_forced forced;

    if (!tic_forced_decode(record, &forced))
        return true;
    for (uint64_t i = 0; i < forced.count && pruning->status == 0; i++)
        pruning->status = need_segment(pruning, forced.outputs[i].segment);
    return pruning->status == 0;
}

/* ---- removal -------------------------------------------------------------------------------- */

static int remove_file(struct pruning *pruning, const char *format, uint64_t number)
{
    char name[64];
    struct stat info;

    snprintf(name, sizeof(name), format, pruning->store->process, (unsigned long long)number);
    if (fstatat(pruning->store->directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -errno;
    if (!pruning->is_dry && unlinkat(pruning->store->directory, name, 0) != 0)
        return -errno;
    pruning->bytes += (uint64_t)info.st_blocks * 512;
    json_array_append_new(pruning->removed, json_sprintf("%s%s", pruning->folder, name));
    return 0;
}

/* Lines go before what they refer to. */
static int remove_lines(struct pruning *pruning)
{
    int status = 0;

    for (unsigned long i = pruning->lines.count; i-- > 0 && status == 0;)
        status = remove_file(pruning, TIC_FILE_LINE, pruning->lines.items[i]);
    if (status == 0 && !pruning->is_dry && fsync(pruning->store->directory) != 0)
        status = -errno;
    return status;
}

static int remove_unneeded(struct pruning *pruning, const char *format, bool all)
{
    uint64_t *numbers = NULL;
    unsigned long count = 0;
    int status = tic_store_list(pruning->store, format, &numbers, &count);

    for (unsigned long i = 0; i < count && status == 0; i++)
        if (all || !has(&pruning->needed, numbers[i]))
            status = remove_file(pruning, format, numbers[i]);
    free(numbers);
    return status;
}

static int prune(struct pruning *pruning)
{
    int status = tic_store_walk(pruning->store, judge_line, pruning);

    status = pruning->status ? pruning->status : status;
    if (status == 0 && pruning->good == 0)
        return -ENODATA;
    if (status == 0)
        status = tic_eventlog_walk(pruning->store, need_result, pruning);
    status = pruning->status ? pruning->status : status;
    status = status ? status : remove_lines(pruning);
    status = status ? status : remove_unneeded(pruning, TIC_FILE_LINE_NEW, true);
    /* Of a line that cannot be read nobody knows what it needs. */
    if (status == 0 && pruning->unreadable == 0)
        status = remove_unneeded(pruning, TIC_FILE_SEGMENT, false);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static const char help[] =
    "\n  -k, --keep N   keep so many undamaged recovery lines, the newest ones (1)\n"
    "  -n, --dry-run  remove nothing, only tell\n"
    "  -j, --json     print a JSON object\n\n"
    "All rows of lines that are kept are read first. Nothing is removed if no line is good,\n"
    "or while a run uses the directory.";

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct pruning *pruning)
{
    const struct tic_option options[] = {{"keep", 'k', tic_chosen_take_number, &pruning->keep},
                                         {"dry-run", 'n', NULL, &pruning->is_dry},
                                         {"json", 'j', NULL, &pruning->as_json},
                                         {0}};
    int status = tic_options_read(argc, argv, options, false, help);

    if (status >= 0)
        return status;
    return optind + 1 == argc ? -1 : tic_tool_usage("prune", TIC_TOOL_USAGE);
}

static void print_answer(const struct pruning *pruning)
{
    char bytes[TIC_SCALE_TEXT];
    size_t i;
    const json_t *name;

    if (pruning->as_json) {
        json_t *answer = json_pack("{s:O, s:I, s:I, s:b}", "removed", pruning->removed, "bytes",
                                   (json_int_t)pruning->bytes, "kept", (json_int_t)pruning->good,
                                   "dry_run", pruning->is_dry);
        tic_json_print(answer, 17);
        return;
    }
    json_array_foreach(pruning->removed, i, name) puts(json_string_value(name));
    tic_scale_bytes(bytes, (double)pruning->bytes);
    printf("%s%zu files, %s; %" PRIu64 " undamaged line%s kept\n",
           pruning->is_dry ? "to be removed: " : "removed: ", json_array_size(pruning->removed),
           bytes, pruning->good, pruning->good == 1 ? "" : "s");
    if (pruning->unreadable > 0)
        puts("Segments stay: a newer line cannot be read, so nobody knows what it needs");
}

static void tell_failure(const char *path, int status)
{
    fprintf(stderr, "starpu-tic: %s: %s\n", path,
            status == -EBUSY     ? "a run uses it; nothing is removed"
            : status == -ENODATA ? "no recovery line is undamaged; nothing is removed"
            : status == -EBADMSG ? "it is damaged"
                                 : strerror(-status));
}

static int prune_store(struct pruning *pruning, const char *path)
{
    struct tic_store store;
    int status = tic_store_open(&store, path, TIC_STORE_USE, true, tic_tool_load_store());

    if (status)
        return status;
    pruning->store = &store;
    pruning->good = pruning->unreadable = pruning->lines.count = pruning->needed.count = 0;
    status = prune(pruning);
    tic_store_close(&store);
    return status;
}

/* ---- several ranks -------------------------------------------------------------------------- */

/* A run uses the folders of all ranks. */
static int find_use(const char *path)
{
    struct tic_store store;
    int status = tic_store_open(&store, path, TIC_STORE_USE, true, tic_tool_load_store());

    if (status == 0)
        tic_store_close(&store);
    return status;
}

/* The good ones to the front, no more than are kept; others go, unless a restart would tell of
 * them. */
static int choose_jobs(struct pruning *pruning, const char *path, struct tic_jobs *jobs)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < jobs->count; i++) {
        struct tic_jobs_line job = jobs->lines[i];
        if (kept < pruning->keep && job.status == 0) {
            jobs->lines[i] = jobs->lines[kept];
            jobs->lines[kept++] = job;
        } else if (kept == pruning->keep) {
            json_array_append_new(pruning->removed,
                                  json_sprintf("job-line-%" PRIu64, job.line.number));
            if (!pruning->is_dry)
                tic_job_line_remove(path, job.line.number);
        }
    }
    for (unsigned long i = kept; i < jobs->count; i++)
        tic_job_line_clear(&jobs->lines[i].line);
    jobs->count = kept;
    return kept > 0 ? 0 : -ENODATA;
}

static int prune_job(struct pruning *pruning, const char *path, struct tic_jobs *jobs)
{
    char own[PATH_MAX];

    tic_job_folder(path, tic_job_newest_generation(path), 0, own);
    int status = find_use(own);
    status = status ? status : choose_jobs(pruning, path, jobs);
    pruning->jobs = jobs;
    for (unsigned i = 0; status == 0 && i < jobs->lines[0].line.ranks; i++) {
        tic_job_folder(path, jobs->lines[0].line.generation, i, own);
        snprintf(pruning->folder, sizeof(pruning->folder), "%s/", strrchr(own, '/') + 1);
        pruning->rank = i;
        status = prune_store(pruning, own);
    }
    pruning->good = jobs->count;
    tic_jobs_clear(jobs);
    return status;
}

int tic_tool_prune(int argc, char **argv)
{
    struct pruning pruning = {.keep = 1};
    struct tic_jobs jobs;
    int status = parse_options(argc, argv, &pruning);
    const char *path = argv[optind];

    if (status >= 0)
        return status;
    pruning.removed = json_array();
    status =
        tic_jobs_read(path, &jobs) ? prune_job(&pruning, path, &jobs) : prune_store(&pruning, path);
    if (status)
        tell_failure(path, status);
    else
        print_answer(&pruning);
    json_decref(pruning.removed);
    free(pruning.lines.items);
    free(pruning.needed.items);
    return status ? TIC_TOOL_FAILED : TIC_TOOL_OK;
}
