/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/protection.h"

static const bool legal[TIC_PROTECTION_STATES][TIC_PROTECTION_STATES] = {
    [TIC_PROTECTION_ACTIVE] = {[TIC_PROTECTION_SUSPENDED] = true, [TIC_PROTECTION_ENDED] = true},
    [TIC_PROTECTION_SUSPENDED] = {[TIC_PROTECTION_ACTIVE] = true, [TIC_PROTECTION_ENDED] = true},
    [TIC_PROTECTION_ENDED] = {[TIC_PROTECTION_ABANDONED] = true},
};

bool tic_protection_move(struct tic_protection *protection, enum tic_protection_state to)
{
    int from = atomic_load(&protection->state);

    while (legal[from][to])
        if (atomic_compare_exchange_weak(&protection->state, &from, (int)to))
            return true;
    return false;
}
