/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a rehearsal kills a program: one table of places, gone through in turn; which pass of a
 * place is random. A place is left out if there is no such failpoint. */
#include "tools/kills.h"

#include <string.h>

#include "base/failpoint.h"

/* Which passes are chosen from. */
enum passes {
    PASS_NONE,
    PASS_FIRST,
    PASS_ANY_TASK,
    PASS_LATE_TASK,  /* of the second half, so that the restart has something to skip */
    PASS_EARLY_TASK, /* of the first quarter: the restart still skips */
    PASS_LAST_LINE,
    PASS_ANY_WAIT,
    PASS_FEW,
};

static const struct place {
    const char *point;
    enum passes pass;
    const char *again;
    enum passes again_pass;
    bool periodic;
} places[] = {
    {"task-end", PASS_ANY_TASK, NULL, PASS_NONE, true},
    {"line-renamed", PASS_FIRST, NULL, PASS_NONE, false},
    {"task-end", PASS_LATE_TASK, "replay-skip", PASS_EARLY_TASK, false},
    {"wait-end", PASS_ANY_WAIT, NULL, PASS_NONE, true},
    {"task-end", PASS_LATE_TASK, NULL, PASS_NONE, true},
    {"line-renamed", PASS_LAST_LINE, "restore-end", PASS_FEW, false},
    {"wait-end", PASS_ANY_WAIT, NULL, PASS_NONE, false},
    {"task-end", PASS_LATE_TASK, "restore-end", PASS_FEW, true},
};
enum { PLACE_COUNT = sizeof(places) / sizeof(places[0]), FEW = 4 };

bool tic_kill_has(const char *point)
{
    for (int i = 0; i < TIC_FAIL_COUNT; i++)
        if (strcmp(tic_failpoint_rows[i].name, point) == 0)
            return true;
    return false;
}

/* splitmix64: the next number of a sequence. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* From 1 to `last`. */
static uint64_t below(uint64_t *state, uint64_t last)
{
    return 1 + next(state) % (last > 0 ? last : 1);
}

static uint64_t choose(enum passes passes, uint64_t *state, const struct tic_kill_counts *counts)
{
    switch (passes) {
    case PASS_NONE:
        return 0;
    case PASS_FIRST:
        return 1;
    case PASS_ANY_TASK:
        return below(state, counts->tasks);
    case PASS_LATE_TASK:
        return counts->tasks / 2 + below(state, counts->tasks - counts->tasks / 2);
    case PASS_EARLY_TASK:
        return below(state, counts->tasks / 4);
    case PASS_LAST_LINE:
        return counts->lines > 0 ? counts->lines : 1;
    case PASS_ANY_WAIT:
        return below(state, counts->waits);
    case PASS_FEW:
        return below(state, FEW);
    }
    return 1;
}

static bool is_possible(const struct place *place, const struct tic_kill_counts *counts)
{
    return tic_kill_has(place->point) && (place->pass != PASS_ANY_WAIT || counts->waits > 0);
}

struct tic_kill tic_kill_choose(uint64_t seed, unsigned number,
                                const struct tic_kill_counts *counts)
{
    uint64_t state = seed + number * UINT64_C(0xd1342543de82ef95);
    unsigned possible[PLACE_COUNT], count = 0;

    for (unsigned i = 0; i < PLACE_COUNT; i++)
        if (is_possible(&places[i], counts))
            possible[count++] = i;
    const struct place *place = &places[possible[number % count]];
    return (struct tic_kill){.point = place->point,
                             .pass = choose(place->pass, &state, counts),
                             .again = place->again,
                             .again_pass = choose(place->again_pass, &state, counts),
                             .periodic = place->periodic};
}
