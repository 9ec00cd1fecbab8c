/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which StarPU this is built for, without its declarations. */
#pragma once

#include <starpu_config.h>

#define TIC_STARPU_1_4 (STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4)
