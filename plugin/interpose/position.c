/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in its program main() was at the recovered cut. The values of a line are those of the begin
 * of one operation of main(): what main() did by its own pointers before that is in them, what it
 * did later is not. So a restart gives them back when main() begins this operation, no earlier and
 * no later; tasks that were not done then, and that main() has submitted before, wait for it, and
 * so nothing runs on memory that is not restored yet, declared or not.
 *
 * Nothing that main() waits for before that operation can be among these tasks: it had come there
 * without them. */
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"
#include "interpose/tasks.h"

/* Guarded by the submission lock: what live tasks wait for; NULL: nothing waits yet. */
static struct starpu_task *gate;
static uint64_t again; /* guarded by the submission lock: tasks that are executed again by then */

void tic_position_load(struct tic_session *session)
{
    atomic_store(&session->snapshot.replaying,
                 session->recovered && session->settings.verify > 0 &&
                     session->graph.recovered_position > 0);
    atomic_store(&session->snapshot.verify.quiescent,
                 session->recovered && session->graph.recovered_quiescent);
}

static void make_gate_locked(void)
{
    gate = tic_real.starpu_task_create();
    if (!gate)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
}

void tic_position_gate(struct starpu_task *task, uint64_t key)
{
    bool has_run = tic_graph_has_run(&tic_session->graph, key);

    again += has_run;
    if (has_run)
        return;
    if (!task->destroy) { /* StarPU would ask for the gate each time that it is submitted */
        tic_data_restore_image();
        return;
    }
    if (!gate)
        make_gate_locked();
    tic_real.starpu_task_declare_deps_array(task, 1, &gate);
}

static uint64_t count_executed(void)
{
    const struct tic_cut *cut = &tic_session->snapshot.cut;
    uint64_t executed = 0;

    for (unsigned i = 0; i < cut->slot_count; i++)
        executed += atomic_load_explicit(&cut->slots[i].executed, memory_order_relaxed);
    return executed;
}

/* Tasks that are executed again may use memory that they do not declare. They had ended when the
 * line was committed; one that waits for something that main() does later is not waited for. */
static void await_again(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    uint64_t end =
        tic_nanoseconds(CLOCK_MONOTONIC) + (uint64_t)(tic_session->snapshot.patience * 1e9);

    while (count_executed() < again && tic_nanoseconds(CLOCK_MONOTONIC) < end)
        nanosleep(&pause, NULL);
}

static void open_gate(void)
{
    tic_lock(&tic_session->submit);
    atomic_store(&tic_session->snapshot.replaying, false);
    struct starpu_task *open = gate;
    gate = NULL;
    tic_unlock(&tic_session->submit);
    if (!open)
        return;
    tic_guard++;
    tic_real.starpu_task_submit(open);
    tic_guard--;
}

void tic_position_tick(void)
{
    struct tic_session *session = tic_session;

    if (atomic_load(&session->graph.position) < session->graph.recovered_position)
        return;
    tic_clock_release(); /* callbacks that had run by then saw older values */
    await_again();
    tic_lock(&session->submit);
    tic_data_restore_image();
    tic_unlock(&session->submit);
    open_gate();
}
