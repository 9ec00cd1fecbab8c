/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks write memory that is not registered data. */
#include <string.h>

#include "base/apart.h"
#include "snapshot/snapshot.h"
#include "store/mark.h"

struct note {
    struct tic_snapshot *snapshot;
    const char *what;
};

static void mark(void *arg)
{
    const struct note *note = arg;
    struct tic_store *store = note->snapshot->store;
    int status = tic_mark_set(store->path, note->what, store->sync);

    if (status == 0)
        return;
    tic_snapshot_break(note->snapshot,
                       "tasks write memory that is not registered data, and %s cannot hold a mark "
                       "that says so: %s. Its recovery lines are removed",
                       store->path, strerror(-status));
    tic_store_remove_lines(store);
}

void tic_snapshot_note_unregistered(struct tic_snapshot *snapshot, const char *what)
{
    struct note note = {snapshot, what};

    atomic_store(&snapshot->unregistered.written, true);
    tic_apart_call(mark, &note);
}
