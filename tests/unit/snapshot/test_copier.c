/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks copies of recovery lines that are made while sweeps ask which rows are being copied. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/rig.h"
#include "lib/testing.h"
#include "snapshot/copier.h"

enum { HANDLES = 200, WORDS = 64, LINES = 60 };

static struct tic_rig rig;
static uint64_t memory[HANDLES][WORDS];
static struct tic_handle *handles[HANDLES];
static char path[600];

static uint64_t copied(void)
{
    struct tic_copier_counts counts;

    tic_copier_count(rig.snapshot.copier, &counts);
    assert_int_equal(counts.failed, 0);
    return counts.copies;
}

/* What a sweep does, all the time, on rows of nobody: none of the run's is given up. */
static void mark_until_copied(uint64_t copies)
{
    struct tic_rows rows;

    tic_rows_init(&rows);
    while (copied() < copies)
        tic_copier_mark(rig.snapshot.copier, &rows);
    tic_rows_fini(&rows);
}

static bool check_line(void *arg, const char *name, int status, struct tic_line *line)
{
    (void)name;
    assert_int_equal(status, 0);
    assert_int_equal(tic_store_check(arg, line), 0);
    return false;
}

static void check_copies(void)
{
    for (unsigned copy = 0; copy < TIC_COPIES; copy++) {
        struct tic_store store;
        char *one = tic_mirror_path(path, copy);

        assert_int_equal(tic_store_open(&store, one, TIC_STORE_READ, false, &tic_h5_ops), 0);
        assert_int_equal(tic_store_walk(&store, check_line, &store), 0);
        tic_store_close(&store);
        free(one);
    }
}

/* A copier that gave its rows away while they were marked crashed about once in 300 restarts. Marks
 * see them at any moment here; ThreadSanitizer finds it for sure. */
static void test_marked_while_copied(void **state)
{
    (void)state;
    tic_rig_open(&rig);
    snprintf(path, sizeof(path), "%s/copy", rig.dir.path);
    rig.snapshot.copier = tic_copier_start(&rig.store, path, -1);
    assert_non_null(rig.snapshot.copier);
    for (unsigned i = 0; i < HANDLES; i++)
        handles[i] = tic_rig_register(&rig, memory[i], WORDS);
    for (uint64_t line = 0; line < LINES; line++) {
        for (uint64_t i = 0; i < HANDLES; i++)
            tic_rig_task(&rig, line * HANDLES + i, handles[i], line + i);
        assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
        mark_until_copied(line + 1);
    }
    check_copies();
    tic_copier_stop(rig.snapshot.copier, true);
    rig.snapshot.copier = NULL;
    assert_int_equal(tic_rig_finish(&rig), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marked_while_copied)};
    return cmocka_run_group_tests_name("copier", tests, NULL, NULL);
}
