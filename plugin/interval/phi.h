/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* phi, the dependency between processes: the share of the processes that one fault stalls. */
#pragma once

#include <stddef.h>

/* phi of one process, without unit: P(n) / N (Fialho 2011, eq. 3.18). stalled: P(n), the number of
 * processes that the failure of this process can stall, itself included. The thesis counts the
 * peers that messages go to or come from, peers of collective operations included, plus one.
 * processes: N, > 0. The result is clamped to [1/N, 1]. */
double tic_interval_phi_of(size_t stalled, size_t processes);

/* phi of the whole system, without unit: the mean of phi over its processes (Fialho 2011,
 * eq. 3.17). stalled: P(n) of each of the `processes` > 0 processes. */
double tic_interval_phi_global(const size_t *stalled, size_t processes);

/* phi within its limits [1/N, 1]. processes 0: N is unknown, and only 1 is a limit. */
double tic_interval_phi_clamp(double phi, size_t processes);
