/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks which data lies in blocks that were freed. */
#include <stdlib.h>

#include "base/freed.h"
#include "lib/testing.h"

enum { COUNT = 1000, BYTES = 3 * 4096 };

static char memory[COUNT][BYTES];
static int keys[COUNT];

static void test_blocks(void **state)
{
    (void)state;
    assert_false(tic_freed_may_concern(memory[0], BYTES));
    for (int i = 0; i < COUNT; i++) /* anywhere in its block */
        tic_freed_note_data(&keys[i], memory[i] + 11 * i % BYTES);
    for (int i = 0; i < COUNT; i += 3) {
        assert_true(tic_freed_may_concern(memory[i], BYTES));
        assert_int_equal(tic_freed_note_block(memory[i], BYTES), 1);
        assert_int_equal(tic_freed_note_block(memory[i], BYTES), 0);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(tic_freed_has(&keys[i], memory[i] + 11 * i % BYTES), i % 3 == 0);
    for (int i = 0; i < COUNT; i++)
        tic_freed_forget_data(&keys[i], memory[i] + 11 * i % BYTES);
    assert_false(tic_freed_has(&keys[0], memory[0]));
    assert_false(tic_freed_may_concern(memory, sizeof(memory)));
}

/* A handle of a later start of StarPU may have the address of an earlier one. */
static void test_data_that_comes_again(void **state)
{
    (void)state;
    tic_freed_note_data(&keys[0], memory[0]);
    assert_int_equal(tic_freed_note_block(memory[0], 1), 1);
    tic_freed_note_data(&keys[0], memory[0]);
    assert_false(tic_freed_has(&keys[0], memory[0]));
    tic_freed_note_data(&keys[0], memory[0] + 8); /* the same page */
    assert_int_equal(tic_freed_note_block(memory[0], 8), 1);
    assert_true(tic_freed_has(&keys[0], memory[0]));
    assert_false(tic_freed_has(&keys[0], memory[0] + 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_data_that_comes_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
