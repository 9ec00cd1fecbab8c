/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the application: registration. */
#include "interpose/data.h"

#include <errno.h>
#include <string.h>

#include "graph/family.h"
#include "session/context.h"
#include "interpose/ending.h"
#include "interpose/looks.h"
#include "session/lookup.h"
#include "session/nodes.h"
#include "interpose/pack.h"
#include "interpose/record.h"
#include "interpose/release.h"
#include "interpose/position.h"
#include "interpose/shape.h"
#include "interpose/typed.h"
#include "real/real.h"

/* Memory is listed for comparison under the graph lock: what is listed has all that is above. */
static void note_imaged(struct tic_handle *handle)
{
    struct tic_graph *graph = &tic_session->graph;

    if (!tic_handle_has_memory(handle) || tic_session->snapshot.verify.percent == 0)
        return;
    tic_lock(&graph->lock);
    handle->imaged = true;
    tic_unlock(&graph->lock);
}

struct tic_handle *tic_data_add(starpu_data_handle_t data, int home_node,
                                const struct tic_handle *parent)
{
    struct tic_handle *handle = tic_graph_add_handle(&tic_session->graph);

    if (!handle) {
        tic_session_unprotect("starpu_data_register", "out of memory");
        return NULL;
    }
    handle->data = data;
    handle->home_node = home_node;
    handle->use.invalid = home_node < 0;
    unsigned node = home_node >= 0 ? (unsigned)home_node : STARPU_MAIN_RAM;
    handle->supported = tic_interface_layout(tic_real.starpu_data_get_interface_id(data),
                                             tic_real.starpu_data_get_interface_on_node(data, node),
                                             &handle->layout) ||
                        tic_pack_supports(handle);
    handle->empty = handle->layout.shape.ndim == 0 ? TIC_WITHOUT_CONTENT : TIC_WITH_CONTENT;
    handle->is_value = handle->supported && !tic_handle_is_empty(handle);
    handle->movable.may = home_node < 0 && tic_nodes_has_disk() && !tic_handle_is_empty(handle);
    note_imaged(handle);
    tic_typed_register(handle, parent);
    handle->signed_size = handle->packer ? 0 : tic_shape_bytes(&handle->layout.shape);
    tic_real.starpu_data_set_user_data(data, handle);
    tic_data_remember(data, handle);
    if (tic_handle_has_memory(handle))
        tic_freed_note_data(handle, handle->layout.base);
    TIC_LINT(note, TIC_LINT_REGISTERED, handle);
    tic_record_registered(handle);
    struct tic_graph *graph = &tic_session->graph;
    if (handle->restart.pending && tic_spawns_has_kept(&graph->spawns) &&
        tic_spawns_was_written(&graph->spawns, handle->id, graph->signature.position))
        handle->use.submitted_writes++;
    return handle;
}

/* main() may have put something there, and may go on with that until a task mentions it. */
void tic_data_take_content(struct tic_handle *handle)
{
    if (handle->imaged)
        tic_snapshot_adopt_content(&tic_session->snapshot, handle);
    tic_looks_add(handle);
}

/* StarPU does not know that others have the memory, too; to protection it is the value of all. */
static bool changed_meanwhile(const struct tic_handle *handle)
{
    const struct tic_family *family = handle->family;
    const struct tic_departure *left = family ? &family->left : NULL;
    bool replays = tic_session->recovered && !tic_session_is_replayed(tic_session);

    return left && !replays && left->layout.base == handle->layout.base &&
           left->submitted_writes == family->submitted_writes &&
           memcmp(&left->layout, &handle->layout, sizeof(left->layout)) == 0 &&
           left->checksum != tic_layout_checksum(&handle->layout);
}

static bool has_excluded(const struct tic_family *family)
{
    unsigned long i = 0;

    while (i < family->count && !tic_handle_is_excluded(family->members[i]))
        i++;
    return i < family->count;
}

void tic_data_on_register_after(starpu_data_handle_t data, int home_node)
{
    if (!tic_session_is_owner()) {
        tic_session_unprotect(tic_session_place("starpu_data_register"),
                              "data registered by a task, a callback or another thread is not "
                              "protected yet");
        return;
    }
    const char *why = tic_nodes_refuse(home_node);
    if (why) {
        tic_session_unprotect(tic_session_place("starpu_data_register"), why);
        return;
    }
    struct tic_handle *handle = tic_data_add(data, home_node, NULL);
    if (handle && tic_handle_has_memory(handle) && tic_lint.beyond)
        why = tic_lint.beyond(handle->id, &handle->layout);
    if (why)
        tic_session_unprotect(tic_session_place("starpu_data_register"), why);
    else if (handle)
        tic_data_take_content(handle);
    if (!handle || home_node < 0 || !handle->supported || tic_handle_is_empty(handle) ||
        handle->packer)
        return;
    int status = tic_family_meet(&tic_session->graph, handle);
    if (status)
        tic_session_unprotect("starpu_data_register",
                              status == -ENOTSUP
                                  ? "memory that overlaps two groups of other registered data "
                                    "is not protected yet"
                                  : "out of memory");
    else if (handle->family && has_excluded(handle->family))
        tic_session_unprotect("starpu_data_register",
                              "memory of data that no recovery line holds "
                              "(starpu_tic_data_exclude) is registered once more");
    else if (tic_nodes_several && handle->family)
        tic_session_unprotect("starpu_data_register",
                              "the same memory registered several times is not protected yet "
                              "where StarPU has several memory nodes");
    else if (changed_meanwhile(handle))
        tic_session_unprotect("starpu_data_register",
                              "memory that main() changes while other data has it, too, is not "
                              "protected yet");
}

/* For writing: readers must have ended, too, and StarPU refuses to read invalid data. */
static void acquire_once(const struct tic_handle *handle, int node)
{
    tic_guard++;
    if (tic_real.starpu_data_acquire_on_node(handle->data, node, STARPU_W) == 0)
        tic_release(handle->data, node);
    tic_guard--;
}

/* Nothing changes in the data; what holds no value may get its memory. */
void tic_data_wait(struct tic_handle *handle)
{
    acquire_once(handle, tic_nodes_of_wait(handle->home_node));
    if (tic_nodes_several && handle->home_node < 0 && !tic_nodes_holds(handle->data))
        acquire_once(handle, STARPU_MAIN_RAM);
}

bool tic_data_has_task_values(const struct tic_handle *handle)
{
    uint64_t writes =
        handle->family ? handle->family->submitted_writes : handle->use.submitted_writes;
    return writes > 0 && !tic_handle_is_empty(handle);
}

void tic_data_prune(struct tic_family *family)
{
    struct tic_snapshot *snapshot = &tic_session->snapshot;

    tic_snapshot_need(snapshot,
                      tic_family_prune(snapshot->graph, family, tic_snapshot_epoch(snapshot)));
}
