/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: kills a program many times, resumes it, and tells whether it does what it
 * does without a kill. Here: options, the folder of its files, and the order of its stages. */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "tools/arguments.h"
#include "tools/input.h"
#include "tools/rehearse_runs.h"
#include "tools/reach.h"
#include "tools/tool.h"

#define KILLS 12
enum { MOST_CPUS = 256 };

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && *number >= least &&
           *number <= most;
}

static bool take_cpus(const char *list, void *to)
{
    struct tic_rehearsal *rehearsal = to;
    char *copy = strdup(list), *rest = copy;
    uint64_t number;
    bool good = copy != NULL;

    rehearsal->cpu_count = 0;
    for (char *item = strsep(&rest, ","); item && good; item = strsep(&rest, ",")) {
        good =
            parse_number(item, 1, MOST_CPUS, &number) && rehearsal->cpu_count < TIC_REHEARSAL_CPUS;
        if (good)
            rehearsal->cpus[rehearsal->cpu_count++] = (unsigned)number;
    }
    free(copy);
    return good;
}

/* The number that the user has set comes first. */
static void choose_cpus(struct tic_rehearsal *rehearsal)
{
    static const unsigned usual[] = {2, 1, 4};
    const char *wanted = getenv("STARPU_NCPU");
    uint64_t first = 0;

    if (wanted && parse_number(wanted, 1, MOST_CPUS, &first))
        rehearsal->cpus[rehearsal->cpu_count++] = (unsigned)first;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (usual[i] != first)
            rehearsal->cpus[rehearsal->cpu_count++] = usual[i];
}

static bool take_protocol(const char *name, void *to)
{
    struct tic_rehearsal *rehearsal = to;

    rehearsal->protocol = name;
    for (int i = TIC_PROTOCOL_TIC; i <= TIC_PROTOCOL_TIC_SEL; i++)
        if (strcmp(tic_protocol_names[i], name) == 0)
            return true;
    return false;
}

static bool take_kills(const char *value, void *to)
{
    uint64_t number;
    bool good = parse_number(value, 1, 100000, &number);

    if (good)
        *(unsigned *)to = (unsigned)number;
    return good;
}

static bool take_period(const char *value, void *to)
{
    struct tic_rehearsal *rehearsal = to;

    rehearsal->period_chosen = true;
    return tic_option_seconds(value, DBL_MIN, 999999999, &rehearsal->period);
}

static bool take_seed(const char *value, void *to)
{
    return parse_number(value, 0, INT64_MAX, to);
}

static bool take_ignored(const char *value, void *to)
{
    struct tic_written *written = to;

    if (written->ignored_count == TIC_WRITTEN_IGNORED)
        return false;
    written->ignored[written->ignored_count++] = value;
    return true;
}

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
static const char help[] =
    "\n  -k, --kills N          how often the program is killed and resumed (" TEXT(
        KILLS) ")\n"
               "  -c, --cpus LIST        numbers of CPU workers: the first one for the runs that "
               "are\n"
               "                         killed, all of them in turn for restarts (STARPU_NCPU, if "
               "it\n"
               "                         is set, then 2,1,4)\n"
               "      --protocol NAME    tic, sel or tic+sel (STARPU_TIC_PROTOCOL, or tic)\n"
               "  -p, --period SECONDS   period between checkpoints in half of the runs (a tenth "
               "of\n"
               "                         what the program takes; the other half counts tasks)\n"
               "  -f, --filter SCRIPT    sed -E script for the standard output, before it is "
               "compared\n"
               "  -i, --ignore NAME      files that it writes (a name or pattern) are not "
               "compared\n"
               "      --seed N           choose the same kills as the rehearsal that printed N\n"
               "  -j, --json             print the answer as a JSON object\n"
               "      --keep             keep the files of all runs\n\n"
               "The program runs in the current directory: five times from its start to its end, "
               "then\n"
               "N times killed and resumed. Each run reads the same standard input; its output is "
               "not\n"
               "shown. Files that it writes are put back before each of them, and compared. Choose "
               "an\n"
               "input with which it runs for some seconds. Exit status: 0 every restart gave the "
               "same\n"
               "result, 1 it did not, or the program is not protected, 3 nothing can be said.";

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct tic_rehearsal *rehearsal)
{
    const struct tic_option options[] = {{"kills", 'k', take_kills, &rehearsal->kills},
                                         {"cpus", 'c', take_cpus, rehearsal},
                                         {"protocol", 0, take_protocol, rehearsal},
                                         {"period", 'p', take_period, rehearsal},
                                         {"filter", 'f', tic_option_text, &rehearsal->place.filter},
                                         {"seed", 0, take_seed, &rehearsal->seed},
                                         {"json", 'j', NULL, &rehearsal->as_json},
                                         {"keep", 0, NULL, &rehearsal->keep},
                                         {"ignore", 'i', take_ignored, &rehearsal->written},
                                         {0}};
    int status = tic_options_read(argc, argv, options, true, help);

    if (status >= 0)
        return status;
    return optind < argc ? -1 : tic_tool_usage("rehearse", TIC_TOOL_USAGE);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool take_input(struct tic_rehearsal *rehearsal)
{
    char path[PATH_MAX + 8];

    snprintf(path, sizeof(path), "%s/input", rehearsal->place.folder);
    return tic_input_save(path, &rehearsal->has_input);
}

static int make_folder(struct tic_rehearsal *rehearsal)
{
    const char *temporary = getenv("TMPDIR") && getenv("TMPDIR")[0] ? getenv("TMPDIR") : "/tmp";
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s/starpu-tic-rehearse-XXXXXX", temporary) >= PATH_MAX - 64)
        errno = ENAMETOOLONG;
    else if (mkdtemp(name) && realpath(name, rehearsal->place.folder))
        return 0;
    fprintf(stderr, "starpu-tic: cannot make a directory in %s: %s\n", temporary, strerror(errno));
    return -1;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int rehearse(struct tic_rehearsal *rehearsal)
{
    if (!tic_tool_may_preload() || !take_input(rehearsal))
        return TIC_TOOL_NOTHING;
    tic_trial_prepare();
    if (tic_rehearse_plain(rehearsal) && tic_rehearse_reference(rehearsal))
        tic_rehearse_kills(rehearsal);
    if (!rehearsal->interrupted && rehearsal->finding.verdict == TIC_VERDICT_DIFFERS)
        tic_rehearse_plain_again(rehearsal);
    if (rehearsal->interrupted)
        return TIC_TOOL_BY_SIGNAL + rehearsal->interrupted;
    return tic_verdict_print(rehearsal);
}

static const char *name_of(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

int tic_tool_rehearse(int argc, char **argv)
{
    static struct tic_rehearsal rehearsal = {.kills = KILLS};
    const char *protocol = getenv("STARPU_TIC_PROTOCOL");

    rehearsal.seed = (uint64_t)time(NULL);
    if (!protocol || !take_protocol(protocol, &rehearsal))
        rehearsal.protocol = "tic";
    int status = parse_options(argc, argv, &rehearsal);
    if (status >= 0)
        return status;
    if (tic_reach_is_parallel(argv[optind], "rehearse"))
        return TIC_TOOL_NOTHING;
    if (rehearsal.cpu_count == 0)
        choose_cpus(&rehearsal);
    rehearsal.place.command = argv + optind;
    rehearsal.program = name_of(argv[optind]);
    if (make_folder(&rehearsal) != 0)
        return TIC_TOOL_NOTHING;
    status = rehearse(&rehearsal);
    if (!rehearsal.keep)
        tic_rehearse_remove(rehearsal.place.folder);
    for (unsigned i = 0; i < rehearsal.chain.count; i++)
        tic_trial_destroy(&rehearsal.chain.runs[i]);
    tic_output_free(&rehearsal.expected.output);
    tic_digests_free(&rehearsal.expected.digests);
    tic_written_free(&rehearsal.written);
    json_decref(rehearsal.touched);
    return status;
}
