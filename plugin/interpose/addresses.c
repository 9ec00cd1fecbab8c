/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses in recorded values: structures of parameters may hold pointers, say, or the handles of
 * other data. Those of the recorded run are of no use in this one; main() has put its own there. */
#include "interpose/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "session/context.h"
#include "interpose/looks_list.h"
#include "session/symbol.h"
#include "session/uses.h"

/* Bytes of data that is searched: such structures are small. What tasks write is most of the data,
 * and is read early to be searched. */
enum { MOST_BYTES = 65536, MOST_WRITTEN = 4096 };

/* TIC_LOOK_LEFT: in a restart, had a task put one there? */
static bool has_look(uint64_t kind, const struct tic_handle *handle)
{
    size_t count;

    tic_graph_find_look(&tic_session->graph, kind, handle->id, 0, &count);
    return count > 0;
}

/* Where there is no home node, nothing of main()'s was there. */
bool tic_addresses_are_sought(const struct tic_handle *handle)
{
    bool left = has_look(TIC_LOOK_LEFT, handle);
    uint64_t most = tic_data_holds_values(handle) && !left ? MOST_WRITTEN : MOST_BYTES;

    if (handle->home_node < 0)
        return left && !handle->packer;
    return tic_shape_bytes(&handle->layout.shape) <= most && tic_layout_is_mapped(&handle->layout);
}

/* Aligned, as compilers lay out structs, and malloc() its own words. */
static bool has_address(const char *bytes, uint64_t size)
{
    uint64_t word;

    for (uint64_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
        memcpy(&word, bytes + at, sizeof(word));
        if (tic_symbol_may_be_pointer(word))
            return true;
    }
    return false;
}

_Noreturn static void stop(const struct tic_handle *handle)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot restore handle %llu%s from %s: it holds addresses, which are others in each run, "
        "and tasks write it. If nobody uses what lies there, STARPU_TIC_INPUTS=ignore "
        "continues with the recorded ones; else, keep no pointers in registered data",
        (unsigned long long)handle->id, tic_name_of(handle->id), tic_session->store.path);
}

/* ---- what was there before tasks ------------------------------------------------------------- */

void tic_addresses_note(struct tic_handle *handle)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    char bytes[MOST_WRITTEN];

    if (handle->home_node < 0 || !handle->is_value || handle->packer || size > MOST_WRITTEN ||
        tic_position_is_ahead() || tic_session->snapshot.options.dry)
        return;
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, bytes);
    tic_layout_copy(&packed, &handle->layout);
    if (has_address(bytes, size))
        tic_looks_append(TIC_LOOK_FIRST, handle->id, bytes, size);
}

/* ---- a restart ------------------------------------------------------------------------------- */

/* Did a run before this one have it there before any task? Each has logged its own. */
static bool was_first(const struct tic_handle *handle, uint64_t at, uint64_t was)
{
    size_t count;
    const struct tic_line_look *look = tic_graph_find_look(
        &tic_session->graph, TIC_LOOK_FIRST, handle->id, (uint32_t)(at / TIC_LOOK_BYTES), &count);

    for (size_t i = 0; i < count; i++)
        if (look[i].words[at % TIC_LOOK_BYTES / sizeof(was)] == was)
            return true;
    return false;
}

/* Has a task? One to which main() has still to come had it by the cut, as its first content is
 * known: what main() writes in accesses from then on is, too. */
static bool is_written(const struct tic_handle *handle)
{
    return (handle->restart.restored && tic_data_was_written(handle) &&
            has_look(TIC_LOOK_FIRST, handle)) ||
           tic_data_holds_values(handle);
}

/* Where tasks have not written it, it is what main() put there, or what was in that memory
 * before. Of `own`, only what is taken is left. */
static bool take_own(const struct tic_handle *handle, char *recorded, char *own)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    bool written = is_written(handle), left = has_look(TIC_LOOK_LEFT, handle), any = false;

    for (uint64_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t was, is;
        memcpy(&was, recorded + at, sizeof(was));
        memcpy(&is, own + at, sizeof(is));
        memset(own + at, 0, sizeof(is));
        if (was == is || !tic_symbol_may_be_pointer(was))
            continue;
        bool of_tasks = written && !was_first(handle, at, was), here = tic_symbol_is_pointer(is);
        if (here && !of_tasks) {
            memcpy(recorded + at, &is, sizeof(is));
            memcpy(own + at, &is, sizeof(is));
            any = true;
        } else if (of_tasks && (here || left) &&
                   tic_session->settings.inputs != TIC_INPUTS_IGNORE) {
            stop(handle);
        }
    }
    return any;
}

bool tic_addresses_take_own(const struct tic_handle *handle, char *recorded)
{
    char *own = tic_or_stop(calloc(1, tic_shape_bytes(&handle->layout.shape)));

    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, own);
    if (handle->home_node >= 0)
        tic_layout_copy(&packed, &handle->layout);
    bool any = take_own(handle, recorded, own);
    if (any && is_written(handle))
        tic_looks_append(TIC_LOOK_FIRST, handle->id, own, tic_shape_bytes(&handle->layout.shape));
    free(own);
    return any;
}
