/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/looks_packed.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/names.h"
#include "interpose/looks_list.h"
#include "interpose/looks_replay.h"
#include "interpose/pack.h"
#include "interpose/redo_values.h"
#include "interpose/restore.h"
#include "session/context.h"
#include "session/nodes.h"

enum { MOST = 1024 };

static struct item {
    struct tic_handle *handle;
    uint64_t version; /* that was logged last, or what it came with */
    uint64_t sum;     /* of its bytes then; 0: not known */
    bool fresh;       /* a restart has just put it there: the wait that main() is in shows it */
} items[MOST];
static unsigned count;
static bool exposed; /* main() has come back from a wait, and begun nothing since */

void tic_looks_packed_add(struct tic_handle *handle)
{
    if (count < MOST && tic_looks_is_packed(handle) && tic_session->snapshot.verify.looks &&
        tic_pack_can_put(handle->data, tic_session->settings.looks))
        items[count++] =
            (struct item){.handle = handle, .version = atomic_load(&handle->saving.version)};
}

void tic_looks_packed_remove(const struct tic_handle *handle)
{
    for (unsigned i = 0; i < count; i++)
        if (items[i].handle == handle) {
            memmove(&items[i], &items[i + 1], (--count - i) * sizeof(*items));
            return;
        }
}

/* Nobody uses it but main(). */
static bool is_at_rest(const struct tic_handle *handle)
{
    return atomic_load(&handle->saving.writers) == 0 && !atomic_load(&handle->saving.split) &&
           !tic_handle_is_freed(handle);
}

static void log_item(struct item *item, uint64_t wait)
{
    struct tic_handle *handle = item->handle;
    struct tic_shape shape;
    char *bytes;

    if (handle->packer->pack(handle, &bytes, &shape) != 0)
        return; /* nor can it be saved: protection ends when that is tried */
    uint64_t size = tic_shape_bytes(&shape);
    item->sum = XXH3_64bits(bytes, size);
    if (size > 0 && size <= tic_session->settings.looks)
        tic_looks_append(wait, handle->id, bytes, size);
    handle->packer->release(bytes, size);
}

/* 0: it cannot be packed. */
static uint64_t sum_of(struct tic_handle *handle)
{
    struct tic_shape shape;
    char *bytes;

    if (handle->packer->pack(handle, &bytes, &shape) != 0)
        return 0;
    uint64_t size = tic_shape_bytes(&shape), sum = XXH3_64bits(bytes, size);
    handle->packer->release(bytes, size);
    return sum;
}

/* A cut until main() begins something else is to have what is there now, not what it writes. */
void tic_looks_packed_log(uint64_t wait)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t version = atomic_load(&items[i].handle->saving.version);
        if ((version == items[i].version && !items[i].fresh) || !is_at_rest(items[i].handle))
            continue;
        items[i].version = version;
        items[i].fresh = false;
        log_item(&items[i], wait);
        tic_snapshot_save_beside(&tic_session->snapshot, items[i].handle);
    }
    exposed = count > 0;
}

/* What main() writes by its pointers after it has waited counts as if it had done so in an access
 * that ends now: a line whose cut comes later holds it. */
void tic_looks_packed_compare(void)
{
    if (!exposed || tic_position_is_ahead())
        return;
    exposed = false;
    for (unsigned i = 0; i < count; i++) {
        struct tic_handle *handle = items[i].handle;
        if (items[i].sum == 0 || atomic_load(&handle->saving.version) != items[i].version ||
            handle->restart.pending || !is_at_rest(handle))
            continue;
        uint64_t sum = sum_of(handle);
        if (atomic_load(&handle->saving.version) !=
            items[i].version) /* a task has begun to write it */
            continue;
        if (sum != items[i].sum && sum != 0)
            tic_snapshot_touch(&tic_session->snapshot, handle);
        items[i].sum = sum;
        items[i].version = atomic_load(&handle->saving.version);
    }
}

/* ---- a restart ------------------------------------------------------------------------------- */

static struct item *find(uint64_t id)
{
    unsigned i = 0;

    while (i < count && items[i].handle->id != id)
        i++;
    return i < count ? &items[i] : NULL;
}

static bool is_there(struct tic_handle *handle, const char *bytes, uint64_t size)
{
    struct tic_shape shape;
    char *now;

    if (handle->packer->pack(handle, &now, &shape) != 0)
        return false;
    bool same = tic_shape_bytes(&shape) == size && memcmp(now, bytes, size) == 0;
    handle->packer->release(now, tic_shape_bytes(&shape));
    return same;
}

static void give_back(struct tic_handle *handle, const struct tic_line_look *look, size_t parts)
{
    char *bytes = tic_looks_join(look, parts);

    if (parts != (look->bytes + TIC_LOOK_BYTES - 1) / TIC_LOOK_BYTES ||
        (!is_there(handle, bytes, look->bytes) &&
         tic_redo_may_see(handle, XXH3_64bits(bytes, look->bytes), NULL, true) &&
         tic_pack_put(handle->data, bytes, look->bytes) != 0))
        tic_stop(TIC_EXIT_REFUSED,
                 "cannot give main() back what it could read in data %llu%s (number of "
                 "registration): its interface does not unpack it",
                 (unsigned long long)handle->id, tic_name_of(handle->id));
    free(bytes);
}

static void put(struct tic_handle *handle, const struct tic_saved *saved)
{
    int status = tic_pack_restore(handle->data, saved);

    if (status)
        tic_data_stop_unreadable(handle->id, status, false);
}

/* No look says what main() was still waiting for when the line was cut. */
static void show(struct tic_handle *handle)
{
    if (!is_at_rest(handle) || tic_looks_show(handle, !find(handle->id), put))
        return;
    tic_lock(&tic_session->submit);
    tic_looks_note_skipped_locked(handle);
    tic_unlock(&tic_session->submit);
}

static bool is_to_come(struct tic_handle *handle)
{
    return handle->data && handle->restart.pending && !handle->restart.restored &&
           !handle->family && !atomic_load(&handle->use.invalid) && is_at_rest(handle);
}

/* What main() does by its pointers from now on is to stay. */
void tic_looks_packed_arrive(bool (*waits)(const struct tic_handle *handle))
{
    for (unsigned i = 0; i < count && !tic_nodes_several; i++) {
        struct tic_handle *handle = items[i].handle;
        if (!is_to_come(handle) || (waits && waits(handle)))
            continue;
        struct tic_saved saved = tic_data_recovered_value(handle);
        put(handle, &saved);
        tic_lock(&tic_session->submit);
        handle->restart.pending = false;
        handle->restart.live = true;
        handle->restart.restored = true;
        tic_unlock(&tic_session->submit);
        items[i].sum = sum_of(handle);
        items[i].version = atomic_load(&handle->saving.version);
        items[i].fresh = true;
    }
    exposed = count > 0;
}

bool tic_looks_packed_has(uint64_t wait)
{
    size_t looks = 0;

    if (count > 0)
        tic_graph_find_looks(&tic_session->graph, wait, &looks);
    return looks > 0 || tic_looks_packed_skipped()->count > 0;
}

/* Where tasks that write it were skipped since main() waited last, or at the very wait of which a
 * look says it: main() may have changed it since, and nobody has compared that. */
void tic_looks_packed_give_back(uint64_t wait)
{
    size_t looks, parts;
    const struct tic_line_look *look = tic_graph_find_looks(&tic_session->graph, wait, &looks);

    struct tic_handle_list *skipped = tic_looks_packed_skipped();

    for (unsigned long i = 0; i < skipped->count; i++)
        show(skipped->items[i]);
    skipped->count = 0;
    for (size_t i = 0; i < looks; i += parts) {
        struct item *item = find(look[i].id);
        parts = tic_looks_count_parts(&look[i], looks - i);
        if (item && look[i].bytes > 0 && !item->handle->restart.restored &&
            is_at_rest(item->handle))
            give_back(item->handle, &look[i], parts);
    }
}
