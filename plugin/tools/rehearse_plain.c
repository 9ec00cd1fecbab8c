/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: the runs without a kill. Two without protection tell what the program does,
 * one what main() touches by plain pointers, two with protection what a run under protection is
 * like. More without protection, before protection or a kill is blamed. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/rehearse_runs.h"
#include "tools/touched.h"

enum {
    LINES = 8,          /* that a run takes where they are taken by tasks */
    PERIODS = 10,       /* the same by time */
    LIMIT_TIMES = 10,   /* a run may take so many times what the program takes alone, */
    LIMIT_SECONDS = 60, /* and so much more */
    MANY = 1000000000,  /* passes that no failpoint comes to */
    AGAIN = 5,          /* runs without protection before a verdict */
    NOT_RUNNABLE = 126,
    NOT_FOUND = 127,
};

/* ---- without protection ---------------------------------------------------------------------- */

static bool run_plain(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    tic_rehearse_set_start(rehearsal, trial, rehearsal->cpus[0]);
    tic_trial_set(trial, "STARPU_TIC_PROTOCOL=off");
    return tic_rehearse_run(rehearsal, trial);
}

static bool read_output(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                        struct tic_output *output)
{
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "out", path);
    return tic_output_read(output, path) == 0 ||
           tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN,
                           rehearsal->place.filter ? "sed -E does not take the filter: %s"
                                                   : "The output cannot be read: %s",
                           rehearsal->place.filter ? rehearsal->place.filter : path);
}

static bool check_plain_end(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_finding *finding = &rehearsal->finding;

    if (trial->end == TIC_TRIAL_EXITED && trial->status == NOT_FOUND)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "%s was not found, or does not find what it needs.",
                               rehearsal->place.command[0]);
    if (trial->end == TIC_TRIAL_EXITED && trial->status == NOT_RUNNABLE)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN, "%s cannot be executed.",
                               rehearsal->place.command[0]);
    if (trial->end == TIC_TRIAL_EXITED)
        return true;
    if (!tic_judge_terminal(rehearsal, trial))
        return false;
    tic_trial_message(trial, &rehearsal->place, "", finding->message);
    return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                           "The program alone, without protection, is ended by signal %d (%s).",
                           trial->status, strsignal(trial->status));
}

/* status: of the first run, whose output is expected. */
static bool compare_plain(struct tic_rehearsal *rehearsal, int status,
                          const struct tic_trial *second, const struct tic_output *other)
{
    struct tic_finding *finding = &rehearsal->finding;
    enum tic_match match = tic_output_match(&rehearsal->expected.output, other, NULL, 0);

    rehearsal->expected.unordered |= match == TIC_MATCH_ORDER;
    if (status != second->status)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program varies by itself: two runs without protection ended "
                               "with status %d and %d.",
                               status, second->status);
    if (match == TIC_MATCH_EXACT || match == TIC_MATCH_ORDER)
        return !second->other ||
               tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program varies by itself: two runs without protection write "
                               "another file %s.",
                               second->other->name);
    tic_judge_note_lines(finding, &rehearsal->expected.output, other);
    finding->advice = "If the line holds a time or the like, leave it out of the comparison with "
                      "--filter SCRIPT, a sed -E script for the output.";
    return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                           "The program varies by itself: two runs without protection print "
                           "another line %zu.",
                           tic_output_difference(&rehearsal->expected.output, other) + 1);
}

/* As run_plain, and tells which files it writes; what they held before is kept. */
static bool run_noting(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    char path[PATH_MAX], kept[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "writes", path);
    tic_trial_path(trial, &rehearsal->place, "writes.before", kept);
    mkdir(kept, 0700);
    tic_trial_set(trial, "STARPU_TIC_WRITES=%s", path);
    bool good = run_plain(rehearsal, trial);
    tic_written_load(&rehearsal->written, path);
    return good;
}

static void exclude_varying(struct tic_rehearsal *rehearsal, struct tic_trial *second)
{
    while (second->other) {
        second->other->excluded = "two runs without protection write other content";
        second->other = tic_written_find_other(&rehearsal->written, &second->found);
    }
}

bool tic_rehearse_plain(struct tic_rehearsal *rehearsal)
{
    struct tic_trial first = tic_trial_create("plain1"), second = tic_trial_create("plain2");
    struct tic_output other = {.bytes = NULL};

    tic_rehearse_tell("rehearse: run 1 of 2 without protection");
    bool good = run_noting(rehearsal, &first) && check_plain_end(rehearsal, &first) &&
                read_output(rehearsal, &first, &rehearsal->expected.output);
    if (good) {
        tic_rehearse_tell("rehearse: run 2 of 2 without protection (the first one took %.1f s)",
                          first.seconds);
        good = run_plain(rehearsal, &second) && check_plain_end(rehearsal, &second);
        exclude_varying(rehearsal, &second);
        good = good && read_output(rehearsal, &second, &other) &&
               compare_plain(rehearsal, first.status, &second, &other);
    }
    tic_rehearse_tell_nothing();
    rehearsal->expected.status = first.status;
    rehearsal->expected.plain_seconds =
        first.seconds > second.seconds ? first.seconds : second.seconds;
    rehearsal->place.limit = rehearsal->expected.plain_seconds * LIMIT_TIMES + LIMIT_SECONDS;
    tic_output_free(&other);
    tic_trial_destroy(&first);
    tic_trial_destroy(&second);
    return good;
}

/* ---- without protection, once more ----------------------------------------------------------- */

static const char advice_memory[] =
    "So does the program alone, without protection, when malloc() gives memory with this content, "
    "and "
    "it does not otherwise: memory is read that was never written. valgrind tells where.";

/* True when it is as the first one was; else the finding says in what it differs. */
static bool is_plain_again(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    struct tic_output other = {.bytes = NULL};
    bool good = run_plain(rehearsal, trial) && check_plain_end(rehearsal, trial) &&
                read_output(rehearsal, trial, &other) &&
                compare_plain(rehearsal, rehearsal->expected.status, trial, &other);

    tic_output_free(&other);
    tic_rehearse_forget_run(rehearsal, trial);
    tic_trial_destroy(trial);
    return good;
}

/* Two runs of a program that varies may be alike. */
void tic_rehearse_plain_again(struct tic_rehearsal *rehearsal)
{
    struct tic_finding found = rehearsal->finding;
    bool alike = true;

    rehearsal->finding = (struct tic_finding){.verdict = TIC_VERDICT_SAFE};
    for (unsigned i = 0; i < AGAIN && alike; i++) {
        struct tic_trial trial = tic_trial_create("plain%u", i + 3);
        tic_rehearse_tell("rehearse: the result differs; %u more runs without protection",
                          AGAIN - i);
        alike = is_plain_again(rehearsal, &trial);
    }
    if (alike && found.perturbed) {
        struct tic_trial trial = tic_trial_create("plain-memory");
        tic_rehearse_perturb(&trial, rehearsal->seed, 0);
        if (!is_plain_again(rehearsal, &trial)) {
            found.advice = advice_memory;
            found.suggestion[0] = '\0';
        }
    }
    tic_rehearse_tell_nothing();
    if (alike)
        rehearsal->finding = found;
}

/* ---- with all data closed to main() ---------------------------------------------------------- */

/* As the second run of `starpu-tic check`. False only when the rehearsal is to end. */
static bool look_for_touched(struct tic_rehearsal *rehearsal)
{
    struct tic_trial trial = tic_trial_create("closed");
    char path[PATH_MAX];

    tic_rehearse_tell("rehearse: a run that shows what main() touches by plain pointers");
    tic_rehearse_set_start(rehearsal, &trial, rehearsal->cpus[0]);
    tic_trial_path(&trial, &rehearsal->place, "report", path);
    tic_trial_set(&trial, "STARPU_TIC_REPORT=%s", path);
    tic_trial_path(&trial, &rehearsal->place, "store", path);
    tic_trial_set(&trial, "STARPU_TIC_DIR=%s", path);
    for (const char *const *variable = tic_tool_closed_run; *variable; variable++)
        tic_trial_set(&trial, "%s", *variable);
    bool good = tic_rehearse_run(rehearsal, &trial);
    rehearsal->closed_failed =
        trial.end != TIC_TRIAL_EXITED || trial.status != rehearsal->expected.status;
    tic_trial_path(&trial, &rehearsal->place, "report", path);
    json_t *report = rehearsal->closed_failed ? NULL : json_load_file(path, 0, NULL);
    if (tic_tool_has_touched(report))
        rehearsal->touched = json_incref(report);
    json_decref(report);
    tic_rehearse_forget_run(rehearsal, &trial);
    tic_trial_destroy(&trial);
    return good;
}

/* ---- with protection, without a kill --------------------------------------------------------- */

/* By the program itself. */
static uint64_t count_submitted(const json_t *stats)
{
    return tic_rehearse_stat(stats, "tasks_submitted") -
           tic_rehearse_stat(stats, "tasks_of_reductions");
}

static void note_counts(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    json_t *stats = tic_rehearse_load_stats(rehearsal, trial);
    json_t *seconds = json_object_get(stats, "seconds");

    rehearsal->expected.counts.tasks = tic_rehearse_stat(stats, "tasks_executed");
    rehearsal->expected.submitted = count_submitted(stats);
    rehearsal->expected.counts.waits = tic_rehearse_stat(stats, "failpoint_passes");
    rehearsal->expected.every =
        rehearsal->expected.counts.tasks / LINES > 0 ? rehearsal->expected.counts.tasks / LINES : 1;
    if (!rehearsal->period_chosen)
        rehearsal->period = json_number_value(seconds) / PERIODS;
    if (rehearsal->period < 1e-6)
        rehearsal->period = 1e-6;
    json_decref(stats);
}

/* Tells how many tasks end, and how often main() waits. */
static bool run_first(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    rehearsal->expected.every = 0;
    tic_rehearse_set_protection(rehearsal, trial, trial->name, rehearsal->cpus[0], false);
    if (tic_kill_has("wait-end"))
        tic_trial_set(trial, "STARPU_TIC_FAIL=wait-end:%d", MANY);
    bool good = tic_rehearse_run(rehearsal, trial) && tic_judge(rehearsal, trial, NULL) &&
                tic_rehearse_read_digests(rehearsal, trial, &rehearsal->expected.digests);
    if (!good)
        return false;
    note_counts(rehearsal, trial);
    if (rehearsal->expected.counts.tasks == 0)
        return tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN,
                               "The program executes no task.");
    return true;
}

/* Then it may decide by a result, and so by its last bits, how many tasks there are. */
static bool does_main_read(const struct tic_digests *digests)
{
    for (size_t i = 0; i < digests->count; i++)
        if (digests->data[i].times > 1 || digests->data[i].call != 'U')
            return true;
    return false;
}

static const char advice_tasks[] =
    "A restart is stopped where main() submits other tasks. Choose the number of tasks from the "
    "input, not from random numbers, the number of the process, addresses and the like; "
    "`starpu-tic check` tells from which submission on they differ.";

/* Has this run, on as many workers, submitted as many tasks as one that submitted `before`? */
static bool are_as_many(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                        unsigned cpus, uint64_t before)
{
    json_t *stats = tic_rehearse_load_stats(rehearsal, trial);
    uint64_t submitted = count_submitted(stats);

    json_decref(stats);
    if (submitted == before || does_main_read(&rehearsal->expected.digests))
        return true;
    rehearsal->finding.advice = advice_tasks;
    return tic_finding_set(&rehearsal->finding, TIC_VERDICT_DIFFERS,
                           "Of two runs on %u workers one submits %" PRIu64
                           " tasks, and one %" PRIu64 ".",
                           cpus, before, submitted);
}

/* Tells how many lines there are, and which data vary. */
static bool run_second(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    struct tic_digests other = {.data = NULL};

    tic_rehearse_set_protection(rehearsal, trial, trial->name, rehearsal->cpus[0], false);
    tic_rehearse_perturb(trial, rehearsal->seed, 0);
    tic_trial_set(trial, "STARPU_TIC_FAIL=line-renamed:%d", MANY);
    bool good = tic_rehearse_run(rehearsal, trial) && tic_judge(rehearsal, trial, NULL);
    rehearsal->finding.perturbed = !good;
    if (!good || !tic_rehearse_read_digests(rehearsal, trial, &other))
        return false;
    rehearsal->expected.varying = tic_digests_mark(&rehearsal->expected.digests, &other);
    rehearsal->expected.has_digests = true;
    json_t *stats = tic_rehearse_load_stats(rehearsal, trial);
    rehearsal->expected.counts.lines = tic_rehearse_stat(stats, "failpoint_passes");
    json_decref(stats);
    tic_digests_free(&other);
    return are_as_many(rehearsal, trial, rehearsal->cpus[0], rehearsal->expected.submitted);
}

static const char advice_workers[] =
    "A restart on another number of workers may be stopped, or mix the results of both. Choose "
    "the number of tasks and the sizes of data from the input, not from starpu_worker_get_count() "
    "and the like. Or restart on the same number only (--cpus with one number rehearses that).";

/* Numbers of tasks may be equal by chance, too: more runs, before the number of workers is blamed.
 */
static bool do_workers_matter(struct tic_rehearsal *rehearsal, unsigned turn, uint64_t submitted)
{
    bool equal = true;

    for (unsigned i = 0; i < AGAIN && equal; i++) {
        const bool other = i % 2 == 1;
        const unsigned cpus = rehearsal->cpus[other ? turn : 0];
        struct tic_trial trial = tic_trial_create("whole-again%u", i + 1);
        tic_rehearse_tell("rehearse: the number of tasks differs; %u more runs without a kill",
                          AGAIN - i);
        tic_rehearse_set_protection(rehearsal, &trial, trial.name, cpus, false);
        equal =
            tic_rehearse_run(rehearsal, &trial) &&
            are_as_many(rehearsal, &trial, cpus, other ? submitted : rehearsal->expected.submitted);
        tic_rehearse_forget_run(rehearsal, &trial);
        tic_trial_destroy(&trial);
    }
    return equal;
}

/* Does it submit as many tasks? Results may be others without a kill, as sums in another order are;
 * a restart cannot be compared then with a run on another number. */
static bool run_other(struct tic_rehearsal *rehearsal, struct tic_trial *trial, unsigned turn)
{
    struct tic_finding *finding = &rehearsal->finding;

    tic_rehearse_set_protection(rehearsal, trial, trial->name, rehearsal->cpus[turn], false);
    bool good = tic_rehearse_run(rehearsal, trial) && tic_judge(rehearsal, trial, NULL);
    rehearsal->expected.matter[turn] = !good && finding->verdict == TIC_VERDICT_DIFFERS;
    if (!good && !rehearsal->expected.matter[turn])
        return false;
    *finding = (struct tic_finding){.verdict = TIC_VERDICT_SAFE};
    json_t *stats = tic_rehearse_load_stats(rehearsal, trial);
    uint64_t submitted = count_submitted(stats);
    json_decref(stats);
    rehearsal->expected.matter[turn] |= submitted != rehearsal->expected.submitted;
    if (submitted == rehearsal->expected.submitted || does_main_read(&rehearsal->expected.digests))
        return true;
    if (!do_workers_matter(rehearsal, turn, submitted))
        return false;
    finding->advice = advice_workers;
    return tic_finding_set(finding, TIC_VERDICT_DIFFERS,
                           "On %u workers the program submits %" PRIu64 " tasks, on %u workers "
                           "%" PRIu64 ".",
                           rehearsal->cpus[0], rehearsal->expected.submitted, rehearsal->cpus[turn],
                           submitted);
}

/* The commands of the last run are shown if it is wrong. */
static bool keep_last(struct tic_rehearsal *rehearsal, struct tic_trial *trial, bool good)
{
    tic_rehearse_forget(rehearsal, trial, "store");
    if (good)
        tic_trial_destroy(trial);
    else
        rehearsal->chain.runs[rehearsal->chain.count++] = *trial;
    return good;
}

bool tic_rehearse_reference(struct tic_rehearsal *rehearsal)
{
    struct tic_trial trial = tic_trial_create("whole1");
    unsigned runs = rehearsal->cpu_count + 1;

    if (!look_for_touched(rehearsal))
        return false;
    tic_rehearse_tell("rehearse: run 1 of %u with protection, without a kill", runs);
    bool good = keep_last(rehearsal, &trial, run_first(rehearsal, &trial));
    if (good) {
        tic_rehearse_tell("rehearse: run 2 of %u with protection, without a kill", runs);
        trial = tic_trial_create("whole2");
        good = keep_last(rehearsal, &trial, run_second(rehearsal, &trial));
    }
    for (unsigned turn = 1; turn < rehearsal->cpu_count && good; turn++) {
        tic_rehearse_tell("rehearse: run %u of %u with protection, without a kill", turn + 2, runs);
        trial = tic_trial_create("whole-%u-workers", rehearsal->cpus[turn]);
        good = keep_last(rehearsal, &trial, run_other(rehearsal, &trial, turn));
    }
    tic_rehearse_tell_nothing();
    return good;
}
