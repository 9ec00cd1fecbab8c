/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic status and checkpoint: questions to the run that uses a directory. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "store/ask.h"
#include "tools/arguments.h"
#include "tools/jobs.h"
#include "tools/json_text.h"
#include "tools/saved.h"
#include "tools/scale.h"
#include "tools/tool.h"

#define LOOK 0.05        /* seconds between looks for the answer */
#define LONGEST 1e9      /* of --timeout */
#define STATUS_TIME 30.0 /* a look of the run, and slow caches of names */
#define CHECKPOINT_TIME 600.0

struct question {
    const char *path;
    struct tic_ask ask;
    double timeout;
    bool as_json;
};

static bool take_timeout(const char *value, void *to)
{
    return tic_option_seconds(value, 0, LONGEST, to);
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct question *question)
{
    const struct tic_option options[] = {{"timeout", 't', take_timeout, &question->timeout},
                                         {"json", 'j', NULL, &question->as_json},
                                         {0}};

    return tic_options_read(argc, argv, options, false, NULL);
}

/* ---- asking --------------------------------------------------------------------------------- */

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(LOOK * 1e9)}, NULL);
}

static int put(const struct question *question, double until)
{
    int status = tic_ask_put(question->path, &question->ask);

    while (status == -EBUSY && tic_seconds() < until) {
        pause_shortly();
        status = tic_ask_put(question->path, &question->ask);
    }
    return status;
}

/* The answer; NULL: there is none. *status: -ESRCH no run uses the directory, -ETIMEDOUT, other
 * -errno. */
static json_t *ask(struct question *question, int *status)
{
    enum { NUMBERS = 99999999 };
    double until = tic_seconds() + question->timeout;
    char *text = NULL;

    question->ask.number =
        (tic_nanoseconds(CLOCK_REALTIME) / 1000 + (uint64_t)getpid() * 7919) % NUMBERS + 1;
    *status = tic_ask_is_used(question->path) ? put(question, until) : -ESRCH;
    if (*status)
        return NULL;
    while (!(text = tic_ask_read(question->path, &question->ask)) && tic_seconds() < until &&
           tic_ask_is_used(question->path))
        pause_shortly();
    if (!text) /* it may have come before the run went */
        text = tic_ask_read(question->path, &question->ask);
    if (!text) {
        *status = tic_ask_is_used(question->path) ? -ETIMEDOUT : -ESRCH;
        tic_ask_withdraw(question->path, &question->ask);
    }
    json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
    if (text && !answer)
        *status = -EBADMSG;
    free(text);
    return answer;
}

static const char *explain(int status)
{
    return status == -ESRCH       ? "no run uses it"
           : status == -ETIMEDOUT ? "the run does not answer: its version may be another one, or "
                                    "it has STARPU_TIC_ASK=0"
           : status == -EBUSY     ? "the question of somebody else was not answered"
                                  : strerror(-status);
}

/* ---- the newest line ------------------------------------------------------------------------ */

/* NULL: there is none. */
static const struct tic_saved_line *read_newest(const char *path, struct tic_saved_lines *lines)
{
    struct tic_store store;

    if (tic_tool_open_store(&store, path) != 0)
        return NULL;
    tic_saved_read(&store, lines);
    tic_store_close(&store);
    for (unsigned long i = 0; i < lines->count; i++)
        if (lines->items[i].status == 0)
            return &lines->items[i];
    return NULL;
}

/* Of several ranks all are summed up, as the line of one. */
static const struct tic_saved_line *read_newest_of(const char *path, struct tic_saved_lines *lines)
{
    static struct tic_saved_line sum;
    struct tic_jobs jobs;

    if (!tic_jobs_read(path, &jobs))
        return read_newest(path, lines);
    const struct tic_jobs_line *job = tic_jobs_newest(&jobs);
    if (job)
        sum = (struct tic_saved_line){.number = job->line.number,
                                      .tasks_done = job->tasks_done,
                                      .tasks_submitted = job->tasks_submitted,
                                      .bytes = job->bytes,
                                      .created = job->created};
    tic_jobs_clear(&jobs);
    return job ? &sum : NULL;
}

/* Rank 0, if it is a job. */
static const char *whom_to_ask(const char *path, char first[PATH_MAX])
{
    tic_job_folder(path, tic_job_newest_generation(path), 0, first);
    return tic_arguments_is_job(path) ? first : path;
}

static double age_of(const struct tic_saved_line *line)
{
    double age = (double)tic_nanoseconds(CLOCK_REALTIME) * 1e-9 - line->created;

    return age > 0 ? age : 0;
}

static json_t *line_json(const struct tic_saved_line *line)
{
    return line ? json_pack("{s:I, s:f, s:I, s:I, s:I}", "number", (json_int_t)line->number, "age",
                            age_of(line), "tasks_done", (json_int_t)line->tasks_done,
                            "tasks_submitted", (json_int_t)line->tasks_submitted, "bytes",
                            (json_int_t)line->bytes)
                : json_null();
}

static void print_line(const struct tic_saved_line *line)
{
    char age[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT], bytes[TIC_SCALE_TEXT];

    if (!line) {
        puts("no recovery line yet");
        return;
    }
    tic_scale_duration(age, age_of(line));
    tic_scale_count(done, line->tasks_done);
    tic_scale_bytes(bytes, (double)line->bytes);
    printf("recovery line %" PRIu64 ": %s old, %s tasks done, %s\n", line->number, age, done,
           bytes);
}

/* ---- status --------------------------------------------------------------------------------- */

static uint64_t count_of(const json_t *answer, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(answer, key));
}

static void print_run(const json_t *answer)
{
    char seconds[TIC_SCALE_TEXT], done[TIC_SCALE_TEXT], submitted[TIC_SCALE_TEXT];
    char skipped[TIC_SCALE_TEXT], period[TIC_SCALE_TEXT], took[TIC_SCALE_TEXT];
    uint64_t past = count_of(answer, "tasks_skipped") + count_of(answer, "forced_used");
    uint64_t all = past + count_of(answer, "tasks_executed");

    tic_scale_duration(seconds, json_number_value(json_object_get(answer, "seconds")));
    tic_scale_duration(period, json_number_value(json_object_get(answer, "period")));
    tic_scale_duration(took, json_number_value(json_object_get(answer, "checkpoint_seconds")));
    tic_scale_count(done, all);
    tic_scale_count(skipped, past);
    tic_scale_count(submitted, count_of(answer, "tasks_submitted"));
    printf("running for %s as process %" PRIu64 " with %" PRIu64 " workers, %s\n", seconds,
           count_of(answer, "process"), count_of(answer, "workers"),
           !json_is_true(json_object_get(answer, "protected"))  ? "not protected any more"
           : json_is_true(json_object_get(answer, "suspended")) ? "protection is suspended"
                                                                : "protected");
    printf("%s of the %s tasks submitted so far are done", done, submitted);
    if (json_is_true(json_object_get(answer, "recovered")))
        printf("; of these, %s were before the restart", skipped);
    putchar('\n');
    printf("period %s; %" PRIu64 " checkpoints, %" PRIu64 " failed; the last one took %s\n", period,
           count_of(answer, "checkpoints"), count_of(answer, "checkpoints_failed"), took);
}

/* Nobody uses the directory: what to do with it. */
static void print_rest(const char *path, const struct tic_saved_line *line,
                       const struct tic_saved_lines *lines)
{
    puts("no run uses the directory");
    if (line) {
        print_line(line);
        if (lines->program)
            printf("the same command goes on from there: %s%s%s\n", lines->program,
                   lines->arguments[0] ? " " : "", lines->arguments);
        else
            puts("it is of all ranks; the same command goes on from there");
    } else {
        puts(tic_arguments_is_run(path)
                 ? "no recovery line: the same command begins from the start"
                 : "no recovery line: no run has used it, or its lines were removed");
    }
}

static int tell_status(const char *path, void *arg)
{
    struct question question = *(const struct question *)arg;
    struct tic_saved_lines lines = {0};
    char first[PATH_MAX];
    int status;

    question.path = whom_to_ask(path, first);
    if (access(question.path, X_OK) != 0) {
        tic_arguments_cannot_read(question.path, -errno);
        return TIC_TOOL_FAILED;
    }
    json_t *answer = ask(&question, &status);
    const struct tic_saved_line *line = read_newest_of(path, &lines);
    if (status != 0 && status != -ESRCH)
        fprintf(stderr, "starpu-tic: %s: %s\n", question.path, explain(status));
    if (question.as_json) {
        tic_json_print(json_pack("{s:o, s:b, s:o, s:o}", "path", tic_json_text(path), "running",
                                 status != -ESRCH, "run",
                                 answer ? json_incref(answer) : json_null(), "line",
                                 line_json(line)),
                       9);
    } else {
        if (answer && question.path == first)
            puts("rank 0:");
        if (answer)
            print_run(answer);
        if (status == -ESRCH)
            print_rest(path, line, &lines);
        else
            print_line(line);
    }
    json_decref(answer);
    tic_saved_clear(&lines);
    return status == 0 ? TIC_TOOL_OK : status == -ESRCH ? TIC_TOOL_NOTHING : TIC_TOOL_FAILED;
}

int tic_tool_status(int argc, char **argv)
{
    struct question question = {.ask = {.kind = TIC_ASK_STATUS}, .timeout = STATUS_TIME};
    int status = parse_options(argc, argv, &question);

    return status >= 0 ? status
                       : tic_arguments_each(argc - optind, argv + optind, !question.as_json,
                                            tell_status, &question);
}

/* ---- checkpoint ----------------------------------------------------------------------------- */

static void print_outcome(const char *outcome, const struct tic_saved_line *line)
{
    if (strcmp(outcome, "nothing") == 0)
        puts("there is nothing new to save, or it could not be compared with memory");
    else if (strcmp(outcome, "busy") == 0)
        puts("a checkpoint that somebody else has asked for is under way");
    else if (strcmp(outcome, "taken") != 0)
        puts("no checkpoint could be taken");
    print_line(line);
}

static int take_checkpoint(const char *path, void *arg)
{
    struct question question = *(const struct question *)arg;
    struct tic_saved_lines lines = {0};
    char first[PATH_MAX];
    int status;

    question.path = whom_to_ask(path, first);
    json_t *answer = ask(&question, &status);
    if (!answer) {
        fprintf(stderr, "starpu-tic: %s: %s\n", question.path,
                status == -ETIMEDOUT ? "no answer yet. Tasks that run have to end, and main() has "
                                       "to call StarPU; then the checkpoint is taken"
                                     : explain(status));
        return status == -ESRCH ? TIC_TOOL_NOTHING : TIC_TOOL_FAILED;
    }
    const char *outcome = json_string_value(json_object_get(answer, "checkpoint"));
    outcome = outcome ? outcome : "failed";
    const struct tic_saved_line *line = read_newest_of(path, &lines);
    if (question.as_json)
        tic_json_print(json_pack("{s:s, s:o}", "checkpoint", outcome, "line", line_json(line)), 9);
    else
        print_outcome(outcome, line);
    bool good = strcmp(outcome, "taken") == 0 || strcmp(outcome, "nothing") == 0;
    json_decref(answer);
    tic_saved_clear(&lines);
    return good ? TIC_TOOL_OK : TIC_TOOL_FAILED;
}

int tic_tool_checkpoint(int argc, char **argv)
{
    struct question question = {.ask = {.kind = TIC_ASK_CHECKPOINT}, .timeout = CHECKPOINT_TIME};
    int status = parse_options(argc, argv, &question);

    return status >= 0 ? status
                       : tic_arguments_each(argc - optind, argv + optind, !question.as_json,
                                            take_checkpoint, &question);
}
