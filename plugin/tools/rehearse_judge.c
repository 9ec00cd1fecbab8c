/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: whether a protected run is as it should be. */
#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/rehearsal.h"

static const char advice_input[] =
    "The program must begin with the same data each time: initialise all memory before tasks read "
    "it, and read the same files. Content that does not matter can be excepted with "
    "STARPU_TIC_INPUTS=ignore.";
static const char advice_replay[] =
    "main() must submit the same tasks whenever the command is the same, whatever the number of "
    "workers, addresses, clocks and random numbers are. `starpu-tic check` compares two runs.";
static const char advice_output[] =
    "Look at what main() computes this line from. Data that tasks write must be read between "
    "starpu_data_acquire and starpu_data_release, or after starpu_data_unregister, not by its "
    "plain pointer; and kernels must write registered data only. Where a callback reads such data, "
    "the task that it belongs to must declare them.";
static const char advice_output_always[] =
    "Protection uses another scheduling policy (STARPU_TIC_SCHED chooses it), another order of "
    "sums in reductions, and here another content of fresh memory. A result that depends on any of "
    "these varies without protection, too; --filter excepts lines that may differ.";
static const char advice_lost[] =
    "The killed run and the restarts together print fewer lines. Tasks that are done print no more "
    "in "
    "a restart, and SIGKILL takes along what the program has printed and not written yet. A "
    "recovery "
    "line waits for stdout of C alone, not for buffers of C++ (sync_with_stdio(false)), Fortran or "
    "Python. Flush them where tasks print, or let main() print.";
static const char advice_data[] =
    "The kernels that write this datum depend on something else than the data and arguments that "
    "StarPU knows. It may be a global variable, memory that is not initialised or not registered, "
    "or a random number. Or they write with an access mode that does not say so.";
static const char advice_status[] =
    "What the program prints on standard error may tell more: repeat it as shown below.";
static const char advice_protection[] =
    "The program runs, but a crash costs all that it computed after this point. `starpu-tic check` "
    "lists everything that ends protection.";
static const char advice_terminal[] = "Let it read the standard input, not /dev/tty: all runs get "
                                      "that, from the file or pipe that the "
                                      "rehearsal is given.";
static const char advice_crash[] =
    "Repeat it as shown below, under a debugger if it crashes. If it does not depend on the "
    "program, it is an error of starpu-tic: please report it.";

bool tic_finding_set(struct tic_finding *finding, enum tic_verdict verdict, const char *what, ...)
{
    va_list args;

    finding->verdict = verdict;
    va_start(args, what);
    vsnprintf(finding->what, sizeof(finding->what), what, args);
    va_end(args);
    return false;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* A sed script that removes lines like this one: by its longest word, else by its number. */
static void suggest(struct tic_finding *finding, const char *line, size_t number)
{
    size_t best = 0, length = 0;
    const char *word = line;

    for (const char *c = line;; c++) {
        if (isalpha((unsigned char)*c)) {
            length++;
            continue;
        }
        if (length > best) {
            best = length;
            word = c - length;
        }
        length = 0;
        if (*c == '\0')
            break;
    }
    if (best >= 2)
        snprintf(finding->suggestion, sizeof(finding->suggestion), "--filter '/%.*s/d'",
                 (int)(best < 64 ? best : 64), word);
    else
        snprintf(finding->suggestion, sizeof(finding->suggestion), "--filter '%zud'", number);
}

void tic_judge_note_lines(struct tic_finding *finding, const struct tic_output *expected,
                          const struct tic_output *found)
{
    size_t line = tic_output_difference(expected, found);
    char text[sizeof(finding->found)];

    snprintf(finding->expected, sizeof(finding->expected), "%s",
             tic_output_show(expected, line, text, sizeof(text)));
    snprintf(finding->found, sizeof(finding->found), "%s",
             tic_output_show(found, line, text, sizeof(text)));
    suggest(finding, finding->expected, line + 1);
}

static unsigned read_killed(const struct tic_rehearsal *rehearsal, const struct tic_chain *chain,
                            struct tic_output killed[TIC_CHAIN_RUNS])
{
    char path[PATH_MAX];
    unsigned count = 0;

    for (unsigned i = 0; chain && i + 1 < chain->count; i++) {
        tic_trial_path(&chain->runs[i], &rehearsal->place, "out", path);
        count += tic_output_read(&killed[count], path) == 0;
    }
    return count;
}

static bool has_lost_lines(const struct tic_rehearsal *rehearsal, const struct tic_output *found,
                           const struct tic_output *killed, unsigned count)
{
    size_t lines = found->count;

    for (unsigned i = 0; i < count; i++)
        lines += killed[i].count;
    return count > 0 && lines < rehearsal->expected.output.count;
}

static bool judge_output(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                         const struct tic_chain *chain)
{
    struct tic_output found = {.bytes = NULL}, killed[TIC_CHAIN_RUNS] = {{.bytes = NULL}};
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "out", path);
    if (tic_output_read(&found, path) != 0)
        return tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN, "Cannot read %s.", path);
    unsigned count = read_killed(rehearsal, chain, killed);
    enum tic_match match = tic_output_match(&rehearsal->expected.output, &found, killed, count);
    rehearsal->reordered += match == TIC_MATCH_ORDER;
    rehearsal->united += match == TIC_MATCH_UNION;
    if (match == TIC_MATCH_NONE) {
        size_t line = tic_output_difference(&rehearsal->expected.output, &found);
        tic_finding_set(&rehearsal->finding, TIC_VERDICT_DIFFERS,
                        "Line %zu of the standard output is another one.", line + 1);
        tic_judge_note_lines(&rehearsal->finding, &rehearsal->expected.output, &found);
        rehearsal->finding.advice = chain ? advice_output : advice_output_always;
        if (has_lost_lines(rehearsal, &found, killed, count))
            rehearsal->finding.advice = advice_lost;
        if (chain)
            rehearsal->finding.suggestion[0] = '\0';
    }
    for (unsigned i = 0; i < count; i++)
        tic_output_free(&killed[i]);
    tic_output_free(&found);
    return match != TIC_MATCH_NONE;
}

/* ---- files that the program writes ----------------------------------------------------------- */

static const char advice_file[] =
    "A file is not part of a recovery line: what was written to it before a kill stays, and tasks "
    "that a restart executes again write again. Let main() write the file after it has waited for "
    "the tasks, or let each task write whole its own place (pwrite) or its own file.";

static bool judge_files(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_finding *finding = &rehearsal->finding;
    const struct tic_written_file *file = trial->other;

    if (!file)
        return true;
    tic_judge_note_lines(finding, &file->expected, &trial->found);
    finding->suggestion[0] = '\0';
    finding->advice = advice_file;
    return tic_finding_set(finding, TIC_VERDICT_DIFFERS,
                           "The file %s, written by %s, is another one: %zu lines, %zu without "
                           "protection.",
                           file->name, file->writers, trial->found.count, file->expected.count);
}

/* ---- data ------------------------------------------------------------------------------------ */

static bool judge_data(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_digests found = {.data = NULL};
    struct tic_digest_difference difference;
    struct tic_finding *finding = &rehearsal->finding;
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "digests", path);
    if (tic_digests_read(&found, path) != 0)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN, "Cannot read %s.", path);
    bool differs = tic_digests_differ(&rehearsal->expected.digests, &found, &difference);
    const struct tic_datum *expected = difference.expected, *other = difference.found;
    finding->advice = differs ? advice_data : finding->advice;
    if (differs && expected && other && expected->times == other->times)
        tic_finding_set(finding, TIC_VERDICT_DIFFERS,
                        "Datum %llu (number of registration, from 0) has another content when "
                        "main() gets it back by %s.",
                        (unsigned long long)expected->id, tic_digest_call(other->call));
    else if (differs)
        tic_finding_set(finding, TIC_VERDICT_DIFFERS,
                        "main() gets datum %llu (number of registration, from 0) back %llu times, "
                        "and %llu times without a kill.",
                        (unsigned long long)(expected ? expected : other)->id,
                        (unsigned long long)(other ? other->times : 0),
                        (unsigned long long)(expected ? expected->times : 0));
    tic_digests_free(&found);
    return !differs;
}

/* ---- the end of a run ------------------------------------------------------------------------ */

bool tic_judge_terminal(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_finding *finding = &rehearsal->finding;

    if (trial->end != TIC_TRIAL_STOPPED)
        return true;
    finding->advice = advice_terminal;
    return tic_finding_set(
        finding, TIC_VERDICT_UNKNOWN,
        "The program reads from the terminal, or sets its modes, and was stopped "
        "for it by signal %d (%s): the runs of a rehearsal have none.",
        trial->status, strsignal(trial->status));
}

static bool judge_end(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_finding *finding = &rehearsal->finding;

    finding->advice = advice_crash;
    if (trial->end == TIC_TRIAL_NOT_RUN)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN, "The system started no process.");
    if (!tic_judge_terminal(rehearsal, trial))
        return false;
    if (trial->end == TIC_TRIAL_HUNG)
        return tic_finding_set(finding, TIC_VERDICT_CRASHED,
                               "The run had not ended after %.0f seconds (the program alone takes "
                               "%.1f).",
                               trial->seconds, rehearsal->expected.plain_seconds);
    if (trial->end != TIC_TRIAL_EXITED)
        return tic_finding_set(finding, TIC_VERDICT_CRASHED, "The run was ended by signal %d (%s).",
                               trial->status, strsignal(trial->status));
    finding->advice = NULL;
    return true;
}

static bool judge_status(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    struct tic_finding *finding = &rehearsal->finding;
    bool input = trial->status == TIC_EXIT_REFUSED, replay = trial->status == TIC_EXIT_DIVERGED;

    if (trial->status == rehearsal->expected.status)
        return true;
    tic_trial_message(trial, &rehearsal->place, input || replay ? "starpu-tic: " : "",
                      finding->message);
    finding->advice = advice_status;
    if (!finding->message[0] || !(input || replay))
        return tic_finding_set(finding, TIC_VERDICT_DIFFERS,
                               "The run ended with status %d; the program alone ends with %d.",
                               trial->status, rehearsal->expected.status);
    finding->advice = replay ? advice_replay : NULL;
    if (strstr(finding->message, "the input of this run differs"))
        finding->advice = advice_input;
    return tic_finding_set(
        finding, TIC_VERDICT_REFUSED,
        "starpu-tic stopped the run (status %d) rather than risk a wrong result.", trial->status);
}

static bool judge_protection(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    static const char *const starts[] = {"starpu-tic: protection ends here",
                                         "starpu-tic: this run is not protected"};
    struct tic_finding *finding = &rehearsal->finding;
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        tic_trial_message(trial, &rehearsal->place, starts[i], finding->message);
        if (!finding->message[0])
            continue;
        finding->advice = advice_protection;
        return tic_finding_set(finding, TIC_VERDICT_UNPROTECTED,
                               "protection ends while the program runs.");
    }
    tic_trial_path(trial, &rehearsal->place, "stats", path);
    json_t *stats = json_load_file(path, 0, NULL);
    bool there = stats != NULL, whole = json_is_true(json_object_get(stats, "protected"));
    rehearsal->suspended += json_integer_value(json_object_get(stats, "suspensions")) > 0;
    json_decref(stats);
    if (!there && rehearsal->expected.status != 0)
        tic_trial_message(trial, &rehearsal->place, "", finding->message);
    if (!there)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program does not start StarPU, or does not end by exit(). It "
                               "ends with status %d.",
                               rehearsal->expected.status);
    return whole || tic_finding_set(finding, TIC_VERDICT_UNPROTECTED,
                                    "protection ends while the program runs.");
}

bool tic_judge(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
               const struct tic_chain *chain)
{
    return judge_end(rehearsal, trial) && judge_status(rehearsal, trial) &&
           judge_protection(rehearsal, trial) && judge_output(rehearsal, trial, chain) &&
           judge_files(rehearsal, trial) &&
           (!rehearsal->expected.has_digests || judge_data(rehearsal, trial));
}
