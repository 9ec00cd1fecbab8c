/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that outputs of a killed and a resumed run count as the expected one exactly if nothing is
 * missing, added or changed; and that kills are chosen by seed and number only. */
#include <stdio.h>
#include <string.h>

#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "tools/kills.h"
#include "tools/outputs.h"

static void make(struct tic_output *output, const char *text)
{
    struct tic_tmpdir dir;
    char path[300];

    tic_tmpdir_create(&dir);
    tic_tmpdir_store(&dir, "out", text, strlen(text));
    snprintf(path, sizeof(path), "%s/out", dir.path);
    assert_int_equal(tic_output_read(output, path), 0);
    tic_tmpdir_remove(&dir);
}

static enum tic_match match(const char *expected, const char *killed, const char *resumed)
{
    struct tic_output wanted, found, before;

    make(&wanted, expected);
    make(&found, resumed);
    make(&before, killed);
    enum tic_match result = tic_output_match(&wanted, &found, &before, 1);
    tic_output_free(&wanted);
    tic_output_free(&found);
    tic_output_free(&before);
    return result;
}

/* checks that equal outputs match, whatever the killed run printed */
static void test_equal(void **state)
{
    (void)state;
    assert_int_equal(match("", "", ""), TIC_MATCH_EXACT);
    assert_int_equal(match("a\nb\n", "x\n", "a\nb\n"), TIC_MATCH_EXACT);
    assert_int_equal(match("a\nb", "", "a\nb"), TIC_MATCH_EXACT);
    assert_int_equal(match("a\nb\n", "", "b\na\n"), TIC_MATCH_ORDER);
    assert_int_equal(match("a\nb\n", "x\n", "b\na\n"), TIC_MATCH_ORDER);
}

/* checks that lines of the killed run stand for those that are missing */
static void test_union(void **state)
{
    (void)state;
    assert_int_equal(match("a\nb\nc\n", "a\n", "b\nc\n"), TIC_MATCH_UNION);
    assert_int_equal(match("a\nb\nc\n", "a\nb\n", "b\nc\n"), TIC_MATCH_UNION);
    assert_int_equal(match("a\na\nb\n", "a\n", "a\nb\n"), TIC_MATCH_UNION);
    assert_int_equal(match("a\nb\n", "a\nb", "b\n"), TIC_MATCH_UNION); /* cut off */
}

/* checks that a line too few, too many, or another one is found */
static void test_different(void **state)
{
    (void)state;
    assert_int_equal(match("a\nb\n", "", "b\n"), TIC_MATCH_NONE);
    assert_int_equal(match("a\nb\n", "a", "b\n"), TIC_MATCH_NONE); /* cut off */
    assert_int_equal(match("a\nb\n", "a\n", "a\nb\nb\n"), TIC_MATCH_NONE);
    assert_int_equal(match("a\nb\n", "a\nb\n", "a\nc\n"), TIC_MATCH_NONE);
    assert_int_equal(match("a\nb\n", "a\nx\n", "b\n"), TIC_MATCH_NONE);
    assert_int_equal(match("a\na\nb\n", "", "a\nb\n"), TIC_MATCH_NONE);
    assert_int_equal(match("a\n", "", "a"), TIC_MATCH_NONE);
    assert_int_equal(match("", "", "a\n"), TIC_MATCH_NONE);
}

/* checks that the same seed gives the same kills, within the run, and another seed others */
static void test_kills(void **state)
{
    const struct tic_kill_counts counts = {.tasks = 100, .lines = 8};
    unsigned others = 0, periodic = 0;

    (void)state;
    for (unsigned number = 0; number < 60; number++) {
        struct tic_kill kill = tic_kill_choose(5, number, &counts);
        struct tic_kill again = tic_kill_choose(5, number, &counts);
        assert_true(tic_kill_has(kill.point));
        assert_string_equal(kill.point, again.point);
        assert_int_equal(kill.pass, again.pass);
        assert_true(kill.pass >= 1 && kill.pass <= counts.tasks);
        others += tic_kill_choose(6, number, &counts).pass != kill.pass;
        periodic += kill.periodic;
    }
    assert_true(others > 20);
    assert_int_equal(periodic, 30);
    assert_false(tic_kill_has("nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_kills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
