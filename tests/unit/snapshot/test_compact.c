/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that segments which no kept line needs go, that values move out of those with few of them,
 * and that every line that is kept can be read throughout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/fakedata.h"
#include "lib/random.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "store/compact.h"

#ifdef __SANITIZE_THREAD__ /* which takes ten times as long and more */
enum { STEPS = 80 };
#else
enum { STEPS = 600 };
#endif
/* Each of GOING lines is read, and each segment. */
enum { SIZES = 250, GOING = 60, MANY = 1000, WORDS = 2048 };

static struct tic_rig rig;
static uint64_t memory[MANY][WORDS];
static struct tic_handle *handles[MANY]; /* by handle id; NULL: gone */
static uint64_t words[MANY], wrote[MANY];
static unsigned registered;
static uint64_t tasks;
static struct tic_line line;

static void add(uint64_t size)
{
    words[registered] = size;
    handles[registered] = tic_rig_register(&rig, memory[registered], size);
    registered++;
}

static void write_to(unsigned id)
{
    wrote[id] = ++tasks;
    tic_rig_task(&rig, tasks - 1, handles[id], tasks);
}

static void drop(unsigned id)
{
    tic_snapshot_remove(&rig.snapshot, handles[id], false);
    handles[id] = NULL;
}

/* ---- what is on the disk -------------------------------------------------------------------- */

static bool check_line(void *arg, const char *name, int status, struct tic_line *found)
{
    (void)name;
    assert_int_equal(status, 0);
    assert_int_equal(tic_store_check(arg, found), 0);
    return false;
}

/* Every line in the directory is good, row by row; not only the newest. */
static void check_lines(void)
{
    struct tic_store store;

    assert_int_equal(tic_store_open(&store, rig.dir.path, TIC_STORE_READ, false, &tic_h5_ops), 0);
    assert_int_equal(tic_store_walk(&store, check_line, &store), 0);
    tic_store_close(&store);
}

/* The newest line has the last value of everything, and nothing else. */
static void check_values(void)
{
    size_t count = 0;

    tic_line_clear(&line);
    assert_true(tic_rig_newest(&rig, &line));
    for (unsigned i = 0; i < registered; i++) {
        const struct tic_line_value *value = tic_rig_find(&line, i);
        uint64_t word;
        count += handles[i] && wrote[i];
        assert_int_equal(value != NULL, handles[i] && wrote[i]);
        if (!value)
            continue;
        tic_rig_read(&rig, &line, value, &word, 1);
        assert_int_equal(word, wrote[i]);
    }
    assert_int_equal(line.value_count, count);
}

static void checkpoint(void)
{
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    check_lines();
}

static unsigned segments(void)
{
    return (unsigned)tic_tmpdir_count(&rig.dir, "p0-segment");
}

/* As many checkpoints as it takes until what is needless is gone, with something new in each. */
static void let_go(unsigned id)
{
    for (unsigned i = 0; i < 20; i++) {
        write_to(id);
        checkpoint();
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_sizes_that_come_and_go(void **state)
{
    size_t extents = 0;

    (void)state;
    for (unsigned i = 0; i < GOING; i++) {
        add(i + 1);
        write_to(i);
        if (i > 0)
            drop(i - 1);
        checkpoint();
        assert_true(segments() <= 12);
        extents =
            rig.store.kept[0].extent_count > extents ? rig.store.kept[0].extent_count : extents;
    }
    check_values();
    assert_true(extents <= 24);
    assert_true(rig.store.counts.segments_removed > GOING / 2);
    assert_int_equal(rig.store.segment_count, segments());
}

static void test_sizes_that_stay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        add(i + 1);
        write_to(i);
        checkpoint();
        assert_true(segments() <= 2 * TIC_COMPACT_SEGMENTS);
    }
    assert_true(atomic_load(&rig.store.counts.values_moved) > SIZES / 2);
    check_values();
}

static void test_few_values_leave_a_large_segment(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        add(WORDS);
        write_to(i);
    }
    checkpoint();
    for (unsigned i = 0; i < MANY; i++)
        if (i % 50 != 1)
            drop(i);
    let_go(1);
    assert_true(rig.store.counts.segments_removed > 0);
    assert_true(atomic_load(&rig.store.counts.values_moved) >= 19);
    check_values();
    let_go(1); /* and once is enough */
    assert_int_equal(atomic_load(&rig.store.counts.values_moved), 19);
}

static void test_what_main_has_read_stays(void **state)
{
    struct tic_saved saved;
    bool fresh;
    uint64_t word[WORDS];
    struct tic_layout layout = tic_fake_vector(word, sizeof(*word), WORDS);

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        add(WORDS);
        write_to(i);
    }
    checkpoint();
    assert_int_equal(tic_snapshot_log_value(&rig.snapshot, handles[7], &saved, &fresh), 0);
    assert_false(fresh);
    for (unsigned i = 2; i < 100; i++)
        drop(i);
    let_go(1);
    assert_int_equal(tic_store_read(&rig.store, &saved, &layout), 0);
    assert_int_equal(word[0], wrote[7]);
    check_values();
}

static int fail_format(const char *path, uint64_t header, struct tic_line_extent *extents,
                       size_t count)
{
    (void)path, (void)header, (void)extents, (void)count;
    return -ENOSPC;
}

static const struct tic_h5_ops cannot_format = {.segment_format = fail_format};

/* A disk that cannot take the moved values costs nothing but the space. */
static void test_no_room_to_move(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        add(WORDS);
        write_to(i);
    }
    checkpoint();
    for (unsigned i = 1; i < 100; i++)
        if (i % 10 != 0)
            drop(i);
    while (!tic_compact_wants(&rig.store)) {
        write_to(0);
        checkpoint();
    }
    rig.store.h5 = &cannot_format;
    tic_snapshot_move_values(&rig.snapshot);
    assert_int_equal(atomic_load(&rig.store.counts.values_moved), 0);
    check_values();
    rig.store.h5 = &tic_h5_ops;
    let_go(0);
    assert_int_equal(atomic_load(&rig.store.counts.values_moved), 9);
    check_values();
}

/* What the files of the store take on the disk. */
static uint64_t on_disk(void)
{
    struct stat info;
    uint64_t bytes = 0;

    for (unsigned long i = 0; i < rig.store.segment_count; i++) {
        assert_int_equal(fstat(rig.store.segments[i].fd, &info), 0);
        bytes += (uint64_t)info.st_blocks * 512;
    }
    for (unsigned i = 0; i < rig.store.kept_count; i++)
        bytes += rig.store.kept[i].file.bytes;
    return bytes;
}

/* Everything changes again and again, and ever more of it: until the very bound lines are taken,
 * then none, and never is more written. */
static void test_space_is_what_is_written(void **state)
{
    const uint64_t row = WORDS * sizeof(uint64_t);
    unsigned fits = 0;

    (void)state;
    rig.snapshot.options.space = rig.store.space = 200 * row;
    for (unsigned i = 0; i < 80; i++) {
        add(WORDS);
        for (unsigned k = 0; k < 4; k++) {
            for (unsigned id = 0; id <= i; id++)
                write_to(id);
            int status = tic_checkpoint_run(&rig.snapshot);
            assert_true(status == 0 || status == -EDQUOT);
            fits = status == 0 ? i + 1 : fits;
            assert_true(on_disk() <= rig.store.space);
        }
    }
    check_lines();
    /* A row for each line and for the next; what is not payload takes less than ten rows. */
    assert_in_range(fits, (200 - 10) / 3 - 1, 200 / 3);
}

/* Replays what was done: the same handles, the same ones gone; their values are the line's. */
static void restart(void)
{
    unsigned count = registered;
    static bool gone[MANY];

    for (unsigned i = 0; i < count; i++)
        gone[i] = !handles[i];
    assert_true(tic_rig_restart(&rig));
    check_lines();
    registered = 0;
    for (unsigned i = 0; i < count; i++) {
        add(words[i]);
        memory[i][0] = wrote[i];
    }
    for (unsigned i = 0; i < count; i++)
        if (gone[i])
            drop(i);
    assert_true(tic_rig_submit(&rig, tasks));
}

static void random_step(struct tic_random *random)
{
    unsigned choice = (unsigned)tic_random_below(random, 10);
    unsigned id = registered ? (unsigned)tic_random_below(random, registered) : 0;

    if (registered == 0 || (choice == 0 && registered < MANY))
        add(1 + tic_random_below(random, 3) * tic_random_below(random, WORDS - 1) / 2);
    else if (choice == 1 && handles[id])
        drop(id);
    else if (choice < 9)
        for (unsigned i = id; i < registered && i < id + 20; i++)
            if (handles[i])
                write_to(i);
}

static void test_random(void **state)
{
    struct tic_random random;

    (void)state;
    tic_random_init(&random, 1);
    for (unsigned step = 0; step < STEPS; step++) {
        random_step(&random);
        if (tic_random_below(&random, 3) != 0)
            continue;
        if (tic_checkpoint_run(&rig.snapshot) == 0) {
            check_lines();
            check_values();
            if (tic_random_below(&random, 40) == 0)
                restart();
        }
    }
    assert_true(rig.store.segment_count < TIC_COMPACT_SEGMENTS);
}

static int set_up(void **state)
{
    (void)state;
    memset(wrote, 0, sizeof(wrote));
    memset(memory, 0, sizeof(memory));
    registered = 0;
    tasks = 0;
    tic_rig_open(&rig);
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
        TEST(test_sizes_that_come_and_go),
        TEST(test_sizes_that_stay),
        TEST(test_few_values_leave_a_large_segment),
        TEST(test_what_main_has_read_stays),
        TEST(test_no_room_to_move),
        TEST(test_space_is_what_is_written),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
