/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a line holds exactly the spawned tasks that a restart must submit, and that what a
 * run started from stays in every later line until it was submitted again. */
#include <stdlib.h>
#include <string.h>

#include "graph/spawn.h"
#include "lib/testing.h"

static struct tic_spawns spawns;

static struct tic_spawn *add_kept(uint64_t root, uint64_t id, uint64_t since, uint32_t flags)
{
    struct tic_spawn model = {.kept = true, .since = since};

    model.task = (struct tic_line_kept){.root = root, .id = id | TIC_SPAWN_KEY, .flags = flags};
    model.task.codelet = tic_spawns_function(&spawns, "program:1+0x10\tcodelet");
    model.task.callback = TIC_SPAWN_NONE;
    model.task.buffers = 1;
    model.task.arguments = 3;
    model.buffers = calloc(1, sizeof(*model.buffers));
    model.buffers[0].handle = id * 10;
    model.arguments = malloc(3);
    memcpy(model.arguments, "abc", 3);
    struct tic_spawn *spawn = tic_spawns_add(&spawns, &model);
    assert_non_null(spawn);
    return spawn;
}

static struct tic_spawn *add_replayed(uint64_t id)
{
    struct tic_spawn model = {.task = {.id = id | TIC_SPAWN_KEY}};
    struct tic_spawn *spawn = tic_spawns_add(&spawns, &model);
    assert_non_null(spawn);
    return spawn;
}

/* The task starts in an epoch and ends in it; the checkpoint of that cut takes note. */
static void finish(struct tic_spawn *spawn, uint64_t epoch)
{
    atomic_store(&spawn->started, epoch);
    assert_int_equal(tic_spawns_note_done(&spawns, spawn->index), 0);
}

static struct tic_line describe(uint64_t cut)
{
    struct tic_line line = {0};
    assert_int_equal(tic_spawns_describe(&spawns, cut, &line), 0);
    return line;
}

static bool has_kept(const struct tic_line *line, uint64_t id)
{
    for (size_t i = 0; i < line->kept_count; i++)
        if (line->kept[i].id == (id | TIC_SPAWN_KEY))
            return true;
    return false;
}

static void test_kept_while_not_done(void **state)
{
    (void)state;
    struct tic_spawn *early = add_kept(0, 1, 1, 0), *late = add_kept(0, 2, 2, 0);
    struct tic_line line = describe(1);
    assert_true(has_kept(&line, 1));
    assert_false(has_kept(&line, 2)); /* its parent is not in the cut */
    tic_line_clear(&line);
    finish(early, 2);
    line = describe(2);
    assert_false(has_kept(&line, 1));
    assert_true(has_kept(&line, 2));
    assert_int_equal(line.kept_done, 1);
    assert_int_equal(line.buffer_count, 1);
    assert_int_equal(line.buffers[0].handle, 20);
    assert_memory_equal(line.bytes.items, "abc", 3);
    assert_string_equal(line.functions.text, "program:1+0x10\tcodelet");
    tic_line_clear(&line);
    /* It has started after the cut that is described: it is needed still. */
    atomic_store(&late->started, 4);
    line = describe(3);
    assert_true(has_kept(&line, 2));
    tic_line_clear(&line);
}

static void test_kept_for_tag_or_effect(void **state)
{
    (void)state;
    finish(add_kept(0, 1, 1, TIC_KEPT_CONTROL), 2);
    atomic_store(&add_kept(0, 2, 1, TIC_KEPT_AGAIN)->started, 1);
    struct tic_line line = describe(1);
    assert_int_equal(line.kept_count, 2);
    assert_int_equal(line.kept[0].flags & TIC_KEPT_DONE, 0); /* done, but not in this cut */
    tic_line_clear(&line);
    line = describe(2);
    assert_int_equal(line.kept_count, 2);
    assert_int_equal(line.kept[0].flags & TIC_KEPT_DONE, TIC_KEPT_DONE);
    assert_int_equal(line.kept[1].flags & TIC_KEPT_DONE, 0);
    tic_line_clear(&line);
}

static void test_replayed_are_known_again(void **state)
{
    struct tic_spawns *first = malloc(sizeof(*first));
    (void)state;
    for (uint64_t id = 1; id <= 100; id++) {
        struct tic_spawn *spawn = add_replayed(id * 7919);
        if (id % 3)
            finish(spawn, 1);
    }
    struct tic_line line = describe(1);
    assert_int_equal(line.spawned_count, 67);
    memcpy(first, &spawns, sizeof(spawns));
    assert_int_equal(tic_spawns_init(&spawns), 0);
    assert_int_equal(tic_spawns_load(&spawns, &line), 0);
    tic_line_clear(&line);
    line = describe(1); /* before anything is submitted again */
    assert_int_equal(line.spawned_count, 67);
    tic_line_clear(&line);
    assert_false(tic_spawns_is_complete(&spawns));
    for (uint64_t id = 1; id <= 100; id++)
        assert_int_equal(tic_spawns_is_done(&spawns, (id * 7919) | TIC_SPAWN_KEY), id % 3 != 0);
    assert_true(tic_spawns_is_complete(&spawns));
    tic_spawns_fini(first);
    free(first);
}

static void test_recovered_kept_stay_until_submitted(void **state)
{
    struct tic_spawns *first = malloc(sizeof(*first));
    unsigned long cursor = 0;
    (void)state;
    for (uint64_t id = 1; id <= 6; id++)
        add_kept(id % 2, id, 1, 0);
    struct tic_line line = describe(1);
    memcpy(first, &spawns, sizeof(spawns));
    assert_int_equal(tic_spawns_init(&spawns), 0);
    assert_int_equal(tic_spawns_load(&spawns, &line), 0);
    tic_line_clear(&line);
    /* Those of a root come in order. */
    for (uint64_t id = 1; id <= 5; id += 2) {
        const struct tic_spawn *next = tic_spawns_next(&spawns, 1, &cursor);
        assert_non_null(next);
        assert_int_equal(next->task.id, id | TIC_SPAWN_KEY);
        line = describe(9); /* between being found and being submitted */
        assert_int_equal(line.kept_count, 6);
        tic_line_clear(&line);
        struct tic_spawn model = {.kept = true, .recovery = next->recovery, .task = next->task};
        model.buffers = calloc(1, sizeof(*model.buffers));
        model.arguments = calloc(1, 3);
        struct tic_spawn *spawn = tic_spawns_add(&spawns, &model);
        line = describe(9);
        assert_int_equal(line.kept_count, 6);
        tic_line_clear(&line);
        if (id == 5)
            finish(spawn, 9);
    }
    assert_null(tic_spawns_next(&spawns, 1, &cursor));
    line = describe(9);
    assert_int_equal(line.kept_count, 5);
    tic_line_clear(&line);
    assert_false(tic_spawns_is_complete(&spawns));
    cursor = 0;
    assert_null(tic_spawns_next(&spawns, 7, &cursor));
    tic_spawns_fini(first);
    free(first);
}

static void test_line_is_in_order_of_submission(void **state)
{
    struct tic_spawn *others[8];
    (void)state;
    for (uint64_t i = 0; i < TIC_COUNT(others); i++)
        others[i] = add_replayed(i);
    for (size_t i = 0; i < TIC_COUNT(others); i++) /* records come back in another order */
        tic_spawns_remove(&spawns, others[(i * 3) % TIC_COUNT(others)]);
    for (uint64_t id = 0; id < 12; id++)
        add_kept(0, id, 1, 0);
    struct tic_line line = describe(1);
    assert_int_equal(line.kept_count, 12);
    for (uint64_t id = 0; id < 12; id++) {
        assert_int_equal(line.kept[id].id, id | TIC_SPAWN_KEY);
        assert_int_equal(line.buffers[id].handle, id * 10);
    }
    tic_line_clear(&line);
}

static void test_writes_of_done_kept_tasks(void **state)
{
    unsigned long cursor = 0;
    uint64_t handle;
    struct tic_spawns *first = malloc(sizeof(*first));
    (void)state;
    for (uint64_t id = 0; id < 12; id++) {
        struct tic_spawn *spawn = add_kept(5 + id % 2, id, 1, 0);
        spawn->buffers[0].handle = id / 4;
        spawn->buffers[0].mode = id < 8 ? TIC_MODE_WRITE : 1;
        finish(spawn, 1);
    }
    struct tic_line line = describe(1);
    assert_int_equal(line.kept_write_count, 4); /* roots 5 and 6, handles 0 and 1 */
    memcpy(first, &spawns, sizeof(spawns));
    assert_int_equal(tic_spawns_init(&spawns), 0);
    assert_int_equal(tic_spawns_load(&spawns, &line), 0);
    tic_line_clear(&line);
    for (uint64_t expected = 0; expected < 2; expected++) {
        assert_true(tic_spawns_next_write(&spawns, 6, &cursor, &handle));
        assert_int_equal(handle, expected);
    }
    assert_false(tic_spawns_next_write(&spawns, 6, &cursor, &handle));
    assert_false(tic_spawns_was_written(&spawns, 1, 5)); /* main() has not submitted root 5 */
    assert_true(tic_spawns_was_written(&spawns, 1, 6));
    assert_false(tic_spawns_was_written(&spawns, 2, 100));
    tic_spawns_fini(first);
    free(first);
}

static void test_records_are_used_again(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3 * TIC_SPAWN_CHUNK; round++)
        tic_spawns_remove(&spawns, add_replayed(round));
    assert_int_equal(spawns.count, 1);
}

static void test_occurrences(void **state)
{
    uint64_t before;
    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        assert_true(tic_spawns_occurrence(&spawns, i % 5, &before));
        assert_int_equal(before, i / 5);
    }
}

static int setup(void **state)
{
    (void)state;
    return tic_spawns_init(&spawns);
}

static int teardown(void **state)
{
    (void)state;
    tic_spawns_fini(&spawns);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kept_while_not_done),
        TEST(test_kept_for_tag_or_effect),
        TEST(test_replayed_are_known_again),
        TEST(test_recovered_kept_stay_until_submitted),
        TEST(test_line_is_in_order_of_submission),
        TEST(test_writes_of_done_kept_tasks),
        TEST(test_records_are_used_again),
        TEST(test_occurrences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
