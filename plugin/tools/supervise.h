/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic run --max-restarts: the program as a child that is started again when it crashes. */
#pragma once

#include "base/settings.h"
#include "tools/restart.h"

/* Runs the command to its last end: the exit status. */
int tic_supervise(char **command, const struct tic_restart_rules *rules,
                  const struct tic_settings *settings);
