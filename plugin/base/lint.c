/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/lint.h"

struct tic_lint tic_lint;
