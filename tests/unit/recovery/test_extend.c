/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks which tasks of the event log extend a recovery line: a set that is closed under what tasks
 * depend on, whatever is missing, and the line that it makes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/spawn.h"
#include "lib/random.h"
#include "lib/testing.h"
#include "recovery/extend.h"
#include "snapshot/extension.h"

enum { POSITION = 7 << 18 | TIC_WHERE_INSIDE, EPOCH = 5, RUN = 3, LINE = 4 };

static struct tic_extend extend;
static struct tic_line line;

/* The line: main() has submitted 10 tasks, 0 to 4 are done; kept tasks ID(1) and ID(2) write
 * data 1.
 */
#define ID(n) (TIC_SPAWN_KEY | (n))

static struct tic_range done[] = {{0, 4}};
static struct tic_line_value values[] = {{.id = 1, .version = 20}, {.id = 2, .version = 30}};
static struct tic_line_kept kept[] = {
    {.root = 4,
     .id = ID(1),
     .codelet = 0,
     .callback = TIC_SPAWN_NONE,
     .buffers = 1,
     .arguments = 2},
    {.root = 4,
     .id = ID(2),
     .codelet = 0,
     .callback = TIC_SPAWN_NONE,
     .buffers = 1,
     .arguments = 1},
};
static struct tic_line_buffer buffers[] = {{.handle = 1, .mode = 3}, {.handle = 1, .mode = 3}};
static unsigned char bytes[] = {'a', 'b', 'c'};
static char names[] = "first\tvisit";

static int setup(void **state)
{
    (void)state;
    line = (struct tic_line){
        .number = LINE,
        .tasks_submitted = 10,
        .tasks_done = 5,
        .log = {.tick = 1 + 100, .epoch = EPOCH, .position = POSITION},
        .account = {.runs = RUN},
        .values = values,
        .value_count = 2,
        .done = done,
        .done_count = 1,
        .kept = kept,
        .kept_count = 2,
        .buffers = buffers,
        .buffer_count = 2,
        .bytes.items = bytes,
        .bytes.count = 3,
        .functions = {names, sizeof(names)},
    };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tic_extend_clear(&extend);
    return 0;
}

static void note(enum tic_logged kind, const uint64_t *words, size_t count)
{
    const struct tic_log_record record = {.kind = kind, .words = words, .count = count};

    assert_int_equal(tic_extend_note(&extend, &record), 0);
}

static void begins(uint64_t run, uint64_t tick)
{
    note(TIC_LOGGED_STARTED, (const uint64_t[]){0, 0, run, tick}, TIC_BEGUN_WORDS);
}

static struct tic_ended make(uint64_t key, uint64_t began, uint64_t ended, uint64_t id,
                             uint64_t version)
{
    return (struct tic_ended){
        .key = key,
        .run = RUN,
        .began = began,
        .ended = ended,
        .position = POSITION,
        .epoch = EPOCH + 1,
        .count = 1,
        .outputs = {{.id = id, .version = version, .bytes = 8, .segment = 9, .offset = version}},
    };
}

static void ends(const struct tic_ended *ended)
{
    uint64_t words[TIC_ENDED_WORDS];

    begins(ended->run, ended->began);
    note(TIC_LOGGED_ENDED, words, tic_ended_encode(ended, words));
}

static void task(uint64_t key, uint64_t began, uint64_t ended, uint64_t id, uint64_t version)
{
    struct tic_ended record = make(key, began, ended, id, version);

    ends(&record);
}

static void submits(uint64_t run, uint64_t parent, uint64_t id, uint64_t order)
{
    const struct tic_line_buffer buffer = {.handle = 2, .mode = 3};
    const struct tic_submitted submitted = {
        .run = run,
        .parent = parent,
        .order = order,
        .task = {.root = 4, .id = id, .buffers = 1, .arguments = 1},
        .codelet = "second\tvisit",
        .callback = order == 2 ? "callback\t" : NULL,
        .buffers = &buffer,
        .bytes = (const unsigned char *)"x",
    };
    uint64_t words[TIC_LOG_MOST_WORDS];

    note(TIC_LOGGED_SUBMITTED, words, tic_submitted_encode(&submitted, words));
}

/* Chooses, and checks that it is these: a list that ends with 0. */
static void check(const uint64_t *keys)
{
    size_t count = 0;

    assert_int_equal(tic_extend_choose(&extend, &line), 0);
    for (; keys[count] != 0; count++)
        assert_true(tic_extend_has(&extend, keys[count]));
    assert_int_equal(extend.count, count);
}
#define CHECK(...) check((const uint64_t[]){__VA_ARGS__, 0})
#define CHECK_NONE() check((const uint64_t[]){0})

/* ---- which tasks ----------------------------------------------------------------------------- */

static void test_what_has_ended(void **state)
{
    (void)state;
    task(ID(1), 100, 103, 1, 21);
    task(7, 101, 102, 2, 31);
    task(ID(2), 104, 105, 1, 22);
    begins(RUN, 106); /* and did not end */
    CHECK(ID(1), ID(2), 7);
}

static void test_a_line_that_cannot_be_extended(void **state)
{
    (void)state;
    line.log.tick = 0;
    task(ID(1), 0, 1, 1, 21);
    CHECK_NONE();
}

static void test_what_belongs_to_the_cut(void **state)
{
    struct tic_ended before = make(ID(1), 90, 101, 1, 20);
    (void)state;
    before.epoch = EPOCH;
    ends(&before);
    before = make(6, 91, 104, 2, 30); /* and what is not whole there says nothing */
    before.epoch = EPOCH;
    before.count = 0;
    ends(&before);
    task(ID(1), 100, 102, 1, 21);
    task(7, 103, 105, 2, 31);
    CHECK(ID(1), 7);
}

/* Whoever took the tick is not known: what began later may depend on it. */
static void test_a_missing_record(void **state)
{
    (void)state;
    task(ID(1), 100, 105, 1, 21);
    task(7, 101, 103, 2, 31); /* 102 is missing */
    task(8, 104, 106, 2, 32);
    CHECK(ID(1), 7);
}

static void test_a_task_that_is_executed_again(void **state)
{
    struct tic_ended again = make(6, 100, 103, 3, 1);
    (void)state;
    again.count = 0;
    ends(&again);
    task(ID(1), 101, 106, 1, 21); /* began before it ended */
    task(7, 102, 105, 2, 31);
    task(8, 104, 107, 2, 32);
    CHECK(ID(1), 7);
}

/* Who commutes may begin before the hook at the end of the one before: its version tells. */
static void test_a_version_is_missing(void **state)
{
    struct tic_ended again = make(ID(1), 100, 104, 1, 21);
    (void)state;
    again.count = 0;
    ends(&again);
    task(ID(2), 101, 102, 1, 22);
    task(7, 103, 105, 2, 31); /* may read what that has written */
    CHECK_NONE();
}

static void test_a_parent_that_has_not_ended(void **state)
{
    (void)state;
    begins(RUN, 100); /* ID(1), whose kernel submits: */
    submits(RUN, ID(1), ID(50), 1);
    task(ID(50), 101, 103, 2, 31);
    task(ID(2), 102, 105, 1, 21);
    task(8, 104, 106, 2, 32);
    CHECK(ID(2));
}

static void test_a_parent_that_has_ended(void **state)
{
    (void)state;
    submits(RUN, ID(1), ID(50), 1);
    task(ID(1), 100, 101, 1, 21);
    task(ID(50), 102, 103, 2, 31);
    CHECK(ID(1), ID(50));
}

static void test_who_is_not_known(void **state)
{
    (void)state;
    task(ID(77), 100, 101, 2, 31); /* submitted by a callback, say */
    task(ID(1), 102, 103, 1, 21);
    CHECK_NONE();
    teardown(NULL);
    task(10, 100, 101, 2, 31); /* main() submitted it after the line */
    task(ID(1), 102, 103, 1, 21);
    CHECK_NONE();
    teardown(NULL);
    task(3, 100, 101, 2, 31); /* done in the line */
    task(ID(1), 102, 103, 1, 21);
    CHECK_NONE();
}

/* What main() has done since is not in the line. */
static void test_where_main_is(void **state)
{
    struct tic_ended later = make(ID(1), 102, 103, 1, 21);
    (void)state;
    task(7, 100, 101, 2, 31);
    later.position = POSITION - TIC_WHERE_INSIDE; /* before the call */
    ends(&later);
    task(8, 104, 105, 2, 32);
    CHECK(7);
    teardown(NULL);
    task(7, 100, 101, 2, 31);
    later.position = POSITION + (1 << TIC_WHERE_BITS); /* in the next one */
    ends(&later);
    task(8, 104, 105, 2, 32);
    CHECK(7);
}

/* The last value was not saved, as another task had begun to write it. */
static void test_a_value_that_is_not_there(void **state)
{
    struct tic_ended replaced = make(ID(1), 100, 102, 1, 21);
    (void)state;
    replaced.outputs[0].segment = TIC_ENDED_REPLACED;
    ends(&replaced);
    task(ID(2), 101, 103, 1, 22);
    task(7, 104, 105, 2, 31);
    CHECK(ID(1), ID(2), 7); /* that of the next one counts */
    teardown(NULL);
    task(7, 99 + 1, 102, 2, 31);
    replaced.began = 101;
    replaced.ended = 104;
    ends(&replaced);
    task(8, 103, 105, 2, 32);
    task(9, 106, 107, 2, 33);
    begins(RUN, 108);
    CHECK(7, 8); /* it is executed again, and so is what began after it had ended */
}

/* ---- several runs ---------------------------------------------------------------------------- */

static void next_run(uint64_t run, uint64_t number, uint64_t count)
{
    note(TIC_LOGGED_RUN, (const uint64_t[]){number, 0, run, 0, 0, count}, 6);
}

static void later_task(uint64_t run, uint64_t key, uint64_t began, uint64_t version)
{
    struct tic_ended ended = make(key, began, began + 1, 1, version);

    ended.run = run;
    ended.epoch = 1;
    ended.position = 3 << 18 | TIC_WHERE_AFTER; /* main() comes from the start */
    ends(&ended);
}

static void test_a_run_that_went_on(void **state)
{
    (void)state;
    task(ID(1), 100, 101, 1, 21);
    next_run(RUN + 1, LINE, 1);
    later_task(RUN + 1, ID(2), 0, 22);
    next_run(RUN + 2, LINE, 2);
    later_task(RUN + 2, 7, 0, 23);
    CHECK(ID(1), ID(2), 7);
}

/* In a later run main() comes to the call of the cut: before it and inside of it count. */
static void test_where_main_comes_to_the_cut(void **state)
{
    static const uint64_t states[] = {0, TIC_WHERE_INSIDE, TIC_WHERE_AFTER};
    (void)state;
    task(ID(1), 100, 101, 1, 21);
    next_run(RUN + 1, LINE, 1);
    for (uint64_t i = 0; i < 3; i++) {
        struct tic_ended ended = make(i == 0 ? ID(2) : 5 + i, 2 * i, 2 * i + 1, 1, 22 + i);
        ended.run = RUN + 1;
        ended.epoch = 1;
        ended.position = POSITION - TIC_WHERE_INSIDE + states[i];
        ends(&ended);
    }
    CHECK(ID(1), ID(2), 6);
}

static void test_a_run_that_began_elsewhere(void **state)
{
    (void)state;
    task(ID(1), 100, 101, 1, 21);
    next_run(RUN + 1, LINE, 0); /* it could not use that */
    later_task(RUN + 1, ID(2), 0, 22);
    CHECK(ID(1));
    teardown(NULL);
    task(ID(1), 100, 101, 1, 21);
    next_run(RUN + 1, LINE - 1, 1);
    later_task(RUN + 1, ID(2), 0, 22);
    CHECK(ID(1));
    teardown(NULL);
    next_run(RUN + 1, LINE, 0);
    later_task(RUN + 1, ID(2), 1, 21); /* its first tick is missing */
    CHECK_NONE();
}

/* ---- the line -------------------------------------------------------------------------------- */

static void test_the_line(void **state)
{
    const struct tic_line_value rows[] = {{.id = 1, .version = 21, .row = 5},
                                          {.id = 2, .version = 32, .row = 6}};
    struct tic_line extended;
    (void)state;
    submits(RUN, ID(1), ID(50), 1);
    submits(RUN, ID(1), ID(51), 0);
    submits(RUN, ID(50), ID(52), 2);
    submits(RUN, ID(2), ID(53), 3); /* it has not ended */
    task(ID(1), 100, 101, 1, 21);
    task(ID(50), 102, 103, 2, 31);
    task(6, 104, 105, 2, 32);
    CHECK(ID(1), ID(50), 6);
    assert_int_equal(tic_extend_line(&extend, &line, rows, &extended), 0);
    assert_int_equal(extended.tasks_done, 8);
    assert_int_equal(extended.kept_done, 2);
    assert_int_equal(extended.done_count, 2);
    assert_int_equal(extended.done[1].first, 6);
    assert_int_equal(extended.value_count, 2);
    assert_int_equal(extended.values[0].row, 5);
    assert_int_equal(extended.values[1].version, 32);
    assert_int_equal(extended.kept_count, 3); /* in the order of submission */
    assert_int_equal(extended.kept[0].id, ID(2));
    assert_int_equal(extended.kept[1].id, ID(51));
    assert_int_equal(extended.kept[2].id, ID(52));
    assert_int_equal(extended.kept[0].codelet, 0);
    assert_int_equal(extended.kept[1].codelet, 1);
    assert_int_equal(extended.kept[2].codelet, 1);
    assert_int_equal(extended.kept[1].callback, TIC_SPAWN_NONE);
    assert_int_equal(extended.kept[2].callback, 2);
    assert_memory_equal(extended.functions.text, "first\tvisit\0second\tvisit\0callback\t", 35);
    assert_memory_equal(extended.bytes.items, "cxx", 3);
    assert_int_equal(extended.buffers[1].handle, 2);
    assert_int_equal(extended.kept_write_count, 2); /* by ID(1), and by ID(50) */
    assert_int_equal(extended.kept_writes[0].handle, 1);
    assert_int_equal(extended.kept_writes[1].handle, 2);
    tic_extend_drop_line(&extended);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Whatever is in a record, what it points to lies in it. */
static void test_damaged_records(void **state)
{
    struct tic_random random;
    uint64_t words[64];
    struct tic_submitted submitted;
    struct tic_ended ended;
    (void)state;
    tic_random_init(&random, 1);
    submits(RUN, ID(1), ID(50), 2);
    size_t count = 17;
    for (int i = 0; i < 20000; i++) {
        memcpy(words, extend.submitted[0].words, count * 8);
        words[tic_random_below(&random, 17)] ^= UINT64_C(1) << tic_random_below(&random, 64);
        struct tic_log_record record = {
            .kind = TIC_LOGGED_SUBMITTED, .words = words, .count = count};
        if (tic_submitted_decode(&record, &submitted)) {
            const unsigned char *end = (const unsigned char *)(words + count);
            assert_true(submitted.bytes + submitted.task.arguments <= end);
            assert_true((const unsigned char *)(submitted.buffers + submitted.task.buffers) <= end);
            assert_true(strlen(submitted.codelet) < 100);
        }
        record.kind = TIC_LOGGED_ENDED;
        assert_true(!tic_ended_decode(&record, &ended) || ended.count <= TIC_ENDED_OUTPUTS);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_has_ended),
        TEST(test_a_line_that_cannot_be_extended),
        TEST(test_what_belongs_to_the_cut),
        TEST(test_a_missing_record),
        TEST(test_a_task_that_is_executed_again),
        TEST(test_a_version_is_missing),
        TEST(test_a_parent_that_has_not_ended),
        TEST(test_a_parent_that_has_ended),
        TEST(test_who_is_not_known),
        TEST(test_where_main_is),
        TEST(test_a_value_that_is_not_there),
        TEST(test_a_run_that_went_on),
        TEST(test_where_main_comes_to_the_cut),
        TEST(test_a_run_that_began_elsewhere),
        TEST(test_the_line),
        TEST(test_damaged_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
