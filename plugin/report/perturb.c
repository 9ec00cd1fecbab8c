/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For `starpu-tic check`: bytes on stacks that the program has not written. */
#include "report/perturb.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/settings.h"

bool tic_perturbs;
static int byte; /* immutable once constructors have run */

__attribute__((noinline)) void tic_perturb_below(size_t bytes)
{
    char *below = alloca(bytes);

    memset(below, byte, bytes);
    __asm__ volatile(""
                     :
                     : "r"(below)
                     : "memory"); /* nobody reads it: it is written all the same */
}

/* main() begins above the end of this frame, or not far below. */
__attribute__((constructor)) static void fill_stack(void)
{
    const char *perturb = getenv("MALLOC_PERTURB_"), *report = getenv(TIC_SETTING_PREFIX "REPORT");
    const rlim_t most = 1 << 20;
    struct rlimit limit;

    if (!report || !report[0] || getrlimit(RLIMIT_STACK, &limit) != 0)
        return;
    tic_perturbs = true;
    byte = perturb ? ~atoi(perturb) : 0; /* as malloc does */
    tic_perturb_below(limit.rlim_cur / 4 < most ? limit.rlim_cur / 4 : most);
}
