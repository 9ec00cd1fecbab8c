/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* phi, the dependency between processes: the share of the processes that one fault stalls. */
#include "interval/phi.h"

#include <math.h>

double tic_interval_phi_clamp(double phi, size_t processes)
{
    double lowest = processes > 0 ? 1.0 / (double)processes : 0;

    return fmin(fmax(phi, lowest), 1);
}

double tic_interval_phi_of(size_t stalled, size_t processes)
{
    return tic_interval_phi_clamp((double)stalled / (double)processes, processes);
}

double tic_interval_phi_global(const size_t *stalled, size_t processes)
{
    double sum = 0;

    for (size_t i = 0; i < processes; i++)
        sum += tic_interval_phi_of(stalled[i], processes);
    return sum / (double)processes;
}
