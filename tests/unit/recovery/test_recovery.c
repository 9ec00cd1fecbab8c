/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks which recovery line a run starts from, what it knows then, and that every doubt stops the
 * start with status 78 and a message that says why. */
#include "recovery/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/type_rules.h"
#include "lib/child.h"
#include "lib/rig.h"
#include "lib/testing.h"
#include "store/linefile.h"
#include "store/schema.h"

enum { WORDS = 4, MANY = TIC_SIGNATURE_BLOCK + 10 };

static struct tic_rig rig;
static time_t set_back; /* seconds, of the clock */
static uint64_t memory[WORDS];
static char text[4096]; /* what the child said */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec -= clock == CLOCK_REALTIME ? set_back : 0;
    return status;
}

/* `lines` checkpoints; the one numbered n holds tasks 0 .. n - 1 and value 100 + n. Then the end.
 */
static void run(unsigned lines)
{
    struct tic_handle *handle = tic_rig_register(&rig, memory, WORDS);
    for (unsigned i = 1; i <= lines; i++) {
        tic_rig_task(&rig, i - 1, handle, 100 + i);
        assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    }
    tic_rig_stop(&rig);
}

/* In a rig of its own: ours may be running. */
static int start(void *arg)
{
    static struct tic_rig other;
    (void)arg;
    other = rig;
    bool recovered = tic_rig_start(&other);
    int number = recovered ? (int)other.store.kept[0].number : 0;
    tic_rig_stop(&other);
    return number;
}

/* Starts in a child: the number of the line it starts from, 0 for none, or its exit status. */
static int start_in_child(void)
{
    return tic_child_run(start, NULL, text, sizeof(text));
}

/* The message has all of these words, and the name of the directory. */
static void expect_refused(const char *what, const char *theirs, const char *ours)
{
    assert_int_equal(start_in_child(), TIC_EXIT_REFUSED);
    if (!strstr(text, what) || !strstr(text, theirs) || !strstr(text, ours) ||
        !strstr(text, rig.dir.path))
        fail_msg("\"%s\" does not name %s, %s, %s", text, what, theirs, ours);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
}

/* ---- starting ------------------------------------------------------------------------------- */

static void test_nothing_to_recover(void **state)
{
    char path[300];
    struct tic_store store;
    struct tic_snapshot snapshot = {.store = &store};
    (void)state;
    tic_rig_stop(&rig);
    assert_int_equal(start_in_child(), 0);
    assert_string_equal(text, "");
    snprintf(path, sizeof(path), "%s/missing", rig.dir.path);
    assert_int_equal(tic_recovery_open(&snapshot, path, false, false, &tic_h5_ops), -ENOENT);
    assert_false(tic_tmpdir_has(&rig.dir, "missing"));
}

static void test_newest_line_is_loaded(void **state)
{
    (void)state;
    run(3);
    assert_true(tic_rig_start(&rig));
    assert_int_equal(rig.store.kept[0].number, 3);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(tic_recovery_is_done(&rig.graph, i), i < 3);
    assert_int_equal(tic_signature_count(&rig.graph.signature), 3);
    struct tic_handle *handle = tic_rig_register(&rig, memory, WORDS);
    assert_true(handle->restart.pending);
    assert_int_equal(tic_store_read(&rig.store, &handle->saving.current.saved, &handle->layout), 0);
    assert_int_equal(memory[0], 103);
}

static int start_and_tell(void *arg)
{
    static struct tic_rig other;
    (void)arg;
    other = rig;
    tic_rig_prepare(&other);
    tic_log_set_level(TIC_LOG_INFO);
    bool recovered = tic_rig_open_store(&other);
    tic_rig_stop(&other);
    return recovered;
}

static void test_line_of_the_future_is_young(void **state)
{
    (void)state;
    run(1);
    set_back = 1000;
    assert_int_equal(tic_child_run(start_and_tell, NULL, text, sizeof(text)), 1);
    set_back = 0;
    assert_non_null(strstr(text, "1 tasks done, 0 seconds old"));
}

static void test_replay_is_complete_after_the_last_done_task(void **state)
{
    (void)state;
    run(3);
    assert_true(tic_rig_start(&rig));
    for (uint64_t i = 0; i < 3; i++) {
        assert_false(tic_recovery_is_complete(&rig.graph));
        assert_true(tic_rig_submit(&rig, i + 1));
    }
    assert_true(tic_recovery_is_complete(&rig.graph));
}

static void test_signature_blocks_are_loaded(void **state)
{
    (void)state;
    struct tic_handle *handle = tic_rig_register(&rig, memory, WORDS);
    tic_rig_task(&rig, MANY - 1, handle, 1);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(rig.snapshot.cycle.block_count, 1);
    assert_int_equal(tic_signature_count(&rig.graph.signature), MANY);
    assert_true(tic_rig_submit(&rig, MANY));
    assert_int_equal(rig.graph.signature.position, MANY);
}

static void test_another_number_of_workers_is_fine(void **state)
{
    (void)state;
    run(1);
    tic_rig_start(&rig);
    rig.snapshot.about.workers = 77;
    tic_rig_begin(&rig, 0, 0, NULL); /* news */
    tic_rig_end(&rig, 0);
    assert_int_equal(tic_checkpoint_run(&rig.snapshot), 0);
    assert_true(tic_rig_restart(&rig));
    assert_int_equal(rig.store.kept[0].workers, 77);
}

/* ---- damage --------------------------------------------------------------------------------- */

static void expect_older(void)
{
    assert_int_equal(start_in_child(), 2);
    assert_non_null(strstr(text, "p0-line-00000003.h5 is not used: damaged"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_torn_line_is_skipped(void **state)
{
    (void)state;
    run(3);
    tic_tmpdir_store(&rig.dir, "p0-line-00000003.h5", "starpu-tic", 10);
    expect_older();
}

static void test_line_with_a_damaged_image_is_skipped(void **state)
{
    (void)state;
    run(3);
    tic_tmpdir_damage(&rig.dir, "p0-line-00000003.h5", -10);
    expect_older();
}

static void damage_value_of_newest(void)
{
    struct tic_line line = {0};
    char name[64];

    assert_true(tic_rig_newest(&rig, &line));
    const struct tic_line_value *value = tic_rig_find(&line, 0);
    const struct tic_line_extent *extent = &line.extents[value->extent];
    snprintf(name, sizeof(name), TIC_FILE_SEGMENT, 0, (unsigned long long)extent->segment);
    tic_tmpdir_damage(&rig.dir, name,
                      (long)(extent->offset + value->row * WORDS * sizeof(uint64_t)));
    tic_line_clear(&line);
}

static void test_line_with_damaged_payload_is_skipped(void **state)
{
    (void)state;
    run(3);
    damage_value_of_newest();
    expect_older();
}

static void test_only_damaged_lines_are_refused(void **state)
{
    (void)state;
    run(3);
    tic_tmpdir_damage(&rig.dir, "p0-line-00000003.h5", -10);
    tic_tmpdir_damage(&rig.dir, "p0-line-00000002.h5", -10);
    assert_int_equal(start_in_child(), TIC_EXIT_REFUSED);
    assert_non_null(strstr(text, "none of the 2 recovery lines"));
    assert_true(tic_tmpdir_has(&rig.dir, "p0-line-00000003.h5")); /* nothing was removed */
    assert_true(tic_tmpdir_has(&rig.dir, "p0-line-00000002.h5"));
}

static void test_unfinished_first_checkpoint_is_cleaned_up(void **state)
{
    (void)state;
    tic_rig_stop(&rig);
    tic_tmpdir_store(&rig.dir, "p0-segment-00000001.h5", "x", 1);
    tic_tmpdir_store(&rig.dir, "p0-line-00000001.h5.new", "x", 1);
    assert_int_equal(start_in_child(), 0);
    assert_string_equal(text, "");
    assert_int_equal(tic_tmpdir_count(&rig.dir, "p0-segment"), 0);
    assert_int_equal(tic_tmpdir_count(&rig.dir, "p0-line"), 0);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_another_program_is_refused(void **state)
{
    (void)state;
    run(1);
    rig.program = "other";
    expect_refused("the program", "\"program\"", "\"other\"");
}

static void test_other_arguments_are_refused(void **state)
{
    (void)state;
    run(1);
    rig.argument = "-m";
    expect_refused("the arguments", "\"-n\"", "\"-m\"");
    rig.argument = "-nn";
    expect_refused("the arguments", "\"-n\"", "\"-nn\"");
}

static void test_another_starpu_is_refused(void **state)
{
    (void)state;
    run(1);
    rig.starpu = "1.4";
    expect_refused("the StarPU version", "\"1.3\"", "\"1.4\"");
}

static void test_newer_format_is_refused(void **state)
{
    size_t size;
    (void)state;
    run(2);
    char *image = tic_tmpdir_load(&rig.dir, "p0-line-00000002.h5", &size);
    memcpy(strstr(image, "format "), "format 9", 8);
    tic_tmpdir_store(&rig.dir, "p0-line-00000002.h5", image, size);
    free(image);
    expect_refused("written by another version", "p0-line-00000002.h5", "");
}

static void test_second_run_is_refused(void **state)
{
    (void)state;
    expect_refused("another run uses", "", ""); /* ours */
}

static void test_unusable_directory_is_refused(void **state)
{
    struct tic_tmpdir dir = rig.dir;
    (void)state;
    tic_rig_stop(&rig);
    tic_tmpdir_store(&dir, "file", "x", 1);
    strcat(rig.dir.path, "/file");
    expect_refused("Not a directory", "", "");
    rig.dir = dir;
}

/* ---- other machines -------------------------------------------------------------------------- */

/* The newest line is now one of a machine like this one, but for what `change` changes. */
static void make_foreign(unsigned number, void (*change)(struct tic_line *line))
{
    struct tic_line line = {0};
    char name[64];
    int directory = open(rig.dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    snprintf(name, sizeof(name), TIC_FILE_LINE, 0u, (unsigned long long)number);
    assert_int_equal(tic_linefile_read(directory, name, &tic_h5_ops, &line), 0);
    free(line.on.machine);
    line.on.machine = strdup("elsewhere");
    line.on.pointer_bytes = sizeof(void *);
    change(&line);
    assert_int_equal(tic_linefile_write(directory, name, &tic_h5_ops, &line, false), 0);
    tic_line_clear(&line);
    close(directory);
}

static void swap_order(struct tic_line *line)
{
    line->on.big_endian = !tic_machine_is_big_endian();
}

static void change_nothing(struct tic_line *line)
{
    (void)line;
}

static void return_arguments(struct tic_line *line)
{
    line->on.pointer_bytes = sizeof(void *) / 2;
    free(line->looks);
    line->looks = calloc(1, sizeof(*line->looks));
    line->look_count = 1;
    line->looks[0] = (struct tic_line_look){.wait = 1, .id = TIC_LOOK_ARGUMENTS, .bytes = 4};
}

static void bind_to_words(struct tic_line *line)
{
    line->on.pointer_bytes = sizeof(void *) / 2;
    line->on.machine_bound = TIC_BOUND_WORDS;
    free(line->spawned);
    line->spawned = calloc(1, sizeof(*line->spawned));
    line->spawned_count = 1;
    line->spawned[0] = UINT64_C(1) << 63 | 1;
}

static void bind_to_build(struct tic_line *line)
{
    bind_to_words(line);
    line->on.pointer_bytes = sizeof(void *);
    line->on.machine_bound = TIC_BOUND_BUILD;
}

static void test_a_machine_of_the_same_order_needs_no_types(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, change_nothing);
    assert_true(tic_rig_start(&rig));
    assert_int_equal(rig.store.kept[0].number, 2);
    assert_false(rig.graph.signature.mixed);
}

static void widen(struct tic_line *line)
{
    for (size_t i = 0; i < line->extent_count; i++) {
        line->extents[i].element_size = 16;
        line->extents[i].dims[0] /= 2;
    }
}

/* They may be long doubles, which have another format there. */
static void test_elements_of_16_bytes_need_types(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, widen);
    expect_refused("elsewhere", "has elements of 16 bytes", "STARPU_TIC_TYPES='16=2*double'");
    assert_true(tic_type_rules_set("16=2*double"));
    assert_int_not_equal(start_in_child(), TIC_EXIT_REFUSED);
    assert_true(tic_type_rules_set(""));
}

/* The value that a restart gets by this declaration; the newest line is number 3 then. */
static uint64_t converted_by(const char *rules)
{
    assert_true(tic_type_rules_set(rules));
    assert_true(tic_rig_start(&rig));
    assert_int_equal(rig.store.kept[0].number, 3);
    assert_int_equal(rig.store.kept_count, 1);
    struct tic_handle *handle = tic_rig_register(&rig, memory, WORDS);
    assert_int_equal(tic_store_read(&rig.store, &handle->saving.current.saved, &handle->layout), 0);
    assert_true(tic_type_rules_set(""));
    return memory[0];
}

static void test_the_other_byte_order_is_converted_by_type(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, swap_order);
    assert_int_equal(converted_by("8=double"), __builtin_bswap64(102));
    assert_true(tic_rig_restart(&rig)); /* no type is needed any more */
    assert_int_equal(rig.store.kept[0].number, 3);
}

/* So the test above would notice a type that is not the declared one. */
static void test_another_type_is_another_value(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, swap_order);
    uint64_t value = converted_by("#0=2*float");
    assert_int_not_equal(value, __builtin_bswap64(102));
    assert_int_equal(value, __builtin_bswap64(102) >> 32 | __builtin_bswap64(102) << 32);
}

static void test_without_types_the_other_byte_order_is_refused(void **state)
{
    static const char *const others[] = {"", "4=float", "#7=double", "8=double;#0=long"};
    (void)state;
    run(2);
    make_foreign(2, swap_order);
    for (size_t i = 0; i < TIC_COUNT(others); i++) {
        if (!tic_type_rules_are_valid(others[i]))
            continue;
        assert_true(tic_type_rules_set(others[i]));
        expect_refused("nobody has declared the type", "data 0", "STARPU_TIC_TYPES");
        assert_true(tic_tmpdir_has(&rig.dir, "p0-line-00000002.h5"));
        assert_false(tic_tmpdir_has(&rig.dir, "p0-line-00000003.h5"));
    }
    assert_true(tic_type_rules_set(""));
}

/* A task that a task submitted is not done: its codelet, and 8 bytes of arguments. */
static void keep_task(struct tic_line *line)
{
    static const char functions[] = ":leaf_codelet\tleaf", arguments[] = "abcdefgh";

    swap_order(line);
    free(line->functions.text);
    line->functions.text = memcpy(malloc(sizeof(functions)), functions, sizeof(functions));
    line->functions.size = sizeof(functions);
    free(line->bytes.items);
    line->bytes.items = memcpy(malloc(8), arguments, 8);
    line->bytes.count = 8;
    free(line->kept);
    line->kept = calloc(1, sizeof(*line->kept));
    line->kept_count = 1;
    line->kept[0] = (struct tic_line_kept){.callback = UINT32_MAX, .arguments = 8};
}

static void test_arguments_of_kept_tasks_need_types(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, keep_task);
    assert_true(tic_type_rules_set("8=double"));
    expect_refused("elsewhere", "tasks \"leaf\"", "leaf:args=");
    assert_true(tic_type_rules_set("8=double;leaf:args=int")); /* fewer bytes */
    expect_refused("elsewhere", "tasks \"leaf\"", "with as many bytes");
    assert_true(tic_type_rules_set("8=double;leaf:args=int,2*int16"));
    assert_true(tic_rig_start(&rig));
    assert_int_equal(rig.graph.spawns.recovered_count, 1);
    assert_memory_equal(rig.graph.spawns.recovered[0].arguments, "dcbafehg", 8);
    assert_true(tic_type_rules_set(""));
}

/* What main() saw by a pointer: numbers of the other machine, of which bytes are made. */
static void add_look(struct tic_line *line)
{
    swap_order(line);
    free(line->looks);
    line->looks = calloc(2, sizeof(*line->looks));
    line->look_count = 2;
    for (uint32_t i = 0; i < 2; i++)
        line->looks[i] = (struct tic_line_look){.wait = 1, .part = i, .bytes = 48};
    for (uint64_t i = 0; i < 6; i++)
        line->looks[i / 5].words[i % 5] = UINT64_C(0x0102030405060700) + i;
}

static void test_looks_are_converted(void **state)
{
    size_t count;
    (void)state;
    run(2);
    make_foreign(2, add_look);
    assert_true(tic_type_rules_set("8=2*int32"));
    assert_true(tic_rig_start(&rig));
    const struct tic_line_look *look = tic_graph_find_looks(&rig.graph, 1, &count);
    assert_int_equal(count, 2);
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t word = UINT64_C(0x0102030405060700) + i;
        assert_int_equal(look[i / 5].words[i % 5], word << 32 | word >> 32);
    }
    assert_true(tic_type_rules_set(""));
}

static void test_what_means_something_else_is_refused(void **state)
{
    (void)state;
    run(2);
    make_foreign(2, return_arguments);
    expect_refused("elsewhere", "kernels returned results in the arguments", "cl_arg");
    make_foreign(2, bind_to_words);
    expect_refused("elsewhere", "arguments", "other bytes here");
    make_foreign(2, bind_to_build);
    expect_refused("elsewhere", "the place of their kernels", "Name the codelets");
}

static int set_up(void **state)
{
    (void)state;
    memset(memory, 0, sizeof(memory));
    tic_rig_open(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_rig_close(&rig);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_to_recover),
        TEST(test_newest_line_is_loaded),
        TEST(test_line_of_the_future_is_young),
        TEST(test_replay_is_complete_after_the_last_done_task),
        TEST(test_signature_blocks_are_loaded),
        TEST(test_another_number_of_workers_is_fine),
        TEST(test_torn_line_is_skipped),
        TEST(test_line_with_a_damaged_image_is_skipped),
        TEST(test_line_with_damaged_payload_is_skipped),
        TEST(test_only_damaged_lines_are_refused),
        TEST(test_unfinished_first_checkpoint_is_cleaned_up),
        TEST(test_another_program_is_refused),
        TEST(test_other_arguments_are_refused),
        TEST(test_another_starpu_is_refused),
        TEST(test_newer_format_is_refused),
        TEST(test_second_run_is_refused),
        TEST(test_unusable_directory_is_refused),
        TEST(test_a_machine_of_the_same_order_needs_no_types),
        TEST(test_elements_of_16_bytes_need_types),
        TEST(test_the_other_byte_order_is_converted_by_type),
        TEST(test_another_type_is_another_value),
        TEST(test_without_types_the_other_byte_order_is_refused),
        TEST(test_arguments_of_kept_tasks_need_types),
        TEST(test_looks_are_converted),
        TEST(test_what_means_something_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
