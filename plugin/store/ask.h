/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions to the run that uses a store, by files in its directory: that way they reach it on
 * another machine, too. Who asks makes one file; the run removes it, and makes another with the
 * answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum tic_ask_kind { TIC_ASK_STATUS, TIC_ASK_CHECKPOINT };

struct tic_ask {
    enum tic_ask_kind kind;
    uint64_t number; /* of the question: 1 to 99999999 */
};

/* ---- who asks ------------------------------------------------------------------------------- */
/* Is there a run, as its lock says? True where nobody can tell. */
bool tic_ask_is_used(const char *directory);
/* 0; -EBUSY: the question of another is still there; -errno. */
int tic_ask_put(const char *directory, const struct tic_ask *ask);
/* The answer (malloc'ed), which is removed; NULL: there is none yet. */
char *tic_ask_read(const char *directory, const struct tic_ask *ask);
/* Nobody waits for it any more. */
void tic_ask_withdraw(const char *directory, const struct tic_ask *ask);

/* ---- the run -------------------------------------------------------------------------------- */
/* False: nobody asks. */
bool tic_ask_take(const char *directory, struct tic_ask *ask);
/* 0 or -errno. */
int tic_ask_answer(const char *directory, const struct tic_ask *ask, const char *text);
/* Questions and answers that are left. */
void tic_ask_clear(const char *directory);
