/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that tables of insertions come back from a file as they were, or not at all, and which of
 * all ranks a restart on another number of ranks may begin from. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/testing.h"
#include "mpi/table.h"

enum { LIVE = TIC_INSERTION_LIVE, DONE = TIC_INSERTION_DONE, BEFORE = TIC_INSERTION_BEFORE };

static char path[] = "/tmp/tic-table-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_a_table_comes_back(void **state)
{
    struct tic_insertion insertions[] = {{1, 2, DONE}, {3, 0, LIVE}};
    struct tic_labelled values[] = {{-5, 2, 2, 7, UINT64_MAX}};
    struct tic_source sources[] = {{-5, 1}, {9, 2}};
    const struct tic_table table = {.why = "because",
                                    .end = 1,
                                    .insertions = insertions,
                                    .values = values,
                                    .sources = sources,
                                    .insertion_count = 2,
                                    .value_count = 1,
                                    .source_count = 2};
    struct tic_table back;
    (void)state;
    assert_int_equal(tic_table_write(path, &table), 0);
    assert_int_equal(tic_table_read(path, &back), 0);
    assert_string_equal(back.why, "because");
    assert_true(back.end == 1 && back.insertion_count == 2 && back.message_count == 0);
    assert_memory_equal(back.insertions, insertions, sizeof(insertions));
    assert_memory_equal(back.values, values, sizeof(values));
    assert_memory_equal(back.sources, sources, sizeof(sources));
    tic_table_clear(&back);
    assert_int_equal(truncate(path, 200), 0);
    assert_true(tic_table_read(path, &back) < 0);
}

static const char *compare(struct tic_insertion *one, uint64_t count, struct tic_insertion *other,
                           uint64_t other_count)
{
    const struct tic_table tables[] = {{.insertions = one, .insertion_count = count},
                                       {.insertions = other, .insertion_count = other_count}};

    return tic_tables_compare(tables, 2);
}

static void test_ranks_are_compared(void **state)
{
    (void)state;
    struct tic_insertion one[] = {{1, 2, DONE}, {3, 0, 0}, {5, 6, 0}};
    struct tic_insertion other[] = {{1, 2, 0}, {3, 4, LIVE}};
    assert_null(compare(one, 3, other, 2)); /* the second rank has still to come to the third */
    assert_null(compare(one, 2, other, 0)); /* or to the first */
    assert_null(compare(one, 0, other, 0)); /* nothing was done: the run begins anew */
    other[0].state = LIVE;
    assert_string_equal(compare(one, 2, other, 2), "several ranks execute one insertion");
    other[0] = (struct tic_insertion){1, 9, 0};
    assert_string_equal(compare(one, 2, other, 2), "ranks enter different insertions");
    other[0] = (struct tic_insertion){9, 2, 0};
    assert_string_equal(compare(one, 2, other, 2), "ranks enter different insertions");
    one[0].state = 0;
    other[0] = (struct tic_insertion){1, 2, 0};
    assert_string_equal(compare(one, 2, other, 2), "no rank executes an insertion");
    one[0].state = other[0].state = BEFORE;
    assert_null(compare(one, 2, other, 2));
    other[0].state = DONE;
    assert_non_null(compare(one, 2, other, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_table_comes_back, set_up, tear_down),
        cmocka_unit_test(test_ranks_are_compared)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
