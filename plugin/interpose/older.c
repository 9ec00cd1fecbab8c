/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/older.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "interpose/restore.h"
#include "interpose/shape.h"
#include "session/context.h"
#include "session/nodes.h"

/* What the handle holds, without gaps; and where that is. */
static char *copy_value(struct tic_handle *handle)
{
    const struct tic_shape *shape = &handle->layout.shape;

    if (handle->packer)
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot continue from %s: main() reads an older value of handle %llu%s than tasks "
                 "use already, which is not supported for its data interface",
                 tic_session->store.path, (unsigned long long)handle->id, tic_name_of(handle->id));
    char *bytes = malloc(tic_shape_bytes(shape));
    if (!bytes)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    tic_handle_locate_homeless(handle);
    struct tic_layout packed = tic_layout_packed(shape, bytes);
    tic_layout_copy(&packed, &handle->layout);
    return bytes;
}

/* From now on a save takes what is set aside. */
static void show_locked(struct tic_handle *handle, char *now, const struct tic_layout *older)
{
    tic_lock(&handle->lock);
    handle->set_aside = now;
    if (older)
        tic_layout_copy(&handle->layout, older);
    tic_unlock(&handle->lock);
}

void tic_data_set_aside(struct tic_handle *handle)
{
    if (!handle->set_aside)
        show_locked(handle, copy_value(handle), NULL);
}

void tic_data_show(struct tic_handle *handle, const struct tic_saved *saved, bool changes)
{
    const struct tic_shape *shape = &handle->layout.shape;
    char *now = copy_value(handle), *wanted = malloc(tic_shape_bytes(shape));

    if (!wanted)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    struct tic_layout packed = tic_layout_packed(shape, wanted);
    tic_data_write_to(handle, saved, &packed);
    if (!changes && memcmp(now, wanted, tic_shape_bytes(shape)) == 0) {
        free(now);
    } else {
        if (tic_nodes_several && handle->touched) /* StarPU may copy it to other nodes meanwhile */
            tic_stop(TIC_EXIT_REFUSED,
                     "cannot continue from %s: main() reads an older value of handle %llu%s than "
                     "tasks use already, which is not supported where StarPU has several memory "
                     "nodes",
                     tic_session->store.path, (unsigned long long)handle->id,
                     tic_name_of(handle->id));
        if (handle->set_aside)
            tic_stop(TIC_EXIT_REFUSED,
                     "cannot continue from %s: main() reads two values of handle %llu%s at once",
                     tic_session->store.path, (unsigned long long)handle->id,
                     tic_name_of(handle->id));
        show_locked(handle, now, &packed);
    }
    free(wanted);
}

void tic_data_put_back(struct tic_handle *handle)
{
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, handle->set_aside);

    tic_lock(&handle->lock);
    if (!tic_layout_same(&handle->layout, &packed)) /* it may be constant */
        tic_layout_copy(&handle->layout, &packed);
    free(handle->set_aside);
    handle->set_aside = NULL;
    tic_unlock(&handle->lock);
}
