/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a value that waits in memory is there until it is written, whatever is swept
 * meanwhile. */
#include <errno.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "store/forced.h"
#include "store/held.h"

enum { WORDS = 100 };

static struct tic_rig rig;
static uint64_t memory[WORDS];
static struct tic_layout layout;

static int setup(void **state)
{
    (void)state;
    tic_rig_open(&rig);
    for (unsigned i = 0; i < WORDS; i++)
        memory[i] = i * i + 1;
    layout = tic_fake_vector(memory, sizeof(*memory), WORDS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    return 0;
}

static void check_written(const struct tic_saved *saved)
{
    uint64_t read[WORDS];
    struct tic_layout other = tic_fake_vector(read, sizeof(*read), WORDS);

    assert_int_equal(tic_held_write_all(&rig.store), 0);
    assert_int_not_equal(tic_rows_real(&rig.store.rows, saved->row).extent, TIC_HELD_EXTENT);
    assert_int_equal(tic_store_read(&rig.store, saved, &other), 0);
    assert_memory_equal(read, memory, sizeof(memory));
}

static void test_held_during_a_sweep(void **state)
{
    struct tic_saved saved;
    (void)state;
    tic_rows_sweep_begin(&rig.store.rows);
    assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
    tic_rows_sweep_end(&rig.store.rows);
    tic_rows_settle(&rig.store.rows, saved.row);
    check_written(&saved);
}

static void test_pinned_during_a_sweep(void **state)
{
    struct tic_saved saved;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_pin(&rig.store.rows, saved.row);
    tic_rows_sweep_end(&rig.store.rows);
    check_written(&saved);
}

/* A record of a result names a place in a file: a number is none. */
static void test_no_result(void **state)
{
    struct tic_saved saved;
    struct tic_forced_output output;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
    assert_int_equal(tic_forced_describe(&rig.store, &saved, &output), -EBUSY);
    tic_rows_settle(&rig.store.rows, saved.row);
}

/* What nothing refers to is not written at all. */
static void test_forgotten(void **state)
{
    struct tic_saved saved;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_sweep_end(&rig.store.rows);
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    assert_int_equal(rig.store.values_written, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Compression holds every value that is saved. */
static void test_numbers_are_given_again(void **state)
{
    struct tic_saved saved, kept;
    (void)state;

    assert_int_equal(tic_held_save(&rig.store, &layout, &kept), 0);
    tic_rows_settle(&rig.store.rows, kept.row);
    for (unsigned i = 0; i < 100; i++) {
        memory[0]++;
        assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
        assert_int_not_equal(saved.row.row, kept.row.row);
        assert_in_range(saved.row.row, 0, 1);
        tic_rows_settle(&rig.store.rows, saved.row);
        if (i == 50)
            assert_int_equal(tic_held_write_all(&rig.store), 0);
        tic_rows_sweep_begin(&rig.store.rows);
        tic_rows_mark(&rig.store.rows, kept.row);
        tic_rows_sweep_end(&rig.store.rows);
    }
    memory[0] -= 100;
    check_written(&kept);
}

/* One by one, as it is held, when rows are there. */
static void test_written_at_once(void **state)
{
    struct tic_saved saved;
    struct tic_demand demand = {layout.shape, 1};
    (void)state;

    assert_int_equal(tic_held_save(&rig.store, &layout, &saved), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), -EAGAIN);
    assert_int_equal(tic_store_provide(&rig.store, &demand, 1), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), 0); /* there is nothing left */
    assert_int_equal(rig.store.values_written, 1);
    tic_rows_settle(&rig.store.rows, saved.row);
    check_written(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_held_during_a_sweep),     TEST(test_pinned_during_a_sweep), TEST(test_forgotten),
        TEST(test_numbers_are_given_again), TEST(test_written_at_once),       TEST(test_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
