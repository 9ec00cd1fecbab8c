/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that an image keeps memory as it was, of whatever layout, that the program does not notice
 * it, and that what it cannot keep is told. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/image.h"
#include "lib/fakedata.h"
#include "lib/testing.h"

enum { ROWS = 700, COLUMNS = 900, WORDS = ROWS * COLUMNS };

static uint64_t *memory; /* of several pages */
static struct tic_layout whole;

static int setup(void **state)
{
    (void)state;
    memory = mmap(NULL, WORDS * sizeof(*memory), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    for (unsigned i = 0; i < WORDS; i++)
        memory[i] = i * UINT64_C(2654435761) + 1;
    whole = tic_fake_vector(memory, sizeof(*memory), WORDS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return munmap(memory, WORDS * sizeof(*memory));
}

/* NULL, and the test is skipped, where the system allows no images. */
static struct tic_image *take(void)
{
    struct tic_image *image = tic_image_take();

    if (!image)
        skip();
    return image;
}

static void check_holds(const struct tic_image *image, const struct tic_layout *layout,
                        const uint64_t *expected)
{
    size_t bytes = tic_shape_bytes(&layout->shape);
    uint64_t *read = malloc(bytes), checksum;
    struct tic_layout packed = tic_layout_packed(&layout->shape, (char *)read);

    assert_non_null(read);
    assert_int_equal(tic_image_read(image, layout, (char *)read, NULL, &checksum), 0);
    assert_memory_equal(read, expected, bytes);
    assert_int_equal(checksum, tic_layout_checksum(&packed));
    free(read);
}

static void test_what_was_there(void **state)
{
    struct tic_image *image = take();
    uint64_t *before = malloc(WORDS * sizeof(*before));
    (void)state;

    assert_non_null(before);
    memcpy(before, memory, WORDS * sizeof(*before));
    memset(memory, 0, WORDS * sizeof(*memory));
    check_holds(image, &whole, before);
    tic_image_drop(image);
    free(before);
}

/* Part of a matrix. */
static void test_with_gaps(void **state)
{
    enum { HIGH = 30, WIDE = 40 };
    struct tic_layout part = {.shape = {sizeof(*memory), 2, {HIGH, WIDE, 1, 1}},
                              .base = (char *)(memory + 5 * ROWS + 7),
                              .stride = {1, ROWS}};
    uint64_t expected[HIGH * WIDE];
    struct tic_image *image = take();
    (void)state;

    for (unsigned j = 0; j < WIDE; j++)
        memcpy(expected + j * HIGH, memory + (j + 5) * ROWS + 7, HIGH * sizeof(*memory));
    memset(memory, 0, WORDS * sizeof(*memory));
    check_holds(image, &part, expected);
    tic_image_drop(image);
}

static void test_memory_that_is_given_away(void **state)
{
    struct tic_image *image = take();
    uint64_t first = memory[0], *before = malloc(WORDS * sizeof(*before));
    (void)state;

    assert_non_null(before);
    memcpy(before, memory, WORDS * sizeof(*before));
    assert_int_equal(munmap(memory, WORDS * sizeof(*memory)), 0);
    check_holds(image, &whole, before);
    tic_image_drop(image);
    assert_int_equal(setup(NULL), 0); /* for the end of the test */
    assert_int_equal(memory[0], first);
    free(before);
}

static void test_a_hurry(void **state)
{
    struct tic_image *image = take();
    const _Atomic bool hurry = true;
    uint64_t read[WORDS / 100], checksum;
    struct tic_layout part = tic_fake_vector(memory, sizeof(*memory), WORDS / 100);
    (void)state;

    assert_int_equal(tic_image_read(image, &part, (char *)read, &hurry, &checksum), -ECANCELED);
    tic_image_drop(image);
}

static bool has_whole(void)
{
    struct tic_image *image = take();
    bool has = tic_image_has(image, &whole);

    tic_image_drop(image);
    return has;
}

static void test_memory_kept_from_children(void **state)
{
    const size_t half = WORDS * sizeof(*memory) / 2 / 4096 * 4096;
    (void)state;

    assert_true(has_whole());
    assert_int_equal(madvise((char *)memory + half, 4096, MADV_DONTFORK), 0);
    assert_false(has_whole());
}

static void test_shared_memory(void **state)
{
    const size_t bytes = WORDS * sizeof(*memory);
    (void)state;

    assert_true(mmap(memory, bytes / 2, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
    assert_false(has_whole());
    assert_int_equal(munmap(memory, bytes / 2), 0);
    assert_false(has_whole());
}

/* No wait of the program finds the process, and no signal tells of it. */
static void test_the_program_does_not_notice(void **state)
{
    struct tic_image *image;
    sigset_t child, pending;
    int status;
    (void)state;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    image = take();
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    tic_image_drop(image);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGCHLD));
    sigprocmask(SIG_UNBLOCK, &child, NULL);
}

/* Who waits for the end of a pipe waits for those only that write to it. */
static void test_files_are_closed(void **state)
{
    int ends[2];
    char byte;
    (void)state;

    assert_int_equal(pipe(ends), 0);
    struct tic_image *image = take();
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    tic_image_drop(image);
}

/* Who kills the program gets its memory back. */
static void test_it_ends_with_the_process(void **state)
{
    int status;
    (void)state;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t child = fork();
    if (child == 0) {
        if (!tic_image_take())
            _exit(77);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        skip();
    do /* it is this process's child now, as are those that were dropped */
        assert_true(waitpid(-1, &status, __WALL) > 0);
    while (!WIFEXITED(status));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_there),
        TEST(test_with_gaps),
        TEST(test_memory_that_is_given_away),
        TEST(test_a_hurry),
        TEST(test_memory_kept_from_children),
        TEST(test_shared_memory),
        TEST(test_the_program_does_not_notice),
        TEST(test_files_are_closed),
        TEST(test_it_ends_with_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
