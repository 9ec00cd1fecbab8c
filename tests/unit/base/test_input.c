/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what is known of the standard input: whether it was read, and its hash. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "lib/testing.h"

static char path[] = "input-XXXXXX";

static void store(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The standard input becomes that file. */
static void open_input(int mode)
{
    int fd = open(path, mode);

    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
}

static char *hash_of(const char *text)
{
    store(text);
    open_input(O_RDONLY);
    char *hash = tic_input_hash();
    assert_non_null(hash);
    return hash;
}

static void test_hash_tells_content(void **state)
{
    char *one = hash_of("12\n"), *other = hash_of("13\n"), *again = hash_of("12\n");
    (void)state;
    assert_int_equal(strlen(one), 32);
    assert_string_not_equal(one, other);
    assert_string_equal(one, again);
    free(one);
    free(other);
    free(again);
}

/* Where the process reads counts: not that of the hash. */
static void test_read(void **state)
{
    char byte;
    (void)state;
    free(hash_of("12\n"));
    assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_CUR), 0);
    assert_int_equal(read(STDIN_FILENO, &byte, 1), 1);
    assert_true(tic_input_was_read());
}

/* A pipe, and a file that is written. */
static void test_what_is_no_input(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    char *hash = tic_input_hash();
    assert_string_equal(hash, "");
    assert_false(tic_input_was_read());
    free(hash);
    store("12\n");
    open_input(O_RDWR);
    hash = tic_input_hash();
    assert_string_equal(hash, "");
    free(hash);
    close(ends[0]);
    close(ends[1]);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    return fd < 0 ? -1 : close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_tells_content),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_what_is_no_input),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
