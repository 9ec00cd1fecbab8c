/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that what is stored already is not written again, that nothing else is taken for it, and
 * that a row stays as long as one of those who share it needs it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"

enum { WORDS = 1000, ROWS = 8 };

static struct tic_rig rig;
static uint64_t memory[WORDS];
static struct tic_layout layout;

static int setup(void **state)
{
    (void)state;
    tic_rig_open(&rig);
    for (unsigned i = 0; i < WORDS; i++)
        memory[i] = i * i;
    layout = tic_fake_vector(memory, sizeof(*memory), WORDS);
    struct tic_demand demand = {layout.shape, ROWS};
    assert_int_equal(tic_store_provide(&rig.store, &demand, 1), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    return 0;
}

static struct tic_saved save(void)
{
    struct tic_saved saved;

    assert_int_equal(tic_store_save(&rig.store, &layout, &saved), 0);
    return saved;
}

static struct tic_saved save_and_settle(void)
{
    struct tic_saved saved = save();

    tic_rows_settle(&rig.store.rows, saved.row);
    return saved;
}

static bool same_row(struct tic_saved a, struct tic_saved b)
{
    return a.row.extent == b.row.extent && a.row.row == b.row.row;
}

/* Only these stay. */
static void sweep(const struct tic_saved *kept)
{
    tic_rows_sweep_begin(&rig.store.rows);
    if (kept)
        tic_rows_mark(&rig.store.rows, kept->row);
    tic_rows_sweep_end(&rig.store.rows);
}

static void test_equal_content_is_written_once(void **state)
{
    (void)state;
    struct tic_saved first = save_and_settle(), second = save_and_settle();
    assert_true(same_row(first, second));
    assert_int_equal(first.checksum, second.checksum);
    assert_int_equal(rig.store.counts.values_written, 1);
    assert_int_equal(rig.store.counts.values_shared, 1);
    assert_int_equal(rig.store.counts.bytes_shared, sizeof(memory));
    assert_int_equal(tic_store_read(&rig.store, &second, &layout), 0);
}

/* The row held another value with the same sample when a write into it failed, after some of it. */
static void test_a_row_that_was_half_written(void **state)
{
    struct tic_place place;
    int full = open("/dev/full", O_RDWR);
    (void)state;
    struct tic_saved first = save_and_settle();
    assert_int_equal(tic_rows_locate(&rig.store.rows, first.row, sizeof(memory), &place), 0);
    sweep(NULL);
    memory[100]++; /* the sample does not see it */
    int file = dup(place.fd);
    assert_int_equal(dup2(full, place.fd), place.fd);
    struct tic_saved second;
    assert_int_equal(tic_store_save(&rig.store, &layout, &second), -ENOSPC);
    assert_int_equal(dup2(file, place.fd), place.fd);
    assert_int_equal(pwrite(place.fd, memory, sizeof(memory), place.offset), sizeof(memory));
    second = save_and_settle();
    assert_int_equal(second.checksum, tic_layout_checksum(&layout));
    close(file);
    close(full);
}

/* The sample does not see where they differ. */
static void test_other_content_is_another_row(void **state)
{
    (void)state;
    struct tic_saved first = save_and_settle();
    memory[WORDS / 3]++;
    struct tic_saved second = save_and_settle();
    assert_false(same_row(first, second));
    assert_int_equal(rig.store.counts.values_shared, 0);
    assert_int_equal(tic_store_read(&rig.store, &second, &layout), 0);
    memory[WORDS / 3]--;
    assert_int_equal(tic_layout_checksum(&layout), first.checksum);
}

/* What is on the disk counts, not what was written. */
static void test_a_damaged_row_is_not_shared(void **state)
{
    struct tic_place place;

    (void)state;
    struct tic_saved first = save_and_settle();
    assert_int_equal(tic_rows_locate(&rig.store.rows, first.row, sizeof(memory), &place), 0);
    assert_int_equal(pwrite(place.fd, "x", 1, place.offset + 4001), 1);
    assert_false(same_row(first, save_and_settle()));
}

static void test_another_shape_is_another_row(void **state)
{
    (void)state;
    struct tic_saved first = save_and_settle();
    struct tic_layout bytes = tic_fake_vector(memory, 1, sizeof(memory));
    struct tic_demand demand = {bytes.shape, 1};
    assert_int_equal(tic_store_provide(&rig.store, &demand, 1), 0);
    layout = bytes;
    assert_false(same_row(first, save_and_settle()));
}

static void test_a_row_that_is_being_written_is_not_shared(void **state)
{
    (void)state;
    struct tic_saved first = save(), second = save();
    assert_false(same_row(first, second));
    struct tic_saved third = save_and_settle(); /* neither is settled */
    assert_false(same_row(first, third) || same_row(second, third));
}

/* The second one refers to it already when the first forgets it. */
static void test_a_sweep_leaves_what_is_shared(void **state)
{
    (void)state;
    struct tic_saved first = save_and_settle(), second = save();
    sweep(NULL);
    tic_rows_settle(&rig.store.rows, second.row);
    sweep(&second);
    assert_true(same_row(first, second));
    for (unsigned i = 0; i < ROWS - 1; i++) { /* all others are free */
        memory[0]++;
        assert_false(same_row(second, save_and_settle()));
    }
    memory[0] = 0;
    assert_int_equal(tic_store_verify(&rig.store, &second), 0);
}

/* Nobody refers to it: it may hold anything by now. */
static void test_a_free_row_is_not_shared(void **state)
{
    (void)state;
    save_and_settle();
    sweep(NULL);
    save_and_settle();
    assert_int_equal(rig.store.counts.values_shared, 0);
}

/* A number may be remembered until a smaller extent has it. */
static void test_a_row_above_the_last_is_not_shared(void **state)
{
    (void)state;
    struct tic_row row = save_and_settle().row;
    assert_true(tic_rows_share(&rig.store.rows, row, &layout.shape));
    row.row = 1 << 20;
    assert_false(tic_rows_share(&rig.store.rows, row, &layout.shape));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_equal_content_is_written_once),
        TEST(test_other_content_is_another_row),
        TEST(test_a_row_that_was_half_written),
        TEST(test_a_damaged_row_is_not_shared),
        TEST(test_another_shape_is_another_row),
        TEST(test_a_row_that_is_being_written_is_not_shared),
        TEST(test_a_sweep_leaves_what_is_shared),
        TEST(test_a_free_row_is_not_shared),
        TEST(test_a_row_above_the_last_is_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
