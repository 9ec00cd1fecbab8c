/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses in recorded values: structures of parameters may hold pointers, say, or the handles of
 * other data. Those of the recorded run are of no use in this one; main() has put its own there. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "interpose/symbol.h"
#include "interpose/tasks.h"

/* Bytes of data that is searched: such structures are small. What tasks write is most of the data,
 * and is read early to be searched. */
enum { MOST_BYTES = 65536, MOST_WRITTEN = 4096 };

bool tic_addresses_are_sought(const struct tic_handle *handle)
{
    uint64_t most = tic_data_holds_values(handle) ? MOST_WRITTEN : MOST_BYTES;

    return handle->home_node >= 0 && tic_shape_bytes(&handle->layout.shape) <= most &&
           tic_layout_is_mapped(&handle->layout);
}

_Noreturn static void stop(const struct tic_handle *handle)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot restore handle %llu from %s: it holds addresses, which are others in each run, "
        "and tasks write it. If nobody uses what lies there, STARPU_TIC_INPUTS=ignore "
        "continues with the recorded ones",
        (unsigned long long)handle->id, tic_session->store.path);
}

/* Where no task writes it is what main() put there. */
static bool take_own(const struct tic_handle *handle, char *recorded, const char *own)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    bool written = tic_data_holds_values(handle), any = false;

    for (uint64_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t was, is;
        memcpy(&was, recorded + at, sizeof(was));
        memcpy(&is, own + at, sizeof(is));
        if (was == is || !tic_symbol_may_be_pointer(was) || !tic_symbol_is_pointer(is))
            continue;
        if (!written)
            memcpy(recorded + at, &is, sizeof(is));
        else if (tic_session->settings.inputs != TIC_INPUTS_IGNORE)
            stop(handle);
        any |= !written;
    }
    return any;
}

bool tic_addresses_take_own(const struct tic_handle *handle, char *recorded)
{
    char *own = malloc(tic_shape_bytes(&handle->layout.shape));

    if (!own)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, own);
    tic_layout_copy(&packed, &handle->layout);
    bool any = take_own(handle, recorded, own);
    free(own);
    return any;
}
