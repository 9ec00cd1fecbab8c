/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks looked at, given back in a restart (looks.c has logged it). Larger data
 * are not logged. But where main() has waited, and no task that was done writes them later, they
 * are what the line holds: a program that computes, waits and prints its result sees it. */
#include "interpose/looks_replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/names.h"
#include "interpose/addresses.h"
#include "session/context.h"
#include "interpose/looks_list.h"
#include "interpose/redo_values.h"
#include "interpose/restore.h"
#include "interpose/restore_all.h"

static _Atomic uint64_t shown_callbacks; /* they leave older content behind */
/* Guarded by the submission lock: larger data that skipped tasks write, since main() waited last.
 */
static struct tic_handle_list skipped;
static struct tic_handle_list
    packed_skipped;      /* owner thread: of these, what main() has waited for now */
static uint64_t stirred; /* owner thread: how many had changed memory when it was given back last */

char *tic_looks_join(const struct tic_line_look *look, size_t parts)
{
    char *bytes = tic_or_stop(malloc(parts * TIC_LOOK_BYTES));

    for (size_t i = 0; i < parts; i++)
        memcpy(bytes + i * TIC_LOOK_BYTES, look[i].words, TIC_LOOK_BYTES);
    return bytes;
}

/* False if it is to be left as it is. observed: it was seen there now. */
static bool give_back(struct tic_handle *handle, const struct tic_line_look *look, size_t parts,
                      bool observed)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    char *bytes = tic_looks_join(look, parts);

    if (look->bytes != size || parts != (size + TIC_LOOK_BYTES - 1) / TIC_LOOK_BYTES)
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: handle %llu%s has another shape now",
                 (unsigned long long)handle->id, tic_name_of(handle->id));
    struct tic_layout packed = tic_layout_packed(&handle->layout.shape, bytes);
    const uint64_t checksum = tic_layout_checksum(&packed);
    bool there = tic_layout_checksum(&handle->layout) == checksum;
    struct tic_layout value = handle->layout;
    value.base = bytes;
    const bool dense = tic_layout_span(&handle->layout) == size;
    bool may = there || (tic_data_may_change(handle) &&
                         tic_redo_may_see(handle, checksum, dense ? &value : NULL, observed));
    if (!there && may) {
        if (tic_addresses_are_sought(handle))
            tic_addresses_take_own(handle, bytes);
        tic_constant_refuse(handle);
        tic_layout_copy(&handle->layout, &packed);
    }
    free(bytes);
    return may;
}

/* Main() is in the call in which it leaves: nobody else uses its memory. */
static void give_leaving_back(const struct tic_layout *layout, const struct tic_line_look *look,
                              size_t parts)
{
    uint64_t size = tic_shape_bytes(&layout->shape);
    char *bytes = tic_looks_join(look, parts);
    struct tic_layout packed = tic_layout_packed(&layout->shape, bytes);

    if (look->bytes == size && tic_layout_is_writable(layout) && !tic_layout_same(layout, &packed))
        tic_layout_copy(layout, &packed);
    free(bytes);
}

/* As a rule nothing has changed: each wait looks at all data, without a copy if they lie together.
 */
static bool is_there(const struct tic_handle *handle, const struct tic_line_look *look,
                     size_t parts)
{
    uint64_t size = tic_shape_bytes(&handle->layout.shape);
    bool same = look->bytes == size && tic_layout_span(&handle->layout) == size &&
                parts == (size + TIC_LOOK_BYTES - 1) / TIC_LOOK_BYTES;

    for (size_t i = 0; i < parts && same; i++) {
        uint64_t at = i * TIC_LOOK_BYTES, left = size - at;
        same = memcmp((const char *)handle->layout.base + at, look[i].words,
                      left < TIC_LOOK_BYTES ? left : TIC_LOOK_BYTES) == 0;
    }
    return same;
}

/* Of those that one wait looks at, the page that was found mapped last: small data share pages. */
struct known_page {
    uintptr_t begin; /* 0: none yet */
};

static bool is_mapped(const struct tic_handle *handle, struct known_page *known)
{
    uintptr_t base = (uintptr_t)handle->layout.base;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = base / page * page;
    bool small = base + tic_layout_span(&handle->layout) <= from + page;

    if (tic_handle_is_freed(handle))
        return false;
    if (small && from == known->begin)
        return true;
    if (!tic_layout_is_mapped(&handle->layout))
        return false;
    if (small)
        known->begin = from;
    return true;
}

/* Not if a task that was not done uses it already. */
static void try_give_back(struct tic_handle *handle, const struct tic_line_look *look, size_t parts,
                          struct known_page *known, bool observed)
{
    if (!handle || handle->restart.restored || !is_mapped(handle, known))
        return;
    if (is_there(handle, look, parts) || give_back(handle, look, parts, observed))
        handle->restart.shown = true;
    else
        TIC_LINT(note, TIC_LINT_OVERWRITTEN, handle);
}

size_t tic_looks_count_parts(const struct tic_line_look *look, size_t count)
{
    size_t parts = 1;

    while (parts < count && look[parts].id == look[0].id && look[parts].part > look[parts - 1].part)
        parts++;
    return parts;
}

void tic_looks_give_callback_back_locked(uint64_t key)
{
    size_t count, parts;
    const struct tic_line_look *look = tic_graph_find_looks(&tic_session->graph, key, &count);
    struct known_page known = {0};

    for (size_t i = 0; i < count; i += parts) {
        parts = tic_looks_count_parts(&look[i], count - i);
        struct tic_handle *handle = tic_looks_find_locked(look[i].id);
        const struct tic_layout *layout = tic_looks_find_leaving_locked(look[i].id);
        if (layout)
            give_leaving_back(layout, &look[i], parts);
        else
            try_give_back(handle, &look[i], parts, &known, true);
    }
    atomic_fetch_add(&shown_callbacks, 1);
}

/* Who has changed memory, or may be doing so: tasks that are executed again, and whoever shows
 * callbacks what they saw. */
static bool was_stirred(void)
{
    const struct tic_cut *cut = &tic_session->snapshot.cut;
    uint64_t before = stirred;

    stirred = tic_cut_count_executed(cut) + atomic_load(&shown_callbacks);
    return stirred != before || !tic_cut_is_idle(cut);
}

/* While it is partitioned its parts are looked at. */
static void give_last_back(struct tic_handle *handle, struct known_page *known, bool observed)
{
    if (handle && handle->use.looked.recovered && !atomic_load(&handle->saving.split))
        try_give_back(handle, handle->use.looked.recovered, handle->use.looked.parts, known,
                      observed);
}

/* ---- larger data ------------------------------------------------------------------------------
 */

void tic_looks_note_skipped_locked(struct tic_handle *handle)
{
    if (!handle || handle->use.look || !(tic_session_sees(handle) || tic_looks_is_packed(handle)) ||
        !handle->restart.pending || handle->restart.skips_listed)
        return;
    handle->restart.skips_listed = true;
    tic_stop_unless(tic_handle_append(&skipped, handle));
}

void tic_looks_forget_skipped_locked(const struct tic_handle *handle)
{
    for (unsigned long i = skipped.count; i-- > 0;)
        if (skipped.items[i] == handle)
            skipped.items[i] = skipped.items[--skipped.count];
}

/* The writes of this run up to now are those that its recovered value has seen; writes by main()
 * count in the value only. It stays pending: main() may change it before it comes to where it was.
 */
bool tic_looks_show(struct tic_handle *handle, bool tells,
                    void (*write)(struct tic_handle *handle, const struct tic_saved *saved))
{
    if (!handle->restart.pending || handle->restart.restored)
        return true;
    tic_lock(&handle->saving.lock);
    bool last = handle->saving.current.exists &&
                handle->use.submitted_writes == handle->saving.current.version;
    struct tic_saved saved = handle->saving.current.saved;
    tic_unlock(&handle->saving.lock);
    bool sees = last && tic_redo_may_see(handle, saved.checksum, NULL, false);
    if (!last && tells)
        TIC_LINT(note, TIC_LINT_OVERWRITTEN, handle);
    if (sees)
        write(handle, &saved);
    return sees || !last;
}

static bool show_skipped(struct tic_handle *handle)
{
    return handle->family || atomic_load(&handle->saving.split) || !tic_handle_is_there(handle) ||
           !tic_layout_is_writable(&handle->layout) ||
           tic_looks_show(handle, true, tic_data_expose_locked);
}

static void show_all_skipped(void)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < skipped.count; i++) {
        struct tic_handle *handle = skipped.items[i];
        handle->restart.skips_listed = !show_skipped(handle);
        if (handle->restart.skips_listed)
            skipped.items[kept++] = handle;
    }
    skipped.count = kept;
}

void tic_looks_await_packed_locked(void)
{
    unsigned long kept = 0;

    for (unsigned long i = 0; i < skipped.count; i++) {
        struct tic_handle *handle = skipped.items[i];
        if (!handle->packer) {
            skipped.items[kept++] = handle;
            continue;
        }
        handle->restart.skips_listed = false;
        tic_stop_unless(tic_handle_append(&packed_skipped, handle));
    }
    skipped.count = kept;
}

struct tic_handle_list *tic_looks_packed_skipped(void)
{
    return &packed_skipped;
}

/* ---- main() -----------------------------------------------------------------------------------
 */

/* What main() saw is what it saw last of each datum: it, or a task that is executed again, may have
 * changed that in this run since then. Where not all data were compared, those that were not may be
 * as main() has made them. */
void tic_looks_give_main_back_locked(uint64_t wait)
{
    size_t count, parts;
    const struct tic_line_look *look = tic_graph_find_looks(&tic_session->graph, wait, &count);
    bool complete = count == 0 || look[count - 1].id != TIC_LOOK_PARTIAL;
    bool all = was_stirred() || complete;
    struct known_page known = {0};

    for (size_t i = 0; i < count; i += parts) {
        struct tic_handle *handle = tic_looks_find_locked(look[i].id);
        parts = tic_looks_count_parts(&look[i], count - i);
        if (handle && look[i].bytes > 0) {
            handle->use.looked.recovered = &look[i];
            handle->use.looked.parts = parts;
        }
        give_last_back(handle, &known, true);
    }
    for (unsigned long i = 0; all && i < tic_looks_list.count; i++)
        if (tic_looks_list.items[i])
            give_last_back(tic_looks_list.items[i], &known, complete);
    show_all_skipped();
}
