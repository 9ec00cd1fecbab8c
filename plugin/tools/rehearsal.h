/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of `starpu-tic rehearse` share: one rehearsal, its runs and what was found.
 * rehearse.c options; rehearse_plain.c, rehearse_kills.c the runs; rehearse_judge.c a run against
 * what is expected; rehearse_verdict.c the answer. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/digests.h"
#include "tools/kills.h"
#include "tools/outputs.h"
#include "tools/trial.h"

enum tic_verdict {
    TIC_VERDICT_SAFE,
    TIC_VERDICT_DIFFERS,
    TIC_VERDICT_REFUSED,     /* a restart ended with status 70 or 78 */
    TIC_VERDICT_CRASHED,     /* or hangs */
    TIC_VERDICT_UNPROTECTED, /* protection ended */
    TIC_VERDICT_UNKNOWN,     /* nothing can be said */
};

/* The first thing that is wrong. */
struct tic_finding {
    enum tic_verdict verdict;
    unsigned kill;                   /* its number, from 1; 0: without a kill */
    char what[1024];                 /* a sentence */
    char expected[256], found[256];  /* lines of output, or "" */
    char message[TIC_TRIAL_MESSAGE]; /* of the program or of ours, or "" */
    const char *advice;              /* what to do; NULL: nothing in general */
    char suggestion[256];            /* an option, or "" */
    bool perturbed;                  /* of the first run with other content of fresh memory */
};

/* Runs after each other in one store: the last one was not killed. */
enum { TIC_CHAIN_RUNS = 3, TIC_REHEARSAL_CPUS = 16 };
struct tic_chain {
    struct tic_trial runs[TIC_CHAIN_RUNS];
    unsigned count;
};

/* What is expected of a run. */
struct tic_expected {
    int status;
    double plain_seconds;
    struct tic_output output;
    struct tic_digests digests;
    bool has_digests; /* these are known */
    size_t varying;   /* data whose content differs without a kill */
    bool rechecked;   /* by more runs without a kill */
    bool unordered;   /* lines of output come in any order without a kill */
    struct tic_kill_counts counts;
    uint64_t submitted; /* tasks, by the program */
    uint64_t every;     /* tasks from one line to the next */
    /* Does the result on cpus[i] differ from that on cpus[0], without a kill? */
    bool matter[TIC_REHEARSAL_CPUS];
};

struct tic_rehearsal {
    struct tic_trial_place place;
    const char *program; /* its name, for people */
    const char *protocol;
    unsigned cpus[TIC_REHEARSAL_CPUS], cpu_count; /* [0]: of the runs that are killed */
    unsigned kills;
    double period; /* of lines that are taken by time */
    bool period_chosen;
    uint64_t seed;
    bool keep, as_json, has_input;

    struct tic_expected expected;
    struct tic_written written; /* files that the program writes */

    /* What main() touches by plain pointers, if anything: the report of a run; or NULL. Runs follow
     * the advice that comes of it. */
    json_t *touched;
    bool closed_failed; /* that run did */

    /* What was done. */
    unsigned rehearsed, happened, again; /* kills; of these that hit; in resumed runs */
    unsigned reordered, united;          /* resumed runs whose output is so: see tic_match */
    unsigned resumed, continued;         /* runs after a kill; of these that found a line */
    unsigned suspended;                  /* runs in which protection was */
    unsigned repeated;      /* kills that were repeated on one number of workers, as it matters */
    uint64_t skipped;       /* tasks, by all resumed runs; their results were there */
    struct tic_chain chain; /* the last one */
    struct tic_finding finding;
    int interrupted; /* signal, or 0 */
};

/* ---- runs: each false when the finding, or a signal, ends the rehearsal ---------------------- */
/* Data that is compared. */
static inline size_t tic_rehearse_count_data(const struct tic_rehearsal *rehearsal)
{
    return rehearsal->expected.digests.count - rehearsal->expected.varying;
}

bool tic_rehearse_plain(struct tic_rehearsal *rehearsal);
bool tic_rehearse_reference(struct tic_rehearsal *rehearsal);
bool tic_rehearse_kills(struct tic_rehearsal *rehearsal);
/* A run with protection differs: does the program vary by itself? Then the finding says so. */
void tic_rehearse_plain_again(struct tic_rehearsal *rehearsal);

/* ---- rehearse_judge.c ------------------------------------------------------------------------ */
/* Fills the finding but for its kill. Always false. */
__attribute__((format(printf, 3, 4))) bool
tic_finding_set(struct tic_finding *finding, enum tic_verdict verdict, const char *what, ...);
/* Compares a protected run, which has ended, with what is expected. `chain`: the runs before it
 * that were killed, or NULL. */
bool tic_judge(struct tic_rehearsal *rehearsal, const struct tic_trial *trial,
               const struct tic_chain *chain);
/* False, with a finding, when the run was stopped as it wants the terminal. */
bool tic_judge_terminal(struct tic_rehearsal *rehearsal, const struct tic_trial *trial);
/* Notes the first line that differs, and an option that leaves it out. */
void tic_judge_note_lines(struct tic_finding *finding, const struct tic_output *expected,
                          const struct tic_output *found);

/* ---- rehearse_verdict.c ---------------------------------------------------------------------- */
/* Prints the answer; returns the exit status. */
int tic_verdict_print(const struct tic_rehearsal *rehearsal);
