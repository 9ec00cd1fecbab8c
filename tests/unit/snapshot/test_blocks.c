/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that what only grows costs a line what is new in it, comes back whole after any number of
 * restarts, and that damage anywhere in it is found. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rig.h"
#include "lib/testing.h"
#include "base/error.h"
#include "store/blocks.h"
#include "store/table.h"

enum {
    WORDS = 4,
    STEP = 3000,
    ROUNDS = 6,
    OBSERVED = 6
}; /* entries of the history that a round of log_one() makes */

static struct tic_rig rig;
static uint64_t memory[WORDS];
static struct tic_handle *handle;
static uint64_t logged; /* entries of each table */
static struct tic_line line;

static uint32_t codelet;

static void register_handle(void)
{
    handle = tic_rig_register(&rig, memory, WORDS);
    codelet = tic_spawns_function(&rig.graph.spawns, "program:kernel\tcodelet");
}

static void spawn(uint64_t i, bool kept)
{
    struct tic_line_buffer *buffer = malloc(sizeof(*buffer));
    struct tic_spawn model = {
        .kept = kept,
        .task = {.root = 0,
                 .id = (i * 2 + kept) | TIC_SPAWN_KEY,
                 .codelet = codelet,
                 .callback = TIC_SPAWN_NONE,
                 .buffers = 1},
        .buffers = buffer,
    };
    *buffer = (struct tic_line_buffer){.handle = i, .mode = TIC_MODE_WRITE};
    struct tic_spawn *added = tic_spawns_add(&rig.graph.spawns, &model);
    assert_non_null(added);
    atomic_store(&added->started, 1);
    assert_int_equal(tic_spawns_note_done(&rig.graph.spawns, added->index), 0);
}

static struct tic_line_entry begin(enum tic_history_role role, uint64_t actor)
{
    return (struct tic_line_entry){.kind = TIC_HISTORY_BEGIN, .role = role, .actor = actor};
}

/* The next one of this role from *at on. */
static uint64_t next_begun(enum tic_history_role role, size_t *at)
{
    while (line.history[*at].kind != TIC_HISTORY_BEGIN || line.history[*at].role != role)
        assert_true(++*at < line.history_count);
    return line.history[(*at)++].actor;
}

/* One more entry of every table. What main() reads is the same row again and again. */
static void log_one(uint64_t i)
{
    struct tic_graph *graph = &rig.graph;
    uint64_t epoch = tic_snapshot_epoch(&rig.snapshot);
    struct tic_saved saved = {.checksum = 0};
    bool fresh;
    int64_t value = (int64_t)i;

    assert_int_equal(tic_snapshot_log_value(&rig.snapshot, handle, &saved, &fresh), 0);
    assert_false(fresh);
    struct tic_line_acquire acquire = {0, 0, 1, saved.checksum, saved.row.extent, saved.row.row};
    struct tic_line_read read = {i, 0, saved.row.extent, saved.row.row, saved.checksum};
    assert_int_equal(tic_graph_note_acquire_locked(graph, &acquire, epoch), 0);
    assert_int_equal(
        tic_graph_note_read(graph, &read, &(struct tic_reader){TIC_HISTORY_KERNEL, 0}, epoch), 0);
    assert_int_equal(tic_graph_note_input(graph, i, i * 3, 0), 0);
    assert_int_equal(tic_graph_event(graph, TIC_EVENT_TIME, &value), 0);
    tic_lock(&graph->lock);
    assert_int_equal(tic_graph_note_locked(graph, begin(TIC_HISTORY_KERNEL, i * 5), epoch), 0);
    assert_int_equal(tic_graph_note_locked(graph, begin(TIC_HISTORY_CALLBACK, i * 7), epoch), 0);
    assert_int_equal(tic_graph_note_look_locked(graph, i, 0, (const char *)&i, sizeof(i), epoch),
                     0);
    tic_unlock(&graph->lock);
    spawn(i, false);
    spawn(i, true);
}

/* A task writes the handle, so that the next line has news, and `count` entries come. */
static void work(uint64_t count)
{
    tic_rig_task(&rig, logged, handle, logged);
    for (uint64_t i = 0; i < count; i++)
        log_one(logged + i);
    logged += count;
    assert_true(tic_rig_submit(&rig, logged));
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
}

static void replay(void)
{
    for (uint64_t i = 0; i < logged; i++) {
        int64_t value = -1;
        assert_int_equal(tic_graph_event(&rig.graph, TIC_EVENT_TIME, &value), 0);
        assert_int_equal(value, i);
        assert_non_null(tic_graph_replay_acquire(&rig.graph));
    }
    assert_null(tic_graph_replay_acquire(&rig.graph));
    assert_true(tic_rig_submit(&rig, logged));
}

static void load_newest(void)
{
    tic_line_clear(&line);
    assert_true(tic_rig_newest(&rig, &line));
}

static void expect_everything(void)
{
    load_newest();
    assert_int_equal(line.acquire_count, logged);
    assert_int_equal(line.read_count, logged);
    assert_int_equal(line.input_count, logged);
    assert_int_equal(line.event_count, logged);
    assert_int_equal(line.spawned_count, logged);
    assert_int_equal(line.look_count, logged);
    assert_int_equal(line.kept_write_count, logged);
    assert_int_equal(line.signature_count, logged);
    assert_int_equal(line.history_count, OBSERVED * logged);
    assert_null(tic_history_find_difference(&line, true));
    size_t callback = 0, kernel = 0;
    for (uint64_t i = 0; i < logged; i++) {
        assert_int_equal(line.events[i].value, i);
        assert_int_equal(line.inputs[i].hash, i * 3);
        assert_int_equal(next_begun(TIC_HISTORY_CALLBACK, &callback), i * 7);
        assert_int_equal(line.reads[i].task, i);
        assert_int_equal(next_begun(TIC_HISTORY_KERNEL, &kernel), i * 5);
        assert_int_equal(line.looks[i].words[0], i);
        assert_int_equal(line.spawned[i], (i * 2) | TIC_SPAWN_KEY);
        assert_int_equal(line.kept_writes[i].handle, i);
    }
}

static void test_everything_comes_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        work(STEP);
        expect_everything();
        if (round % 2) {
            assert_true(tic_rig_restart(&rig));
            register_handle();
            replay();
            /* as the restore would: */
            handle->restart.pending = false;
        }
    }
}

/* Tables that only lines of before have. */
static bool is_earlier(uint32_t number)
{
    return number == TIC_TABLE_CALLBACKS || number == TIC_TABLE_RAN;
}

/* The newest line's own entries fit into less than a block of each table. */
static void test_lines_hold_what_is_new(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        work(STEP);
        struct tic_line *newest = &rig.store.kept[0];
        for (uint32_t number = 1; number < TIC_TABLES; number++) {
            const struct tic_table *table = tic_table_find(number);
            uint64_t own = *tic_table_count(table, newest);
            assert_true(own < tic_table_capacity(table));
            uint64_t whole = number == TIC_TABLE_HISTORY ? OBSERVED * logged
                             : is_earlier(number)        ? 0
                                                         : logged;
            if (number != TIC_TABLE_VALUES)
                assert_int_equal(own + tic_table_in_blocks(newest, number), whole);
        }
    }
    uint64_t before = atomic_load(&rig.store.counts.bytes_written);
    work(1);
    assert_true(atomic_load(&rig.store.counts.bytes_written) - before < 2 * 32768);
}

static const struct tic_line_block *block_of(uint32_t table, size_t skip)
{
    const struct tic_line *newest = &rig.store.kept[0];
    const struct tic_line_block *last = NULL;

    for (size_t i = skip; i < newest->block_count; i++)
        if (newest->blocks[i].table == table)
            last = &newest->blocks[i];
    return last;
}

static void damage(const struct tic_line_block *block)
{
    const struct tic_line_extent *extent = &rig.store.kept[0].extents[block->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    char name[64];

    snprintf(name, sizeof(name), "p0-segment-%08lu.h5", (unsigned long)extent->segment);
    tic_tmpdir_damage(&rig.dir, name,
                      (long)(extent->offset + (block->row + 1) * tic_shape_bytes(&shape) - 1));
}

/* A block that only the newest line has: the older line is used. One that both have: none is. */
static void test_damage_is_found(void **state)
{
    (void)state;
    work(STEP);
    work(10);
    size_t old_blocks = rig.store.kept[0].block_count;
    work(3 * STEP);
    for (uint32_t number = 1; number < TIC_TABLES; number++) {
        if (number == TIC_TABLE_VALUES || is_earlier(number))
            continue;
        const struct tic_line_block *fresh = block_of(number, old_blocks);
        assert_non_null(fresh);
        damage(fresh);
        load_newest();
        assert_int_equal(line.number, rig.store.kept[0].number - 1);
        damage(fresh); /* mended */
    }
    expect_everything();
    damage(&rig.store.kept[0].blocks[0]);
    tic_line_clear(&line);
    assert_false(tic_rig_newest(&rig, &line));
}

/* Rows that were read stay for ever, whatever happens to the handle. */
static void test_logged_rows_stay(void **state)
{
    uint64_t words[WORDS];
    (void)state;
    for (uint64_t i = 0; i < 50; i++)
        work(1);
    load_newest();
    for (uint64_t i = 0; i < line.acquire_count; i++) {
        struct tic_line_value value = {.extent = line.acquires[i].extent,
                                       .row = line.acquires[i].row};
        tic_rig_read(&rig, &line, &value, words, WORDS);
        assert_int_equal(words[0], i);
    }
    assert_int_equal(tic_rows_pinned(&rig.store.rows), 50 * sizeof(memory));
}

/* A block of a table that only lines of before have, in the next line. */
static void save_earlier(uint32_t number, const void *rows, uint32_t count)
{
    struct tic_cycle *cycle = &rig.snapshot.cycle;
    struct tic_line_block block;

    assert_int_equal(tic_block_save(&rig.store, number, rows, count, &block), 0);
    tic_rows_pin(&rig.store.rows, (struct tic_row){block.extent, block.row});
    tic_rows_settle(&rig.store.rows, (struct tic_row){block.extent, block.row});
    assert_int_equal(tic_append(cycle->blocks, cycle->block_count, cycle->block_capacity, &block),
                     0);
}

static void expect_begun(size_t at, enum tic_history_role role, uint64_t actor, uint64_t position)
{
    const struct tic_line_entry *entry = &line.history[at];

    assert_int_equal(entry->kind, TIC_HISTORY_BEGIN);
    assert_int_equal(entry->role, role);
    assert_int_equal(entry->actor, actor);
    assert_int_equal(entry->position, position);
}

/* Their rows are entries of the history from then on, each once, however often it restarts. */
static void test_earlier_blocks_are_adopted(void **state)
{
    struct tic_line_callback callbacks[] = {{51, 0}, {52, 0}};
    uint64_t ran = 53;
    (void)state;

    rig.graph.history.absent = true;
    save_earlier(TIC_TABLE_CALLBACKS, callbacks, 2);
    save_earlier(TIC_TABLE_RAN, &ran, 1);
    for (unsigned round = 0; round < 3; round++) {
        work(1); /* a kernel and a callback begin */
        load_newest();
        assert_int_equal(line.history_count, 2 * logged + 3);
        expect_begun(2, TIC_HISTORY_CALLBACK, 51, 0);
        expect_begun(3, TIC_HISTORY_CALLBACK, 52, 0);
        expect_begun(4, TIC_HISTORY_KERNEL, 53, tic_line_position(&line));
        assert_int_equal(tic_table_in_blocks(&line, TIC_TABLE_RAN), round == 0);
        assert_int_equal(tic_table_in_blocks(&line, TIC_TABLE_CALLBACKS), round == 0 ? 2 : 0);
        assert_true(tic_rig_restart(&rig));
        assert_true(rig.graph.history.absent);
        assert_true(tic_history_has_begun(&rig.graph.history, TIC_HISTORY_CALLBACK, 52));
        assert_true(tic_history_has_begun(&rig.graph.history, TIC_HISTORY_KERNEL, 53));
        register_handle();
        replay();
        handle->restart.pending = false; /* as the restore would */
    }
}

static int set_up(void **state)
{
    (void)state;
    logged = 0;
    memset(memory, 0, sizeof(memory));
    tic_rig_open(&rig);
    register_handle();
    tic_rig_provide(&rig, handle, 200);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_line_clear(&line);
    return tic_rig_finish(&rig);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_everything_comes_back),
        TEST(test_lines_hold_what_is_new),
        TEST(test_damage_is_found),
        TEST(test_logged_rows_stay),
        TEST(test_earlier_blocks_are_adopted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
