/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which scheduling policy runs: STARPU_TIC_SCHED, STARPU_SCHED, what the application asks for in
 * starpu_conf, else tic-ws; in this order. */
#include "interpose/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "real/real.h"
#include "sched/tic_ws.h"

static bool is_known(const char *name)
{
    struct starpu_sched_policy **policy = tic_real.starpu_sched_get_predefined_policies();

    if (getenv("STARPU_SCHED_LIB"))
        return true; /* StarPU itself will look there */
    for (; *policy; policy++)
        if ((*policy)->policy_name && strcmp((*policy)->policy_name, name) == 0)
            return true;
    return false;
}

static void take_ours(struct starpu_conf *conf)
{
    conf->sched_policy = &tic_ws_policy;
    conf->sched_policy_name = NULL;
}

bool tic_policy_copy(const struct starpu_conf *conf, struct starpu_conf *copy)
{
    if (conf)
        *copy = *conf;
    return conf || tic_real.starpu_conf_init(copy) == 0;
}

bool tic_policy_choose_unprotected(struct starpu_conf *conf, const struct tic_settings *settings)
{
    const char *name = settings->sched[0] ? settings->sched : getenv("STARPU_SCHED");

    if (!name && !conf->sched_policy)
        name = conf->sched_policy_name;
    bool ours = name && strcmp(name, TIC_WS_NAME) == 0;
    if (ours)
        take_ours(conf);
    return ours;
}

/* Changes conf so that StarPU takes the chosen policy. Returns the value that STARPU_SCHED must
 * have during the real call, or NULL for unset: StarPU lets it win over a named policy. */
const char *tic_policy_choose(struct starpu_conf *conf, const struct tic_settings *settings)
{
    const char *environment = getenv("STARPU_SCHED");
    const char *name = settings->sched[0] ? settings->sched : environment;

    if (!name && !conf->sched_policy)
        name = conf->sched_policy_name ? conf->sched_policy_name : TIC_WS_NAME;
    if (!name)
        return NULL; /* the application's own policy */
    if (strcmp(name, TIC_WS_NAME) == 0) {
        take_ours(conf);
        return NULL;
    }
    if (settings->sched[0] && !is_known(name))
        tic_stop(TIC_EXIT_REFUSED,
                 "STARPU_TIC_SCHED=%s is not valid: StarPU knows no such policy (STARPU_SCHED=help "
                 "lists them; %s is ours)",
                 name, TIC_WS_NAME);
    if (name == environment || name == settings->sched)
        conf->sched_policy = NULL;
    conf->sched_policy_name = name;
    return name;
}
