/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that rows are given out, kept and freed as a plain table of flags says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"
#include "store/rows.h"

enum { MAX_EXTENTS = 12, MAX_ROWS = 130, STEPS = 6000, SHAPES = 3 };

/* The model of one row. */
struct state {
    bool used; /* not free */
    bool busy; /* taken and not settled */
    bool kept; /* survives the sweep under way */
};

static struct tic_rows rows;
static struct tic_line_extent extents[MAX_EXTENTS];
static struct state model[MAX_EXTENTS][MAX_ROWS];
static unsigned extent_count;
static struct tic_random random_state;

static struct tic_shape shape_of(unsigned which)
{
    return (struct tic_shape){8, 2, {4, 1 + which, 1, 1}, 0};
}

static void add_extent(void)
{
    static const uint64_t sizes[] = {1, 2, 63, 64, 65, 128, 130};
    struct tic_shape shape = shape_of((unsigned)tic_random_below(&random_state, SHAPES));
    struct tic_line_extent *extent = &extents[extent_count];

    *extent = (struct tic_line_extent){
        .segment = extent_count + 1,
        .dataset = 3,
        .element_size = shape.element_size,
        .ndim = shape.ndim,
        .rows = sizes[tic_random_below(&random_state, TIC_COUNT(sizes))],
        .offset = 4096 + tic_random_below(&random_state, 1 << 20),
    };
    memcpy(extent->dims, shape.dims, sizeof(shape.dims));
    assert_int_equal(tic_rows_add(&rows, extent, 100 + (int)extent_count), extent_count);
    extent_count++;
}

static bool has_shape(unsigned extent, const struct tic_shape *shape)
{
    return memcmp(extents[extent].dims, shape->dims, sizeof(shape->dims)) == 0;
}

static uint64_t model_available(const struct tic_shape *shape)
{
    uint64_t available = 0;
    for (unsigned e = 0; e < extent_count; e++)
        for (uint64_t r = 0; r < extents[e].rows && has_shape(e, shape); r++)
            available += !model[e][r].used;
    return available;
}

static void check_location(const struct tic_shape *shape, struct tic_row row)
{
    uint64_t bytes = tic_shape_bytes(shape);
    struct tic_place place;

    assert_int_equal(tic_rows_locate(&rows, row, bytes, &place), 0);
    assert_int_equal(place.fd, 100 + (int)row.extent);
    assert_int_equal(place.key, 0);
    assert_int_equal(place.offset, extents[row.extent].offset + row.row * bytes);
    assert_int_equal(tic_rows_locate(&rows, row, bytes + 1, &place), -ERANGE);
    row.row = (uint32_t)extents[row.extent].rows;
    assert_int_equal(tic_rows_locate(&rows, row, bytes, &place), -ERANGE);
    row.extent = extent_count;
    assert_int_equal(tic_rows_locate(&rows, row, bytes, &place), -ERANGE);
}

static void take(void)
{
    struct tic_shape shape = shape_of((unsigned)tic_random_below(&random_state, SHAPES));
    uint64_t available = model_available(&shape);
    struct tic_row row;

    assert_int_equal(tic_rows_available(&rows, &shape), available);
    assert_int_equal(tic_rows_take(&rows, &shape, &row), available ? 0 : -EAGAIN);
    if (!available)
        return;
    assert_true(row.extent < extent_count && row.row < extents[row.extent].rows);
    assert_true(has_shape(row.extent, &shape));
    assert_false(model[row.extent][row.row].used);
    model[row.extent][row.row] = (struct state){true, true, true};
    check_location(&shape, row);
}

/* A random row for which the flag holds; false when a few tries find none. */
static bool pick(bool busy, struct tic_row *row)
{
    for (int tries = 0; tries < 50 && extent_count > 0; tries++) {
        row->extent = (uint32_t)tic_random_below(&random_state, extent_count);
        row->row = (uint32_t)tic_random_below(&random_state, extents[row->extent].rows);
        const struct state *state = &model[row->extent][row->row];
        if (state->used && state->busy == busy)
            return true;
    }
    return false;
}

static void settle(void)
{
    struct tic_row row;
    if (!pick(true, &row))
        return;
    tic_rows_settle(&rows, row);
    model[row.extent][row.row].busy = false;
}

static void mark(void)
{
    struct tic_row row;
    if (!pick(false, &row))
        return;
    tic_rows_mark(&rows, row);
    model[row.extent][row.row].kept = true;
}

/* Marks some rows; others are taken and settled meanwhile. */
static void sweep(void)
{
    tic_rows_sweep_begin(&rows);
    for (unsigned e = 0; e < extent_count; e++)
        for (unsigned r = 0; r < MAX_ROWS; r++)
            model[e][r].kept = model[e][r].busy;
    for (uint64_t i = tic_random_below(&random_state, 60); i > 0; i--) {
        uint64_t what = tic_random_below(&random_state, 4);
        if (what == 0)
            take();
        else if (what == 1)
            settle();
        else
            mark();
    }
    tic_rows_sweep_end(&rows);
    for (unsigned e = 0; e < extent_count; e++)
        for (unsigned r = 0; r < MAX_ROWS; r++)
            model[e][r].used = model[e][r].kept;
}

static void test_random_against_model(void **state)
{
    (void)state;
    tic_random_init(&random_state, 1);
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = tic_random_below(&random_state, 100);
        if (what < 1 && extent_count < MAX_EXTENTS)
            add_extent();
        else if (what < 55)
            take();
        else if (what < 97)
            settle();
        else
            sweep();
    }
    assert_int_equal(extent_count, MAX_EXTENTS);
}

static void test_table_is_a_copy(void **state)
{
    struct tic_line_extent *table;
    size_t count;
    (void)state;
    tic_random_init(&random_state, 2);
    assert_int_equal(tic_rows_table(&rows, &table, &count), 0);
    assert_int_equal(count, 0);
    free(table);
    for (int i = 0; i < 5; i++)
        add_extent();
    assert_int_equal(tic_rows_table(&rows, &table, &count), 0);
    assert_int_equal(count, 5);
    assert_memory_equal(table, extents, count * sizeof(*table));
    free(table);
}

static int set_up(void **state)
{
    (void)state;
    extent_count = 0;
    memset(model, 0, sizeof(model));
    tic_rows_init(&rows);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_rows_fini(&rows);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random_against_model),
        TEST(test_table_is_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
