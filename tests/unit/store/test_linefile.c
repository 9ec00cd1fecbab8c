/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a recovery line reads back as it was written, and that no damaged one is taken for
 * good. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/random.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/linefile.h"
#include "store/schema.h"

static struct tic_tmpdir dir;
static int fd; /* of the directory */
static struct tic_random random_state;

/* ---- lines of every size -------------------------------------------------------------------- */

static uint64_t any(void)
{
    return tic_random_next(&random_state);
}

static uint32_t below(uint64_t limit)
{
    return (uint32_t)tic_random_below(&random_state, limit);
}

static struct tic_line_extent make_extent(void)
{
    struct tic_line_extent extent = {
        .segment = any(),
        .dataset = below(1000),
        .element_size = 1 + below(100),
        .ndim = 1 + below(TIC_MAX_DIMS),
        .dims = {1, 1, 1, 1},
        .rows = 1 + below(5000),
        .offset = any() >> 8,
    };
    for (uint32_t d = 0; d < extent.ndim; d++)
        extent.dims[d] = 1 + below(60);
    return extent;
}

/* A good line with `size` entries in each table. */
static void make_tables(struct tic_line *line, size_t size)
{
    line->extents = calloc(size + 1, sizeof(*line->extents));
    line->values = calloc(size + 1, sizeof(*line->values));
    line->done = calloc(size + 1, sizeof(*line->done));
    line->inputs = calloc(size + 1, sizeof(*line->inputs));
    line->events = calloc(size + 1, sizeof(*line->events));
    line->acquires = calloc(size + 1, sizeof(*line->acquires));
    line->history = calloc(size + 1, sizeof(*line->history));
    for (size_t i = 0; i < size; i++) {
        line->extents[i] = make_extent();
        line->inputs[i] = (struct tic_line_input){any(), any()};
        line->events[i] = (struct tic_line_event){(uint32_t)any(), (int64_t)any()};
    }
    for (size_t i = 0; i < size; i++) {
        uint32_t extent = below(size);
        uint64_t before = i ? line->values[i - 1].id + 1 : 0,
                 at = i ? line->done[i - 1].last + 2 : 0;
        line->values[i] = (struct tic_line_value){
            before + below(9), any(), any(), extent, below(line->extents[extent].rows), below(2)};
        line->acquires[i] = (struct tic_line_acquire){
            any(), below(2), below(2), any(), extent, below(line->extents[extent].rows)};
        line->history[i] = (struct tic_line_entry){
            any(), any(), any(), 1 + below(TIC_HISTORY_KINDS - 1), below(TIC_HISTORY_ROLES), any()};
        line->done[i].first = at + below(3);
        line->done[i].last = line->done[i].first + below(20);
    }
    line->extent_count = line->value_count = line->done_count = size;
    line->input_count = line->event_count = line->acquire_count = line->history_count = size;
}

static void make_signatures(struct tic_line *line, bool in_blocks)
{
    uint64_t end = line->done_count ? line->done[line->done_count - 1].last + 1 : 0;

    if (line->extent_count > 0) { /* room for blocks */
        line->extents[0] =
            (struct tic_line_extent){.segment = 1,
                                     .element_size = 1,
                                     .ndim = 1,
                                     .dims = {TIC_SIGNATURE_BLOCK * sizeof(uint32_t), 1, 1, 1},
                                     .rows = 6000,
                                     .offset = 4096};
        line->block_count = in_blocks ? end / TIC_SIGNATURE_BLOCK : 0;
    }
    line->signature_count = end - line->block_count * TIC_SIGNATURE_BLOCK;
    line->tasks_submitted = end;
    line->blocks = calloc(line->block_count + 1, sizeof(*line->blocks));
    line->signatures = calloc(line->signature_count + 1, sizeof(*line->signatures));
    for (size_t i = 0; i < line->block_count; i++)
        line->blocks[i] = (struct tic_line_block){TIC_TABLE_SIGNATURES, TIC_SIGNATURE_BLOCK, 0,
                                                  below(6000), any()};
    for (size_t i = 0; i < line->signature_count; i++)
        line->signatures[i] = (uint32_t)any();
}

static struct tic_line make_line(size_t size)
{
    static const char arguments[] = "-n\0a b\0\0";
    struct tic_line line = {
        .number = any(),
        .process = any(),
        .created = 1.75e9 + 1.0 / 3.0,
        .workers = any(),
        .tasks_done = any(),
        .account =
            {.runs = any(), .spent = any(), .logged = any(), .period = any(), .latency = any()},
        .log = {any(), any(), any()},
        .version = strdup("1.2.3"),
        .starpu = strdup("1.3"),
        .host = strdup("a host"),
        .program = strdup("/usr/bin/pr\xc3\xb6gram"),
        .directory = strdup(""),
        .arguments = {calloc(1, sizeof(arguments)), size ? sizeof(arguments) : 0},
    };
    memcpy(line.arguments.text, arguments, line.arguments.size);
    make_tables(&line, size);
    make_signatures(&line, true);
    return line;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool same_numbers(const struct tic_line *a, const struct tic_line *b)
{
    bool same = a->created == b->created;
#define SAME_NUMBER(member) same = same && a->member == b->member;
#define SAME_ACCOUNT_NUMBER(member) SAME_NUMBER(account.member)
#define SAME_NAMED_NUMBER(name, member) SAME_NUMBER(member)
#define SAME_TEXT(member) same = same && strcmp(a->member, b->member) == 0;
    TIC_LINE_NUMBERS(SAME_NUMBER)
    TIC_LINE_LATER_NUMBERS(SAME_NUMBER)
    TIC_LINE_NAMED_NUMBERS(SAME_NAMED_NUMBER)
    TIC_ACCOUNT_NUMBERS(SAME_ACCOUNT_NUMBER)
    TIC_ACCOUNT_LATER_NUMBERS(SAME_ACCOUNT_NUMBER)
    TIC_LINE_TEXTS(SAME_TEXT)
    return same;
}

static bool same_tables(const struct tic_line *a, const struct tic_line *b)
{
    bool same = true;
#define SAME_FIELD(S, text, member, type) &&x->member == y->member
#define SAME_TABLE(path, S, array, count, FIELDS)                                                  \
    same = same && a->count == b->count;                                                           \
    for (size_t i = 0; same && i < a->count; i++) {                                                \
        const struct S *x = &a->array[i], *y = &b->array[i];                                       \
        same = true FIELDS(S, SAME_FIELD);                                                         \
    }
    TIC_LINE_TABLES(SAME_TABLE)
    TIC_LINE_LATER_TABLES(SAME_TABLE)
    return same;
}

static bool same_line(const struct tic_line *a, const struct tic_line *b)
{
    return same_numbers(a, b) && same_tables(a, b) && a->arguments.size == b->arguments.size &&
           memcmp(a->arguments.text, b->arguments.text, a->arguments.size) == 0 &&
           a->signature_count == b->signature_count &&
           memcmp(a->signatures, b->signatures, a->signature_count * sizeof(uint32_t)) == 0;
}

static void write_line(const char *name, const struct tic_line *line)
{
    assert_int_equal(tic_linefile_write(fd, name, &tic_h5_ops, line, false), 0);
}

static int read_line(const char *name, struct tic_line *line)
{
    return tic_linefile_read(fd, name, &tic_h5_ops, line);
}

/* ---- good ones ------------------------------------------------------------------------------ */

static void test_round_trip(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 17, 1000, 50000};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(sizes); i++) {
        struct tic_line line = make_line(sizes[i]), again = {0};
        write_line("line", &line);
        assert_int_equal(read_line("line", &again), 0);
        assert_true(same_line(&line, &again));
        tic_line_clear(&again);
        tic_line_clear(&line);
    }
}

static void test_missing_texts_are_empty(void **state)
{
    struct tic_line line = {.number = 5}, again = {0};
    (void)state;
    write_line("line", &line);
    assert_int_equal(read_line("line", &again), 0);
    assert_int_equal(again.number, 5);
    assert_string_equal(again.version, "");
    assert_string_equal(again.directory, "");
    tic_line_clear(&again);
}

static void test_sync_and_overwrite(void **state)
{
    struct tic_line line = make_line(100), small = make_line(1), again = {0};
    (void)state;
    assert_int_equal(tic_linefile_write(fd, "line", &tic_h5_ops, &line, true), 0);
    assert_int_equal(tic_linefile_write(fd, "line", &tic_h5_ops, &small, true), 0);
    assert_int_equal(read_line("line", &again), 0);
    assert_true(same_line(&small, &again));
    tic_line_clear(&again);
    tic_line_clear(&line);
    tic_line_clear(&small);
}

/* ---- damaged ones --------------------------------------------------------------------------- */

static char *image;
static size_t image_size;
static struct tic_line original;
static unsigned accepted, refused;

static void expect_same_or_refused(const char *what, size_t at)
{
    struct tic_line again = {0};
    int status = read_line("damaged", &again);

    again.file.without_history = 0; /* an earlier major format has none */
    if (status == 0 ? !same_line(&original, &again)
                    : status != -EBADMSG && status != -EPROTONOSUPPORT)
        fail_msg("%s at byte %zu: status %d", what, at, status);
    accepted += status == 0;
    refused += status != 0;
    tic_line_clear(&again);
}

static void flip(size_t at, int mask)
{
    image[at] = (char)(image[at] ^ mask);
    tic_tmpdir_store(&dir, "damaged", image, image_size);
    expect_same_or_refused("flipped bits", at);
    image[at] = (char)(image[at] ^ mask);
}

static void load_original(size_t size)
{
    original = make_line(size);
    write_line("line", &original);
    image = tic_tmpdir_load(&dir, "line", &image_size);
    accepted = refused = 0;
}

static void unload_original(void)
{
    free(image);
    tic_line_clear(&original);
}

static void test_every_flip_in_the_header(void **state)
{
    (void)state;
    load_original(3);
    size_t text = (size_t)(strstr(image, "\n\n") - image); /* the rest is filled with '\n' */
    for (size_t at = 0; at < TIC_HEADER_SIZE; at++) {
        for (int bit = 0; bit < 8 && at <= text + 1; bit++)
            flip(at, 1 << bit);
        flip(at, 0xff);
    }
    assert_true(accepted > 0 && refused > 0);
    unload_original();
}

static void test_flips_in_the_image(void **state)
{
    (void)state;
    load_original(20);
    for (size_t at = TIC_HEADER_SIZE; at < image_size; at += 1 + below(60)) {
        flip(at, 1 << below(8));
        flip(at, 0xff);
    }
    assert_int_equal(accepted, 0);
    unload_original();
}

static void test_truncations(void **state)
{
    (void)state;
    load_original(20);
    for (size_t size = 0; size < image_size; size += 1 + (size > 600 ? below(100) : 0)) {
        tic_tmpdir_store(&dir, "damaged", image, size);
        expect_same_or_refused("truncated", size);
    }
    assert_int_equal(accepted, 0);
    unload_original();
}

static void test_longer_files_are_refused(void **state)
{
    (void)state;
    load_original(2);
    image = realloc(image, image_size + 1);
    image[image_size] = 0;
    tic_tmpdir_store(&dir, "damaged", image, image_size + 1);
    expect_same_or_refused("one byte more", image_size);
    assert_int_equal(accepted, 0);
    unload_original();
}

static void test_formats(void **state)
{
    static const struct {
        const char *text;
        int status;
    } formats[] = {{"format 9.0", -EPROTONOSUPPORT},
                   {"format 4.0", -EPROTONOSUPPORT},
                   {"format 8.0", -EPROTONOSUPPORT},
                   {"format 5.8", 0},
                   {"format 6.9", 0},
                   {"format 7.9", 0},
                   {"format x.0", -EBADMSG}};
    (void)state;
    load_original(2);
    char *at = strstr(image, "format 7.5");
    assert_non_null(at);
    for (size_t i = 0; i < TIC_COUNT(formats); i++) {
        struct tic_line again = {0};
        memcpy(at, formats[i].text, strlen(formats[i].text));
        tic_tmpdir_store(&dir, "damaged", image, image_size);
        assert_int_equal(read_line("damaged", &again), formats[i].status);
        tic_line_clear(&again);
    }
    unload_original();
}

static int write_point(const char *names, size_t size, size_t bytes, uint64_t number)
{
    struct tic_line line = make_line(2), again = {0};

    line.point.number = number;
    line.point.now_task = 77;
    line.point.names = (struct tic_line_text){memcpy(malloc(size + 1), names, size), size};
    line.point.bytes = (struct tic_line_bytes){calloc(1, bytes + 1), bytes};
    write_line("point", &line);
    int status = read_line("point", &again);
    if (status == 0) {
        assert_true(same_line(&line, &again));
        assert_int_equal(again.point.names.size, size);
        assert_memory_equal(again.point.names.text, names, size);
        assert_int_equal(again.point.bytes.count, bytes);
    }
    tic_line_clear(&again);
    tic_line_clear(&line);
    return status;
}

static int write_entry(uint32_t kind, uint32_t role)
{
    struct tic_line line = make_line(2), again = {0};

    line.history[1].kind = kind;
    line.history[1].role = role;
    write_line("history", &line);
    int status = read_line("history", &again);
    tic_line_clear(&again);
    tic_line_clear(&line);
    return status;
}

static void test_entries_of_no_kind(void **state)
{
    (void)state;
    assert_int_equal(write_entry(TIC_HISTORY_KINDS - 1, TIC_HISTORY_ROLES - 1), 0);
    assert_int_equal(write_entry(0, 0), -EBADMSG);
    assert_int_equal(write_entry(TIC_HISTORY_KINDS, 0), -EBADMSG);
    assert_int_equal(write_entry(1, TIC_HISTORY_ROLES), -EBADMSG);
}

/* A line of a commit point has as many bytes as its variables. */
static void test_commit_points(void **state)
{
    static const char names[] = "main.c:3\0"
                                "4 i\0"
                                "8 sum";
    (void)state;
    assert_int_equal(write_point(names, sizeof(names), 12, 5), 0);
    assert_int_equal(write_point(names, sizeof(names), 11, 5), -EBADMSG);
    assert_int_equal(write_point(names, sizeof(names), 12, 0), -EBADMSG);
    assert_int_equal(write_point(names, sizeof(names) - 1, 12, 5), -EBADMSG);
    assert_int_equal(write_point("", 0, 0, 5), -EBADMSG);
    assert_int_equal(write_point("main.c:3", 9, 0, 5), 0);
}

static void test_other_byte_order(void **state)
{
    struct tic_line line = make_line(2), again = {0};
    (void)state;
    line.on.big_endian = !tic_machine_is_big_endian();
    write_line("line", &line);
    assert_int_equal(read_line("line", &again), 0);
    assert_int_equal(again.on.big_endian, line.on.big_endian);
    tic_line_clear(&again);
    tic_line_clear(&line);
}

static void test_what_is_no_file(void **state)
{
    struct tic_line again = {0};
    (void)state;
    assert_int_equal(read_line("missing", &again), -ENOENT);
    assert_int_equal(read_line(".", &again), -EBADMSG);
    assert_int_equal(symlinkat("line", fd, "link"), 0);
    assert_int_equal(read_line("link", &again), -ELOOP);
}

/* ---- well written nonsense: right checksums, wrong indices ----------------------------------- */

static void bad_value_extent(struct tic_line *line)
{
    line->values[2].extent = (uint32_t)line->extent_count;
}
static void bad_value_row(struct tic_line *line)
{
    line->values[2].row = (uint32_t)line->extents[line->values[2].extent].rows;
}
static void bad_value_order(struct tic_line *line)
{
    line->values[2].id = line->values[1].id;
}
static void bad_extent_rows(struct tic_line *line)
{
    line->extents[3].rows = 0;
}
static void bad_extent_dims(struct tic_line *line)
{
    line->extents[3].ndim = TIC_MAX_DIMS + 1;
}
static void bad_extent_no_dims(struct tic_line *line)
{
    line->extents[3].ndim = 0;
}
static void bad_extent_empty(struct tic_line *line)
{
    line->extents[3].dims[0] = 0;
}
static void bad_extent_hidden_dim(struct tic_line *line)
{
    line->extents[3].ndim = 1;
    line->extents[3].dims[3] = 2;
}
static void bad_extent_element(struct tic_line *line)
{
    line->extents[3].element_size = 0;
}
static void bad_extent_huge(struct tic_line *line)
{
    for (int d = 0; d < TIC_MAX_DIMS; d++)
        line->extents[3].dims[d] = UINT64_C(1) << 40;
    line->extents[3].ndim = TIC_MAX_DIMS;
}
static void bad_extent_offset(struct tic_line *line)
{
    line->extents[3].offset = UINT64_MAX;
}
static void bad_done_order(struct tic_line *line)
{
    line->done[1].first = line->done[0].first;
}
static void bad_done_backwards(struct tic_line *line)
{
    line->done[4].first = line->done[4].last + 1;
}
static void bad_done_end(struct tic_line *line)
{
    line->done[4].last = INT32_MAX;
}
static void bad_signatures_few(struct tic_line *line)
{
    line->signature_count--;
}
static void bad_block_row(struct tic_line *line)
{
    line->blocks[0].row = 6000;
}
static void bad_block_extent(struct tic_line *line)
{
    line->blocks[0].extent = (uint32_t)line->extent_count;
}
static void bad_block_shape(struct tic_line *line)
{
    line->extents[0].element_size = 8;
}
static void bad_block_table(struct tic_line *line)
{
    line->blocks[0].table = TIC_TABLES;
}
static void bad_block_no_table(struct tic_line *line)
{
    line->blocks[0].table = 0;
}
static void bad_block_count(struct tic_line *line)
{
    line->blocks[0].count++;
}
static void bad_block_empty(struct tic_line *line)
{
    line->blocks[0].count = 0;
}
static void bad_value_id(struct tic_line *line)
{
    line->values[line->value_count - 1].id = INT32_MAX;
}
static void bad_read_twice(struct tic_line *line)
{
    line->reads[3] = line->reads[0];
}
static void bad_read_row(struct tic_line *line)
{
    line->reads[2].row = 6000;
}
static void bad_spawned_twice(struct tic_line *line)
{
    line->spawned[3] = line->spawned[1];
}
static void bad_kept_write_twice(struct tic_line *line)
{
    line->kept_writes[0] = line->kept_writes[2];
}
static void bad_acquire_row(struct tic_line *line)
{
    line->acquires[3].recorded = 1;
    line->acquires[3].row = UINT32_MAX;
}
static void bad_arguments(struct tic_line *line)
{
    line->arguments.text[line->arguments.size - 1] = 'x';
}

/* Tables that make_line leaves empty. */
static void add_logs(struct tic_line *line)
{
    enum { COUNT = 5 };

    free(line->reads);
    free(line->spawned);
    free(line->kept_writes);
    line->reads = calloc(COUNT, sizeof(*line->reads));
    line->spawned = calloc(COUNT, sizeof(*line->spawned));
    line->kept_writes = calloc(COUNT, sizeof(*line->kept_writes));
    for (uint32_t i = 0; i < COUNT; i++) { /* in no order */
        line->reads[i] = (struct tic_line_read){7 * (i + 2) % COUNT, i % 2, 0, i, any()};
        line->spawned[i] = 7 * (i + 2) % COUNT;
        line->kept_writes[i] = (struct tic_line_kept_write){i % 2, 7 * (i + 2) % COUNT};
    }
    line->read_count = line->spawned_count = line->kept_write_count = COUNT;
}

typedef void (*spoiler)(struct tic_line *line);

static void expect_refused(const spoiler *spoil, size_t count, bool in_blocks)
{
    for (size_t i = 0; i < count; i++) {
        struct tic_line line = make_line(10), again = {0};
        line.done[9].first = line.done[9].last = TIC_SIGNATURE_BLOCK + 10;
        free(line.blocks);
        free(line.signatures);
        make_signatures(&line, in_blocks);
        add_logs(&line);
        write_line("line", &line);
        assert_int_equal(read_line("line", &again), 0);
        tic_line_clear(&again);
        spoil[i](&line);
        write_line("line", &line);
        int status = read_line("line", &again);
        if (status != -EBADMSG)
            fail_msg("nonsense %zu: status %d", i, status);
        tic_line_clear(&line);
    }
}

static void test_nonsense_is_refused(void **state)
{
    static const spoiler spoil[] = {
        bad_extent_rows,    bad_extent_dims,       bad_extent_no_dims, bad_extent_empty,
        bad_extent_element, bad_extent_hidden_dim, bad_extent_huge,    bad_extent_offset,
        bad_done_order,     bad_done_backwards,    bad_done_end,       bad_block_row,
        bad_block_extent,   bad_block_shape,       bad_block_table,    bad_block_no_table,
        bad_block_count,    bad_block_empty,       bad_arguments};
    (void)state;
    expect_refused(spoil, TIC_COUNT(spoil), true);
}

static void test_nonsense_in_tables_is_refused(void **state)
{
    static const spoiler spoil[] = {
        bad_value_extent, bad_value_row,  bad_value_order, bad_value_id,      bad_signatures_few,
        bad_acquire_row,  bad_read_twice, bad_read_row,    bad_spawned_twice, bad_kept_write_twice};
    (void)state;
    expect_refused(spoil, TIC_COUNT(spoil), false);
}

static int set_up(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    tic_random_init(&random_state, 1);
    fd = open(dir.path, O_RDONLY | O_DIRECTORY);
    return fd < 0;
}

/* An attribute holds 64 KiB at most. No disk has to do with it. */
static void test_what_the_library_refuses_is_no_error_of_the_disk(void **state)
{
    char *text = malloc(100000);
    struct tic_line line = make_line(3);
    (void)state;

    memset(text, 'x', 99999);
    text[99999] = '\0';
    free(line.directory);
    line.directory = text;
    assert_int_equal(tic_linefile_write(fd, "line", &tic_h5_ops, &line, false), -ELIBBAD);
    assert_int_equal(faccessat(fd, "line", F_OK, 0), -1);
    tic_line_clear(&line);
}

static int tear_down(void **state)
{
    (void)state;
    close(fd);
    tic_tmpdir_remove(&dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_missing_texts_are_empty),
        TEST(test_sync_and_overwrite),
        TEST(test_every_flip_in_the_header),
        TEST(test_flips_in_the_image),
        TEST(test_truncations),
        TEST(test_longer_files_are_refused),
        TEST(test_formats),
        TEST(test_commit_points),
        TEST(test_entries_of_no_kind),
        TEST(test_other_byte_order),
        TEST(test_what_is_no_file),
        TEST(test_nonsense_is_refused),
        TEST(test_nonsense_in_tables_is_refused),
        TEST(test_what_the_library_refuses_is_no_error_of_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
