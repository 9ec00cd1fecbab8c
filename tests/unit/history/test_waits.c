/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that histories in whose order a restart cannot go are found, and that those of programs
 * which ran are none of these. In the programs K is a kernel without output, and c a callback. */
#include "history/history.h"

#include "lib/testing.h"

enum { MAIN = TIC_HISTORY_MAIN, CALLBACK = TIC_HISTORY_CALLBACK, KERNEL = TIC_HISTORY_KERNEL };
enum {
    BEGIN = TIC_HISTORY_BEGIN,
    END = TIC_HISTORY_END,
    VALUE = TIC_HISTORY_VALUE,
    RETURN = TIC_HISTORY_RETURN,
    RELEASE = TIC_HISTORY_RELEASE,
};

/* position, actor, subject, kind, role */
#define ENTRY(position, role, actor, kind)                                                         \
    {                                                                                              \
        position, actor, 0, kind, role, 0                                                          \
    }

static struct tic_line line_of(struct tic_line_entry *entries, size_t count, uint64_t cut)
{
    struct tic_line line = {.history = entries, .history_count = count};

    line.clock = cut >> TIC_WAIT_BITS;
    line.waits = cut & ((1u << TIC_WAIT_BITS) - 1);
    return line;
}

#define LINE(entries, cut) line_of(entries, TIC_COUNT(entries), cut)

static void expect_fine(const struct tic_line *line)
{
    struct tic_history_wait wait;

    assert_int_equal(tic_history_find_cycle(line, &wait), TIC_HISTORY_FINE);
}

/* submit T(c: n++); wait; print n */
static void test_callback_before_the_wait_returns(void **state)
{
    struct tic_line_entry entries[] = {ENTRY(2, CALLBACK, 7, BEGIN), ENTRY(2, CALLBACK, 7, END),
                                       ENTRY(2, MAIN, 0, RETURN), ENTRY(3, MAIN, 0, RETURN)};
    struct tic_line line = LINE(entries, 3);
    (void)state;
    expect_fine(&line);
}

/* submit K(R x); acquire(x, RW): the end of K is seen after main() has the data */
static void test_kernel_ends_after_what_follows(void **state)
{
    struct tic_line_entry entries[] = {ENTRY(1, KERNEL, 4, BEGIN), ENTRY(1, KERNEL, 4, VALUE),
                                       ENTRY(2, MAIN, 0, VALUE), ENTRY(2, KERNEL, 4, END),
                                       ENTRY(2, MAIN, 0, RELEASE)};
    struct tic_line line = LINE(entries, 3);
    (void)state;
    expect_fine(&line);
}

/* T(c: sem_wait(go); submit V); submit U; sem_post(go): c runs at the cut, and has not ended */
static void test_callback_that_runs_at_the_cut(void **state)
{
    struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 7, BEGIN)};
    struct tic_line line = LINE(entries, 2);
    (void)state;
    expect_fine(&line);
}

/* The callback began when main() was in its third call, which the second one had to return for. */
static void test_cycle(void **state)
{
    struct tic_line_entry entries[] = {ENTRY(1, MAIN, 0, RETURN), ENTRY(3, CALLBACK, 7, BEGIN),
                                       ENTRY(3, CALLBACK, 7, END), ENTRY(2, MAIN, 0, RETURN)};
    struct tic_line line = LINE(entries, 3);
    struct tic_history_wait wait;
    (void)state;
    assert_int_equal(tic_history_find_cycle(&line, &wait), TIC_HISTORY_CYCLE);
    assert_int_equal(wait.entry, 2);
    assert_int_equal(wait.other, 3);
    for (size_t kind = VALUE; kind <= TIC_HISTORY_MERGE; kind++) {
        const bool waits = kind == VALUE || kind == RETURN || kind == TIC_HISTORY_MERGE;
        entries[3].kind = (uint32_t)kind;
        assert_int_equal(tic_history_find_cycle(&line, &wait),
                         waits ? TIC_HISTORY_CYCLE : TIC_HISTORY_FINE);
    }
}

static void test_behind_the_cut(void **state)
{
    struct tic_line_entry entries[] = {ENTRY(3, CALLBACK, 7, BEGIN), ENTRY(2, MAIN, 0, RETURN)};
    struct tic_line line = LINE(entries, 2);
    struct tic_history_wait wait;
    (void)state;
    assert_int_equal(tic_history_find_cycle(&line, &wait), TIC_HISTORY_FINE); /* at 2 at most */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callback_before_the_wait_returns),
        cmocka_unit_test(test_kernel_ends_after_what_follows),
        cmocka_unit_test(test_callback_that_runs_at_the_cut),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_behind_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
