/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: the answer, in words or as JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rehearsal.h"
#include "tools/touched.h"

static const struct {
    const char *name;  /* in JSON */
    const char *words; /* how the answer begins */
    int status;
} verdicts[] = {
    [TIC_VERDICT_SAFE] = {"safe", "Safe", 0},
    [TIC_VERDICT_DIFFERS] = {"differs", "Not safe", 1},
    [TIC_VERDICT_REFUSED] = {"refused", "Not restartable", 1},
    [TIC_VERDICT_CRASHED] = {"crashed", "Not safe", 1},
    [TIC_VERDICT_UNPROTECTED] = {"unprotected", "Not protected", 1},
    [TIC_VERDICT_UNKNOWN] = {"unknown", "Cannot say", 3},
};

/* ---- commands -------------------------------------------------------------------------------- */

/* For the shell. */
static void print_quoted(FILE *out, const char *word)
{
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%");

    if (word[0] && word[plain] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

static void print_command(FILE *out, const struct tic_rehearsal *rehearsal,
                          const struct tic_trial *trial)
{
    for (unsigned i = 0; i < trial->variable_count; i++) {
        bool store = strncmp(trial->variables[i], "STARPU_TIC_DIR=", 15) == 0;
        print_quoted(out, store ? "STARPU_TIC_DIR=rehearse.tic" : trial->variables[i]);
        fputc(' ', out);
    }
    fputs("starpu-tic run --", out);
    for (char **word = rehearsal->place.command; *word; word++) {
        fputc(' ', out);
        print_quoted(out, *word);
    }
    fputs(rehearsal->has_input ? " <INPUT" : "", out);
}

/* ---- words ----------------------------------------------------------------------------------- */

enum { WIDTH = 96 };

/* Breaks lines between words; further lines begin with `indent` spaces. */
static void print_wrapped(const char *title, const char *text)
{
    int column = printf("  %-12s", title), indent = column;

    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (column + 1 + length > WIDTH && column > indent)
            column = printf("\n%*s", indent, "") - 1;
        column += printf("%s%.*s", column > indent ? " " : "", length, word);
        word += length;
        word += strspn(word, " ");
    }
    putchar('\n');
}

__attribute__((format(printf, 2, 3))) static void print_fact(const char *title, const char *text,
                                                             ...)
{
    char line[4096];
    va_list args;

    va_start(args, text);
    vsnprintf(line, sizeof(line), text, args);
    va_end(args);
    print_wrapped(title, line);
}

static void print_cpus(const struct tic_rehearsal *rehearsal, char *text, size_t size)
{
    size_t length = 0;

    for (unsigned i = 0; i < rehearsal->cpu_count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%u",
                                   i == 0                          ? ""
                                   : i + 1 == rehearsal->cpu_count ? " and "
                                                                   : ", ",
                                   rehearsal->cpus[i]);
}

static void print_notes(const struct tic_rehearsal *rehearsal)
{
    if (tic_rehearse_count_data(rehearsal) == 0)
        print_fact("Note",
                   "no data was compared. Where the result is not what the program prints, or in "
                   "its files, this tells nothing of it: compare it after a kill yourself.");
    if (rehearsal->expected.status != 0)
        print_fact("Note", "the program alone ends with status %d; a restart did, too.",
                   rehearsal->expected.status);
    if (rehearsal->expected.varying > 0)
        print_fact("Note",
                   "the content of %zu data differs between runs without a kill, so it was not "
                   "compared. Some of their memory is never written, or they vary by "
                   "themselves.",
                   rehearsal->expected.varying);
    if (rehearsal->expected.unordered || rehearsal->reordered > 0)
        print_fact("Note", "lines of output came in another order (%s).",
                   rehearsal->expected.unordered ? "without protection, too"
                                                 : "tasks print, probably");
    if (rehearsal->repeated > 0)
        print_fact("Note",
                   "the result depends on the number of workers without a kill, too, as sums in "
                   "another order do. %u restart(s) on another number were repeated on %u.",
                   rehearsal->repeated, rehearsal->cpus[0]);
    if (rehearsal->skipped == 0 && rehearsal->finding.verdict == TIC_VERDICT_SAFE)
        print_fact(
            "Note",
            "no restart skipped a task: tasks that write no data are executed again. A restart "
            "is right, and saves no time.");
    if (rehearsal->united > 0)
        print_fact(
            "Note",
            "tasks print. %u restart(s) did not print again what the killed run had printed; "
            "both outputs together were compared.",
            rehearsal->united);
    if (rehearsal->suspended > 0)
        print_fact("Note",
                   "protection was suspended for a while in %u run(s). Is there room in %s?",
                   rehearsal->suspended, rehearsal->place.folder);
}

static void print_work(const struct tic_rehearsal *rehearsal)
{
    char cpus[128] = "";

    print_cpus(rehearsal, cpus, sizeof(cpus));
    print_fact("Kills",
               "%u; %u run(s) ended before the place of their kill; restarts killed again: %u",
               rehearsal->happened, rehearsal->rehearsed - rehearsal->happened, rehearsal->again);
    print_fact(
        "Restarts",
        "%u, on %s workers; %u of them continued from a recovery line; tasks skipped: %" PRIu64
        ", in a whole run: %" PRIu64,
        rehearsal->resumed, cpus, rehearsal->continued, rehearsal->skipped,
        rehearsal->expected.counts.tasks);
    print_fact("Compared",
               "exit status; lines of output: %zu; data that main() gets back, by content: %zu",
               rehearsal->expected.output.count, tic_rehearse_count_data(rehearsal));
}

static void print_written(const struct tic_rehearsal *rehearsal)
{
    const struct tic_written *written = &rehearsal->written;

    for (unsigned i = 0; i < written->count; i++)
        print_fact("Written", "%s, by %s%s", written->files[i].name, written->files[i].writers,
                   written->files[i].excluded ? "; not compared" : "; compared");
}

static void print_finding(const struct tic_rehearsal *rehearsal, const char *advice)
{
    const struct tic_finding *finding = &rehearsal->finding;
    const struct tic_chain *chain = &rehearsal->chain;

    if (finding->message[0])
        print_wrapped("Message", finding->message);
    if (finding->expected[0] || finding->found[0]) {
        bool plain = finding->verdict == TIC_VERDICT_UNKNOWN;
        printf("  %-12s%s\n  %-12s%s\n", plain ? "One run" : "Expected", finding->expected,
               plain ? "Another" : "Found", finding->found);
    }
    if (finding->advice)
        print_wrapped("What to do", finding->advice);
    if (finding->suggestion[0])
        print_fact("For example", "%s", finding->suggestion);
    if (finding->verdict == TIC_VERDICT_UNKNOWN || chain->count == 0)
        return;
    puts("  To repeat it (the directory rehearse.tic must not be there before):");
    if (advice)
        printf("    cp %s rehearse.tic.advice\n", advice);
    for (unsigned i = 0; i < chain->count; i++) {
        fputs("    ", stdout);
        print_command(stdout, rehearsal, &chain->runs[i]);
        putchar('\n');
    }
}

/* Of data that main() touches by plain pointers. */
static void print_touched(const struct tic_rehearsal *rehearsal, const char *advice)
{
    if (rehearsal->closed_failed)
        print_fact(
            "Note",
            "the program fails while its data is closed to it, so that it could not be looked "
            "for what main() reads or writes without starpu_data_acquire.");
    if (!rehearsal->touched)
        return;
    tic_tool_tell_touched(rehearsal->touched);
    print_fact(
        "What to do",
        "call starpu_data_acquire before these accesses and starpu_data_release after them%s%s"
        "%s",
        advice ? "; or keep the file " : ".", advice ? advice : "",
        advice ? ", which runs of the same command read. So did the runs of this rehearsal." : "");
}

static void print_words(const struct tic_rehearsal *rehearsal, const char *advice)
{
    const struct tic_finding *finding = &rehearsal->finding;

    printf("%s: ", verdicts[finding->verdict].words);
    if (finding->verdict == TIC_VERDICT_SAFE)
        printf("%s gave the same result after each of %u kills.\n", rehearsal->program,
               rehearsal->kills);
    else if (finding->kill > 0)
        printf("after kill %u of %u: %s\n", finding->kill, rehearsal->kills, finding->what);
    else if (finding->verdict == TIC_VERDICT_DIFFERS || finding->verdict == TIC_VERDICT_REFUSED ||
             finding->verdict == TIC_VERDICT_CRASHED)
        printf("under protection, even without a kill: %s\n", finding->what);
    else
        puts(finding->what);
    if (finding->verdict != TIC_VERDICT_SAFE)
        print_finding(rehearsal, advice);
    if (rehearsal->rehearsed > 0) {
        print_work(rehearsal);
        print_written(rehearsal);
        print_notes(rehearsal);
        print_touched(rehearsal, advice);
        printf("  %-12s%" PRIu64 " (--seed %" PRIu64 " chooses the same kills)\n", "Seed",
               rehearsal->seed, rehearsal->seed);
    }
    if (rehearsal->keep)
        printf("  %-12s%s\n", "Files", rehearsal->place.folder);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *commands(const struct tic_rehearsal *rehearsal)
{
    json_t *list = json_array();

    if (rehearsal->finding.verdict == TIC_VERDICT_SAFE ||
        rehearsal->finding.verdict == TIC_VERDICT_UNKNOWN)
        return list;
    for (unsigned i = 0; i < rehearsal->chain.count; i++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        if (!out)
            break;
        print_command(out, rehearsal, &rehearsal->chain.runs[i]);
        fclose(out);
        json_array_append_new(list, json_string(text));
        free(text);
    }
    return list;
}

static json_t *words(char **command)
{
    json_t *list = json_array();

    for (; *command; command++)
        json_array_append_new(list, json_string(*command));
    return list;
}

/* A line of the program's output need not be UTF-8. */
static json_t *text(const char *bytes)
{
    json_t *string = json_string(bytes);

    if (string)
        return string;
    char safe[TIC_TRIAL_MESSAGE];
    size_t length = 0;
    for (; bytes[length] && length + 1 < sizeof(safe); length++)
        safe[length] = isascii((unsigned char)bytes[length]) ? bytes[length] : '?';
    safe[length] = '\0';
    return json_string(safe);
}

static void print_json(const struct tic_rehearsal *rehearsal, const char *advice)
{
    const struct tic_finding *finding = &rehearsal->finding;
    json_t *finds = json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:s, s:o}", "verdict",
                              verdicts[finding->verdict].name, "what", finding->what, "kill",
                              (json_int_t)finding->kill, "message", text(finding->message),
                              "expected", text(finding->expected), "found", text(finding->found),
                              "advice", finding->advice ? finding->advice : "", "suggestion",
                              finding->suggestion, "commands", commands(rehearsal));
    json_t *work = json_pack(
        "{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:s}",
        "command", words(rehearsal->place.command), "protocol", rehearsal->protocol, "seed",
        (json_int_t)rehearsal->seed, "status", (json_int_t)rehearsal->expected.status, "tasks",
        (json_int_t)rehearsal->expected.counts.tasks, "kills", (json_int_t)rehearsal->rehearsed,
        "kills_happened", (json_int_t)rehearsal->happened, "kills_in_restarts",
        (json_int_t)rehearsal->again, "restarts", (json_int_t)rehearsal->resumed,
        "restarts_recovered", (json_int_t)rehearsal->continued, "tasks_skipped",
        (json_int_t)rehearsal->skipped, "output_lines",
        (json_int_t)rehearsal->expected.output.count, "data",
        (json_int_t)rehearsal->expected.digests.count, "data_varying",
        (json_int_t)rehearsal->expected.varying, "plain_seconds", rehearsal->expected.plain_seconds,
        "touched",
        rehearsal->touched ? json_incref(json_object_get(rehearsal->touched, "touched"))
                           : json_array(),
        "advice_file", advice ? advice : "");

    json_object_set_new(work, "files", tic_written_list(&rehearsal->written));
    if (finds && work) {
        json_object_update(finds, work);
        json_dumpf(finds, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(finds);
    json_decref(work);
}

int tic_verdict_print(const struct tic_rehearsal *rehearsal)
{
    char *advice =
        rehearsal->touched ? tic_tool_leave_advice(rehearsal->touched, NULL, false) : NULL;

    if (rehearsal->as_json)
        print_json(rehearsal, advice);
    else
        print_words(rehearsal, advice);
    free(advice);
    return verdicts[rehearsal->finding.verdict].status;
}
