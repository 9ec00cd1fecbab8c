/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that lines name exactly the values that were put into the index, that unchanged blocks are
 * shared, and that nothing that the two newest lines refer to is written again. */
#include "store/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/blocks.h"

enum { IDS = 2000, ROWS = 6000 };

static struct tic_tmpdir dir;
static struct tic_store store;
static struct tic_random dice;
static struct tic_line_value model[IDS]; /* TIC_NO_EXTENT: none */

/* Rows for the values, which nobody writes: only blocks are read here. */
static void open_store(void)
{
    struct tic_demand demand = {{8, 1, {3, 1, 1, 1}, 0}, ROWS};

    assert_int_equal(tic_store_open(&store, dir.path, TIC_STORE_CREATE, false, &tic_h5_ops), 0);
    if (store.rows.count == 0)
        assert_int_equal(tic_store_provide(&store, &demand, 1), 0);
}

static void set(uint64_t id)
{
    model[id] = (struct tic_line_value){id,
                                        tic_random_next(&dice),
                                        tic_random_next(&dice),
                                        0,
                                        (uint32_t)tic_random_below(&dice, ROWS),
                                        (uint32_t)tic_random_below(&dice, 2)};
    assert_int_equal(tic_index_set(&store.index, &model[id]), 0);
}

static void unset(uint64_t id)
{
    model[id] = (struct tic_line_value){.extent = TIC_NO_EXTENT};
    assert_int_equal(tic_index_remove(&store.index, id), 0);
}

static void sweep(void)
{
    tic_rows_sweep_begin(&store.rows);
    tic_store_mark_kept(&store);
    tic_rows_sweep_end(&store.rows);
}

static void commit(void)
{
    struct tic_line line = {0};

    assert_int_equal(tic_index_write(&store.index, &store, &line), 0);
    assert_int_equal(tic_store_commit(&store, &line), 0);
    tic_index_committed(&store.index, 2);
    sweep();
}

struct seen {
    struct tic_line lines[4];
    int statuses[4];
    unsigned count;
};

static bool note_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct seen *seen = arg;
    (void)name;
    seen->statuses[seen->count] = status;
    seen->lines[seen->count++] = *line;
    memset(line, 0, sizeof(*line));
    return false;
}

/* What another process finds. */
static struct seen look(void)
{
    struct tic_store other;
    struct seen seen = {.count = 0};

    assert_int_equal(tic_store_open(&other, dir.path, TIC_STORE_READ, false, &tic_h5_ops), 0);
    assert_int_equal(tic_store_walk(&other, note_line, &seen), 0);
    tic_store_close(&other);
    return seen;
}

static void forget(struct seen *seen)
{
    while (seen->count > 0)
        tic_line_clear(&seen->lines[--seen->count]);
}

static void expect_line(const struct tic_line *line, const struct tic_line_value *values)
{
    size_t at = 0;

    for (uint64_t id = 0; id < IDS; id++) {
        if (values[id].extent == TIC_NO_EXTENT)
            continue;
        assert_true(at < line->value_count);
        const struct tic_line_value *found = &line->values[at++];
        assert_int_equal(found->id, id);
        assert_int_equal(found->version, values[id].version);
        assert_int_equal(found->checksum, values[id].checksum);
        assert_int_equal(found->row, values[id].row);
        assert_int_equal(found->gone, values[id].gone);
    }
    assert_int_equal(at, line->value_count);
}

/* No row is free that one of these tables of values names. */
static void expect_not_free(const struct tic_line_value *newest,
                            const struct tic_line_value *before)
{
    static const struct tic_shape shape = {8, 1, {3, 1, 1, 1}, 0};
    static bool is_free[ROWS];
    struct tic_row row;

    memset(is_free, 0, sizeof(is_free));
    while (tic_rows_take(&store.rows, &shape, &row) == 0)
        if (row.extent == 0)
            is_free[row.row] = true;
    for (uint64_t id = 0; id < IDS; id++) {
        assert_false(newest[id].extent != TIC_NO_EXTENT && is_free[newest[id].row]);
        assert_false(before[id].extent != TIC_NO_EXTENT && is_free[before[id].row]);
    }
    for (row = (struct tic_row){0, 0}; row.row < ROWS; row.row++)
        if (is_free[row.row])
            tic_rows_settle(&store.rows, row);
    sweep();
}

/* Some ids change; after each commit both lines in place are what they were when they were written.
 */
static void run_rounds(unsigned rounds, uint64_t ids, uint64_t changes)
{
    static struct tic_line_value before[IDS];

    for (unsigned round = 0; round < rounds; round++) {
        memcpy(before, model, sizeof(model));
        for (uint64_t i = 0; i < changes; i++) {
            uint64_t id = tic_random_below(&dice, ids);
            if (tic_random_below(&dice, 4) == 0)
                unset(id);
            else
                set(id);
        }
        commit();
        struct seen seen = look();
        assert_int_equal(seen.statuses[0], 0);
        expect_line(&seen.lines[0], model);
        if (round > 0) {
            assert_int_equal(seen.statuses[1], 0);
            expect_line(&seen.lines[1], before);
            expect_not_free(model, before);
        }
        forget(&seen);
    }
}

static void test_few_values_stand_in_the_line(void **state)
{
    (void)state;
    run_rounds(20, 200, 30);
    assert_int_equal(store.kept[0].block_count, 0);
}

static void test_many_values_lie_in_blocks(void **state)
{
    (void)state;
    run_rounds(30, IDS, 200);
    assert_true(store.kept[0].block_count > 0);
    assert_int_equal(store.kept[0].value_count, 0);
}

static void test_few_become_many(void **state)
{
    (void)state;
    run_rounds(3, 100, 30);
    run_rounds(3, IDS, 100);
    run_rounds(3, 100, 30);
}

static void test_only_changed_blocks_are_written(void **state)
{
    (void)state;
    for (uint64_t id = 0; id < IDS; id++)
        set(id);
    commit();
    uint64_t before = atomic_load(&store.counts.values_written);
    for (uint64_t id = 0; id < IDS; id++)
        assert_int_equal(tic_index_set(&store.index, &model[id]), 0); /* as they are */
    set(5);
    set(6);
    set(IDS - 1);
    commit();
    assert_int_equal(atomic_load(&store.counts.values_written) - before, 2);
}

static void test_blocks_use_rows_again(void **state)
{
    (void)state;
    run_rounds(60, IDS, 500);
    const struct tic_shape shape = tic_table_shape(tic_table_find(TIC_TABLE_VALUES));
    assert_true(tic_rows_total(&store.rows, &shape) <= 8 * store.kept[0].block_count);
}

/* Both lines in place are still whole after it. */
static void test_commit_that_fails_frees_nothing(void **state)
{
    static struct tic_line_value before[IDS], newest[IDS];
    struct tic_line line = {0};
    (void)state;
    run_rounds(2, IDS, 200);
    memcpy(before, model, sizeof(model));
    run_rounds(1, IDS, 200);
    memcpy(newest, model, sizeof(model));
    for (unsigned trial = 0; trial < 3; trial++) {
        for (uint64_t i = 0; i < 200; i++)
            set(tic_random_below(&dice, IDS));
        assert_int_equal(tic_index_write(&store.index, &store, &line), 0);
        tic_line_clear(&line); /* it cannot be written */
        sweep();
        expect_not_free(newest, before);
    }
}

static void test_damaged_block(void **state)
{
    struct tic_line_block block;
    char name[64];
    (void)state;
    for (uint64_t id = 0; id < IDS; id++)
        set(id);
    commit();
    memcpy(&block, &store.kept[0].blocks[3], sizeof(block));
    set(0);
    commit();
    struct seen seen = look();
    assert_int_equal(seen.statuses[0], 0);
    assert_int_equal(seen.statuses[1], 0);
    /* Both lines refer to this block. */
    assert_memory_equal(&block, &store.kept[0].blocks[3], sizeof(block));
    const struct tic_line_extent *extent = &store.kept[0].extents[block.extent];
    snprintf(name, sizeof(name), "p0-segment-%08lu.h5", (unsigned long)extent->segment);
    tic_tmpdir_damage(&dir, name, (long)(extent->offset + block.row * 4096 + 17));
    forget(&seen);
    seen = look();
    assert_int_equal(seen.statuses[0], -EBADMSG);
    assert_int_equal(seen.statuses[1], -EBADMSG);
    forget(&seen);
    /* The first one was written anew for the second line. */
    tic_tmpdir_damage(&dir, name, (long)(extent->offset + block.row * 4096 + 17));
    block = store.kept[0].blocks[0];
    extent = &store.kept[0].extents[block.extent];
    snprintf(name, sizeof(name), "p0-segment-%08lu.h5", (unsigned long)extent->segment);
    tic_tmpdir_damage(&dir, name, (long)(extent->offset + block.row * 4096));
    seen = look();
    assert_int_equal(seen.statuses[0], -EBADMSG);
    assert_int_equal(seen.statuses[1], 0);
    forget(&seen);
}

static int set_up(void **state)
{
    (void)state;
    tic_random_init(&dice, 1);
    tic_tmpdir_create(&dir);
    for (unsigned i = 0; i < IDS; i++)
        model[i] = (struct tic_line_value){.extent = TIC_NO_EXTENT};
    open_store();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_store_close(&store);
    tic_tmpdir_remove(&dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_few_values_stand_in_the_line),
        TEST(test_many_values_lie_in_blocks),
        TEST(test_few_become_many),
        TEST(test_only_changed_blocks_are_written),
        TEST(test_blocks_use_rows_again),
        TEST(test_commit_that_fails_frees_nothing),
        TEST(test_damaged_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
