/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that entries of every table come out of a block as they went in, in the bytes that
 * FORMAT.md says. */
#include "store/table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/testing.h"

enum { MOST_BYTES = 1 << 16 };

static unsigned char block[MOST_BYTES];

/* Entries without anything in the gaps between their fields. */
static char *make_entries(const struct tic_table *table, uint32_t count, struct tic_random *random)
{
    char *items = calloc(count + 1, table->item);

    assert_non_null(items);
    for (uint32_t i = 0; i < count; i++)
        for (const struct tic_field *f = table->fields; f->name; f++)
            tic_random_fill(random, items + i * table->item + f->offset, f->type == 'u' ? 4 : 8);
    return items;
}

static void test_round_trip(void **state)
{
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 1);
    for (uint32_t number = 1; number < TIC_TABLES; number++) {
        const struct tic_table *table = tic_table_find(number);
        uint32_t capacity = tic_table_capacity(table), counts[] = {0, 1, 2, capacity - 1, capacity};
        assert_true(table->bytes <= MOST_BYTES && capacity > 100);
        for (size_t i = 0; i < TIC_COUNT(counts); i++) {
            char *items = make_entries(table, counts[i], &random);
            char *again = calloc(counts[i] + 1, table->item);
            memset(block, 0xff, sizeof(block));
            tic_table_encode(table, items, counts[i], block);
            tic_table_decode(table, block, counts[i], again);
            assert_memory_equal(items, again, counts[i] * table->item + 1);
            for (size_t at = counts[i] * tic_fields_size(table->fields); at < table->bytes; at++)
                assert_int_equal(block[at], 0);
            if (table->bytes < MOST_BYTES)
                assert_int_equal(block[table->bytes], 0xff); /* no byte too many */
            free(items);
            free(again);
        }
    }
}

static void test_bytes(void **state)
{
    static const unsigned char expected[] = {1, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 3, 0,
                                             0, 0, 4, 0, 0, 0, 8, 7,    6, 5, 4, 3, 2, 1};
    const struct tic_line_read read = {0x8000000000000001, 2, 3, 4, 0x0102030405060708};
    (void)state;
    tic_table_encode(tic_table_find(TIC_TABLE_READS), &read, 1, block);
    assert_memory_equal(block, expected, sizeof(expected));
}

static void test_unknown_tables(void **state)
{
    (void)state;
    assert_null(tic_table_find(0));
    assert_null(tic_table_find(TIC_TABLES));
    assert_null(tic_table_find(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_unknown_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
