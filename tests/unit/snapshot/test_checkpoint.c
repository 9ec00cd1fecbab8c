/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a recovery line holds exactly the values and done tasks of its cut, whatever happens
 * before, during and after the checkpoint. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/save.h"
#include "store/held.h"
#include "store/mark.h"

enum { WORDS = 4, HANDLES = 6, MANY = 40 };

static struct tic_rig rig;
static uint64_t memory[HANDLES][WORDS];
static struct tic_handle *handles[HANDLES];
static struct tic_line line;

static void register_handles(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
}

static void load_newest(void)
{
    tic_line_clear(&line);
    assert_true(tic_rig_newest(&rig, &line));
}

static void checkpoint(void)
{
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    load_newest();
}

static void check_value(uint64_t id, uint64_t version, uint64_t word)
{
    const struct tic_line_value *value = tic_rig_find(&line, id);
    uint64_t words[WORDS];

    assert_non_null(value);
    assert_int_equal(value->version, version);
    tic_rig_read(&rig, &line, value, words, WORDS);
    assert_int_equal(words[0], word);
}

static void check_no_value(uint64_t id)
{
    assert_null(tic_rig_find(&line, id));
}

/* Tasks 0 .. count - 1 are done, and no other. */
static void check_done(uint64_t count)
{
    assert_int_equal(line.tasks_done, count);
    assert_int_equal(line.done_count, count > 0);
    if (count > 0) {
        assert_int_equal(line.done[0].first, 0);
        assert_int_equal(line.done[0].last, count - 1);
    }
}

/* ---- plain checkpoints ---------------------------------------------------------------------- */

static void test_nothing_new_is_no_checkpoint(void **state)
{
    (void)state;
    register_handles(1);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1);
    assert_false(tic_rig_newest(&rig, &line));
    tic_rig_task(&rig, 0, handles[0], 7);
    checkpoint();
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1);
    assert_int_equal(rig.store.kept[0].number, 1);
}

static void test_line_has_values_and_tasks(void **state)
{
    (void)state;
    register_handles(3);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_task(&rig, 1, handles[2], 8);
    tic_rig_task(&rig, 2, handles[2], 9);
    checkpoint();
    check_done(3);
    check_value(0, 1, 7);
    check_no_value(1);
    check_value(2, 2, 9);
    assert_int_equal(line.tasks_submitted, 3);
    assert_string_equal(line.program, "program");
    assert_int_equal(line.workers, TIC_RIG_WORKERS);
    assert_memory_equal(line.arguments.text, "-n", 3);
    assert_true(line.created > 1e9);
}

static void test_only_dirty_values_are_written(void **state)
{
    (void)state;
    register_handles(3);
    for (uint64_t i = 0; i < 3; i++)
        tic_rig_task(&rig, i, handles[i], i);
    checkpoint();
    assert_int_equal(atomic_load(&rig.store.counts.values_written), 3);
    tic_rig_task(&rig, 3, handles[1], 50);
    checkpoint();
    assert_int_equal(atomic_load(&rig.store.counts.values_written), 4);
    check_value(0, 1, 0);
    check_value(1, 2, 50);
    check_value(2, 1, 2);
    check_done(4);
}

static void test_many_checkpoints_use_rows_again(void **state)
{
    (void)state;
    register_handles(HANDLES);
    for (uint64_t i = 0; i < MANY; i++) {
        tic_rig_task(&rig, i, handles[i % HANDLES], i);
        checkpoint();
        for (uint64_t k = i < HANDLES ? 0 : i - HANDLES + 1; k <= i; k++)
            check_value(k % HANDLES, k / HANDLES + 1, k);
        check_done(i + 1);
    }
    assert_true(tic_tmpdir_count(&rig.dir, "p0-segment") <= HANDLES);
}

static void test_unfinished_order_leaves_gaps(void **state)
{
    (void)state;
    register_handles(2);
    assert_true(tic_rig_submit(&rig, 8));
    tic_rig_task(&rig, 7, handles[0], 1);
    tic_rig_task(&rig, 2, handles[1], 1);
    checkpoint();
    assert_int_equal(line.tasks_done, 2);
    assert_true(tic_rig_is_done(&line, 7) && tic_rig_is_done(&line, 2));
    assert_int_equal(line.done_count, 2);
}

static void test_tasks_that_write_nothing_run_again(void **state)
{
    (void)state;
    register_handles(1);
    assert_true(tic_rig_submit(&rig, 1));
    tic_rig_begin(&rig, 0, 0, NULL);
    tic_rig_end(&rig, 0);
    checkpoint(); /* news, though nothing is done */
    check_done(0);
}

/* ---- copy on write -------------------------------------------------------------------------- */

/* The background saver never comes: the later task itself saves the value. */
static void test_copy_on_write_keeps_the_value_of_the_cut(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_provide(&rig, handles[0], 2);
    uint64_t cut = tic_cut_raise(&rig.snapshot.cut);
    tic_rig_task(&rig, 1, handles[0], 8);
    tic_rig_task(&rig, 2, handles[0], 9);
    assert_int_equal(rig.store.rows.held_count, 1); /* no task waits for the disk */
    assert_int_equal(atomic_load(&rig.store.counts.values_written), 0);
    assert_int_equal(atomic_load(&handles[0]->saving.dirty_since), cut + 1);
    struct tic_line described = {0};
    assert_int_equal(tic_graph_describe_values(&rig.graph, cut, &described), 0);
    assert_int_equal(described.value_count, 1);
    assert_int_equal(described.values[0].version, 1);
    tic_line_clear(&described);
    uint64_t words[WORDS];
    struct tic_layout layout = handles[0]->layout;
    layout.base = (char *)words;
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    struct tic_saved saved = handles[0]->saving.current.saved;
    saved.row = tic_rows_real(&rig.store.rows, saved.row);
    assert_int_equal(tic_store_read(&rig.store, &saved, &layout), 0);
    assert_int_equal(words[0], 7);
    assert_int_equal(memory[0][0], 9);
    tic_cut_finish(&rig.snapshot.cut);
}

static void test_tasks_after_the_cut_are_not_in_the_line(void **state)
{
    (void)state;
    register_handles(3);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_task(&rig, 1, handles[1], 7);
    assert_true(tic_rig_submit(&rig, 6));
    tic_rig_hold(&rig);
    tic_rig_task(&rig, 2, handles[0], 8);
    tic_rig_task(&rig, 3, handles[2], 9);
    tic_rig_task(&rig, 4, handles[0], 10);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(2);
    check_value(0, 1, 7);
    check_value(1, 1, 7);
    check_no_value(2);
    checkpoint();
    check_done(5);
    check_value(0, 3, 10);
    check_value(1, 1, 7);
    check_value(2, 1, 9);
}

/* ---- tasks of the cut that still run -------------------------------------------------------- */

static void test_running_tasks_of_the_cut_are_waited_for(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_true(tic_rig_submit(&rig, 2));
    tic_rig_begin(&rig, 1, 1, handles[0]);
    tic_rig_hold(&rig);
    memory[0][0] = 8;
    tic_rig_end(&rig, 1);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(2);
    check_value(0, 2, 8);
}

/* StarPU releases data before the end hook: the next writer begins while the last has not ended. */
static void test_next_writer_may_begin_before_the_last_ends(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_begin(&rig, 1, 1, handles[0]);
    tic_rig_hold(&rig);
    memory[0][0] = 8; /* the kernel of task 1 is over, its end hook still to come */
    tic_rig_begin(&rig, 2, 2, handles[0]);
    memory[0][0] = 9;
    tic_rig_end(&rig, 1);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(2);
    check_value(0, 2, 8);
    tic_rig_end(&rig, 2);
    checkpoint();
    check_done(3);
    check_value(0, 3, 9);
}

static void test_writer_after_the_cut_runs_through_it(void **state)
{
    (void)state;
    register_handles(2);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_hold(&rig);
    tic_rig_begin(&rig, 1, 1, handles[0]);
    memory[0][0] = 8;
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(1);
    check_value(0, 1, 7);
    tic_rig_task(&rig, 2, handles[1], 1);
    tic_rig_end(&rig, 1);
    checkpoint();
    check_done(3);
    check_value(0, 2, 8);
}

/* ---- data that leaves the graph ------------------------------------------------------------- */

static void test_removed_before_the_cut(void **state)
{
    (void)state;
    register_handles(3);
    for (uint64_t i = 0; i < 3; i++)
        tic_rig_task(&rig, i, handles[i], 7 + i);
    tic_rig_provide(&rig, handles[1], 3);
    tic_snapshot_remove(&rig.snapshot, handles[0], false);
    tic_snapshot_remove(&rig.snapshot, handles[1], true);
    memory[0][0] = memory[1][0] = 666; /* theirs again */
    checkpoint();
    check_done(3);
    check_no_value(0);
    check_value(1, 1, 8);
    check_value(2, 1, 9);
    assert_int_equal(tic_rig_find(&line, 1)->gone, 1);
    assert_int_equal(tic_rig_find(&line, 2)->gone, 0);
    for (uint64_t i = 3; i < 6; i++) { /* what is pinned stays for ever */
        tic_rig_task(&rig, i, handles[2], i);
        checkpoint();
        check_value(1, 1, 8);
        assert_int_equal(tic_rig_find(&line, 1)->gone, 1);
    }
}

static void test_removed_during_the_cut(void **state)
{
    (void)state;
    register_handles(3);
    for (uint64_t i = 0; i < 3; i++)
        tic_rig_task(&rig, i, handles[i], 7 + i);
    tic_rig_hold(&rig);
    tic_snapshot_remove(&rig.snapshot, handles[0], false);
    tic_snapshot_remove(&rig.snapshot, handles[1], true);
    memory[0][0] = memory[1][0] = 666;
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_value(0, 1, 7);
    check_value(1, 1, 8);
    assert_int_equal(tic_rig_find(&line, 0)->gone, 0);
    tic_rig_task(&rig, 3, handles[2], 10);
    checkpoint();
    check_no_value(0);
    check_value(1, 1, 8);
    check_value(2, 2, 10);
    assert_int_equal(tic_rig_find(&line, 1)->gone, 1);
}

/* The background saver never comes: whoever removes the handle saves what the cut needs. */
static void test_removed_before_the_saver_comes(void **state)
{
    struct tic_line described = {0};
    (void)state;
    register_handles(2);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_task(&rig, 1, handles[1], 8);
    tic_rig_provide(&rig, handles[0], 2);
    uint64_t cut = tic_cut_raise(&rig.snapshot.cut);
    tic_snapshot_remove(&rig.snapshot, handles[0], false);
    tic_snapshot_remove(&rig.snapshot, handles[1], true);
    assert_int_equal(rig.store.rows.held_count, 2);
    assert_int_equal(atomic_load(&rig.store.counts.values_written), 0);
    assert_int_equal(tic_graph_describe_values(&rig.graph, cut, &described), 0);
    assert_int_equal(described.value_count, 2);
    tic_line_clear(&described);
    tic_cut_finish(&rig.snapshot.cut);
}

/* Whoever copies a value under the lock that main() waits for stops: main() saves it itself. */
static void test_the_saver_gives_way_to_main(void **state)
{
    unsigned long left = 1;
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_provide(&rig, handles[0], 1);
    uint64_t cut = tic_cut_raise(&rig.snapshot.cut);
    atomic_store(&handles[0]->saving.wanted, true);
    assert_int_equal(tic_save_pass(&rig.snapshot, handles, cut, &left), 0);
    assert_int_equal(left, 1);
    assert_true(tic_handle_is_due(handles[0], cut));
    tic_handle_lock_for_main(handles[0]);
    tic_unlock(&handles[0]->saving.lock);
    assert_int_equal(tic_save_pass(&rig.snapshot, handles, cut, &left), 0);
    assert_int_equal(left, 0);
    assert_false(tic_handle_is_due(handles[0], cut));
    tic_cut_finish(&rig.snapshot.cut);
}

/* Written and removed while the cut is taken: the cut keeps the older value. */
static void test_written_and_removed_during_the_cut(void **state)
{
    (void)state;
    register_handles(3);
    for (uint64_t i = 0; i < 3; i++)
        tic_rig_task(&rig, i, handles[i], 7 + i);
    assert_true(tic_rig_submit(&rig, 6));
    tic_rig_hold(&rig);
    tic_rig_task(&rig, 3, handles[0], 20);
    tic_rig_task(&rig, 4, handles[1], 21);
    tic_snapshot_remove(&rig.snapshot, handles[0], false);
    tic_snapshot_remove(&rig.snapshot, handles[1], true);
    memory[0][0] = memory[1][0] = 666;
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(3);
    check_value(0, 1, 7);
    check_value(1, 1, 8);
    tic_rig_task(&rig, 5, handles[2], 10);
    checkpoint();
    check_done(6);
    check_no_value(0);
    check_value(1, 2, 21);
}

static void test_registered_during_the_cut(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_true(tic_rig_submit(&rig, 2));
    tic_rig_hold(&rig);
    handles[1] = tic_rig_register(&rig, memory[1], WORDS);
    tic_rig_task(&rig, 1, handles[1], 8);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(1);
    check_no_value(1);
    checkpoint();
    check_value(1, 1, 8);
}

/* A program that registers and unregisters for ever must not fill memory or disk. */
static void test_what_is_gone_is_forgotten(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        struct tic_handle *handle = tic_rig_register(&rig, memory[0], WORDS);
        tic_rig_task(&rig, i, handle, i);
        tic_snapshot_remove(&rig.snapshot, handle, false);
        checkpoint();
        check_done(i + 1);
        check_no_value(i);
    }
    assert_true(rig.graph.handle_count <= 2);
    assert_true(rig.snapshot.cycle.due.count <= 2);
    assert_true(tic_tmpdir_count(&rig.dir, "p0-segment") <= 2);
}

/* ---- partitions ----------------------------------------------------------------------------- */

/* handles[0] is cut in two: the children share its memory. */
static void partition(void)
{
    tic_snapshot_save_now(&rig.snapshot, handles[0]);
    handles[0]->children = calloc(2, sizeof(struct tic_handle *));
    for (unsigned i = 0; i < 2; i++) {
        struct tic_handle *child = tic_rig_register(&rig, &memory[0][i * WORDS / 2], WORDS / 2);
        child->parent = handles[0];
        handles[0]->children[handles[0]->child_count++] = child;
    }
}

static void unpartition(bool changed)
{
    tic_snapshot_merge(&rig.snapshot, handles[0], changed, false);
    free(handles[0]->children);
    handles[0]->children = NULL;
    handles[0]->child_count = 0;
}

static void test_children_then_parent(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 4);
    tic_rig_task(&rig, 0, handles[0], 7);
    partition();
    tic_rig_task(&rig, 1, handles[0]->children[0], 8);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    load_newest();
    check_value(0, 1, 7);
    assert_int_equal(tic_rig_find(&line, 1)->version, 1);
    check_no_value(2);
    unpartition(true);
    checkpoint(); /* news without any task */
    check_done(2);
    check_value(0, 2, 8);
    check_no_value(1);
    check_no_value(2);
}

/* The background saver never comes: the merge saves the children that the cut needs. */
static void test_merged_before_the_saver_comes(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 4);
    tic_rig_task(&rig, 0, handles[0], 7);
    partition();
    struct tic_handle *child = handles[0]->children[0];
    tic_rig_provide(&rig, child, 2);
    tic_rig_task(&rig, 1, child, 8);
    tic_cut_raise(&rig.snapshot.cut);
    unpartition(true);
    assert_true(child->saving.current.exists);
    assert_int_equal(atomic_load(&child->saving.dirty_since), 0);
    tic_cut_finish(&rig.snapshot.cut);
}

static void test_merged_during_the_cut(void **state)
{
    uint64_t words[WORDS / 2];
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 4);
    tic_rig_task(&rig, 0, handles[0], 7);
    partition();
    tic_rig_task(&rig, 1, handles[0]->children[1], 8);
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_hold(&rig);
    unpartition(true);
    tic_rig_task(&rig, 2, handles[0], 10);
    memory[0][WORDS / 2] = 11;
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(2);
    check_value(0, 1, 7);
    const struct tic_line_value *child = tic_rig_find(&line, 2);
    assert_non_null(child);
    tic_rig_read(&rig, &line, child, words, WORDS / 2);
    assert_int_equal(words[0], 8);
    checkpoint();
    check_done(3);
    check_value(0, 3, 10);
    check_no_value(2);
}

/* Partitioned twice while one cut is taken: the parent is saved twice after it. */
static void test_partitioned_again_during_the_cut(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 8);
    tic_rig_task(&rig, 0, handles[0], 7);
    assert_true(tic_rig_submit(&rig, 4));
    tic_rig_hold(&rig);
    tic_rig_task(&rig, 1, handles[0], 8);
    partition();
    tic_rig_task(&rig, 2, handles[0]->children[0], 9);
    unpartition(true);
    partition();
    tic_rig_task(&rig, 3, handles[0]->children[0], 10);
    unpartition(true);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(1);
    check_value(0, 1, 7);
    checkpoint();
    check_done(4);
    check_value(0, 4, 10);
}

static void test_children_are_forgotten(void **state)
{
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 4);
    for (uint64_t i = 0; i < MANY; i++) {
        partition();
        tic_rig_task(&rig, i, handles[0]->children[i % 2], i);
        unpartition(true);
        checkpoint();
        assert_int_equal(line.value_count, 1);
    }
    assert_true(rig.graph.handle_count <= 3);
    assert_true(tic_tmpdir_count(&rig.dir, "p0-segment") <= 3);
}

/* ---- what main() reads and writes ------------------------------------------------------------ */

static void test_held_by_main_before_the_cut(void **state)
{
    (void)state;
    register_handles(2);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_task(&rig, 1, handles[1], 8);
    tic_snapshot_hold(&rig.snapshot, handles[0], NULL);
    memory[0][0] = 50; /* main() is at it */
    checkpoint();
    check_done(2);
    check_no_value(0); /* a replay of main() makes it again */
    check_value(1, 1, 8);
    tic_snapshot_touch(&rig.snapshot, handles[0]);
    checkpoint(); /* news without any task */
    check_value(0, 2, 50);
}

static void test_held_by_main_during_the_cut(void **state)
{
    (void)state;
    register_handles(3);
    for (uint64_t i = 0; i < 3; i++)
        tic_rig_task(&rig, i, handles[i], 7 + i);
    checkpoint();
    tic_rig_task(&rig, 3, handles[0], 20);
    assert_true(tic_rig_submit(&rig, 6));
    tic_rig_hold(&rig);
    tic_snapshot_hold(&rig.snapshot, handles[0], NULL); /* due for the cut */
    tic_snapshot_hold(&rig.snapshot, handles[1], NULL); /* saved before */
    memory[0][0] = memory[1][0] = 666;
    tic_snapshot_touch(&rig.snapshot, handles[1]);
    tic_rig_task(&rig, 4, handles[1], 21);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(4);
    check_value(0, 2, 20);
    check_value(1, 1, 8);
    tic_rig_task(&rig, 5, handles[2], 22);
    checkpoint();
    check_done(6);
    check_no_value(0);
    check_value(1, 3, 21);
    check_value(2, 2, 22);
}

/* main() reads the value and the line logs it: the row stays, also after a restart. */
static void test_what_main_read_stays(void **state)
{
    struct tic_saved saved;
    bool fresh;
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 7);
    tic_rig_provide(&rig, handles[0], 4);
    assert_int_equal(tic_snapshot_log_value(&rig.snapshot, handles[0], &saved, &fresh), 0);
    assert_false(fresh);
    struct tic_line_acquire acquire = {.recorded = 1,
                                       .checksum = saved.checksum,
                                       .extent = saved.row.extent,
                                       .row = saved.row.row};
    assert_int_equal(
        tic_graph_note_acquire_locked(&rig.graph, &acquire, tic_snapshot_epoch(&rig.snapshot)), 0);
    for (uint64_t i = 1; i < 12; i++) {
        tic_rig_task(&rig, i, handles[0], 100 + i);
        checkpoint(); /* the line is good only if the row still has the value */
        assert_int_equal(line.acquire_count, 1);
        check_value(0, i + 1, 100 + i);
        uint64_t words[WORDS];
        struct tic_line_value read = {.extent = line.acquires[0].extent,
                                      .row = line.acquires[0].row};
        tic_rig_read(&rig, &line, &read, words, WORDS);
        assert_int_equal(words[0], 7);
        if (i % 3 == 0) {
            assert_true(tic_rig_restart(&rig));
            register_handles(1);
        }
    }
}

/* A value that no task wrote is in no line; what main() read of it is logged all the same. */
static void test_log_of_a_value_that_no_task_wrote(void **state)
{
    struct tic_saved saved;
    bool fresh;
    (void)state;
    register_handles(1);
    tic_rig_provide(&rig, handles[0], 2);
    memory[0][0] = 5;
    assert_int_equal(tic_snapshot_log_value(&rig.snapshot, handles[0], &saved, &fresh), 0);
    assert_true(fresh);
    assert_false(handles[0]->saving.current.exists);
    assert_int_equal(saved.checksum, tic_layout_checksum(&handles[0]->layout));
    tic_rows_settle(&rig.store.rows, saved.row);
}

/* ---- after a restart ------------------------------------------------------------------------ */

/* Five handles with values 100 .. 104, tasks 0 .. 4 done; then a restart. */
static void run_and_restart(void)
{
    register_handles(5);
    for (uint64_t i = 0; i < 5; i++)
        tic_rig_task(&rig, i, handles[i], 100 + i);
    checkpoint();
    memset(memory, 0, sizeof(memory));
    assert_true(tic_rig_restart(&rig));
}

static void check_old_values_except(uint64_t changed)
{
    for (uint64_t i = 0; i < 5; i++)
        if (i != changed)
            check_value(i, 1, 100 + i);
}

/* A live task that writes nothing: news, and nothing else. */
static void make_news(void)
{
    tic_rig_begin(&rig, 0, 0, NULL);
    tic_rig_end(&rig, 0);
}

static void test_start_values_stay_before_any_registration(void **state)
{
    (void)state;
    run_and_restart();
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 1);
    for (int i = 0; i < 4; i++) {
        make_news();
        checkpoint();
        assert_int_equal(line.number, 2 + i);
        check_done(5);
        check_old_values_except(UINT64_MAX);
        assert_int_equal(line.tasks_submitted, 5);
    }
    assert_true(tic_rig_restart(&rig));
    make_news();
    checkpoint();
    check_old_values_except(UINT64_MAX);
}

/* A restart after each step of a replay finds all of it again. */
static void test_start_values_stay_while_main_registers(void **state)
{
    (void)state;
    run_and_restart();
    for (unsigned registered = 1; registered <= 5; registered++) {
        register_handles(registered);
        assert_true(tic_rig_submit(&rig, registered - 1));
        make_news();
        checkpoint();
        check_done(5);
        check_old_values_except(UINT64_MAX);
        assert_true(tic_rig_restart(&rig));
    }
}

static void test_live_tasks_change_only_their_values(void **state)
{
    (void)state;
    run_and_restart();
    register_handles(3); /* the others are still to come */
    tic_rig_task(&rig, 5, handles[1], 55);
    checkpoint();
    check_done(6);
    check_value(1, 2, 55);
    check_old_values_except(1);
    memset(memory, 0, sizeof(memory));
    assert_true(tic_rig_restart(&rig));
    register_handles(5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(handles[i]->restart.pending);
        assert_int_equal(
            tic_store_read(&rig.store, &handles[i]->saving.current.saved, &handles[i]->layout), 0);
        assert_int_equal(memory[i][0], i == 1 ? 55 : 100 + i);
    }
    tic_rig_task(&rig, 6, handles[4], 66);
    checkpoint();
    check_done(7);
    check_value(4, 2, 66);
    check_value(1, 2, 55);
}

/* Copy on write of a recovered value: the old line's row is the value of the cut. */
static void test_recovered_value_is_overwritten_during_the_cut(void **state)
{
    (void)state;
    run_and_restart();
    register_handles(5);
    tic_rig_task(&rig, 5, handles[0], 55);
    assert_true(tic_rig_submit(&rig, 8));
    tic_rig_hold(&rig);
    tic_rig_task(&rig, 6, handles[1], 66);
    tic_rig_task(&rig, 7, handles[0], 77);
    assert_int_equal(tic_rig_release(&rig), 0);
    load_newest();
    check_done(6);
    check_value(0, 2, 55);
    check_old_values_except(0);
    checkpoint();
    check_value(1, 2, 66);
    check_value(0, 3, 77);
}

static void test_inputs_and_events_stay(void **state)
{
    int64_t value = 5;
    (void)state;
    assert_int_equal(tic_graph_note_input(&rig.graph, 3, 33, 0), 0);
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &value), 0);
    run_and_restart();
    for (int i = 0; i < 3; i++) {
        make_news();
        checkpoint();
        assert_int_equal(line.input_count, 1);
        assert_int_equal(line.inputs[0].hash, 33);
        assert_int_equal(line.event_count, 1);
        assert_int_equal(line.events[0].value, 5);
        assert_true(tic_rig_restart(&rig));
    }
    uint64_t later = atomic_load(&rig.snapshot.cut.epoch) + 1;
    assert_int_equal(tic_graph_note_input(&rig.graph, 4, 44, later), 0);
    make_news();
    checkpoint();
    assert_int_equal(line.input_count, 1);
    assert_int_equal(tic_graph_note_input(&rig.graph, 3, 34, 0), -EILSEQ);
    value = 6;
    assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &value), 0);
    assert_int_equal(value, 5);
}

static void test_signature_blocks_stay(void **state)
{
    (void)state;
    register_handles(1);
    for (uint64_t blocks = 0; blocks < 3; blocks++) {
        uint64_t task = blocks * TIC_SIGNATURE_BLOCK + 5;
        tic_rig_task(&rig, task, handles[0], blocks);
        checkpoint();
        assert_int_equal(line.block_count, blocks);
        assert_int_equal(line.signature_count, task + 1); /* complete */
        assert_true(tic_rig_restart(&rig));
        register_handles(1);
        assert_int_equal(tic_signature_count(&rig.graph.signature), task + 1);
        make_news(); /* a line before the replay has reached the blocks */
        checkpoint();
        assert_int_equal(line.block_count, blocks);
        assert_int_equal(line.tasks_submitted, task + 1);
    }
    assert_true(tic_rig_submit(&rig, TIC_SIGNATURE_BLOCK + 1));
    rig.graph.signature.rolling++;
    assert_false(tic_rig_submit(&rig, TIC_SIGNATURE_BLOCK + 2));
}

static int set_up(void **state)
{
    (void)state;
    memset(memory, 0, sizeof(memory));
    tic_rig_open(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_line_clear(&line);
    return tic_rig_finish(&rig);
}

/* The lines are gone then: a restart from one would be wrong, and none of them says so. */
static void test_no_line_stays_where_no_mark_can_be_made(void **state)
{
    char *path = rig.store.path, nowhere[] = "/nowhere/at all";
    (void)state;
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 1);
    checkpoint();
    rig.store.path = nowhere;
    tic_snapshot_note_unregistered(&rig.snapshot, "a variable");
    rig.store.path = path;
    assert_true(tic_snapshot_is_broken(&rig.snapshot));
    assert_false(tic_rig_newest(&rig, &line));
    atomic_store(&rig.snapshot.protection.state,
                 TIC_PROTECTION_ACTIVE); /* as no test may end with it */
}

static void test_mark_is_beside_the_lines(void **state)
{
    (void)state;
    assert_false(tic_mark_is_set(rig.store.path));
    for (int again = 0; again < 2; again++) {
        tic_snapshot_note_unregistered(&rig.snapshot, "a variable");
        assert_true(tic_mark_is_set(rig.store.path));
    }
    register_handles(1);
    tic_rig_task(&rig, 0, handles[0], 1);
    checkpoint();
    assert_int_equal(line.unregistered_writes, 1);
    assert_int_equal(tic_store_clean(&rig.store), 0);
    assert_true(tic_mark_is_set(rig.store.path));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_new_is_no_checkpoint),
        TEST(test_line_has_values_and_tasks),
        TEST(test_only_dirty_values_are_written),
        TEST(test_many_checkpoints_use_rows_again),
        TEST(test_unfinished_order_leaves_gaps),
        TEST(test_tasks_that_write_nothing_run_again),
        TEST(test_copy_on_write_keeps_the_value_of_the_cut),
        TEST(test_tasks_after_the_cut_are_not_in_the_line),
        TEST(test_running_tasks_of_the_cut_are_waited_for),
        TEST(test_next_writer_may_begin_before_the_last_ends),
        TEST(test_writer_after_the_cut_runs_through_it),
        TEST(test_removed_before_the_cut),
        TEST(test_removed_during_the_cut),
        TEST(test_removed_before_the_saver_comes),
        TEST(test_the_saver_gives_way_to_main),
        TEST(test_written_and_removed_during_the_cut),
        TEST(test_registered_during_the_cut),
        TEST(test_what_is_gone_is_forgotten),
        TEST(test_children_then_parent),
        TEST(test_merged_before_the_saver_comes),
        TEST(test_merged_during_the_cut),
        TEST(test_partitioned_again_during_the_cut),
        TEST(test_children_are_forgotten),
        TEST(test_held_by_main_before_the_cut),
        TEST(test_held_by_main_during_the_cut),
        TEST(test_what_main_read_stays),
        TEST(test_log_of_a_value_that_no_task_wrote),
        TEST(test_start_values_stay_before_any_registration),
        TEST(test_start_values_stay_while_main_registers),
        TEST(test_live_tasks_change_only_their_values),
        TEST(test_recovered_value_is_overwritten_during_the_cut),
        TEST(test_inputs_and_events_stay),
        TEST(test_signature_blocks_stay),
        TEST(test_no_line_stays_where_no_mark_can_be_made),
        TEST(test_mark_is_beside_the_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
