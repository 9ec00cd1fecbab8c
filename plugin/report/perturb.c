/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stacks in runs of `starpu-tic check` (STARPU_TIC_REPORT): what the program has never written
 * holds the same bytes in each run of the same kind, and others where MALLOC_PERTURB_ is set, by
 * which glibc does so to what malloc gives. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/lint.h"
#include "base/settings.h"
#include "report/pages.h"

static int byte; /* immutable once constructors have run */

__attribute__((noinline)) static void fill_below(size_t bytes)
{
    char *below = alloca(bytes);

    memset(below, byte, bytes);
    __asm__ volatile(""
                     :
                     : "r"(below)
                     : "memory"); /* nobody reads it: it is written all the same */
}

/* What the application calls now finds these bytes on the stack. */
static void goes_on(const char *call, bool waited)
{
    enum { REACH = 32768 };

    fill_below(REACH);
    if (call)
        tic_pages_close(call, waited);
}

/* main() begins above the end of this frame, or not far below. */
__attribute__((constructor)) static void fill_stack(void)
{
    const char *perturb = getenv("MALLOC_PERTURB_"), *report = getenv(TIC_SETTING_PREFIX "REPORT");
    const rlim_t most = 1 << 20;
    struct rlimit limit;

    if (!report || !report[0] || getrlimit(RLIMIT_STACK, &limit) != 0)
        return;
    tic_lint.goes_on = goes_on;
    byte = perturb ? ~atoi(perturb) : 0; /* as malloc does */
    fill_below(limit.rlim_cur / 4 < most ? limit.rlim_cur / 4 : most);
}
