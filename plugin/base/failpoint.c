/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failpoints: named places where a rehearsal kills the process with SIGKILL. */
#include "base/failpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct tic_failpoint_row tic_failpoint_rows[TIC_FAIL_COUNT] = {
#define FAILPOINT(id, name, where) {name, where},
#include "base/failpoints.def"
#undef FAILPOINT
};

int tic_failpoint_armed = -1;
static long passes_armed;       /* as passes_left was; immutable after init */
static atomic_long passes_left; /* relaxed: only the count matters */

int tic_failpoint_arm(const char *spec)
{
    size_t length = strcspn(spec, ":");
    long passes = 1;

    tic_failpoint_armed = -1;
    if (spec[0] == '\0')
        return 0;
    if (spec[length] == ':') {
        char *end;
        errno = 0;
        passes = strtol(spec + length + 1, &end, 10);
        if (end == spec + length + 1 || *end || errno || passes < 1)
            return -EINVAL;
    }
    for (int i = 0; i < TIC_FAIL_COUNT; i++) {
        if (strlen(tic_failpoint_rows[i].name) == length &&
            strncmp(tic_failpoint_rows[i].name, spec, length) == 0) {
            passes_armed = passes;
            atomic_store(&passes_left, passes);
            tic_failpoint_armed = i;
            return 0;
        }
    }
    return -EINVAL;
}

long tic_failpoint_passes(void)
{
    return tic_failpoint_armed < 0
               ? 0
               : passes_armed - atomic_load_explicit(&passes_left, memory_order_relaxed);
}

void tic_failpoint_hit(enum tic_failpoint point)
{
    (void)point;
    if (atomic_fetch_sub_explicit(&passes_left, 1, memory_order_relaxed) == 1)
        kill(getpid(), SIGKILL);
}
