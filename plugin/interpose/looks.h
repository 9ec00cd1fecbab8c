/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() and callbacks may look at by their own pointers: logged, and given back. */
#ifndef TIC_INTERPOSE_LOOKS_H
#define TIC_INTERPOSE_LOOKS_H

#include <starpu.h>
#include <stdbool.h>

#include "graph/handle.h"

/* A task that writes it (may be NULL) is skipped, in a replay. Under the submission lock. */
void tic_looks_note_skipped_locked(struct tic_handle *handle);
/* main() begins a call that waits for tasks. */
void tic_looks_enter(void);
/* And comes back from it: what it may look at by pointer is logged, or given back. */
void tic_looks_leave(void);
/* A call that waits for tasks has returned, on any thread. Threads are not known again in a
 * restart: where one of the application waits, and there is memory that it may look at, protection
 * ends. */
void tic_looks_refuse_thread(const char *call);
/* Adds an entry to those of lines (FORMAT.md); bytes NULL: as it was looked at last. */
void tic_looks_append(uint64_t wait, uint64_t id, const char *bytes, uint64_t size);
/* A task that declares no content is submitted: it may read memory that it does not declare. */
void tic_looks_note_blind(const struct starpu_task *task);
/* A task that writes no data reads some of a family: in a restart by a copy. */
void tic_looks_note_reader(const struct starpu_task *task);
/* main() submits a task that writes this data, to which it has had a pointer in an access. */
void tic_looks_note_exposed(const struct tic_handle *handle);
/* main() unregisters the data without coherency, and may read it by its pointer. */
void tic_looks_note_left(const struct tic_handle *handle);
/* Small data that a task declares, which its callback may look at. */
struct tic_small {
    unsigned count;
    uint64_t ids[STARPU_NMAXBUFS];
};
/* Lists it; under the submission lock, or before others know the task. */
void tic_looks_list_small(struct starpu_task *task, struct tic_small *small);
/* Before the callback of this task: logs them; in a restart gives them back. Any thread. */
void tic_looks_note_callback(const struct tic_small *small, uint64_t key);
void tic_looks_show_callback(uint64_t key);
/* Is there something to give back to it? */
bool tic_looks_has_callback(uint64_t key);
/* A task has begun to write it, and counts as its writer: main() looks at it. Any thread. */
void tic_looks_list_written(struct tic_handle *handle);
static inline void tic_looks_note_write(struct tic_handle *handle)
{
    /* Read in the total order after the writer was counted: whoever clears it sees the writer. */
    if (atomic_load_explicit(&handle->look, memory_order_relaxed) &&
        !atomic_load(&handle->look_listed))
        tic_looks_list_written(handle);
}
/* The data was registered, or leaves. */
void tic_looks_add(struct tic_handle *handle);
void tic_looks_remove(struct tic_handle *handle);

/* Of the time, for comparing what nobody declares to write. */
enum { TIC_LOOKS_PERCENT = 1 };

/* ---- between looks.c and looks_replay.c ------------------------------------------------------ */
/* Data that is looked at, by ascending id. Guarded by the submission lock. */
extern struct tic_handle_list tic_looks_list;
struct tic_handle *tic_looks_find_locked(uint64_t id);
/* main() sees what it saw at this wait; a callback what it saw: its wait is TIC_LOOK_CALLBACK and
 * the key of its task. In a restart, under the submission lock. */
void tic_looks_give_main_back_locked(uint64_t wait);
void tic_looks_give_callback_back_locked(uint64_t wait);
/* The data leaves. */
void tic_looks_forget_skipped_locked(const struct tic_handle *handle);

/* ---- between looks.c and looks_tell.c ---------------------------------------------------------
 */
/* There is, or was, memory that is main()'s own. */
extern _Atomic bool tic_looks_visible;
/* Data that is not logged was registered: it is too large, or its interface packs it. */
void tic_looks_note_large(void);
void tic_looks_note_packed(const struct tic_handle *handle);
/* A task with a callback declares larger data. Any thread. */
void tic_looks_tell_large_of_callback(struct starpu_task *task);
/* In a replay main() has waited, and this data is not what it was then: later tasks write it. */
void tic_looks_tell_overwritten(const struct tic_handle *handle);
/* main() submits a task: if it has waited before, it goes on with what it sees. */
void tic_looks_note_submission(void);
/* main() has waited so often; partial: not all data were compared this time. */
void tic_looks_tell(uint64_t waits, bool partial);

#endif
