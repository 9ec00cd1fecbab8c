/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What StarPU 1.4 looks for in a scheduler library (STARPU_SCHED_LIB): our policy. By this alone
 * nothing is protected: StarPU opens the library when the program has bound its calls to StarPU. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "report/missed.h"
#include "sched/tic_ws.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name);
PUBLIC struct starpu_sched_policy **starpu_get_sched_lib_policies(void);

/* Another copy of this library may be preloaded. */
static bool stands_before_starpu(void)
{
    struct starpu_sched_policy *(*found)(const char *);

    *(void **)&found = dlsym(RTLD_DEFAULT, "starpu_get_sched_lib_policy");
    return tic_missed_has_start() || (found && found != starpu_get_sched_lib_policy);
}

static void tell_once(void)
{
    static _Atomic bool told;
    const char *protocol = getenv(TIC_SETTING_PREFIX "PROTOCOL");

    if (stands_before_starpu() || (protocol && strcmp(protocol, "off") == 0) ||
        atomic_exchange(&told, true))
        return;
    tic_missed_note_start(); /* the end of the process need not tell it again */
    tic_log(TIC_LOG_WARN,
            "this run is not protected: STARPU_SCHED_LIB gives the policy %s only; "
            "starpu-tic explain sched-lib",
            TIC_WS_NAME);
}

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    if (strcmp(name, TIC_WS_NAME) != 0)
        return NULL;
    tell_once();
    return &tic_ws_policy;
}

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
    static struct starpu_sched_policy *policies[] = {&tic_ws_policy, NULL};
    return policies;
}
