/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the backlog gives back what a list would that is searched from its begin. */
#include <stdbool.h>

#include "session/backlog.h"
#include "lib/random.h"
#include "lib/testing.h"

enum { ITEMS = 2000, CLOCKS = 300 };

static struct tic_postponed items[ITEMS];

/* The model: what was added and not taken, in the order in which it was added; those with a rank
 * come first, by it. */
static bool listed[ITEMS];

static bool is_due(const struct tic_postponed *item, uint64_t now, bool ahead)
{
    return item->clock <= now && (item->known || !ahead);
}

static struct tic_postponed *find_first(unsigned added, uint64_t now, bool ahead)
{
    struct tic_postponed *first = NULL;

    for (unsigned i = 0; i < added; i++)
        if (listed[i] && is_due(&items[i], now, ahead) && (!first || items[i].rank < first->rank))
            first = &items[i];
    return first;
}

static unsigned take_all_due(unsigned added, uint64_t now, bool ahead)
{
    unsigned taken = 0;

    for (;; taken++) {
        struct tic_postponed *expected = find_first(added, now, ahead);
        assert_int_equal(tic_backlog_has_due(now, ahead), expected != NULL);
        assert_ptr_equal(tic_backlog_take(now, ahead), expected);
        if (!expected)
            return taken;
        listed[expected - items] = false;
    }
}

static void add_item(struct tic_random *random, unsigned number)
{
    items[number] = (struct tic_postponed){.clock = tic_random_below(random, CLOCKS),
                                           .known = tic_random_below(random, 4) > 0,
                                           .rank = UINT64_MAX};
    if (items[number].known && tic_random_below(random, 2))
        items[number].rank = (uint64_t)ITEMS * 2 - number; /* later ones had run before */
    listed[number] = true;
    assert_true(tic_backlog_add(&items[number]));
    assert_true(atomic_load(&tic_backlog_earliest) <= items[number].clock);
}

static void test_order(void **state)
{
    struct tic_random random;
    unsigned added = 0, taken = 0;

    (void)state;
    tic_random_init(&random, 0);
    for (uint64_t now = 0; now < CLOCKS; now++) {
        bool ahead = now < CLOCKS * 3 / 4;
        for (; added < ITEMS * (now + 1) / CLOCKS; added++)
            add_item(&random, added);
        taken += take_all_due(added, now, ahead);
    }
    assert_int_equal(taken, ITEMS);
    assert_true(atomic_load(&tic_backlog_earliest) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
