/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/sums.h"

#include <time.h>

#include "base/thread.h"

bool tic_sums_take_used(struct tic_sums *sums, const struct tic_handle *handle, uint64_t *sum)
{
    enum { SHORT = 65536 }; /* bytes that take less time than to ask the kernel for ours */
    uint64_t bytes = tic_shape_bytes(&handle->layout.shape);
    clockid_t clock = bytes < SHORT ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    uint64_t start = tic_nanoseconds(clock);

    if (atomic_load(&handle->movable.stale)) /* memory holds an older value */
        return false;
    bool is_there = tic_layout_checksum_there(&handle->layout, sum);

    atomic_fetch_add_explicit(&sums->ns, tic_nanoseconds(clock) - start, memory_order_relaxed);
    atomic_fetch_add_explicit(&sums->bytes, bytes, memory_order_relaxed);
    return is_there;
}

bool tic_sums_take(struct tic_sums *sums, const struct tic_handle *handle, uint64_t *sum)
{
    return tic_handle_is_there(handle) && tic_sums_take_used(sums, handle, sum) &&
           !tic_handle_is_freed(handle); /* meanwhile: the heap writes there */
}
