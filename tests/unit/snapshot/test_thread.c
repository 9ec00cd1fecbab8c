/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks when the checkpoint thread works, that it serves those who wait for rows, and how it and
 * protection end. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "lib/child.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/suspend.h"
#include "store/held.h"

enum { WORDS = 4, SECONDS = 120, LONG_PERIOD = 100000 };

static struct tic_rig rig;
static uint64_t memory[WORDS], other_memory[WORDS];
static struct tic_handle *handle, *other;
static struct tic_line line;

static double period = LONG_PERIOD; /* seconds */

enum { HELD_WORDS = 37 };
static uint64_t held_memory[HELD_WORDS]; /* the only value of this size */

/* The disk, where it is forced, or where that value is written: it has been asked, and answers. */
static struct {
    sem_t asked, answers;
    _Atomic bool holds, holds_value;
} disk;

static void ask_the_disk(void)
{
    sem_post(&disk.asked);
    sem_wait(&disk.answers);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    if (atomic_load(&disk.holds_value) && count == 1 && pieces->iov_len == sizeof(held_memory))
        ask_the_disk();
    return pwritev2(fd, pieces, count, offset, 0);
}

int sync_file_range(int fd, off64_t offset, off64_t count, unsigned flags)
{
    (void)fd;
    (void)offset;
    (void)count;
    (void)flags;
    if (atomic_load(&disk.holds))
        ask_the_disk();
    return 0;
}

static void start(unsigned long every)
{
    rig.snapshot.period = period;
    rig.snapshot.options.every = every;
    handle = tic_rig_register(&rig, memory, WORDS);
    other = tic_rig_register(&rig, other_memory, WORDS);
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
}

static void wait_for_checkpoints(uint64_t count)
{
    while (atomic_load(&rig.snapshot.counts.checkpoints) < count)
        sched_yield();
}

static void test_request(void **state)
{
    (void)state;
    start(0);
    for (uint64_t i = 0; i < 5; i++) {
        tic_rig_task(&rig, i, handle, i);
        tic_snapshot_request(&rig.snapshot);
        wait_for_checkpoints(i + 1);
    }
    tic_snapshot_stop(&rig.snapshot, false);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 5);
}

/* Who waits for a checkpoint gets it at once, also while the store is tried again later only, or is
 * told that there will be none. */
static void test_take(void **state)
{
    (void)state;
    start(0);
    tic_rig_task(&rig, 0, handle, 1);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), 0);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 1);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), 1); /* nothing new */
    tic_lock(&rig.snapshot.lock);
    rig.snapshot.control.retry_ns = tic_nanoseconds(CLOCK_MONOTONIC) + UINT64_C(1000000000000);
    tic_unlock(&rig.snapshot.lock);
    tic_rig_task(&rig, 1, handle, 2);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), 0);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), -ECANCELED);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 2);
}

/* The cut would hold what tasks behind it have written, and not what it stands for. */
static void test_no_line_before_a_stand_in_has_ended(void **state)
{
    (void)state;
    start(0);
    tic_rig_task(&rig, 0, handle, 1);
    atomic_store(&rig.snapshot.results.stand_ins, 1);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), 1);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    atomic_store(&rig.snapshot.results.stand_ins, 0);
    assert_int_equal(tic_snapshot_take(&rig.snapshot), 0);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 1);
}

static void test_period(void **state)
{
    (void)state;
    rig.snapshot.period = 0.001;
    handle = tic_rig_register(&rig, memory, WORDS);
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    tic_rig_task(&rig, 0, handle, 1);
    wait_for_checkpoints(1);
    tic_snapshot_stop(&rig.snapshot, false);
}

/* Where no checkpoint is tried, or none will be, none is tried at once again. */
static void test_suspended_and_put_off(void **state)
{
    (void)state;
    uint64_t begun = tic_nanoseconds(CLOCK_MONOTONIC);
    rig.snapshot.control.backoff = 100;
    rig.snapshot.control.retry_ns = begun;
    tic_snapshot_put_off(&rig.snapshot);
    assert_true(rig.snapshot.control.retry_ns >= begun + UINT64_C(100000000000));
    rig.snapshot.control.retry_ns = 1;
    handle = tic_rig_register(&rig, memory, WORDS);
    rig.snapshot.period = LONG_PERIOD;
    tic_log_set_level(TIC_LOG_ERROR);
    tic_snapshot_break(&rig.snapshot, "for a test");
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    for (bool settled = false; !settled; sched_yield()) {
        tic_lock(&rig.snapshot.lock);
        settled = rig.snapshot.control.retry_ns == 0;
        tic_unlock(&rig.snapshot.lock);
    }
    tic_snapshot_stop(&rig.snapshot, false);
    atomic_store(&rig.snapshot.protection.state,
                 TIC_PROTECTION_ACTIVE); /* as the tear-down wants it */
}

/* Committed a period after the cut before, if that takes less than half of it. */
static void test_when_the_next_one_begins(void **state)
{
    (void)state;
    assert_float_equal(tic_checkpoint_wait(10, 0, 0), 10, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 0, 4), 6, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 1, 1.5), 7.5, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 4, 4), 2, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 4, 5), 2, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 30, 30), 10, 1e-9);
    assert_float_equal(tic_checkpoint_wait(10, 0.1, 30), 0.05, 1e-9); /* it waited for a task */
}

static void test_every(void **state)
{
    (void)state;
    start(3);
    tic_rig_task(&rig, 0, handle, 1);
    tic_rig_task(&rig, 1, handle, 1);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    tic_rig_task(&rig, 2, handle, 1);
    wait_for_checkpoints(1);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 1);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 3);
}

/* A checkpoint that is due by its count when the program ends is taken. */
static void test_stop_keeps_counts(void **state)
{
    (void)state;
    start(1);
    tic_rig_task(&rig, 0, handle, 1);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 1);
}

static void test_stop_gives_up_a_checkpoint(void **state)
{
    (void)state;
    start(0);
    tic_rig_task(&rig, 0, handle, 1);
    tic_rig_begin(&rig, TIC_RIG_HOLDER, UINT32_MAX, NULL); /* keeps the cut from ending */
    tic_snapshot_request(&rig.snapshot);
    while (atomic_load(&rig.snapshot.cut.active_cut) == 0)
        sched_yield();
    tic_snapshot_stop(&rig.snapshot, false);
    assert_int_equal(atomic_load(&rig.snapshot.cut.active_cut), 0);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    assert_false(tic_rig_newest(&rig, &line));
    tic_rig_end(&rig, TIC_RIG_HOLDER);
}

/* Its tasks are done all the same, for the first line after it. */
static void test_a_checkpoint_after_one_that_was_given_up(void **state)
{
    test_stop_gives_up_a_checkpoint(state);
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    tic_rig_task(&rig, 1, other, 2);
    tic_snapshot_request(&rig.snapshot);
    wait_for_checkpoints(1);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 2);
}

static void begin_to_commit(void)
{
    sem_init(&disk.asked, 0, 0);
    sem_init(&disk.answers, 0, 0);
    rig.store.sync = true;
    start(0);
    tic_rig_task(&rig, 0, handle, 7);
    atomic_store(&disk.holds, true);
    tic_snapshot_request(&rig.snapshot);
    sem_wait(&disk.asked);
}

static void let_the_disk_answer(void)
{
    atomic_store(&disk.holds, false);
    sem_post(&disk.answers);
}

/* StarPU is shut down while the disk takes a line; the next start waits for that. */
static void test_release_does_not_wait_for_the_disk(void **state)
{
    (void)state;
    begin_to_commit();
    tic_snapshot_release(&rig.snapshot);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    let_the_disk_answer();
    assert_int_equal(tic_snapshot_start(&rig.snapshot), 0);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 1);
    tic_snapshot_release(&rig.snapshot); /* no line is being committed: it has ended */
    assert_false(rig.snapshot.started);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 1);
}

/* A value of the line waits in memory, and is being written. */
static void test_release_does_not_wait_for_values_in_memory(void **state)
{
    struct tic_saved saved;

    (void)state;
    sem_init(&disk.asked, 0, 0);
    sem_init(&disk.answers, 0, 0);
    start(0);
    struct tic_shape shape = handle->layout.shape;
    shape.dims[0] = HELD_WORDS;
    const struct tic_layout layout = tic_layout_packed(&shape, (char *)held_memory);
    assert_int_equal(tic_held_save(&rig.store.rows, &layout, false, &saved), 0);
    tic_rig_task(&rig, 0, handle, 7);
    atomic_store(&disk.holds_value, true);
    tic_snapshot_request(&rig.snapshot);
    sem_wait(&disk.asked);
    tic_snapshot_release(&rig.snapshot);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    atomic_store(&disk.holds_value, false);
    sem_post(&disk.answers);
    tic_snapshot_stop(&rig.snapshot, false);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 1);
    assert_true(tic_rig_newest(&rig, &line));
    assert_int_equal(line.tasks_done, 1);
}

/* The process ends with success. */
static void test_no_line_is_forced_to_the_disk_at_the_end(void **state)
{
    (void)state;
    begin_to_commit();
    tic_snapshot_release(&rig.snapshot);
    atomic_store(&rig.store.ending, true);
    let_the_disk_answer();
    tic_snapshot_stop(&rig.snapshot, true);
    assert_int_equal(atomic_load(&rig.snapshot.counts.checkpoints), 0);
    assert_false(tic_rig_newest(&rig, &line));
}

static void test_stop_without_start(void **state)
{
    (void)state;
    tic_snapshot_stop(&rig.snapshot, false);
}

/* The owner thread needs a row, and none was ever provided. */
static void test_rows_are_served_at_rest(void **state)
{
    (void)state;
    start(0);
    tic_rig_task(&rig, 0, handle, 7);
    tic_snapshot_save_now(&rig.snapshot, handle);
    assert_true(handle->saving.current.exists);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), 0);
    tic_snapshot_stop(&rig.snapshot, false);
}

/* Handles of a new shape that become dirty and are overwritten while the cut is taken. */
static void test_rows_are_served_during_a_cut(void **state)
{
    (void)state;
    start(0);
    tic_rig_task(&rig, 0, other, 1);
    assert_true(tic_rig_submit(&rig, 3));
    tic_rig_begin(&rig, TIC_RIG_HOLDER, UINT32_MAX, NULL);
    tic_snapshot_request(&rig.snapshot);
    while (atomic_load(&rig.snapshot.cut.active_cut) == 0)
        sched_yield();
    uint64_t many[100] = {0};
    struct tic_handle *large = tic_rig_register(&rig, many, TIC_COUNT(many));
    tic_rig_task(&rig, 1, large, 5);
    tic_snapshot_remove(&rig.snapshot, large, true);
    assert_true(large->saving.current.exists);
    tic_rig_end(&rig, TIC_RIG_HOLDER);
    wait_for_checkpoints(1);
    tic_snapshot_stop(&rig.snapshot, false);
}

static void test_nobody_waits_after_the_stop(void **state)
{
    (void)state;
    start(0);
    tic_snapshot_stop(&rig.snapshot, false);
    tic_rig_task(&rig, 0, handle, 7);
    rig.store.rows.held_most = 0; /* else it would only be copied */
    tic_snapshot_save_now(&rig.snapshot, handle);
    rig.store.rows.held_most = TIC_HELD_MOST;
    assert_false(handle->saving.current.exists);
}

/* ---- a store that cannot be written, and the end of protection ------------------------------- */

static int refusal = -ENOSPC; /* of encode */

static int fail_encode(const struct tic_line *failing, void **image, size_t *size)
{
    (void)failing;
    (void)image;
    (void)size;
    return refusal;
}

static int fail_format(const char *path, size_t header, struct tic_line_extent *extents,
                       size_t count)
{
    (void)path;
    (void)header;
    (void)extents;
    (void)count;
    return -ENOSPC;
}

static const struct tic_h5_ops cannot_encode = {.segment_format = fail_format,
                                                .line_encode = fail_encode};
static const struct tic_h5_ops cannot_format = {.segment_format = fail_format};

/* The application goes on: tasks, requests, structural changes. Returns 0. */
static int go_on_unprotected(void)
{
    for (uint64_t i = 1; i < 10; i++) {
        tic_rig_task(&rig, i, handle, i);
        tic_snapshot_request(&rig.snapshot);
        tic_snapshot_save_now(&rig.snapshot, handle);
    }
    tic_snapshot_remove(&rig.snapshot, handle, true);
    tic_snapshot_stop(&rig.snapshot, false);
    return atomic_load(&rig.snapshot.counts.checkpoints) == 0 ? 0 : 1;
}

static int run_with_bad_store(void *arg)
{
    tic_rig_start(&rig);
    start(0);
    if (arg == &cannot_encode) {
        tic_rig_provide(&rig, handle, 4);
        tic_rig_provide(&rig, other, 4);
    }
    rig.store.h5 = arg;
    tic_rig_task(&rig, 0, handle, 1);
    tic_snapshot_request(&rig.snapshot);
    while (!tic_protection_is_suspended(&rig.snapshot.protection))
        sched_yield();
    return go_on_unprotected();
}

/* The same, and then it can be written again: the value that would be lost is in the line. */
static int run_with_mended_store(void *arg)
{
    uint64_t found[WORDS];

    tic_log_set_level(TIC_LOG_INFO);
    if (run_with_bad_store(arg) != 0)
        return 1;
    memset(memory, 0xff, sizeof(memory)); /* main() has got it back */
    rig.store.h5 = &tic_h5_ops;
    if (tic_snapshot_start(&rig.snapshot) != 0)
        return 2;
    tic_rig_task(&rig, 10, other, 5);
    tic_snapshot_request(&rig.snapshot);
    wait_for_checkpoints(1);
    tic_snapshot_stop(&rig.snapshot, false);
    if (!tic_rig_newest(&rig, &line) || line.tasks_done != 11 ||
        tic_snapshot_is_broken(&rig.snapshot))
        return 3;
    const struct tic_line_value *value = tic_rig_find(&line, handle->id);
    if (!value || !value->gone)
        return 4;
    tic_rig_read(&rig, &line, value, found, WORDS);
    return found[0] == 9 && atomic_load(&rig.snapshot.counts.suspensions) >= 1 ? 0 : 5;
}

static void expect_one_warning(const char *text, const char *reason)
{
    assert_int_equal(strncmp(text, "starpu-tic: protection is suspended: ", 37), 0);
    assert_non_null(strstr(text, reason));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_failures_suspend_protection_and_say_so_once(void **state)
{
    char text[4096];
    (void)state;
    tic_rig_stop(&rig); /* the child starts */
    void *encode = (void *)&cannot_encode, *format = (void *)&cannot_format;
    assert_int_equal(tic_child_run(run_with_bad_store, encode, text, sizeof(text)), 0);
    expect_one_warning(text, "No space left on device");
    assert_int_equal(tic_child_run(run_with_bad_store, format, text, sizeof(text)), 0);
    expect_one_warning(text, "No space left on device");
    refusal = -ELIBBAD;
    assert_int_equal(tic_child_run(run_with_bad_store, encode, text, sizeof(text)), 0);
    expect_one_warning(text, "the disk is not the reason");
}

static void test_a_mended_store_resumes_protection(void **state)
{
    char text[4096];
    (void)state;
    tic_rig_stop(&rig); /* the child starts */
    assert_int_equal(
        tic_child_run(run_with_mended_store, (void *)&cannot_format, text, sizeof(text)), 0);
}

static int break_twice(void *arg)
{
    (void)arg;
    tic_snapshot_break(&rig.snapshot, "%s: %d", "reason", 1);
    tic_snapshot_break(&rig.snapshot, "%s: %d", "reason", 2);
    return tic_snapshot_is_broken(&rig.snapshot) ? 0 : 1;
}

/* Where the log holds all results no line is taken, and no write fails. */
static int remove_the_store(void *arg)
{
    (void)arg;
    rig.snapshot.options.log_all = true;
    rig.snapshot.options.periodic = false;
    period = 0.001; /* of this child */
    start(0);
    tic_rig_task(&rig, 0, handle, 1);
    wait_for_checkpoints(1);
    assert_int_equal(unlinkat(rig.store.directory, "p0-log-00000001.h5", 0), 0);
    while (!tic_snapshot_is_broken(&rig.snapshot))
        sched_yield();
    tic_snapshot_stop(&rig.snapshot, false);
    return 0;
}

static void test_a_removed_log_is_noticed_without_a_checkpoint(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(tic_child_run(remove_the_store, NULL, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "a file was removed"));
}

static void test_break_says_why_once(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(tic_child_run(break_twice, NULL, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "reason: 1"));
    assert_null(strstr(text, "reason: 2"));
}

static int set_up(void **state)
{
    (void)state;
    alarm(SECONDS); /* instead of hanging for ever */
    tic_rig_open(&rig);
    return 0;
}

/* A test in which protection ended has failed. */
static int tear_down(void **state)
{
    bool broken = rig.running && tic_snapshot_is_broken(&rig.snapshot);
    (void)state;
    tic_line_clear(&line);
    tic_rig_close(&rig);
    alarm(0);
    return broken ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_request),
        TEST(test_take),
        TEST(test_no_line_before_a_stand_in_has_ended),
        TEST(test_period),
        cmocka_unit_test(test_when_the_next_one_begins),
        TEST(test_suspended_and_put_off),
        TEST(test_every),
        TEST(test_stop_keeps_counts),
        TEST(test_stop_gives_up_a_checkpoint),
        TEST(test_a_checkpoint_after_one_that_was_given_up),
        TEST(test_release_does_not_wait_for_the_disk),
        TEST(test_release_does_not_wait_for_values_in_memory),
        TEST(test_no_line_is_forced_to_the_disk_at_the_end),
        TEST(test_stop_without_start),
        TEST(test_rows_are_served_at_rest),
        TEST(test_rows_are_served_during_a_cut),
        TEST(test_nobody_waits_after_the_stop),
        TEST(test_failures_suspend_protection_and_say_so_once),
        TEST(test_a_mended_store_resumes_protection),
        TEST(test_a_removed_log_is_noticed_without_a_checkpoint),
        TEST(test_break_says_why_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
