/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that handles are found by address, whatever comes and goes. */
#include <stdlib.h>

#include "graph/views.h"
#include "lib/random.h"
#include "lib/testing.h"

enum { COUNT = 60, BYTES = 100, ROUNDS = 20000 };

static struct tic_handle *handles[COUNT];
static bool present[COUNT];
static char memory[BYTES * 2];

static int collect(struct tic_handle *found, void *arg)
{
    bool *seen = arg;

    assert_false(seen[found->id]);
    seen[found->id] = true;
    return 0;
}

static int stop(struct tic_handle *found, void *arg)
{
    (void)arg;
    return 1 + (int)found->id;
}

static void check(const struct tic_views *views, const char *begin, const char *end)
{
    bool seen[COUNT] = {false}, any = false;

    assert_int_equal(tic_views_visit(views, begin, end, collect, seen), 0);
    for (size_t i = 0; i < COUNT; i++) {
        const struct tic_layout *layout = &handles[i]->layout;
        bool reaches = layout->base < end && layout->base + layout->shape.dims[0] > begin;
        assert_int_equal(seen[i], present[i] && reaches);
        any |= seen[i];
    }
    assert_int_equal(tic_views_visit(views, begin, end, stop, NULL) > 0, any);
}

/* Against a search of all. */
static void test_those_that_reach_into_a_range(void **state)
{
    struct tic_views views = {NULL};
    struct tic_random random;
    (void)state;
    tic_random_init(&random, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        handles[i] = tic_handle_create(i);
        assert_non_null(handles[i]);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t at = tic_random_below(&random, COUNT), offset = tic_random_below(&random, BYTES);
        if (present[at]) {
            tic_views_remove(&views, handles[at]);
        } else {
            handles[at]->layout = (struct tic_layout){
                .shape = {1, 1, {1 + tic_random_below(&random, 30), 1, 1, 1}},
                .base = memory + offset,
                .stride = {1},
            };
            tic_views_add(&views, handles[at]);
        }
        present[at] = !present[at];
        check(&views, memory + offset, memory + offset + 1 + round % 20);
    }
    for (size_t i = 0; i < COUNT; i++) {
        tic_views_remove(&views, handles[i]); /* also those that are not there */
        present[i] = false;
    }
    check(&views, memory, memory + sizeof(memory));
    for (size_t i = 0; i < COUNT; i++)
        tic_handle_destroy(handles[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_those_that_reach_into_a_range)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
