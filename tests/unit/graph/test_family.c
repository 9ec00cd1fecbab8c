/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that handles that share memory find each other, and that their values in the order of
 * versions make the memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/family.h"
#include "lib/random.h"
#include "lib/testing.h"

enum { SIDE = 12, PARTS = 3, WIDTH = SIDE / PARTS };

static struct tic_graph graph;
static uint32_t memory[SIDE * SIDE];

/* Columns first..first+nx-1 and rows from..from+ny-1 of the matrix. */
static struct tic_handle *add(uint64_t first, uint64_t nx, uint64_t from, uint64_t ny)
{
    struct tic_handle *handle = tic_graph_add_handle(&graph);

    assert_non_null(handle);
    handle->data = handle;
    handle->layout = (struct tic_layout){
        .shape = {sizeof(uint32_t), 2, {nx, ny, 1, 1}},
        .base = (char *)&memory[from * SIDE + first],
        .stride = {1, SIDE},
    };
    return handle;
}

static void add_parts(struct tic_handle **parts, bool rows)
{
    for (uint64_t i = 0; i < PARTS; i++)
        parts[i] = rows ? add(0, SIDE, i * WIDTH, WIDTH) : add(i * WIDTH, WIDTH, 0, SIDE);
}

static void test_planned_parts_overlap(void **state)
{
    struct tic_handle *root = add(0, SIDE, 0, SIDE), *rows[PARTS], *columns[PARTS];
    (void)state;
    atomic_store(&root->saving.version, 5);
    add_parts(rows, true);
    assert_int_equal(tic_family_join(&graph, root, rows, PARTS), 0);
    add_parts(columns, false);
    assert_int_equal(tic_family_join(&graph, root, columns, PARTS), 0);
    assert_int_equal(root->listing.overlap_count, 2 * PARTS);
    for (int i = 0; i < PARTS; i++) {
        assert_int_equal(rows[i]->listing.overlap_count, 1 + PARTS); /* the root, all columns */
        assert_int_equal(columns[i]->listing.overlap_count, 1 + PARTS);
    }
    tic_handle_count_write(rows[1]);
    tic_handle_count_write(columns[2]);
    assert_int_equal(atomic_load(&rows[1]->saving.version), 6);
    assert_int_equal(atomic_load(&columns[2]->saving.version), 7);
    assert_true(tic_family_is_stale(&graph, root));
    assert_true(tic_family_is_stale(&graph, rows[1]));
    assert_false(tic_family_is_stale(&graph, columns[2]));
    tic_handle_count_write(root);
    assert_false(tic_family_is_stale(&graph, root));
}

static void test_due_are_those_of_the_cut(void **state)
{
    struct tic_handle *root = add(0, SIDE, 0, SIDE), *rows[PARTS], **due;
    unsigned long count;
    (void)state;
    add_parts(rows, true);
    assert_int_equal(tic_family_join(&graph, root, rows, PARTS), 0);
    atomic_store(&rows[0]->saving.dirty_since, 3);
    atomic_store(&rows[1]->saving.dirty_since, 4);
    due = tic_family_due(&graph, root, 3, &count);
    assert_int_equal(count, 1);
    assert_ptr_equal(due[0], rows[0]);
    free(due);
    due = tic_family_due(&graph, rows[2], 9, &count);
    assert_int_equal(count, 0); /* siblings share nothing */
    assert_null(due);
    rows[0]->listing.gone_since = 3;
    due = tic_family_due(&graph, root, 3, &count);
    assert_int_equal(count, 0);
    free(due);
}

static void test_registered_twice(void **state)
{
    struct tic_handle *left = add(0, WIDTH, 0, SIDE), *right = add(SIDE - WIDTH, WIDTH, 0, SIDE);
    struct tic_handle *whole = add(0, SIDE, 0, SIDE), *again = add(0, WIDTH, 0, SIDE);
    (void)state;
    assert_int_equal(tic_family_meet(&graph, left), 0);
    assert_int_equal(tic_family_meet(&graph, right), 0); /* ranges interleave, bytes do not */
    assert_null(left->family);
    assert_null(right->family);
    assert_int_equal(tic_family_meet(&graph, whole), 0);
    assert_non_null(whole->family);
    assert_ptr_equal(whole->family, left->family);
    assert_ptr_equal(whole->family, right->family);
    assert_int_equal(left->listing.overlap_count, 1);
    assert_int_equal(whole->listing.overlap_count, 2);
    assert_int_equal(tic_family_meet(&graph, again), 0);
    assert_int_equal(again->listing.overlap_count, 2);
    tic_family_part(&graph, again);
    tic_family_part(&graph, whole);
    struct tic_handle *last = add(0, 1, 0, 1);
    assert_int_equal(tic_family_meet(&graph, last), 0);
    assert_ptr_equal(last->family, left->family);
}

/* However many others there are. */
static void test_one_of_many_registered_twice(void **state)
{
    enum { MANY = 40000 };
    static uint32_t numbers[MANY];
    struct tic_handle *handles[2] = {NULL};
    (void)state;
    for (uint64_t i = 0; i <= MANY; i++) {
        struct tic_handle *handle = add(0, 1, 0, 1);
        uint64_t at = i == MANY ? MANY / 3 : i * 7 % MANY; /* each once */
        handle->layout.base = (char *)&numbers[at];
        assert_int_equal(tic_family_meet(&graph, handle), 0);
        if (at == MANY / 3)
            handles[i == MANY] = handle;
        else
            assert_null(handle->family);
    }
    assert_non_null(handles[0]->family);
    assert_ptr_equal(handles[0]->family, handles[1]->family);
}

static void test_pruned_when_the_root_was_written(void **state)
{
    struct tic_handle *root = add(0, SIDE, 0, SIDE), *rows[PARTS];
    (void)state;
    add_parts(rows, true);
    assert_int_equal(tic_family_join(&graph, root, rows, PARTS), 0);
    tic_handle_count_write(rows[0]);
    for (int i = 0; i < PARTS; i++)
        rows[i]->data = NULL;
    tic_family_prune(&graph, root->family, 8);
    assert_int_equal(rows[0]->listing.gone_since, 0); /* the root does not have its value yet */
    assert_int_equal(rows[1]->listing.gone_since, 8);
    tic_handle_count_write(root);
    tic_family_prune(&graph, root->family, 9);
    assert_int_equal(rows[0]->listing.gone_since, 9);
    assert_int_equal(root->listing.overlap_count, 0);
}

/* Programs free memory that they leave registered, and get it again. */
static void test_pruned_when_a_part_with_all_of_it_was_written(void **state)
{
    struct tic_handle *first = add(0, SIDE, 0, SIDE), *second = add(0, SIDE, 0, SIDE);
    struct tic_handle *rows[PARTS], *later[PARTS], *columns[PARTS];
    (void)state;
    assert_int_equal(tic_family_meet(&graph, first), 0);
    assert_int_equal(tic_family_meet(&graph, second), 0);
    add_parts(rows, true);
    assert_int_equal(tic_family_join(&graph, second, rows, PARTS), 0);
    add_parts(columns, false);
    assert_int_equal(tic_family_join(&graph, second, columns, PARTS), 0);
    for (int i = 0; i < PARTS; i++) {
        tic_handle_count_write(rows[i]);
        rows[i]->data = NULL;
        tic_handle_count_write(columns[i]); /* each is of a part of each row */
    }
    tic_family_prune(&graph, first->family, 8);
    assert_int_equal(rows[1]->listing.gone_since, 0);
    add_parts(later, true);
    assert_int_equal(tic_family_join(&graph, second, later, PARTS), 0);
    tic_handle_count_write(later[1]);
    tic_family_prune(&graph, first->family, 9);
    assert_int_equal(rows[0]->listing.gone_since, 0);
    assert_int_equal(rows[1]->listing.gone_since, 9);
}

/* Random writes through random views; the last values in the order of versions are the memory. */
static void test_values_make_the_memory(void **state)
{
    struct tic_handle *views[1 + 2 * PARTS] = {add(0, SIDE, 0, SIDE)};
    uint32_t values[1 + 2 * PARTS][SIDE * SIDE], rebuilt[SIDE * SIDE] = {0};
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    add_parts(views + 1, true);
    assert_int_equal(tic_family_join(&graph, views[0], views + 1, PARTS), 0);
    add_parts(views + 1 + PARTS, false);
    assert_int_equal(tic_family_join(&graph, views[0], views + 1 + PARTS, PARTS), 0);
    memset(memory, 0, sizeof(memory));
    for (uint32_t write = 1; write < 200; write++) {
        uint64_t at;
        tic_random_fill(&random, &at, sizeof(at));
        struct tic_handle *view = views[at % TIC_COUNT(views)];
        for (uint64_t j = 0; j < view->layout.shape.dims[1]; j++)
            for (uint64_t i = 0; i < view->layout.shape.dims[0]; i++)
                ((uint32_t *)view->layout.base)[j * SIDE + i] = write;
        tic_handle_count_write(view);
        view->saving.current.version = atomic_load(&view->saving.version);
        view->restart.pending = view->family->pending = true;
        memcpy(values[at % TIC_COUNT(views)], memory, sizeof(memory));
    }
    unsigned long count;
    struct tic_handle **order = tic_family_pending(&graph, views[0]->family, &count);
    for (unsigned long k = 0; k < count; k++)
        for (size_t v = 0; v < TIC_COUNT(views); v++) {
            if (views[v] != order[k])
                continue;
            size_t offset = (size_t)((uint32_t *)order[k]->layout.base - memory);
            for (uint64_t j = 0; j < order[k]->layout.shape.dims[1]; j++)
                for (uint64_t i = 0; i < order[k]->layout.shape.dims[0]; i++)
                    rebuilt[offset + j * SIDE + i] = values[v][offset + j * SIDE + i];
        }
    free(order);
    assert_memory_equal(rebuilt, memory, sizeof(memory));
}

/* It may be the latest of all. */
static void test_restored_values_wait_for_others(void **state)
{
    struct tic_handle *root = add(0, SIDE, 0, SIDE), *rows[PARTS], *columns[PARTS];
    (void)state;
    root->restart.restored = root->restart.live = true;
    add_parts(rows, true);
    assert_int_equal(tic_family_join(&graph, root, rows, PARTS), 0);
    assert_true(root->restart.restored);
    assert_true(root->family->live);
    add_parts(columns, false);
    columns[1]->restart.pending = true;
    assert_int_equal(tic_family_join(&graph, root, columns, PARTS), 0);
    assert_true(root->restart.pending);
    assert_false(root->restart.restored);
    assert_false(root->family->live);
    assert_false(rows[0]->restart.pending);
}

static int setup(void **state)
{
    (void)state;
    return tic_graph_init(&graph);
}

static int teardown(void **state)
{
    (void)state;
    tic_graph_fini(&graph);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_planned_parts_overlap),
        TEST(test_due_are_those_of_the_cut),
        TEST(test_registered_twice),
        TEST(test_pruned_when_the_root_was_written),
        TEST(test_pruned_when_a_part_with_all_of_it_was_written),
        TEST(test_values_make_the_memory),
        TEST(test_restored_values_wait_for_others),
        TEST(test_one_of_many_registered_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
