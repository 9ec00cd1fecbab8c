/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: the runs of a rehearsal. Two without protection tell what the program does,
 * two with protection and without a kill what a run under protection is like; then kills. */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tools/rehearse.h"

enum {
    LINES = 8,                /* that a run takes where they are taken by tasks */
    PERIODS = 10,             /* the same by time */
    LIMIT_TIMES = 10,         /* a run may take so many times what the program takes alone, */
    LIMIT_SECONDS = 60,       /* and so much more */
    RECHECKS = 4,             /* runs without a kill, before a kill is blamed */
    NEVER = 1000,             /* seconds */
    MANY = 1000000000,        /* passes that no failpoint comes to */
    LARGEST_PAD = 1 << 16,    /* bytes by which the heap grows further */
    CLOCK_BEGIN = 1600000000, /* what time() is when a run begins */
    CLOCK_RANGE = 100000000,
    NOT_RUNNABLE = 126,
    NOT_FOUND = 127,
};

/* ---- telling how far it is --------------------------------------------------------------------
 */

__attribute__((format(printf, 1, 2))) static void tell(const char *progress, ...)
{
    bool terminal = isatty(STDERR_FILENO);
    va_list args;

    fputs(terminal ? "\r\033[K" : "", stderr);
    va_start(args, progress);
    vfprintf(stderr, progress, args);
    va_end(args);
    fputs(terminal ? "" : "\n", stderr);
    fflush(stderr);
}

static void tell_nothing(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

static void forget(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                   const char *kind)
{
    char path[PATH_MAX];

    if (rehearsal->keep)
        return;
    tic_trial_path(trial, &rehearsal->place, kind, path);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static json_t *load_stats(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "stats", path);
    return json_load_file(path, 0, NULL);
}

static uint64_t stat_of(const json_t *stats, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(stats, name));

    return value > 0 ? (uint64_t)value : 0;
}

/* ---- one run ----------------------------------------------------------------------------------
 */

/* False when this process is to end. */
static bool run(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    tic_trial_run(trial, &rehearsal->place);
    if (trial->end == TIC_TRIAL_INTERRUPTED)
        rehearsal->interrupted = trial->status;
    return trial->end != TIC_TRIAL_INTERRUPTED;
}

/* malloc() gives memory with other content, at other addresses. */
static void perturb(struct tic_trial *trial, uint64_t seed, unsigned number)
{
    const char *before = getenv("GLIBC_TUNABLES");
    uint64_t z = (seed + number) * UINT64_C(0x9e3779b97f4a7c15);

    tic_trial_set(trial, "GLIBC_TUNABLES=%s%sglibc.malloc.perturb=%u:glibc.malloc.top_pad=%u",
                  before ? before : "", before && before[0] ? ":" : "",
                  (unsigned)(z >> 32) % 255 + 1, ((unsigned)(z >> 40) * 4096) % LARGEST_PAD + 4096);
}

static void set_start(const struct tic_rehearsal *rehearsal, struct tic_trial *trial, unsigned cpus)
{
    tic_trial_set(trial, "STARPU_NCPU=%u", cpus);
    tic_trial_set(trial, "STARPU_TIC_CLOCK=%" PRIu64, CLOCK_BEGIN + rehearsal->seed % CLOCK_RANGE);
}

static void set_protection(const struct tic_rehearsal *rehearsal, struct tic_trial *trial,
                           const char *store, unsigned cpus, bool periodic)
{
    set_start(rehearsal, trial, cpus);
    tic_trial_set(trial, "STARPU_TIC_DIR=%s/%s.store", rehearsal->place.folder, store);
    tic_trial_set(trial, "STARPU_TIC_PROTOCOL=%s", rehearsal->protocol);
    if (periodic)
        tic_trial_set(trial, "STARPU_TIC_PERIOD=%.9f", rehearsal->period);
    else
        tic_trial_set(trial, "STARPU_TIC_PERIOD=%d", NEVER);
    if (!periodic && strcmp(rehearsal->protocol, "sel") != 0) /* it takes lines when it must */
        tic_trial_set(trial, "STARPU_TIC_EVERY=%" PRIu64, rehearsal->every);
}

/* ---- without protection -----------------------------------------------------------------------
 */

static bool run_plain(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    set_start(rehearsal, trial, rehearsal->cpus[0]);
    tic_trial_set(trial, "STARPU_TIC_PROTOCOL=off");
    return run(rehearsal, trial);
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
    tic_trial_message(trial, &rehearsal->place, "", finding->message);
    return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                           "The program alone, without protection, is ended by signal %d (%s).",
                           trial->status, strsignal(trial->status));
}

static bool compare_plain(struct tic_rehearsal *rehearsal, const struct tic_trial *first,
                          const struct tic_trial *second, const struct tic_output *other)
{
    struct tic_finding *finding = &rehearsal->finding;
    enum tic_match match = tic_output_match(&rehearsal->output, other, NULL, 0);

    rehearsal->unordered = match == TIC_MATCH_ORDER;
    if (first->status != second->status)
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program varies by itself: two runs without protection ended "
                               "with status %d and %d.",
                               first->status, second->status);
    if (match == TIC_MATCH_EXACT || match == TIC_MATCH_ORDER)
        return true;
    tic_judge_note_lines(finding, &rehearsal->output, other);
    finding->advice = "If the line holds a time or the like, leave it out of the comparison with "
                      "--filter SCRIPT, a sed -E script for the output.";
    return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                           "The program varies by itself: two runs without protection print "
                           "another line %zu.",
                           tic_output_difference(&rehearsal->output, other) + 1);
}

bool tic_rehearse_plain(struct tic_rehearsal *rehearsal)
{
    struct tic_trial first = tic_trial_create("plain1"), second = tic_trial_create("plain2");
    struct tic_output other = {.bytes = NULL};

    tell("rehearse: run 1 of 2 without protection");
    bool good = run_plain(rehearsal, &first) && check_plain_end(rehearsal, &first) &&
                read_output(rehearsal, &first, &rehearsal->output);
    if (good) {
        tell("rehearse: run 2 of 2 without protection (the first one took %.1f s)", first.seconds);
        good = run_plain(rehearsal, &second) && check_plain_end(rehearsal, &second) &&
               read_output(rehearsal, &second, &other) &&
               compare_plain(rehearsal, &first, &second, &other);
    }
    tell_nothing();
    rehearsal->status = first.status;
    rehearsal->plain_seconds = first.seconds > second.seconds ? first.seconds : second.seconds;
    rehearsal->place.limit = rehearsal->plain_seconds * LIMIT_TIMES + LIMIT_SECONDS;
    tic_output_free(&other);
    tic_trial_destroy(&first);
    tic_trial_destroy(&second);
    return good;
}

/* ---- with protection, without a kill ----------------------------------------------------------
 */

static bool read_digests(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                         struct tic_digests *digests)
{
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "digests", path);
    return tic_digests_read(digests, path) == 0 ||
           tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN, "Cannot read %s.", path);
}

static void note_counts(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    json_t *stats = load_stats(rehearsal, trial);
    json_t *seconds = json_object_get(stats, "seconds");

    rehearsal->counts.tasks = stat_of(stats, "tasks_executed");
    rehearsal->counts.waits = stat_of(stats, "failpoint_passes");
    rehearsal->every = rehearsal->counts.tasks / LINES > 0 ? rehearsal->counts.tasks / LINES : 1;
    if (!rehearsal->period_chosen)
        rehearsal->period = json_number_value(seconds) / PERIODS;
    if (rehearsal->period < 1e-6)
        rehearsal->period = 1e-6;
    json_decref(stats);
}

/* Tells how many tasks end, and how often main() waits. */
static bool run_first(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    rehearsal->every = 0;
    set_protection(rehearsal, trial, trial->name, rehearsal->cpus[0], false);
    if (tic_kill_has("wait-end"))
        tic_trial_set(trial, "STARPU_TIC_FAIL=wait-end:%d", MANY);
    bool good = run(rehearsal, trial) && tic_judge(rehearsal, trial, NULL) &&
                read_digests(rehearsal, trial, &rehearsal->digests);
    if (!good)
        return false;
    note_counts(rehearsal, trial);
    if (rehearsal->counts.tasks == 0)
        return tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN,
                               "The program executes no task.");
    return true;
}

/* Tells how many lines there are, and which data vary. */
static bool run_second(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    struct tic_digests other = {.data = NULL};

    set_protection(rehearsal, trial, trial->name, rehearsal->cpus[0], false);
    perturb(trial, rehearsal->seed, 0);
    tic_trial_set(trial, "STARPU_TIC_FAIL=line-renamed:%d", MANY);
    if (!run(rehearsal, trial) || !tic_judge(rehearsal, trial, NULL) ||
        !read_digests(rehearsal, trial, &other))
        return false;
    rehearsal->varying = tic_digests_mark(&rehearsal->digests, &other);
    rehearsal->has_digests = true;
    json_t *stats = load_stats(rehearsal, trial);
    rehearsal->counts.lines = stat_of(stats, "failpoint_passes");
    json_decref(stats);
    tic_digests_free(&other);
    return true;
}

bool tic_rehearse_reference(struct tic_rehearsal *rehearsal)
{
    struct tic_trial first = tic_trial_create("whole1"), second = tic_trial_create("whole2");

    tell("rehearse: run 1 of 2 with protection, without a kill");
    bool good = run_first(rehearsal, &first);
    if (good) {
        tell("rehearse: run 2 of 2 with protection, without a kill");
        good = run_second(rehearsal, &second);
    }
    tell_nothing();
    struct tic_trial *wrong = good ? NULL : second.end == TIC_TRIAL_NOT_RUN ? &first : &second;
    forget(rehearsal, &first, "store");
    forget(rehearsal, &second, "store");
    if (wrong == &second) {
        rehearsal->chain.runs[0] = second;
        rehearsal->chain.count = 1;
        tic_trial_destroy(&first);
    } else if (wrong) {
        rehearsal->chain.runs[0] = first;
        rehearsal->chain.count = 1;
    } else {
        tic_trial_destroy(&first);
        tic_trial_destroy(&second);
    }
    return good;
}

/* ---- kills ------------------------------------------------------------------------------------
 */

static void forget_run(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    static const char *const kinds[] = {"out", "raw", "err", "stats", "digests", "store"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        forget(rehearsal, trial, kinds[i]);
}

static void clear_chain(struct tic_rehearsal *rehearsal)
{
    struct tic_chain *chain = &rehearsal->chain;

    for (unsigned i = 0; i < chain->count; i++) {
        forget_run(rehearsal, &chain->runs[i]);
        tic_trial_destroy(&chain->runs[i]);
    }
    chain->count = 0;
}

static void set_kill(struct tic_trial *trial, const struct tic_kill *kill, unsigned run)
{
    if (run == 0)
        tic_trial_set(trial, "STARPU_TIC_FAIL=%s:%" PRIu64, kill->point, kill->pass);
    else if (run == 1 && kill->again)
        tic_trial_set(trial, "STARPU_TIC_FAIL=%s:%" PRIu64, kill->again, kill->again_pass);
}

/* What a run after a kill had to do. */
static void count_resumed(struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    json_t *stats = load_stats(rehearsal, trial);

    rehearsal->resumed++;
    rehearsal->continued += json_is_true(json_object_get(stats, "recovered"));
    rehearsal->skipped += stat_of(stats, "tasks_skipped");
    json_decref(stats);
}

/* A run without a kill, as another one. */
static bool run_whole(struct tic_rehearsal *rehearsal, struct tic_trial *trial, unsigned turn)
{
    set_protection(rehearsal, trial, trial->name, rehearsal->cpus[turn], false);
    tell("rehearse: the result differs; one more run without a kill, on %u workers",
         rehearsal->cpus[turn]);
    return run(rehearsal, trial);
}

/* Programs vary by themselves, and two runs may be equal by chance. Once; false when nothing can be
 * said of this program's output. */
static bool recheck(struct tic_rehearsal *rehearsal)
{
    bool good = true;

    for (unsigned i = 0; i < RECHECKS && !rehearsal->rechecked && good; i++) {
        struct tic_trial whole = tic_trial_create("whole%u", i + 3);
        struct tic_digests other = {.data = NULL};
        perturb(&whole, rehearsal->seed, UINT16_MAX + i);
        rehearsal->has_digests = false;
        good = run_whole(rehearsal, &whole, 0) && tic_judge(rehearsal, &whole, NULL) &&
               read_digests(rehearsal, &whole, &other);
        rehearsal->has_digests = true;
        if (good)
            rehearsal->varying += tic_digests_mark(&rehearsal->digests, &other);
        else
            tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN,
                            "The program varies by itself: under protection, without a kill, one "
                            "of %u runs differs from the others.",
                            i + 3);
        tic_digests_free(&other);
        forget_run(rehearsal, &whole);
        tic_trial_destroy(&whole);
    }
    rehearsal->rechecked = true;
    return good;
}

/* Results may depend on the number of workers without a kill, as sums in another order do. A
 * restart cannot be compared then with a run on another number. */
static bool do_cpus_matter(struct tic_rehearsal *rehearsal, unsigned turn)
{
    struct tic_trial whole = tic_trial_create("whole-%u-workers", rehearsal->cpus[turn]);

    if (turn > 0 && rehearsal->matter[turn] == TIC_CPUS_NOT_TRIED) {
        struct tic_finding kept = rehearsal->finding;
        bool same = run_whole(rehearsal, &whole, turn) && tic_judge(rehearsal, &whole, NULL);
        rehearsal->finding = kept;
        rehearsal->matter[turn] = same ? TIC_CPUS_SAME : TIC_CPUS_MATTER;
        forget_run(rehearsal, &whole);
        tic_trial_destroy(&whole);
    }
    return turn > 0 && rehearsal->matter[turn] == TIC_CPUS_MATTER && !rehearsal->interrupted;
}

/* Of the run `index` of a chain: the index of its number of workers. */
static unsigned choose_turn(const struct tic_rehearsal *rehearsal, unsigned number, unsigned index)
{
    return index == 0 ? 0 : (number + index) % rehearsal->cpu_count;
}

/* Runs the program until it is not killed. False when this process is to end. */
static bool run_chain(struct tic_rehearsal *rehearsal, const struct tic_kill *kill, unsigned number,
                      bool same_cpus)
{
    struct tic_chain *chain = &rehearsal->chain;
    char name[24];

    snprintf(name, sizeof(name), "kill%u%s", number + 1, same_cpus ? "-same" : "");
    while (chain->count < TIC_CHAIN_RUNS) {
        unsigned index = chain->count++;
        struct tic_trial *trial = &chain->runs[index];
        *trial = tic_trial_create("%s-run%u", name, index + 1);
        unsigned turn = same_cpus ? 0 : choose_turn(rehearsal, number, index);
        set_protection(rehearsal, trial, name, rehearsal->cpus[turn], kill->periodic);
        perturb(trial, rehearsal->seed, 1 + number * TIC_CHAIN_RUNS + index);
        set_kill(trial, kill, index);
        if (!run(rehearsal, trial))
            return false;
        bool armed = index == 0 || (index == 1 && kill->again);
        if (trial->end != TIC_TRIAL_KILLED || !armed)
            break;
        *(index == 0 ? &rehearsal->happened : &rehearsal->again) += 1;
    }
    return true;
}

/* A kill with its restarts. */
static bool rehearse_chain(struct tic_rehearsal *rehearsal, const struct tic_kill *kill,
                           unsigned number, bool same_cpus)
{
    struct tic_chain *chain = &rehearsal->chain;
    struct tic_trial store = tic_trial_create("kill%u%s", number + 1, same_cpus ? "-same" : "");
    bool right = false;

    clear_chain(rehearsal);
    if (run_chain(rehearsal, kill, number, same_cpus)) {
        const struct tic_trial *last = &chain->runs[chain->count - 1];
        right = tic_judge(rehearsal, last, chain);
        if (chain->count > 1 && last->end == TIC_TRIAL_EXITED)
            count_resumed(rehearsal, last);
    }
    forget(rehearsal, &store, "store");
    return right;
}

/* The result after a kill is another one. False when that is because of the kill. */
static bool is_excused(struct tic_rehearsal *rehearsal, const struct tic_kill *kill,
                       unsigned number)
{
    const struct tic_chain *chain = &rehearsal->chain;
    bool matters = false;

    if (!recheck(rehearsal))
        return false;
    rehearsal->finding = (struct tic_finding){.verdict = TIC_VERDICT_SAFE};
    if (tic_judge(rehearsal, &chain->runs[chain->count - 1], chain))
        return true;
    for (unsigned i = 1; i < chain->count && !rehearsal->interrupted; i++)
        matters |= do_cpus_matter(rehearsal, choose_turn(rehearsal, number, i));
    if (!matters || rehearsal->interrupted)
        return false;
    rehearsal->finding = (struct tic_finding){.verdict = TIC_VERDICT_SAFE};
    rehearsal->repeated++;
    rehearsal->rehearsed++;
    return rehearse_chain(rehearsal, kill, number, true);
}

static bool rehearse_kill(struct tic_rehearsal *rehearsal, unsigned number)
{
    struct tic_kill kill = tic_kill_choose(rehearsal->seed, number, &rehearsal->counts);

    tell("rehearse: kill %u of %u, at %s:%" PRIu64 "%s%s", number + 1, rehearsal->kills, kill.point,
         kill.pass, kill.again ? ", and in the restart at " : "", kill.again ? kill.again : "");
    rehearsal->rehearsed++;
    bool right = rehearse_chain(rehearsal, &kill, number, false);
    if (!right && !rehearsal->interrupted && rehearsal->finding.verdict == TIC_VERDICT_DIFFERS)
        right = is_excused(rehearsal, &kill, number);
    rehearsal->finding.kill =
        right || rehearsal->finding.verdict == TIC_VERDICT_UNKNOWN ? 0 : number + 1;
    return right;
}

bool tic_rehearse_kills(struct tic_rehearsal *rehearsal)
{
    struct tic_finding *finding = &rehearsal->finding;
    bool right = true;

    for (unsigned number = 0; number < rehearsal->kills && right; number++)
        right = rehearse_kill(rehearsal, number);
    tell_nothing();
    if (right && rehearsal->skipped == 0) {
        finding->advice = "Take a larger input, so that the program runs longer; or more kills "
                          "(--kills).";
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program is too short: all restarts were right, but none had "
                               "anything to skip.");
    }
    return right;
}
