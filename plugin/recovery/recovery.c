/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery: choosing the line that a run starts from, and loading it. */
#include "recovery/recovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "recovery/convert.h"
#include "recovery/fetch.h"
#include "recovery/plan.h"
#include "snapshot/forced.h"
#include "store/claim.h"
#include "store/data_names.h"
#include "store/held.h"
#include "store/mark.h"
#include "store/schema.h"
#include "recovery/extend.h"
#include "snapshot/snapshot.h"

/* ---- tasks that the event log adds ----------------------------------------------------------- */

/* The line that a run starts from is extended by what its event log tells. Owner thread. */

/* ---- the log --------------------------------------------------------------------------------- */

struct reading {
    struct tic_extend *extend;
    int status;
};

static bool note(void *arg, const struct tic_log_record *record)
{
    struct reading *reading = arg;

    reading->status = tic_extend_note(reading->extend, record);
    return reading->status == 0;
}

static int keep_segments(struct tic_snapshot *snapshot, const struct tic_extend *extend)
{
    int status = 0;

    for (size_t i = 0; i < extend->value_count && status == 0; i++)
        if (extend->values[i].output)
            status = tic_store_keep_segment(snapshot->store, extend->values[i].output->segment);
    return status;
}

/* Reads the log, and chooses; nothing of a line of another architecture, whose packed arguments
 * nobody has looked at. Before the line is adopted. 0 or -errno. */
static int tic_extend_read(struct tic_snapshot *snapshot, const struct tic_line *line,
                           struct tic_extend *extend)
{
    struct reading reading = {.extend = extend};

    if (line->log.tick == 0 || tic_convert_is_other(line) || snapshot->recovery.line_lost ||
        snapshot->options.ignore_results)
        return 0;
    int status = tic_eventlog_walk(snapshot->store, note, &reading);
    status = reading.status ? reading.status : status;
    status = status ? status : tic_extend_choose(extend, line);
    return status ? status : keep_segments(snapshot, extend);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where it is now. False: it is not as its record says. */
static bool find(struct tic_snapshot *snapshot, const struct tic_extend_value *value,
                 struct tic_line_value *row)
{
    const struct tic_ended_output *output = value->output;
    struct tic_saved saved = {.checksum = output->checksum};

    if (tic_rows_find(&snapshot->store->rows, output->segment, output->offset, output->bytes,
                      &saved.row) != 0 ||
        tic_store_verify(snapshot->store, &saved) != 0)
        return false;
    *row = (struct tic_line_value){
        .id = value->id,
        .version = value->version,
        .checksum = output->checksum,
        .extent = saved.row.extent,
        .row = saved.row.row,
    };
    return true;
}

/* *count rows of values with an output. False: one is damaged. */
static bool find_all(struct tic_snapshot *snapshot, const struct tic_extend *extend,
                     struct tic_line_value *rows, size_t *count)
{
    bool whole = true;

    *count = 0;
    for (size_t i = 0; i < extend->value_count && whole; i++)
        if (extend->values[i].output)
            whole = find(snapshot, &extend->values[i], &rows[(*count)++]);
    return whole;
}

/* The next line names them, and until then they stay. */
static int adopt(struct tic_snapshot *snapshot, const struct tic_line_value *rows, size_t count)
{
    int status = 0;

    for (size_t i = 0; i < count && status == 0; i++) {
        const struct tic_forced_kept result = {
            .epoch = 1, .count = 1, .rows = {{rows[i].extent, rows[i].row}}};
        status = tic_index_set(&snapshot->store->index, &rows[i]);
        status = status ? status : tic_snapshot_keep_result(snapshot, &result);
    }
    return status;
}

static int tic_extend_load(struct tic_snapshot *snapshot, struct tic_line *line,
                           struct tic_extend *extend)
{
    struct tic_line_value *rows = calloc(extend->value_count + 1, sizeof(*rows));
    struct tic_line extended;
    size_t count = 0;

    if (!rows)
        return -ENOMEM;
    if (!find_all(snapshot, extend, rows, &count)) {
        tic_log(TIC_LOG_WARN,
                "a result in %s is damaged or gone: tasks that ended after recovery line %llu are "
                "executed again",
                snapshot->store->path, (unsigned long long)line->number);
        tic_extend_give_up(extend);
        count = 0;
    }
    snapshot->recovery.extended = extend->count;
    int status = extend->count == 0 ? tic_graph_load(snapshot->graph, line)
                                    : tic_extend_line(extend, line, rows, &extended);
    if (status == 0 && extend->count > 0) {
        status = tic_graph_load(snapshot->graph, &extended);
        status = status ? status : adopt(snapshot, rows, count);
        tic_extend_drop_line(&extended);
    }
    free(rows);
    return status;
}

/* ---- choosing ------------------------------------------------------------------------------- */

struct choice {
    struct tic_store *store;
    struct tic_line line; /* line.version != NULL: found */
    struct tic_line older[TIC_KEPT_MOST];
    unsigned older_count;
    unsigned unusable;
};

static bool consider(void *arg, const char *name, int status, struct tic_line *line)
{
    struct choice *choice = arg;
    bool first = choice->line.version == NULL;

    /* Lines before a conversion go with the next ones. */
    if (status == 0 && !first && line->on.big_endian != choice->line.on.big_endian)
        return false;
    if (status == 0 && tic_convert_is_swapped(line) && !line->on.machine[0])
        status = -ENOTSUP;
    if (status == -EPROTONOSUPPORT || status == -ENOTSUP)
        tic_stop(TIC_EXIT_REFUSED,
                 "%s/%s was %s. Use that version or machine, or start over with another "
                 "STARPU_TIC_DIR, or remove the directory",
                 choice->store->path, name, tic_store_reason(status));
    if (status == 0 && first)
        status = tic_store_check(choice->store, line);
    if (status) {
        choice->unusable++;
        tic_log(TIC_LOG_WARN, "recovery line %s/%s is not used: %s", choice->store->path, name,
                tic_store_reason(status));
        return false;
    }
    *(first ? &choice->line : &choice->older[choice->older_count++]) = *line;
    memset(line, 0, sizeof(*line));
    return choice->older_count + 1 >= choice->store->keep;
}

static void choose(struct tic_store *store, struct choice *choice)
{
    choice->store = store;
    int status = tic_store_walk(store, consider, choice);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot read %s: %s", store->path, strerror(-status));
    if (!choice->line.version && choice->unusable > 0)
        tic_stop(TIC_EXIT_REFUSED,
                 "none of the %u recovery lines in %s can be used, so the work done cannot be "
                 "continued. To start over, remove the directory or name another STARPU_TIC_DIR",
                 choice->unusable, store->path);
}

/* ---- is it ours? ---------------------------------------------------------------------------- */

static void refuse_other(const char *path, const char *what, const char *theirs, const char *ours)
{
    tic_stop(TIC_EXIT_REFUSED,
             "%s holds the recovery lines of another run: %s \"%s\" there, and \"%s\" here. Start "
             "the same "
             "command to continue it, or name another STARPU_TIC_DIR, or remove the directory",
             path, what, theirs, ours);
}

static char *printable(const struct tic_line *line)
{
    char *text = malloc(line->arguments.size + 1);
    if (!text)
        return NULL;
    memcpy(text, line->arguments.text, line->arguments.size);
    for (size_t i = 0; i + 1 < line->arguments.size; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[line->arguments.size] = '\0';
    return text;
}

static void check_identity(const char *path, const struct tic_line *line,
                           const struct tic_line *about)
{
    if (strcmp(line->program, about->program) != 0)
        refuse_other(path, "the program is", line->program, about->program);
    if (strcmp(line->starpu, about->starpu) != 0)
        refuse_other(path, "the StarPU version is", line->starpu, about->starpu);
    if (line->arguments.size != about->arguments.size ||
        memcmp(line->arguments.text, about->arguments.text, line->arguments.size) != 0) {
        char *theirs = printable(line), *ours = printable(about);
        refuse_other(path, "the arguments are", theirs ? theirs : "?", ours ? ours : "?");
    }
}

static _Noreturn void refuse_changed(const char *path, const char *what)
{
    tic_stop(TIC_EXIT_REFUSED,
             "%s holds the recovery lines of another run: %s. What it did would be mixed with what "
             "this one does. To start over, name another STARPU_TIC_DIR, or remove the directory; "
             "to continue nevertheless, set STARPU_TIC_PROGRAM=any",
             path, what);
}

/* The same command, but does it do the same? What a line does not tell was not known. Builds for
 * two architectures are the same program if they submit the same, which the replay checks. */
static void check_content(const char *path, const struct tic_line *line,
                          const struct tic_line *about)
{
    if (!tic_convert_is_other(line) && line->build[0] && about->build &&
        strcmp(line->build, about->build) != 0)
        refuse_changed(path, "the program was built anew since then");
    if (line->input[0] && about->input && about->input[0] && strcmp(line->input, about->input) != 0)
        refuse_changed(path, "its standard input was a file with other content");
}

void tic_recovery_stop_other_file(const char *path, const char *name,
                                  enum tic_files_verdict verdict)
{
    char what[512];

    if (strncmp(name, TIC_FILES_BUILD, strlen(TIC_FILES_BUILD)) == 0) {
        snprintf(
            what, sizeof(what),
            "the library %.400s, which holds code of its tasks or calls StarPU, is another build "
            "than it was",
            strrchr(name, '/') + 1);
        refuse_changed(path, what);
    }
    snprintf(what, sizeof(what), "main() reads the file %.400s, which %s", name,
             verdict == TIC_FILES_NEW       ? "was not there then"
             : verdict == TIC_FILES_MISSING ? "was there then, and is not now"
                                            : "had other content then");
    refuse_changed(path, what);
}

static void check_files(const char *path, const struct tic_line *line)
{
    const char *name;
    enum tic_files_verdict verdict = tic_files_compare(&line->known.files, &name);

    if (verdict != TIC_FILES_SAME)
        tic_recovery_stop_other_file(path, name, verdict);
}

static _Noreturn void refuse_unregistered(const char *path)
{
    char what[512];

    tic_mark_read(path, what, sizeof(what));
    tic_stop(TIC_EXIT_REFUSED,
             "cannot continue from %s: tasks that are done have written memory that is not "
             "registered data%s%s, and a restart would leave it as main() has made it. If nobody "
             "needs what they wrote there, the same command with STARPU_TIC_POINTERS=trust before "
             "it goes on. Else remove the directory to begin again, and register that memory, or "
             "suppress it (STARPU_TIC_SUPPRESSIONS)",
             path, what[0] ? ": " : "", what);
}

/* The history names the tasks that are executed again, and what they read, or has none of them. */
static _Noreturn void refuse_rerun(const char *path, const struct tic_line *line)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "the recovery lines in %s are of a run with STARPU_TIC_RERUN=%d: start with that, too; "
        "or start over: name another STARPU_TIC_DIR, or remove it",
        path, line->file.rerun_off == 0);
}

static void check_run(const struct tic_snapshot *snapshot, const char *path,
                      const struct tic_line *line, bool marked)
{
    bool written = line->unregistered_writes || (marked && line->tasks_done > 0);

    check_identity(path, line, &snapshot->about);
    tic_convert_check(path, line);
    if ((line->file.rerun_off != 0) != snapshot->options.rerun_off)
        refuse_rerun(path, line);
    if (written && !snapshot->unregistered.trusted)
        refuse_unregistered(path);
    if (snapshot->options.any_program)
        return;
    check_content(path, line, &snapshot->about);
    check_files(path, line);
}

void tic_recovery_check_run(const struct tic_snapshot *snapshot, const char *path,
                            const struct tic_line *line)
{
    check_run(snapshot, path, line, tic_mark_is_set(path));
    if (tic_convert_is_other(line))
        refuse_changed(path, "it was on a machine of another kind");
}

/* ---- loading -------------------------------------------------------------------------------- */

/* Values, and what was adopted by the history, are written anew. */
static bool stays_in_block(uint32_t table)
{
    return table != TIC_TABLE_VALUES && table != TIC_TABLE_CALLBACKS && table != TIC_TABLE_RAN;
}

/* Blocks of tables that only grow stay where they are. */
static int load_blocks(struct tic_snapshot *snapshot, const struct tic_line *line)
{
    snapshot->cycle.blocks = calloc(line->block_count + 1, sizeof(*snapshot->cycle.blocks));
    if (!snapshot->cycle.blocks)
        return -ENOMEM;
    snapshot->cycle.block_capacity = line->block_count + 1;
    for (size_t i = 0; i < line->block_count; i++)
        if (stays_in_block(line->blocks[i].table))
            snapshot->cycle.blocks[snapshot->cycle.block_count++] = line->blocks[i];
    return 0;
}

static void refuse_to_load(const struct tic_store *store, int status)
{
    struct rlimit limit;

    if (status == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        tic_stop(
            TIC_EXIT_REFUSED,
            "cannot continue from %s: it takes more open files than the %llu that this process may "
            "have. Start it with a higher limit (ulimit -n), such as the run before had",
            store->path, (unsigned long long)limit.rlim_cur);
    tic_stop(TIC_EXIT_REFUSED, "cannot continue from %s: %s", store->path,
             tic_store_reason(status));
}

static void load(struct tic_snapshot *snapshot, struct choice *choice)
{
    struct tic_store *store = snapshot->store;
    struct tic_extend extend = {0};
    struct timespec now;
    char results[64] = "";

    clock_gettime(CLOCK_REALTIME, &now); /* it may have been set back since the line was written */
    const double age = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - choice->line.created;
    snapshot->recovery.line_lost = choice->unusable > 0;
    if (choice->line.point.number) { /* results in the log are of what main() did after that */
        snapshot->options.ignore_results = true;
        atomic_store(&snapshot->point.resumes, true);
    }
    int status = tic_snapshot_find_forced(snapshot, &choice->line);
    status = status ? status : tic_extend_read(snapshot, &choice->line, &extend);
    status =
        status ? status : tic_store_adopt(store, &choice->line, choice->older, choice->older_count);
    struct tic_line *line = &store->kept[0];
    atomic_store(&snapshot->unregistered.written,
                 line->unregistered_writes != 0 || tic_mark_is_set(store->path));
    status = status ? status : tic_extend_load(snapshot, line, &extend);
    status = status ? status : load_blocks(snapshot, line);
    if (status == 0 && !snapshot->options.any_program)
        status = tic_files_load(&line->known.files);
    status = status ? status : tic_data_names_load(&line->known.names);
    status = status ? status : tic_snapshot_keep_forced(snapshot);
    status = status ? status : tic_recovery_plan(snapshot);
    tic_extend_clear(&extend);
    if (status)
        refuse_to_load(store, status);
    if (snapshot->recovery.extended > 0)
        snprintf(results, sizeof(results), ", and %lu more by the event log",
                 snapshot->recovery.extended);
    if (snapshot->recovery.result_count > 0)
        snprintf(results, sizeof(results), ", and the results of %lu more in the event log",
                 snapshot->recovery.result_count);
    tic_log(snapshot->recovery.of_job ? TIC_LOG_DETAIL : TIC_LOG_INFO,
            "continuing from recovery line %llu in %s: %llu tasks done, %.0f seconds old%s",
            (unsigned long long)line->number, store->path, (unsigned long long)line->tasks_done,
            age > 0 ? age : 0, results);
}

/* ---- copies --------------------------------------------------------------------------------- */

static bool find_good(void *arg, const char *name, int status, struct tic_line *line)
{
    struct choice *choice = arg;

    (void)name;
    if (status != 0 || tic_store_check(choice->store, line) != 0)
        return false;
    choice->line.number = line->number;
    return true;
}

/* The newest line of the copies, if there is one; of another run it stops the start. */
static void look_at_copies(struct tic_snapshot *snapshot, const struct tic_h5_ops *h5,
                           struct tic_fetch_found *found)
{
    int status = tic_fetch_look(snapshot->options.copy, h5, found);

    if (status)
        tic_log(
            TIC_LOG_WARN,
            "%s cannot be looked at for copies of recovery lines: %s. The start goes on without",
            snapshot->options.copy,
            status == -ETIMEDOUT ? "it does not answer" : strerror(-status));
    if (found->line.version)
        check_run(snapshot, snapshot->options.copy, &found->line, found->marked);
    snapshot->options.copy_newest = found->copy;
}

/* Brings the line back if it is newer than all good ones that are here. */
static void fetch_if_newer(struct tic_snapshot *snapshot, const struct tic_h5_ops *h5,
                           const struct tic_fetch_found *found)
{
    struct choice here = {.store = snapshot->store};
    int status = tic_store_walk(snapshot->store, find_good, &here);

    if (status || here.line.number >= found->line.number)
        return; /* an error is told when lines are chosen */
    tic_log(TIC_LOG_INFO, "recovery line %llu is copied from %s to %s",
            (unsigned long long)found->line.number, snapshot->options.copy, snapshot->store->path);
    status = tic_fetch_line(snapshot->options.copy, h5, found, snapshot->store->path);
    if (status)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot copy recovery line %llu from %s to %s: %s. Start again when both can be "
                 "used, or without STARPU_TIC_COPY to start over",
                 (unsigned long long)found->line.number, snapshot->options.copy,
                 snapshot->store->path, strerror(-status));
}

/* ---- opening -------------------------------------------------------------------------------- */

static void refuse_directory(const char *path, int status)
{
    if (status == -EBUSY)
        tic_stop(TIC_EXIT_REFUSED,
                 "another run uses %s right now. Wait for it to end, or name another "
                 "STARPU_TIC_DIR for this one",
                 path);
    if (status == -ENOLCK)
        tic_stop(TIC_EXIT_REFUSED,
                 "the file system of %s has no locks, so it could not be told whether two runs use "
                 "the directory. Name a STARPU_TIC_DIR on another file system",
                 path);
    if (status == -EISNAM)
        tic_stop(TIC_EXIT_REFUSED,
                 "the lock in %s (p*.lock) is not a regular file: somebody else has put it there. "
                 "Remove it",
                 path);
    if (status == -EPERM)
        tic_stop(TIC_EXIT_REFUSED,
                 "the directory %s belongs to another user, or others may write to it: what it "
                 "holds is not to be trusted. Name another STARPU_TIC_DIR, or take it over (chown, "
                 "chmod go-w) if you know who wrote it",
                 path);
    tic_stop(TIC_EXIT_REFUSED, "cannot use the directory %s: %s. Name another STARPU_TIC_DIR%s",
             path, strerror(-status),
             status == -ENOENT ? ", or create the folder that it is in" : "");
}

static void convert(struct tic_store *store, struct choice *choice)
{
    int status = tic_convert_line(store, &choice->line);

    if (status)
        tic_stop(
            TIC_EXIT_REFUSED,
            "cannot continue from %s: its values cannot be converted to the byte order of this "
            "machine: %s",
            store->path, tic_store_reason(status));
    tic_line_clear(&choice->line);
    for (unsigned i = 0; i < choice->older_count; i++)
        tic_line_clear(&choice->older[i]);
    memset(choice, 0, sizeof(*choice));
    choose(store, choice);
}

/* 1 recovered, 0 nothing to recover. */
static int recover(struct tic_snapshot *snapshot)
{
    struct choice choice = {0};
    struct tic_store *store = snapshot->store;

    choose(store, &choice);
    if (choice.line.version) {
        check_run(snapshot, store->path, &choice.line, tic_mark_is_set(store->path));
        if (tic_convert_is_swapped(&choice.line))
            convert(store, &choice);
        load(snapshot, &choice);
        return 1;
    }
    uint64_t *segments = NULL;
    unsigned long count = 0;
    bool had_run = tic_store_list(store, TIC_FILE_SEGMENT, &segments, &count) == 0 && count > 0;
    free(segments);
    int status = tic_store_clean(store);
    if (status)
        tic_stop(TIC_EXIT_REFUSED, "cannot clean up %s: %s", store->path, strerror(-status));
    if (had_run)
        tic_log(TIC_LOG_INFO,
                "a run has left no recovery line in %s: it had none yet, or they were removed. The "
                "program begins anew",
                store->path);
    return 0;
}

int tic_recovery_open(struct tic_snapshot *snapshot, const char *path, bool create, bool sync,
                      const struct tic_h5_ops *h5)
{
    struct tic_store *store = snapshot->store;
    struct tic_fetch_found found = {.copy = -1};

    if (snapshot->options.copy &&
        !tic_claim_is_followed_in(path)) /* else they are of the one before, too */
        look_at_copies(snapshot, h5, &found);
    create |= found.line.version != NULL;
    int status = tic_store_open(store, path, create ? TIC_STORE_CREATE : TIC_STORE_USE, sync, h5);
    if (status == -ENOENT && !create)
        return status;
    if (status)
        refuse_directory(path, status);
    if (tic_claim_is_followed(store->lock.file))
        return -EALREADY;
    store->log = &snapshot->log;
    store->keep = snapshot->options.keep_lines;
    store->space = snapshot->options.space;
    if (snapshot->options.memory > 0)
        store->rows.held_most = snapshot->options.memory;
    store->rows.image_least = snapshot->options.image_least;
    store->rows.image_part = TIC_IMAGE_PART;
    store->level = snapshot->options.compress;
    if (found.line.version)
        fetch_if_newer(snapshot, h5, &found);
    tic_line_clear(&found.line);
    return recover(snapshot);
}

bool tic_recovery_is_complete(const struct tic_graph *graph)
{
    return graph->signature.position >= tic_doneset_end(&graph->recovered.done) &&
           graph->next_acquire >= graph->recovered.acquire_count;
}
