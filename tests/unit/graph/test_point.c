/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks what a line of a commit point holds of a run, that a restart goes on from it with the same
 * numbers and values, and that other data than at the first commit point is noticed. */
#include "graph/point.h"

#include <stdlib.h>
#include <string.h>

#include "lib/testing.h"

static struct tic_graph graph;
static struct tic_point_first first;

static struct tic_handle *add(void)
{
    struct tic_handle *handle = tic_graph_add_handle(&graph);
    assert_non_null(handle);
    handle->signed_size = 8;
    return handle;
}

static void submit(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(tic_signature_submit(&graph.signature, 100 + i, 0), 0);
}

static void leave(struct tic_handle *handle, bool pinned)
{
    tic_lock(&graph.lock);
    handle->listing.pinned = pinned;
    assert_true(tic_graph_leave_locked(&graph, handle, 1));
    tic_unlock(&graph.lock);
}

static const char *compare(void)
{
    static char text[256];

    return tic_point_compare(&first, &graph, text, sizeof(text));
}

static void note_event(int64_t value)
{
    assert_int_equal(tic_graph_note_event(&graph, TIC_EVENT_TIME, value), 0);
}

/* Events and inputs of before the first commit point, and nothing else. */
static void test_a_line_is_bounded(void **state)
{
    struct tic_line line = {0};
    (void)state;
    add();
    submit(5);
    note_event(7);
    assert_int_equal(tic_graph_note_input(&graph, 0, 99, 1), 0);
    assert_int_equal(tic_point_note_first(&first, &graph), 0);
    submit(1000);
    note_event(8);
    tic_point_forget(&graph);
    submit(10);
    note_event(9);
    assert_int_equal(tic_tail_total(&graph.events), 3);
    assert_int_equal(tic_point_fill(&first, &graph, 1015, &line), 0);
    assert_int_equal(line.event_count, 1);
    assert_int_equal(line.events[0].value, 7);
    assert_int_equal(line.input_count, 1);
    assert_int_equal(line.signature_count, 0);
    assert_int_equal(line.done_count, 1);
    assert_int_equal(line.done[0].last, 1014);
    assert_int_equal(line.tasks_submitted, 1015);
    tic_line_clear(&line);
}

/* Values that main() got back before need no row any more. */
static void test_what_left_is_forgotten(void **state)
{
    (void)state;
    struct tic_handle *handle = add();
    leave(handle, true);
    assert_int_equal(tic_point_note_first(&first, &graph), 0);
    tic_point_forget(&graph);
    assert_false(handle->listing.pinned);
    assert_true(atomic_load(&handle->saving.listed));
}

static void test_other_data_is_noticed(void **state)
{
    (void)state;
    struct tic_handle *handle = add(), *another = add();
    assert_int_equal(tic_point_note_first(&first, &graph), 0);
    assert_null(compare());
    struct tic_handle *late = add();
    assert_non_null(strstr(compare(), "data 2 "));
    leave(late, false);
    assert_null(compare());
    atomic_store(&handle->use.plans.active, 1);
    assert_non_null(strstr(compare(), "partitions"));
    atomic_store(&handle->use.plans.active, 0);
    leave(another, false);
    assert_non_null(strstr(compare(), "1 of the data"));
}

/* The restart has registered the same data, and submitted the tasks before the first commit point.
 */
static void test_a_restart_goes_on(void **state)
{
    struct tic_line_value value = {.id = 0, .version = 40, .checksum = 5, .extent = 2, .row = 3};
    struct tic_line line = {
        .tasks_submitted = 1015, .values = &value, .value_count = 1, .tasks_done = 1015};
    (void)state;
    line.point = (struct tic_line_point){.number = 12,
                                         .task = 5,
                                         .now_task = 1015,
                                         .now_signature = 77,
                                         .now_handle = 9,
                                         .now_event = 3,
                                         .now_chain = 66};
    assert_int_equal(tic_graph_load(&graph, &line), 0);
    struct tic_handle *handle = add();
    assert_false(handle->restart.pending);
    submit(5);
    atomic_store(&handle->saving.version, 2);
    atomic_store(&handle->saving.dirty_since, 1);
    handle->restart.live = true;
    assert_int_equal(tic_point_note_first(&first, &graph), 0);
    tic_point_take_over(&graph);
    assert_true(handle->restart.pending && !handle->restart.live);
    assert_int_equal(handle->saving.current.version, 40);
    assert_int_equal(handle->saving.current.saved.row.row, 3);
    assert_int_equal(atomic_load(&handle->saving.dirty_since), 0);
    assert_int_equal(graph.signature.position, 1015);
    assert_int_equal(graph.signature.rolling, 77);
    assert_int_equal(graph.recovered.point.number, 0);
    assert_int_equal(add()->id, 9);
    note_event(1);
    assert_int_equal(tic_tail_total(&graph.events), 4);
}

static int set_up(void **state)
{
    (void)state;
    memset(&first, 0, sizeof(first));
    return tic_graph_init(&graph);
}

static int tear_down(void **state)
{
    (void)state;
    tic_point_fini(&first);
    tic_graph_fini(&graph);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_line_is_bounded),
        TEST(test_what_left_is_forgotten),
        TEST(test_other_data_is_noticed),
        TEST(test_a_restart_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
