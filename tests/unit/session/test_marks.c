/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* checks that a codelet has the mark that it got, and no other one at its address has it; and that
 * it is known when only tasks that can be skipped have run. */
#include "lib/testing.h"

#include <errno.h>

#include "real/real.h"
#include "session/context.h"
#include "session/kernels.h"
#include "session/marks.h"

struct tic_real tic_real;
static struct tic_session session;
struct tic_session *tic_session = &session;

static void one(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}
static void other(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}

static void test_marks(void **state)
{
    struct starpu_codelet a = {.cpu_funcs = {one}}, b = {.cpu_funcs = {one}};
    (void)state;
    const struct starpu_task of_a = {.cl = &a}, of_b = {.cl = &b}, of_none = {.cl = NULL};
    assert_int_equal(tic_marks_of(&of_a), TIC_MARK_NONE);
    assert_int_equal(tic_marks_set(NULL, TIC_MARK_CAN_SKIP), -EINVAL);
    assert_int_equal(tic_marks_set(&a, TIC_MARK_CAN_SKIP), 0);
    assert_int_equal(tic_marks_set(&a, TIC_MARK_CAN_SKIP), 0);
    assert_int_equal(tic_marks_set(&a, TIC_MARK_HAS_EFFECTS), -EINVAL);
    assert_int_equal(tic_marks_of(&of_a), TIC_MARK_CAN_SKIP);
    assert_int_equal(tic_marks_of(&of_b), TIC_MARK_NONE);
    assert_int_equal(tic_marks_of(&of_none), TIC_MARK_NONE);
    assert_int_equal(tic_marks_set(&b, TIC_MARK_HAS_EFFECTS), 0);
    for (unsigned rerun = 0; rerun < 2; rerun++) {
        session.settings.rerun = rerun;
        assert_false(tic_marks_runs_again(&of_a));
        assert_true(tic_marks_runs_again(&of_b));
        assert_int_equal(tic_marks_runs_again(&of_none), rerun);
    }
    /* Ours that stands for its function does not make it another one. */
    assert_int_equal(tic_kernels_replace(&a, false), 0);
    assert_int_equal(tic_marks_of(&of_a), TIC_MARK_CAN_SKIP);
    /* Another codelet at the same place. */
    a = (struct starpu_codelet){.cpu_funcs = {other}};
    assert_int_equal(tic_marks_of(&of_a), TIC_MARK_NONE);
    assert_int_equal(tic_marks_set(&a, TIC_MARK_HAS_EFFECTS), 0);
    assert_int_equal(tic_marks_of(&of_a), TIC_MARK_HAS_EFFECTS);
}

/* ---- which tasks have run -------------------------------------------------------------------- */

static struct tic_cut cut;
static struct starpu_codelet marked = {.cpu_funcs = {one}}, plain = {.cpu_funcs = {one}};

static void begin(unsigned slot, struct starpu_codelet *codelet)
{
    const struct starpu_task task = {.cl = codelet};
    uint64_t epoch = tic_cut_begin(&cut, tic_cut_slot(&cut, slot), slot);

    tic_marks_note_begin(tic_cut_slot(&cut, slot), &task);
    tic_cut_running(tic_cut_slot(&cut, slot), epoch);
}

static void end(unsigned slot)
{
    tic_marks_note_end(tic_cut_slot(&cut, slot));
    tic_cut_end(tic_cut_slot(&cut, slot));
}

static bool all_since(struct tic_marks_moment moment)
{
    return tic_marks_all_skippable_since(&cut, moment);
}

static void test_moments(void **state)
{
    struct tic_marks_moment now;
    (void)state;
    assert_int_equal(tic_cut_init(&cut, 3), 0);
    assert_int_equal(tic_marks_set(&marked, TIC_MARK_CAN_SKIP), 0);
    now = tic_marks_now(&cut);
    assert_false(all_since(now)); /* nobody has run */
    begin(0, &marked);
    assert_true(all_since(now));
    begin(1, &marked);
    end(0);
    assert_true(all_since(now));
    end(1);
    assert_true(all_since(now)); /* both have ended */
    begin(2, &plain);
    assert_false(all_since(now));
    end(2);
    assert_false(all_since(now));
    begin(2, &plain);
    now = tic_marks_now(&cut); /* it runs already, */
    begin(0, &marked);
    assert_false(all_since(now));
    end(2);
    end(0);
    assert_false(all_since(now)); /* and has ended */
    now = tic_marks_now(&cut);
    begin(0, &marked);
    tic_cut_begin(&cut, tic_cut_slot(&cut, 2), 2); /* its kernel has done nothing yet */
    assert_true(all_since(now));
    tic_cut_retract(tic_cut_slot(&cut, 2));
    end(0);
    tic_cut_fini(&cut);
}

static void test_without_marks(void **state)
{
    (void)state;
    assert_int_equal(tic_cut_init(&cut, 3), 0);
    struct tic_marks_moment now = tic_marks_now(&cut);
    begin(0, &plain);
    assert_false(all_since(now));
    end(0);
    assert_false(all_since(now));
    tic_cut_fini(&cut);
}

static void test_many(void **state)
{
    static struct starpu_codelet many[TIC_MARKS];
    (void)state;
    int status = 0;
    unsigned i = 0;
    while (i < TIC_MARKS && (status = tic_marks_set(&many[i], TIC_MARK_CAN_SKIP)) == 0)
        i++;
    assert_int_equal(status, -ENOSPC);
    assert_in_range(i, TIC_MARKS - 4, TIC_MARKS - 1);
    assert_int_equal(tic_marks_find(&many[i - 1]), TIC_MARK_CAN_SKIP);
    assert_int_equal(tic_marks_find(&many[i]), TIC_MARK_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_marks),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
