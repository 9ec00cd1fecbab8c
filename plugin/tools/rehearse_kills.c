/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: kills and restarts. A kill is blamed only for what no run without a kill
 * does. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "tools/rehearse_runs.h"

/* Runs without a kill, before a kill is blamed: tasks come in other orders under other policies. */
static const char *const recheck_policies[] = {"eager", "random", "lws", "random", "ws", "random"};
enum { RECHECKS = sizeof(recheck_policies) / sizeof(recheck_policies[0]) };

/* ---- kills ----------------------------------------------------------------------------------- */

static void clear_chain(struct tic_rehearsal *rehearsal)
{
    struct tic_chain *chain = &rehearsal->chain;

    for (unsigned i = 0; i < chain->count; i++) {
        tic_rehearse_forget_run(rehearsal, &chain->runs[i]);
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
    json_t *stats = tic_rehearse_load_stats(rehearsal, trial);

    rehearsal->resumed++;
    rehearsal->continued += json_is_true(json_object_get(stats, "recovered"));
    rehearsal->skipped +=
        tic_rehearse_stat(stats, "tasks_skipped") + tic_rehearse_stat(stats, "forced_used");
    json_decref(stats);
}

/* Programs vary by themselves, and two runs may be equal by chance. Once; false when nothing can be
 * said of this program's output. */
static bool recheck(struct tic_rehearsal *rehearsal)
{
    bool good = true;

    for (unsigned i = 0; i < RECHECKS && !rehearsal->expected.rechecked && good; i++) {
        struct tic_trial whole = tic_trial_create("whole%u", i + 3);
        struct tic_digests other = {.data = NULL};
        tic_rehearse_perturb(&whole, rehearsal->seed, UINT16_MAX + i);
        rehearsal->expected.has_digests = false;
        tic_rehearse_set_protection(rehearsal, &whole, whole.name, rehearsal->cpus[0], false);
        tic_trial_set(&whole, "STARPU_TIC_SCHED=%s", recheck_policies[i]);
        tic_rehearse_tell("rehearse: the result differs; %u more runs without a kill",
                          RECHECKS - i);
        good = tic_rehearse_run(rehearsal, &whole) && tic_judge(rehearsal, &whole, NULL) &&
               tic_rehearse_read_digests(rehearsal, &whole, &other);
        rehearsal->expected.has_digests = true;
        if (good)
            rehearsal->expected.varying += tic_digests_mark(&rehearsal->expected.digests, &other);
        else
            tic_finding_set(
                &rehearsal->finding, TIC_VERDICT_UNKNOWN,
                "The program varies by itself, without a kill: its result is another one "
                "with the scheduling policy %s.",
                recheck_policies[i]);
        tic_digests_free(&other);
        tic_rehearse_forget_run(rehearsal, &whole);
        tic_trial_destroy(&whole);
    }
    rehearsal->expected.rechecked = true;
    return good;
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
        trial->resumes = index > 0;
        unsigned turn = same_cpus ? 0 : choose_turn(rehearsal, number, index);
        tic_rehearse_set_protection(rehearsal, trial, name, rehearsal->cpus[turn], kill->periodic);
        tic_rehearse_perturb(trial, rehearsal->seed, 1 + number * TIC_CHAIN_RUNS + index);
        set_kill(trial, kill, index);
        if (!tic_rehearse_run(rehearsal, trial))
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
    tic_rehearse_forget(rehearsal, &store, "store");
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
    for (unsigned i = 1; i < chain->count; i++)
        matters |= rehearsal->expected.matter[choose_turn(rehearsal, number, i)];
    if (!matters)
        return false;
    rehearsal->finding = (struct tic_finding){.verdict = TIC_VERDICT_SAFE};
    rehearsal->repeated++;
    rehearsal->rehearsed++;
    return rehearse_chain(rehearsal, kill, number, true);
}

static bool rehearse_kill(struct tic_rehearsal *rehearsal, unsigned number)
{
    struct tic_kill kill = tic_kill_choose(rehearsal->seed, number, &rehearsal->expected.counts);

    tic_rehearse_tell("rehearse: kill %u of %u, at %s:%" PRIu64 "%s%s", number + 1,
                      rehearsal->kills, kill.point, kill.pass,
                      kill.again ? ", and in the restart at " : "", kill.again ? kill.again : "");
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
    tic_rehearse_tell_nothing();
    if (right && rehearsal->skipped == 0 && rehearsal->continued == 0) {
        finding->advice = "Take a larger input, so that the program runs longer; or more kills "
                          "(--kills).";
        return tic_finding_set(finding, TIC_VERDICT_UNKNOWN,
                               "The program is too short: all restarts were right, but none had "
                               "a recovery line to go on from.");
    }
    if (right && rehearsal->expected.output.count == 0 && tic_rehearse_count_data(rehearsal) == 0 &&
        rehearsal->written.count == 0) {
        finding->advice = "Let the program print its result, or let main() get it back "
                          "(starpu_data_unregister, starpu_data_acquire).";
        return tic_finding_set(
            finding, TIC_VERDICT_UNKNOWN,
            "There is nothing to compare but the exit status: the program prints "
            "nothing, and main() gets no data back that is always the same.");
    }
    const struct tic_written_file *excluded = tic_written_find_excluded(&rehearsal->written);
    if (right && excluded) {
        finding->advice =
            "If what differs there does not matter, leave the file out with --ignore.";
        snprintf(finding->suggestion, sizeof(finding->suggestion), "--ignore '%s'", excluded->name);
        return tic_finding_set(
            finding, TIC_VERDICT_UNKNOWN,
            "All restarts were right, but the file %s (%s) was not compared: %s.", excluded->name,
            excluded->writers, excluded->excluded);
    }
    return right;
}
