/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what is known of files that were opened for reading, and how they differ in a restart. The
 * notes are those of this process: each test has names of its own. */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/testing.h"
#include "lib/tmpdir.h"

static struct tic_tmpdir dir;

static enum tic_files_verdict note_content(const char *name, const char *content)
{
    char path[300];

    tic_tmpdir_store(&dir, "file", content, strlen(content));
    snprintf(path, sizeof(path), "%s/file", dir.path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && tic_files_begin());
    enum tic_files_verdict verdict = tic_files_note(name, fd);
    tic_files_end();
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0); /* the program's own place stays */
    close(fd);
    return verdict;
}

static enum tic_files_verdict note_missing(const char *name)
{
    assert_true(tic_files_begin());
    enum tic_files_verdict verdict = tic_files_note(name, -1);
    tic_files_end();
    return verdict;
}

/* What a line would tell of the file: "" if nothing. */
static const char *described(const struct tic_line_text *files, const char *name)
{
    for (const char *at = files->text; at < files->text + files->size; at += strlen(at) + 1)
        if (strlen(at) > strlen(name) && strcmp(at + strlen(at) - strlen(name), name) == 0)
            return at;
    return "";
}

static void test_first_content_counts(void **state)
{
    struct tic_line_text before, after;
    (void)state;
    assert_int_equal(note_content("first", "one"), TIC_FILES_SAME);
    assert_int_equal(tic_files_describe(&before), 0);
    assert_int_equal(note_content("first", "two"), TIC_FILES_SAME);
    assert_int_equal(tic_files_describe(&after), 0);
    assert_string_equal(described(&before, "first"), described(&after, "first"));
    assert_non_null(strstr(described(&after, "first"), " 3 3 first"));
    free(before.text);
    free(after.text);
}

static void test_own_files_are_no_inputs(void **state)
{
    struct tic_line_text files;
    (void)state;
    assert_true(tic_files_begin());
    tic_files_note_written("own", true);
    tic_files_end();
    note_content("own", "any");
    assert_true(tic_files_begin());
    tic_files_note_written("own", true);
    tic_files_note_written("output", false);
    tic_files_end();
    assert_null(tic_files_tell_overwritten());
    assert_int_equal(tic_files_describe(&files), 0);
    assert_string_equal(described(&files, "own"), "");
    free(files.text);
}

static void test_an_input_that_is_written_is_told_once(void **state)
{
    (void)state;
    note_content("state", "any");
    assert_true(tic_files_begin());
    tic_files_note_written("state", false);
    tic_files_end();
    assert_string_equal(tic_files_tell_overwritten(), "state");
    assert_null(tic_files_tell_overwritten());
}

static void test_only_regular_files(void **state)
{
    struct tic_line_text files;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_true(tic_files_begin());
    assert_int_equal(tic_files_note("pipe", ends[0]), TIC_FILES_SAME);
    tic_files_end();
    assert_int_equal(tic_files_describe(&files), 0);
    assert_string_equal(described(&files, "pipe"), "");
    free(files.text);
    close(ends[0]);
    close(ends[1]);
}

/* A handler of a signal that comes into a note makes none, and leaves the other one alone. */
static void test_no_note_inside_of_another(void **state)
{
    (void)state;
    assert_true(tic_files_begin());
    assert_false(tic_files_begin());
    tic_files_end();
    assert_true(tic_files_begin());
    tic_files_end();
}

static const char *record(const char *name, const char *content)
{
    static struct tic_line_text files;
    static char entry[300];

    if (content)
        note_content(name, content);
    else
        note_missing(name);
    free(files.text);
    assert_int_equal(tic_files_describe(&files), 0);
    snprintf(entry, sizeof(entry), "%s", described(&files, name));
    return entry;
}

/* The recorded run's entry, of a name that this process has not noted, or has. */
static void add_entry(struct tic_line_text *files, const char *entry, const char *old,
                      const char *name)
{
    int length = (int)(strlen(entry) - strlen(old));

    files->size += (size_t)sprintf(files->text + files->size, "%.*s%s", length, entry, name) + 1;
}

static void test_verdicts(void **state)
{
    char text[2000];
    struct tic_line_text then = {text, 0};
    const char *name;
    (void)state;
    add_entry(&then, record("r1", "content"), "r1", "same");
    add_entry(&then, record("r2", "content"), "r2", "other");
    add_entry(&then, record("r3", "content"), "r3", "longer");
    add_entry(&then, record("r4", "content"), "r4", "missing");
    add_entry(&then, record("r5", NULL), "r5", " new "); /* blanks and all */
    add_entry(&then, record("r6", "content"), "r6", "not opened again");
    assert_int_equal(tic_files_compare(&then, &name), TIC_FILES_SAME);
    note_content("same", "content");
    assert_int_equal(tic_files_compare(&then, &name), TIC_FILES_SAME);
    note_content("other", "tnetnoc");
    assert_int_equal(tic_files_compare(&then, &name), TIC_FILES_OTHER);
    assert_string_equal(name, "other");
    assert_int_equal(tic_files_load(&then), 0);
    assert_int_equal(note_content("longer", "content."), TIC_FILES_OTHER);
    assert_int_equal(note_missing("missing"), TIC_FILES_MISSING);
    assert_int_equal(note_content(" new ", "content"), TIC_FILES_NEW);
    assert_int_equal(note_content("unknown", "content"), TIC_FILES_SAME);
    struct tic_line_text later; /* what main() has not come to yet stays */
    assert_int_equal(tic_files_describe(&later), 0);
    assert_string_equal(described(&later, "not opened again") + 33, "7 7 not opened again");
    free(later.text);
}

static void test_damaged_entries_end_the_list(void **state)
{
    char text[] = "nonsense";
    struct tic_line_text then = {text, sizeof(text)}, none = {0};
    const char *name;
    (void)state;
    assert_int_equal(tic_files_compare(&then, &name), TIC_FILES_SAME);
    assert_int_equal(tic_files_compare(&none, &name), TIC_FILES_SAME);
}

static int setup(void **state)
{
    (void)state;
    assert_int_equal(tic_files_start(), 0);
    tic_tmpdir_create(&dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_tmpdir_remove(&dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_content_counts),
        cmocka_unit_test(test_own_files_are_no_inputs),
        cmocka_unit_test(test_an_input_that_is_written_is_told_once),
        cmocka_unit_test(test_only_regular_files),
        cmocka_unit_test(test_no_note_inside_of_another),
        cmocka_unit_test(test_damaged_entries_end_the_list),
        cmocka_unit_test(test_verdicts), /* last, as it loads a recorded run */
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
