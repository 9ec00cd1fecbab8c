/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/constant.h"

#include "base/error.h"
#include "base/names.h"
#include "session/context.h"

static _Noreturn void stop(uint64_t id)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot restore handle %llu%s from %s: the program does not allow writing to its memory "
        "(mprotect, constants), and it holds something else than it did",
        (unsigned long long)id, tic_name_of(id), tic_session->store.path);
}

void tic_constant_require(const struct tic_layout *layout, uint64_t checksum, uint64_t id)
{
    if (tic_layout_checksum(layout) != checksum)
        stop(id);
}

void tic_constant_refuse(const struct tic_handle *handle)
{
    if (handle->imaged && !tic_layout_is_writable(&handle->layout))
        stop(handle->id);
}
