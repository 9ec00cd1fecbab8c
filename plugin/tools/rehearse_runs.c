/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic rehearse: what all of its runs share: environment, files, progress. */
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/rehearse_runs.h"
#include "tools/touched.h"

enum {
    NEVER = 1000,             /* seconds */
    LARGEST_PAD = 1 << 16,    /* bytes by which the heap grows further */
    CLOCK_BEGIN = 1600000000, /* what time() is when a run begins */
    CLOCK_RANGE = 100000000,
};

/* ---- telling how far it is ------------------------------------------------------------------- */

void tic_rehearse_tell(const char *progress, ...)
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

void tic_rehearse_tell_nothing(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void tic_rehearse_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tic_rehearse_forget(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                         const char *kind)
{
    char path[PATH_MAX];

    if (rehearsal->keep)
        return;
    tic_trial_path(trial, &rehearsal->place, kind, path);
    tic_rehearse_remove(path);
}

void tic_rehearse_forget_run(const struct tic_rehearsal *rehearsal, const struct tic_trial *trial)
{
    static const char *const kinds[] = {"out",     "raw",   "err",    "stats",
                                        "digests", "store", "report", "store.advice"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        tic_rehearse_forget(rehearsal, trial, kinds[i]);
}

json_t *tic_rehearse_load_stats(const struct tic_rehearsal *rehearsal,
                                const struct tic_trial *trial)
{
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "stats", path);
    return json_load_file(path, 0, NULL);
}

uint64_t tic_rehearse_stat(const json_t *stats, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(stats, name));

    return value > 0 ? (uint64_t)value : 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

bool tic_rehearse_run(struct tic_rehearsal *rehearsal, struct tic_trial *trial)
{
    if (!trial->resumes)
        tic_written_put_back(&rehearsal->written);
    tic_trial_run(trial, &rehearsal->place);
    trial->other = tic_written_find_other(&rehearsal->written, &trial->found);
    if (trial->end == TIC_TRIAL_INTERRUPTED)
        rehearsal->interrupted = trial->status;
    return trial->end != TIC_TRIAL_INTERRUPTED;
}

void tic_rehearse_perturb(struct tic_trial *trial, uint64_t seed, unsigned number)
{
    const char *before = getenv("GLIBC_TUNABLES");
    uint64_t z = (seed + number) * UINT64_C(0x9e3779b97f4a7c15);

    tic_trial_set(trial, "GLIBC_TUNABLES=%s%sglibc.malloc.perturb=%u:glibc.malloc.top_pad=%u",
                  before ? before : "", before && before[0] ? ":" : "",
                  (unsigned)(z >> 32) % 255 + 1, ((unsigned)(z >> 40) * 4096) % LARGEST_PAD + 4096);
}

void tic_rehearse_set_start(const struct tic_rehearsal *rehearsal, struct tic_trial *trial,
                            unsigned cpus)
{
    tic_trial_set(trial, "STARPU_NCPU=%u", cpus);
    tic_trial_set(trial, "STARPU_TIC_CLOCK=%" PRIu64, CLOCK_BEGIN + rehearsal->seed % CLOCK_RANGE);
}

static void give_advice(const struct tic_rehearsal *rehearsal, const char *store)
{
    char path[PATH_MAX];

    if (rehearsal->touched && snprintf(path, sizeof(path), "%s/%s.store.advice",
                                       rehearsal->place.folder, store) < PATH_MAX)
        tic_tool_write_advice(rehearsal->touched, path);
}

void tic_rehearse_set_protection(const struct tic_rehearsal *rehearsal, struct tic_trial *trial,
                                 const char *store, unsigned cpus, bool periodic)
{
    tic_rehearse_set_start(rehearsal, trial, cpus);
    tic_trial_set(trial, "STARPU_TIC_DIR=%s/%s.store", rehearsal->place.folder, store);
    give_advice(rehearsal, store);
    tic_trial_set(trial, "STARPU_TIC_PROTOCOL=%s", rehearsal->protocol);
    if (periodic)
        tic_trial_set(trial, "STARPU_TIC_PERIOD=%.9f", rehearsal->period);
    else
        tic_trial_set(trial, "STARPU_TIC_PERIOD=%d", NEVER);
    if (!periodic)
        tic_trial_set(trial, "STARPU_TIC_EVERY=%" PRIu64, rehearsal->expected.every);
}

bool tic_rehearse_read_digests(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
                               struct tic_digests *digests)
{
    char path[PATH_MAX];

    tic_trial_path(trial, &rehearsal->place, "digests", path);
    return tic_digests_read(digests, path) == 0 ||
           tic_finding_set(&rehearsal->finding, TIC_VERDICT_UNKNOWN, "Cannot read %s.", path);
}
