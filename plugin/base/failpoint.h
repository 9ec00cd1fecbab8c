/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failpoints: named places where a rehearsal kills the process with SIGKILL, or sends it
 * another signal. */
#pragma once

enum tic_failpoint {
#define FAILPOINT(id, name, where) TIC_FAIL_##id,
#include "base/failpoints.def"
#undef FAILPOINT
    TIC_FAIL_COUNT
};

struct tic_failpoint_row {
    const char *name;
    const char *where;
};
extern const struct tic_failpoint_row tic_failpoint_rows[TIC_FAIL_COUNT];

/* Immutable after init: the armed failpoint, or -1. */
extern int tic_failpoint_armed;

/* Arms "name[:n][@rank][,stop|,term]", n >= 1 and 1 by default, of each rank by default; ""
 * disarms. rank: of this process. -EINVAL for what is not known. */
int tic_failpoint_arm(const char *spec, unsigned rank);
/* How often the armed one was passed; 0 if none is armed. */
long tic_failpoint_passes(void);
void tic_failpoint_hit(enum tic_failpoint point);

/* Costs one compare when nothing is armed. */
static inline void tic_failpoint(enum tic_failpoint point)
{
    if (__builtin_expect(tic_failpoint_armed == (int)point, 0))
        tic_failpoint_hit(point);
}
