/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which moves between states of protection are legal. */
#include <stdio.h>
#include <string.h>

#include "lib/testing.h"
#include "snapshot/protection.h"

static void test_begins_active(void **state)
{
    struct tic_protection protection = {0};

    (void)state;
    assert_int_equal(protection.state, TIC_PROTECTION_ACTIVE);
    assert_false(tic_protection_is_over(&protection));
    assert_false(tic_protection_is_suspended(&protection));
}

static void test_every_move(void **state)
{
    static const char *const legal[] = {"active suspended", "active ended", "suspended active",
                                        "suspended ended", "ended abandoned"};
    static const char *const names[] = {"active", "suspended", "ended", "abandoned"};
    unsigned found = 0;

    (void)state;
    for (int from = 0; from < TIC_PROTECTION_STATES; from++)
        for (int to = 0; to < TIC_PROTECTION_STATES; to++) {
            struct tic_protection protection = {.state = from};
            char move[64];
            bool expected = false;
            snprintf(move, sizeof(move), "%s %s", names[from], names[to]);
            for (size_t i = 0; i < TIC_COUNT(legal); i++)
                expected |= strcmp(legal[i], move) == 0;
            assert_int_equal(tic_protection_move(&protection, (enum tic_protection_state)to),
                             expected);
            assert_int_equal(protection.state, expected ? to : from);
            found += expected;
        }
    assert_int_equal(found, TIC_COUNT(legal));
}

static void test_what_is_over(void **state)
{
    static const bool over[] = {false, false, true, true};
    static const bool suspended[] = {false, true, false, false};

    (void)state;
    for (int i = 0; i < TIC_PROTECTION_STATES; i++) {
        struct tic_protection protection = {.state = i};
        assert_int_equal(tic_protection_is_over(&protection), over[i]);
        assert_int_equal(tic_protection_is_suspended(&protection), suspended[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_active),
        cmocka_unit_test(test_every_move),
        cmocka_unit_test(test_what_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
