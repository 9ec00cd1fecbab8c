/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which scheduling policy runs. */
#ifndef TIC_INTERPOSE_POLICY_H
#define TIC_INTERPOSE_POLICY_H

#include <starpu.h>
#include <stdbool.h>

struct tic_settings;

/* What the program asks for, or StarPU's defaults (conf NULL). False: StarPU has none. */
bool tic_policy_copy(const struct starpu_conf *conf, struct starpu_conf *copy);
const char *tic_policy_choose(struct starpu_conf *conf, const struct tic_settings *settings);
/* The same without protection, where our policy is used only if it is asked for by name.
 * True when it is. */
bool tic_policy_choose_unprotected(struct starpu_conf *conf, const struct tic_settings *settings);

#endif
