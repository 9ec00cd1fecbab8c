/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the memory that control groups allow is found, of either version and in any group
 * above. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"

static struct tic_tmpdir dir;
static char path[512];

static const char *in_dir(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", dir.path, name);
    return path;
}

static void make_dir(const char *name)
{
    assert_int_equal(mkdir(in_dir(name), 0700), 0);
}

static void write_file(const char *name, const char *text)
{
    tic_tmpdir_store(&dir, name, text, strlen(text));
}

static uint64_t limit(void)
{
    char groups[512];

    snprintf(groups, sizeof(groups), "%s", in_dir("groups"));
    return tic_memory_limit(groups, dir.path);
}

static void test_no_limit(void **state)
{
    (void)state;
    assert_true(limit() == UINT64_MAX);
    write_file("groups", "0::/job\n");
    assert_true(limit() == UINT64_MAX);
    make_dir("job");
    write_file("job/memory.max", "max\n");
    assert_true(limit() == UINT64_MAX);
    write_file("groups", "nonsense\n0:\n");
    assert_true(limit() == UINT64_MAX);
}

static void test_group_above(void **state)
{
    (void)state;
    write_file("groups", "0::/job/step\n");
    make_dir("job");
    make_dir("job/step");
    write_file("job/memory.max", "1000000\n");
    write_file("job/step/memory.max", "max\n");
    assert_true(limit() == 1000000);
    write_file("job/step/memory.max", "500\n");
    assert_true(limit() == 500);
}

static void test_first_version(void **state)
{
    (void)state;
    write_file("groups", "5:cpu:/other\n4:memory:/job\n0::/\n");
    make_dir("memory");
    make_dir("memory/job");
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/job/memory.limit_in_bytes", "700\n");
    assert_true(limit() == 700);
}

static void test_total(void **state)
{
    (void)state;
    assert_true(tic_memory_total() > 0 && tic_memory_total() < UINT64_MAX);
    assert_true(tic_memory_available() > 0);
}

static int set_up(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_tmpdir_remove(&dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_no_limit), TEST(test_group_above),
                                       TEST(test_first_version), TEST(test_total)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
