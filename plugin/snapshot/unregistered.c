/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks write memory that is not registered data. */
#include <string.h>

#include "snapshot/snapshot.h"
#include "store/mark.h"

void tic_snapshot_note_unregistered(struct tic_snapshot *snapshot, const char *what)
{
    atomic_store(&snapshot->unregistered.written, true);
    int status = tic_mark_set(snapshot->store->path, what, snapshot->store->sync);
    if (status == 0)
        return;
    tic_snapshot_break(snapshot,
                       "tasks write memory that is not registered data, and %s cannot hold a mark "
                       "that says so: %s. Its recovery lines are removed",
                       snapshot->store->path, strerror(-status));
    tic_store_remove_lines(snapshot->store);
}
