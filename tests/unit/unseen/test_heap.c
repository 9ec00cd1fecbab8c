/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that blocks are found from any address in them, and from none that is not. */
#include "unseen/heap.h"

#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"

enum { BLOCKS = 300 };

static struct {
    const char *at;
    size_t bytes;
} blocks[BLOCKS];

/* Of all sizes, side by side as malloc() has them. */
static void note_all(struct tic_random *random)
{
    const char *at = (const char *)(UINTPTR_MAX / 4 + 1);

    for (size_t i = 0; i < BLOCKS; i++) {
        const unsigned most = i + 1 < BLOCKS ? i % 12 : 34;
        const size_t bytes = 24 + 16 * tic_random_below(random, UINT64_C(1) << most);
        blocks[i].at = at;
        blocks[i].bytes = bytes;
        tic_heap_note(at, bytes, true);
        at += bytes + 8;
    }
}

static void expect(const char *at, size_t i)
{
    size_t bytes;
    const char *block = tic_heap_around(at, &bytes);

    assert_ptr_equal(block, i == BLOCKS ? NULL : blocks[i].at);
    assert_int_equal(bytes, i == BLOCKS ? 0 : blocks[i].bytes);
}

static void test_around(void **state)
{
    struct tic_random random;
    (void)state;

    tic_random_init(&random, 0);
    note_all(&random);
    for (size_t i = 0; i < BLOCKS; i++) {
        expect(blocks[i].at, i);
        expect(blocks[i].at + blocks[i].bytes - 1, i);
        expect(blocks[i].at + blocks[i].bytes, BLOCKS);
        for (int k = 0; k < 100; k++)
            expect(blocks[i].at + tic_random_below(&random, blocks[i].bytes), i);
    }
    for (size_t i = 0; i < BLOCKS; i += 2)
        tic_heap_forget(blocks[i].at);
    for (size_t i = 0; i < BLOCKS; i++)
        expect(blocks[i].at + blocks[i].bytes / 2, i % 2 == 0 ? BLOCKS : i);
}

/* A pool may have other blocks in it: only its first bytes are known. */
static void test_mapping(void **state)
{
    const char *at = (const char *)(UINTPTR_MAX / 8 + 1);
    size_t bytes;
    (void)state;

    tic_heap_note(at, 1 << 20, true);
    assert_ptr_equal(tic_heap_around(at + 8192, &bytes), at);
    tic_heap_forget(at);
    tic_heap_note(at, 1 << 30, false);
    assert_ptr_equal(tic_heap_around(at + 4095, &bytes), at);
    assert_int_equal(bytes, 1 << 30);
    assert_null(tic_heap_around(at + 8192, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_around),
                                       cmocka_unit_test(test_mapping)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
