/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the memory that control groups allow is found, of either version and in any group
 * above. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

static uint64_t left(void)
{
    char groups[512];

    snprintf(groups, sizeof(groups), "%s", in_dir("groups"));
    return tic_memory_left_in(groups, dir.path);
}

static uint64_t kills(void)
{
    char groups[512];

    snprintf(groups, sizeof(groups), "%s", in_dir("groups"));
    return tic_memory_kills(groups, dir.path);
}

/* checks what limits of the second version leave: memory.high counts, pages of files that are on
 * disk are free, and of the groups above the one that leaves least counts */
static void test_left(void **state)
{
    (void)state;
    write_file("groups", "0::/job/step\n");
    make_dir("job");
    make_dir("job/step");
    write_file("job/step/memory.current", "700\n");
    assert_true(left() == UINT64_MAX);
    write_file("job/step/memory.max", "1000\n");
    assert_true(left() == 300);
    write_file("job/step/memory.high", "800\n");
    assert_true(left() == 100);
    write_file("job/step/memory.stat",
               "anon 500\nactive_file 90\ninactive_file 60\nfile_dirty 50\n");
    assert_true(left() == 200);
    write_file("job/memory.max", "5000\n");
    write_file("job/memory.current", "4950\n");
    assert_true(left() == 50);
    write_file("job/memory.current", "6000\n");
    assert_true(left() == 0);
}

/* checks the same of the first version, where a huge number is no limit, and how often the system
 * has killed in a group */
static void test_left_first(void **state)
{
    (void)state;
    write_file("groups", "4:memory:/job\n");
    make_dir("memory");
    make_dir("memory/job");
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/memory.usage_in_bytes", "9000\n");
    write_file("memory/memory.oom_control", "oom_kill 70\n");
    assert_true(left() == UINT64_MAX);
    write_file("memory/job/memory.limit_in_bytes", "1000\n");
    write_file("memory/job/memory.usage_in_bytes", "900\n");
    write_file("memory/job/memory.stat", "cache 1\ntotal_inactive_file 20\n");
    assert_true(left() == 120);
    assert_true(kills() == 0);
    write_file("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    assert_true(kills() == 3);
}

/* checks that the budget is a quarter of what a limit of the process leaves, and shrinks with it */
static void test_budget(void **state)
{
    struct rlimit before, limit;
    const uint64_t none = tic_memory_refused();

    (void)state;
#if defined(__SANITIZE_ADDRESS__) ||                                                               \
    defined(                                                                                       \
        __SANITIZE_THREAD__) /* whose own memory counts; cmocka calls what is skipped "not ok" */
    return;
#endif
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = (uint64_t)1 << 30;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    assert_true(tic_memory_left() < (uint64_t)1 << 30);
    assert_true(tic_memory_may_take(100 << 20));
    assert_false(tic_memory_may_take(300 << 20));
    void *grown = mmap(NULL, 800 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(grown != MAP_FAILED);
    assert_false(tic_memory_may_take(100 << 20));
    assert_int_equal(tic_memory_refused(), none + 2);
    assert_int_equal(munmap(grown, 800 << 20), 0);
    assert_true(tic_memory_may_take(100 << 20));
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
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
    const struct CMUnitTest tests[] = {
        TEST(test_no_limit),   TEST(test_group_above), TEST(test_first_version), TEST(test_left),
        TEST(test_left_first), TEST(test_budget),      TEST(test_total)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
