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

/* A kernel that had begun by the first cut reads when main() is in its fourth call. It stands in
 * front of what main() did before that, in the line of the first cut and in each later one. */
static void test_read_behind_the_cut(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, KERNEL, 7, BEGIN), ENTRY(2, MAIN, 0, VALUE), ENTRY(3, MAIN, 0, VALUE),
        ENTRY(4, KERNEL, 7, VALUE), ENTRY(4, KERNEL, 7, END)};
    static const uint64_t epochs[] = {1, 2, 2, 1, 2};
    struct tic_history history;
    (void)state;

    tic_history_init(&history);
    for (size_t i = 0; i < TIC_COUNT(entries); i++)
        assert_int_equal(tic_history_append(&history, &entries[i], epochs[i]), 0);
    for (uint64_t cut = 1; cut <= 2; cut++) {
        struct tic_line line = {.waits = cut == 1 ? 1 : 4};
        assert_int_equal(tic_history_describe(&history, cut, &line), 0);
        assert_int_equal(line.history_count, cut == 1 ? 2 : 5);
        assert_int_equal(line.history[1].kind, VALUE);
        assert_int_equal(line.history[1].actor, 7);
        assert_int_equal(line.history[1].position, 1);
        expect_fine(&line);
        tic_line_clear(&line);
    }
    tic_history_fini(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callback_before_the_wait_returns),
        cmocka_unit_test(test_kernel_ends_after_what_follows),
        cmocka_unit_test(test_callback_that_runs_at_the_cut),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_behind_the_cut),
        cmocka_unit_test(test_read_behind_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
