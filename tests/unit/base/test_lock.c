/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that debug builds stop at locks taken out of order, and let the right order pass. */
#include <signal.h>
#include <string.h>

#include "base/lock.h"
#include "lib/child.h"
#include "lib/testing.h"

/* Takes two locks of these ranks, one inside the other. */
static int nest(void *arg)
{
    const enum tic_lock_rank *ranks = arg;
    struct tic_lock outer, inner;

    tic_lock_init(&outer, ranks[0]);
    tic_lock_init(&inner, ranks[1]);
    tic_lock(&outer);
    tic_lock(&inner);
    tic_unlock(&inner);
    tic_unlock(&outer);
    tic_lock(&inner); /* alone, any rank will do */
    tic_unlock(&inner);
    return 0;
}

static void test_order(void **state)
{
    static const enum tic_lock_rank all[] = {TIC_RANK_GRAPH, TIC_RANK_HANDLE, TIC_RANK_CHECKPOINT,
                                             TIC_RANK_ROWS};
    char text[512];
    (void)state;
#ifndef TIC_DEBUG
    return; /* only debug builds check */
#endif
    for (size_t i = 0; i < TIC_COUNT(all); i++) {
        for (size_t k = 0; k < TIC_COUNT(all); k++) {
            enum tic_lock_rank ranks[] = {all[i], all[k]};
            int status = tic_child_run(nest, ranks, text, sizeof(text));
            assert_int_equal(status, i < k ? 0 : TIC_CHILD_KILLED + SIGABRT);
            assert_int_equal(strstr(text, "lock order") != NULL, i >= k);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
