/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a value that waits in memory is there until it is written, whatever is swept
 * meanwhile. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/fakedata.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "store/forced.h"
#include "store/held.h"
#include "store/space.h"

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

/* It is there wherever it is; memory that changes meanwhile has no part in it. */
static void test_read_before_and_after_it_is_written(void **state)
{
    struct tic_saved saved;
    struct tic_layout shorter = tic_fake_vector(memory, sizeof(*memory), WORDS / 2);
    uint64_t read[WORDS], kept[WORDS];
    struct tic_layout other = tic_fake_vector(read, sizeof(*read), WORDS);
    (void)state;

    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    memcpy(kept, memory, sizeof(kept));
    memset(memory, 0, sizeof(memory));
    assert_int_equal(tic_store_read(&rig.store, &saved, &other), 0);
    assert_memory_equal(read, kept, sizeof(kept));
    assert_int_equal(tic_store_read(&rig.store, &saved, &shorter), -ERANGE);
    saved.checksum++;
    assert_int_equal(tic_store_read(&rig.store, &saved, &other), -EBADMSG);
    saved.checksum--;
    memcpy(memory, kept, sizeof(kept));
    check_written(&saved);
}

static void test_held_during_a_sweep(void **state)
{
    struct tic_saved saved;
    (void)state;
    tic_rows_sweep_begin(&rig.store.rows);
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    tic_rows_sweep_end(&rig.store.rows);
    tic_rows_settle(&rig.store.rows, saved.row);
    check_written(&saved);
}

static void test_pinned_during_a_sweep(void **state)
{
    struct tic_saved saved;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_pin(&rig.store.rows, saved.row);
    tic_rows_sweep_end(&rig.store.rows);
    check_written(&saved);
}

/* The same when it is in a file already: nothing else is written there. */
static void test_pinned_during_a_sweep_when_written(void **state)
{
    struct tic_saved saved, later;
    struct tic_demand demand = {layout.shape, 1};
    (void)state;

    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    assert_int_equal(tic_store_provide(&rig.store, &demand, 1), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_pin(&rig.store.rows, saved.row);
    tic_rows_sweep_end(&rig.store.rows);
    memory[0] += 7;
    if (tic_store_save(&rig.store, &layout, &later) == 0)
        tic_rows_settle(&rig.store.rows, later.row);
    memory[0] -= 7;
    check_written(&saved);
}

/* A record of a result names a place in a file: a number is none. */
static void test_no_result(void **state)
{
    struct tic_saved saved;
    struct tic_forced_output output;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    assert_int_equal(tic_forced_describe(&rig.store, &saved, &output), -EBUSY);
    tic_rows_settle(&rig.store.rows, saved.row);
}

/* What nothing refers to is not written at all. */
static void test_forgotten(void **state)
{
    struct tic_saved saved;
    (void)state;
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    tic_rows_settle(&rig.store.rows, saved.row);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_sweep_end(&rig.store.rows);
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    assert_int_equal(rig.store.counts.values_written, 0);
}

/* Where the system allows no images it is a copy, which must do the same. */
static void save_in_image(struct tic_saved *saved)
{
    struct tic_saved copied;

    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &copied), 0);
    tic_rows_settle(&rig.store.rows, copied.row);
    rig.store.rows.image_least = sizeof(memory);
    rig.store.rows.image_part = 0;
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, true, saved), 0);
    tic_rows_settle(&rig.store.rows, saved->row);
    assert_int_equal(saved->checksum, copied.checksum);
}

/* What is there before it is read is there still. */
static void check_written_as_it_was(const struct tic_saved *saved, const uint64_t *before)
{
    memcpy(memory, before, sizeof(memory));
    check_written(saved);
    assert_int_equal(rig.store.rows.images, 0);
    assert_int_equal(rig.store.rows.held_bytes, 0);
}

static void test_an_image_is_written(void **state)
{
    uint64_t before[WORDS];
    struct tic_saved saved;
    (void)state;

    memcpy(before, memory, sizeof(memory));
    save_in_image(&saved);
    memset(memory, 0, sizeof(memory));
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    check_written_as_it_was(&saved, before);
}

static void test_an_image_is_copied(void **state)
{
    const _Atomic bool hurry = true, no_hurry = false;
    uint64_t before[WORDS];
    struct tic_saved saved;
    (void)state;

    memcpy(before, memory, sizeof(memory));
    save_in_image(&saved);
    memset(memory, 0, sizeof(memory));
    if (rig.store.rows.images > 0)
        assert_int_equal(tic_held_copy_images(&rig.store.rows, &hurry), -ECANCELED);
    assert_int_equal(tic_held_copy_images(&rig.store.rows, &no_hurry), 0);
    assert_int_equal(rig.store.rows.images, 0);
    check_written_as_it_was(&saved, before);
}

static void test_an_image_is_forgotten(void **state)
{
    struct tic_saved saved;
    (void)state;

    save_in_image(&saved);
    tic_rows_sweep_begin(&rig.store.rows);
    tic_rows_sweep_end(&rig.store.rows);
    assert_int_equal(rig.store.rows.images, 0);
    assert_int_equal(rig.store.rows.held_bytes, 0);
}

/* Images that were dropped may be there, too. */
static void test_an_image_that_was_ended(void **state)
{
    struct tic_saved saved;
    char path[64];
    int child = 0;
    (void)state;

    save_in_image(&saved);
    if (rig.store.rows.images == 0)
        skip();
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
    FILE *file = fopen(path, "re");
    if (!file)
        skip();
    while (fscanf(file, "%d", &child) == 1) {
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, __WALL), child);
    }
    fclose(file);
    assert_int_equal(tic_held_write_all(&rig.store), -ESRCH);
}

enum { LARGE = 1 << 20, LARGE_WORDS = LARGE / 8, MANY = 200 };

/* Before any line: what is held stays below a bound, however much is saved. */
static void test_much_is_written_early(void **state)
{
    static uint64_t large[LARGE_WORDS];
    struct tic_layout value = tic_fake_vector(large, sizeof(*large), LARGE_WORDS);
    struct tic_saved saved[MANY];
    struct tic_rows *rows = &rig.store.rows;
    uint64_t most = 0;
    (void)state;
    assert_int_equal(tic_held_write_some(&rig.store), 0);
    for (unsigned i = 0; i < MANY; i++) {
        large[0] = large[LARGE_WORDS - 1] = i + 1;
        assert_int_equal(tic_held_save(&rig.store.rows, &value, true, &saved[i]), 0);
        tic_rows_pin(rows, saved[i].row);
        tic_rows_settle(rows, saved[i].row);
        most = rows->held_bytes > most ? rows->held_bytes : most;
        while (tic_held_is_much(rows))
            assert_int_equal(tic_held_write_some(&rig.store), 1);
        if (i == MANY / 2) {
            tic_rows_sweep_begin(rows);
            tic_rows_sweep_end(rows);
        }
    }
    assert_in_range(most, TIC_HELD_SOON, TIC_HELD_SOON + LARGE);
    assert_in_range(rows->arena.touched, 1, 2 * most / TIC_ARENA_LEAST);
    assert_int_equal(tic_rows_real(rows, saved[MANY - 1].row).extent, TIC_HELD_EXTENT);
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_not_equal(tic_rows_real(rows, saved[i].row).extent, TIC_HELD_EXTENT);
        assert_int_equal(tic_store_read(&rig.store, &saved[i], &value), 0);
        assert_int_equal(large[0], i + 1);
        assert_int_equal(large[LARGE_WORDS - 1], i + 1);
    }
}

/* It is not tried again and again: the next line does. */
static void test_much_that_cannot_be_written_waits(void **state)
{
    static uint64_t large[LARGE_WORDS];
    struct tic_layout value = tic_fake_vector(large, sizeof(*large), LARGE_WORDS);
    struct tic_saved saved;
    (void)state;
    for (unsigned i = 0; i < TIC_HELD_SOON / LARGE + 1; i++) {
        assert_int_equal(tic_held_save(&rig.store.rows, &value, true, &saved), 0);
        tic_rows_pin(&rig.store.rows, saved.row);
        tic_rows_settle(&rig.store.rows, saved.row);
    }
    rig.store.space = 1;
    assert_int_equal(tic_held_write_some(&rig.store), -EDQUOT);
    assert_false(tic_held_is_much(&rig.store.rows));
    assert_int_equal(tic_held_write_some(&rig.store), 0);
    assert_int_equal(tic_held_write_all(&rig.store), -EDQUOT);
    assert_int_equal(tic_held_write_some(&rig.store), -EDQUOT);
    rig.store.space = UINT64_MAX;
    assert_int_equal(tic_space_bound(&rig.store), 0);
    assert_int_equal(tic_held_write_all(&rig.store), 0);
    assert_int_equal(tic_store_read(&rig.store, &saved, &value), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Compression holds every value that is saved. */
static void test_numbers_are_given_again(void **state)
{
    struct tic_saved saved, kept;
    (void)state;

    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &kept), 0);
    tic_rows_settle(&rig.store.rows, kept.row);
    for (unsigned i = 0; i < 100; i++) {
        memory[0]++;
        assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
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

    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), -EAGAIN);
    assert_int_equal(tic_store_provide(&rig.store, &demand, 1), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), 0);
    assert_int_equal(tic_held_write(&rig.store, saved.row), 0); /* there is nothing left */
    assert_int_equal(rig.store.counts.values_written, 1);
    tic_rows_settle(&rig.store.rows, saved.row);
    check_written(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read_before_and_after_it_is_written),
        TEST(test_held_during_a_sweep),
        TEST(test_much_is_written_early),
        TEST(test_much_that_cannot_be_written_waits),
        TEST(test_pinned_during_a_sweep),
        TEST(test_pinned_during_a_sweep_when_written),
        TEST(test_forgotten),
        TEST(test_numbers_are_given_again),
        TEST(test_written_at_once),
        TEST(test_no_result),
        TEST(test_an_image_is_written),
        TEST(test_an_image_is_copied),
        TEST(test_an_image_is_forgotten),
        TEST(test_an_image_that_was_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
