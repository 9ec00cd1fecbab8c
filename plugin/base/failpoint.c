/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failpoints: named places where a rehearsal kills the process with another signal. */
#include "base/failpoint.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct tic_failpoint_row tic_failpoint_rows[TIC_FAIL_COUNT] = {
#define FAILPOINT(id, name, where) {name, where},
#include "base/failpoints.def"
#undef FAILPOINT
};

int tic_failpoint_armed = -1;
static struct {
    long passes; /* as passes_left was */
    int signal;
} armed;                        /* immutable after init */
static atomic_long passes_left; /* relaxed: only the count matters */

/* A number of at least `least` after this character, if it is there. False: that is none. */
static bool take(const char **spec, char mark, long least, long *number)
{
    char *end;

    if (**spec != mark)
        return true;
    errno = 0;
    *number = strtol(*spec + 1, &end, 10);
    bool fine = isdigit((unsigned char)(*spec)[1]) && !errno && *number >= least;
    *spec = end;
    return fine;
}

int tic_failpoint_arm(const char *spec, unsigned rank)
{
    size_t length = strcspn(spec, ":@,");
    const char *rest = spec + length;
    long passes = 1, wanted = rank;

    tic_failpoint_armed = -1;
    if (spec[0] == '\0')
        return 0;
    bool fine = take(&rest, ':', 1, &passes) && take(&rest, '@', 0, &wanted);
    int signal = *rest == '\0'                ? SIGKILL
                 : strcmp(rest, ",stop") == 0 ? SIGSTOP
                 : strcmp(rest, ",term") == 0 ? SIGTERM
                                              : 0;
    if (!fine || !signal)
        return -EINVAL;
    for (int i = 0; i < TIC_FAIL_COUNT; i++) {
        if (strlen(tic_failpoint_rows[i].name) == length &&
            strncmp(tic_failpoint_rows[i].name, spec, length) == 0) {
            armed.passes = passes;
            armed.signal = signal;
            atomic_store(&passes_left, passes);
            tic_failpoint_armed = wanted == rank ? i : -1;
            return 0;
        }
    }
    return -EINVAL;
}

long tic_failpoint_passes(void)
{
    return tic_failpoint_armed < 0
               ? 0
               : armed.passes - atomic_load_explicit(&passes_left, memory_order_relaxed);
}

void tic_failpoint_hit(enum tic_failpoint point)
{
    (void)point;
    if (atomic_fetch_sub_explicit(&passes_left, 1, memory_order_relaxed) != 1)
        return;
    if (armed.signal == SIGTERM)
        kill(getpid(), SIGTERM); /* threads of ours block it */
    else
        raise(armed.signal); /* this thread goes no further */
}
