/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the graph keeps what a run started from, knows inputs and events again, and describes
 * exactly the values that a cut defines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "lib/testing.h"

static struct tic_graph graph;

static struct tic_line_value recovered_values[] = {
    {.id = 0, .version = 3, .checksum = 30, .extent = 0, .row = 5},
    {.id = 2, .version = 4, .checksum = 32, .extent = 1, .row = 6, .gone = 1},
    {.id = 7, .version = 5, .checksum = 37, .extent = 2, .row = 7},
};
static struct tic_range recovered_done[] = {{0, 99}, {110, 112}};
static struct tic_line_input recovered_inputs[] = {{4, 44}, {1, 11}}; /* by first use */
static struct tic_line_acquire recovered_acquires[] = {
    {.id = 2, .recorded = 1, .checksum = 32, .extent = 1, .row = 6},
    {.id = 7, .writes = 1},
    {.id = 2, .writes = 1, .recorded = 1, .checksum = 32, .extent = 1, .row = 6},
    {.id = 2, .writes = 1},
};
static struct tic_line_event recovered_events[] = {{TIC_EVENT_TIME, 1000}, {TIC_EVENT_TIME, -5}};

static void load_recovered(void)
{
    struct tic_line line = {
        .values = recovered_values,
        .value_count = TIC_COUNT(recovered_values),
        .done = recovered_done,
        .done_count = TIC_COUNT(recovered_done),
        .inputs = recovered_inputs,
        .input_count = TIC_COUNT(recovered_inputs),
        .events = recovered_events,
        .event_count = TIC_COUNT(recovered_events),
        .acquires = recovered_acquires,
        .acquire_count = TIC_COUNT(recovered_acquires),
    };
    uint32_t signatures[113] = {0};
    line.signatures = signatures;
    line.signature_count = TIC_COUNT(signatures);
    assert_int_equal(tic_graph_load(&graph, &line), 0);
}

/* Notes a value of the handle as saved, as if its writer had begun in epoch `since`. */
static void save(struct tic_handle *handle, uint64_t since, uint64_t active_cut, uint32_t row)
{
    struct tic_saved saved = {{9, row}, row * 10};
    atomic_store(&handle->saving.dirty_since, since);
    atomic_fetch_add(&handle->saving.version, 1);
    tic_lock(&handle->saving.lock);
    tic_handle_note_saved_locked(handle, &saved, active_cut);
    tic_unlock(&handle->saving.lock);
}

/* All that a line of this cut says. */
static int describe(uint64_t cut, struct tic_line *line)
{
    int status = tic_graph_describe_values(&graph, cut, line);
    return status ? status : tic_graph_describe(&graph, cut, line);
}

/* The row in which the line finds the value, or -1. */
static long row_of(const struct tic_line *line, uint64_t id)
{
    for (size_t i = 0; i < line->value_count; i++)
        if (line->values[i].id == id)
            return (long)line->values[i].row;
    return -1;
}

static void test_describe_of_nothing(void **state)
{
    struct tic_line line = {0};
    (void)state;
    assert_int_equal(describe(1, &line), 0);
    assert_int_equal(line.value_count, 0);
    assert_int_equal(line.done_count, 0);
    assert_int_equal(line.input_count, 0);
    assert_int_equal(line.event_count, 0);
    assert_int_equal(line.signature_count, 0);
    assert_int_equal(line.tasks_submitted, 0);
    tic_line_clear(&line);
}

static void test_handles_are_numbered(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        struct tic_handle *handle = tic_graph_add_handle(&graph);
        assert_int_equal(handle->id, i);
        assert_false(handle->restart.pending);
        assert_int_equal(handle->listing.index, i);
    }
}

static void test_recovered_values_are_claimed_by_id(void **state)
{
    (void)state;
    load_recovered();
    for (uint64_t i = 0; i < 8; i++) {
        struct tic_handle *handle = tic_graph_add_handle(&graph);
        bool known = i == 0 || i == 2 || i == 7;
        assert_int_equal(handle->restart.pending, known);
        assert_int_equal(handle->saving.current.exists, known);
    }
    struct tic_handle *last = graph.handles[7];
    assert_int_equal(atomic_load(&last->saving.version), 5);
    assert_int_equal(last->saving.current.version, 5);
    assert_int_equal(last->saving.current.since, 0);
    assert_int_equal(last->saving.current.saved.row.extent, 2);
    assert_int_equal(last->saving.current.saved.row.row, 7);
    assert_int_equal(last->saving.current.saved.checksum, 37);
}

static void expect_recovered(const struct tic_line *line)
{
    assert_int_equal(line->value_count, TIC_COUNT(recovered_values));
    for (size_t i = 0; i < line->value_count; i++) {
        assert_int_equal(line->values[i].id, recovered_values[i].id);
        assert_int_equal(line->values[i].version, recovered_values[i].version);
        assert_int_equal(line->values[i].checksum, recovered_values[i].checksum);
        assert_int_equal(line->values[i].extent, recovered_values[i].extent);
        assert_int_equal(line->values[i].row, recovered_values[i].row);
    }
    assert_int_equal(line->done_count, TIC_COUNT(recovered_done));
    assert_memory_equal(line->done, recovered_done, sizeof(recovered_done));
    assert_int_equal(line->tasks_done, 103);
    assert_int_equal(line->tasks_submitted, 113);
}

/* At every moment of the registrations, what the run started from is in the line, whole. */
static void test_describe_keeps_unclaimed_values(void **state)
{
    (void)state;
    load_recovered();
    for (int registered = 0; registered <= 9; registered++) {
        struct tic_line line = {0};
        assert_int_equal(describe(1, &line), 0);
        expect_recovered(&line);
        assert_int_equal(line.values[1].gone, registered <= 2);
        tic_line_clear(&line);
        assert_non_null(tic_graph_add_handle(&graph));
    }
}

static void test_describe_has_values_of_the_cut(void **state)
{
    struct tic_line line = {0};
    (void)state;
    struct tic_handle *old = tic_graph_add_handle(&graph);   /* saved before the cut */
    struct tic_handle *both = tic_graph_add_handle(&graph);  /* saved again after the cut */
    struct tic_handle *later = tic_graph_add_handle(&graph); /* written only after the cut */
    tic_graph_add_handle(&graph);                            /* never written */
    save(old, 1, 0, 1);
    save(both, 2, 0, 2);
    save(both, 3, 2, 3);
    save(later, 3, 2, 4);
    assert_int_equal(describe(2, &line), 0);
    assert_int_equal(line.value_count, 2);
    assert_int_equal(row_of(&line, old->id), 1);
    assert_int_equal(row_of(&line, both->id), 2);
    tic_line_clear(&line);
    assert_int_equal(describe(3, &line), 0);
    assert_int_equal(line.value_count, 3);
    assert_int_equal(row_of(&line, both->id), 3);
    assert_int_equal(row_of(&line, later->id), 4);
    tic_line_clear(&line);
}

/* What is saved twice while a cut is taken has one value for that cut: the first of the three. */
static void test_describe_survives_two_saves_after_the_cut(void **state)
{
    struct tic_line line = {0};
    (void)state;
    struct tic_handle *handle = tic_graph_add_handle(&graph);
    save(handle, 2, 0, 2);
    save(handle, 3, 2, 3);
    save(handle, 3, 2, 4);
    assert_int_equal(describe(2, &line), 0);
    assert_int_equal(row_of(&line, handle->id), 2);
    tic_line_clear(&line);
}

/* Never saved before, saved twice after the cut: the cut knows no value. */
static void test_describe_of_two_first_saves_after_the_cut(void **state)
{
    struct tic_line line = {0};
    (void)state;
    struct tic_handle *handle = tic_graph_add_handle(&graph);
    save(handle, 3, 2, 3);
    save(handle, 3, 2, 4);
    assert_int_equal(describe(2, &line), 0);
    assert_int_equal(row_of(&line, handle->id), -1);
    tic_line_clear(&line);
}

static void test_describe_misses_no_due_value(void **state)
{
    struct tic_line line = {0};
    (void)state;
    struct tic_handle *handle = tic_graph_add_handle(&graph);
    save(handle, 1, 0, 1);
    atomic_store(&handle->saving.dirty_since, 2);
    assert_int_equal(describe(2, &line), -EINVAL);
    tic_line_clear(&line);
    assert_int_equal(describe(1, &line), 0);
    tic_line_clear(&line);
}

static void leave(struct tic_handle *handle, uint64_t epoch)
{
    tic_lock(&graph.lock);
    assert_true(tic_graph_leave_locked(&graph, handle, epoch));
    tic_unlock(&graph.lock);
}

static void test_gone_handles(void **state)
{
    struct tic_line line = {0};
    (void)state;
    struct tic_handle *gone = tic_graph_add_handle(&graph);
    struct tic_handle *pinned = tic_graph_add_handle(&graph);
    save(gone, 1, 0, 1);
    save(pinned, 1, 0, 2);
    pinned->listing.pinned = true;
    leave(gone, 3);
    leave(pinned, 3);
    assert_int_equal(describe(2, &line), 0);
    assert_int_equal(line.value_count, 2);
    assert_int_equal(line.values[1].gone, 0);
    tic_line_clear(&line);
    assert_int_equal(describe(3, &line), 0);
    assert_int_equal(line.value_count, 1);
    assert_int_equal(line.values[0].id, pinned->id);
    assert_int_equal(line.values[0].gone, 1);
    tic_line_clear(&line);
}

static void test_reclaim(void **state)
{
    struct tic_handle *handles[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        handles[i] = tic_graph_add_handle(&graph);
    handles[2]->listing.pinned = true;
    leave(handles[0], 2);
    leave(handles[1], 3);
    leave(handles[2], 2);
    leave(handles[3], 2);
    leave(handles[4], 1);
    assert_int_equal(graph.changed.count, 5);
    for (int i = 0; i < 5; i++)
        atomic_store(&handles[i]->saving.listed, i == 3);
    tic_graph_reclaim(&graph, 2);
    assert_int_equal(graph.handle_count, 4);
    for (unsigned long i = 0; i < graph.handle_count; i++) {
        assert_int_equal(graph.handles[i]->listing.index, i);
        assert_true(graph.handles[i]->id != 0 && graph.handles[i]->id != 4);
    }
    atomic_store(&handles[3]->saving.listed, false);
    tic_graph_reclaim(&graph, 3);
    assert_int_equal(graph.handle_count, 2);
    assert_int_equal(tic_graph_add_handle(&graph)->id, 6); /* numbers are never used again */
}

static void test_inputs(void **state)
{
    struct tic_line line = {0};
    (void)state;
    load_recovered();
    assert_int_equal(tic_graph_note_input(&graph, 4, 44, 0), 0);
    assert_int_equal(tic_graph_note_input(&graph, 1, 12, 0), -EILSEQ);
    assert_int_equal(tic_graph_note_input(&graph, 1, 11, 0), 0);
    assert_int_equal(tic_graph_note_input(&graph, 5, 55, 0), 0);
    assert_int_equal(describe(1, &line), 0);
    assert_int_equal(line.input_count, 3);
    assert_memory_equal(line.inputs, recovered_inputs, sizeof(recovered_inputs));
    assert_int_equal(line.inputs[2].id, 5);
    assert_int_equal(line.inputs[2].hash, 55);
    tic_line_clear(&line);
}

static void test_events_are_replayed_then_recorded(void **state)
{
    struct tic_line line = {0};
    int64_t value;
    (void)state;
    load_recovered();
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &(int64_t){1}), 0);
    value = 7;
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &value), 0);
    assert_int_equal(value, -5);
    value = 8;
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &value), 0);
    assert_int_equal(value, 8);
    assert_int_equal(describe(1, &line), 0);
    assert_int_equal(line.event_count, 3);
    assert_int_equal(line.events[0].value, 1000);
    assert_int_equal(line.events[2].kind, TIC_EVENT_TIME);
    assert_int_equal(line.events[2].value, 8);
    tic_line_clear(&line);
}

/* A run that started StarPU twice, and asked at two positions of the second start. */
static struct tic_line_event asked[] = {
    {TIC_EVENT_START, 0},       {TIC_EVENT_WORKERS, 4},     {TIC_EVENT_ASKED, 3},
    {TIC_EVENT_START, 1},       {TIC_EVENT_WORKERS, 2},     {TIC_EVENT_ANSWER + 1, 70},
    {TIC_EVENT_SAME, 9},        {TIC_EVENT_ASKED, 1 << 16}, {TIC_EVENT_ANSWER + 1, 71},
    {TIC_EVENT_ASKED, 2 << 16}, {TIC_EVENT_TIME, 1000},     {TIC_EVENT_ANSWER, 5},
};

static void load_asked(void)
{
    struct tic_line line = {.events = asked, .event_count = TIC_COUNT(asked)};

    assert_int_equal(tic_graph_load(&graph, &line), 0);
}

static void expect_next(enum tic_event kind, int64_t value)
{
    const struct tic_line_event *event = tic_graph_next_event(&graph);

    assert_non_null(event);
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->value, value);
}

static void start_twice(void)
{
    int64_t value = 0;

    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_START, &value), 0);
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_START, &value), 0);
    assert_int_equal(value, 1);
}

/* Checks that answers that were not asked for hold up neither other events nor later answers. */
static void test_answers_end_where_main_goes_on(void **state)
{
    int64_t value = 0;
    (void)state;
    load_asked();
    start_twice();
    assert_int_equal(tic_graph_end_answers(&graph, 1), 0);
    expect_next(TIC_EVENT_WORKERS, 2);
    assert_int_equal(tic_graph_end_answers(&graph, (1 << 16) + 5), 2);
    expect_next(TIC_EVENT_ANSWER + 1, 71);
    assert_int_equal(tic_graph_end_answers(&graph, 9 << 16), 1);
    expect_next(TIC_EVENT_TIME, 1000); /* is no answer */
    assert_int_equal(tic_graph_end_answers(&graph, 9 << 16), 0);
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &value), 0);
    assert_int_equal(value, 1000);
}

/* Checks that answers without an end wait for the questions that come next: what is told later is
 * recorded behind them. */
static void test_last_answers_stay_until_asked_for(void **state)
{
    int64_t value = 0;
    (void)state;
    load_asked();
    start_twice();
    tic_graph_end_answers(&graph, 9 << 16);
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &value), 0);
    const struct tic_line_event *last = tic_graph_next_event(&graph);
    assert_non_null(last);
    assert_int_equal(tic_graph_end_answers(&graph, 9 << 16), 0);
    assert_int_equal(tic_graph_end_answers(&graph, 10 << 16), 0);
    assert_ptr_equal(tic_graph_next_event(&graph), last);
}

/* Checks that an event of another kind still stops a replay, and answers do not. */
static void test_answers_do_not_hold_up_events(void **state)
{
    int64_t value = 0;
    (void)state;
    load_asked();
    start_twice();
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TIME, &value), 0);
    assert_int_equal(value, 1000);
    value = 3;
    assert_int_equal(tic_graph_event(&graph, TIC_EVENT_TRY, &value), 0);
    assert_int_equal(value, 3); /* behind the last one: recorded */
    assert_null(tic_graph_next_event(&graph));
    assert_int_equal(tic_graph_note_event(&graph, TIC_EVENT_SAME, 2), 0);
    struct tic_line line = {0};
    assert_int_equal(describe(1, &line), 0);
    assert_int_equal(line.event_count, TIC_COUNT(asked) + 2);
    assert_int_equal(line.events[line.event_count - 1].kind, TIC_EVENT_SAME);
    tic_line_clear(&line);
}

/* Checks that each start has its own number of workers, or an earlier one. */
static void test_workers_belong_to_starts(void **state)
{
    (void)state;
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 0, true), -1);
    load_asked();
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 0, false), 4);
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 1, false), 2);
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 1, true), 2);
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_COMBINED, 1, true), -1);
    asked[4].kind = TIC_EVENT_ANSWER;
    tic_graph_fini(&graph);
    assert_int_equal(tic_graph_init(&graph), 0);
    load_asked();
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 1, false), -1);
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 1, true), 4);
    assert_int_equal(tic_graph_find_workers(&graph, TIC_EVENT_WORKERS, 2, false), -1);
    asked[4].kind = TIC_EVENT_WORKERS;
}

static void test_acquires_are_replayed(void **state)
{
    (void)state;
    assert_null(tic_graph_replay_acquire(&graph));
    load_recovered();
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(tic_graph_add_handle(&graph)->restart.main_writes_left, i == 2   ? 2
                                                                                 : i == 7 ? 1
                                                                                          : 0);
    for (size_t i = 0; i < TIC_COUNT(recovered_acquires); i++) {
        const struct tic_line_acquire *known = tic_graph_replay_acquire(&graph);
        assert_non_null(known);
        assert_memory_equal(known, &recovered_acquires[i], sizeof(*known));
    }
    assert_null(tic_graph_replay_acquire(&graph));
}

/* A line has the accesses of its cut and those that the run started from. */
static void test_acquires_belong_to_cuts(void **state)
{
    (void)state;
    load_recovered();
    for (uint64_t epoch = 1; epoch <= 40; epoch++) {
        struct tic_line_acquire acquire = {.id = epoch, .writes = 1};
        assert_int_equal(tic_graph_note_acquire_locked(&graph, &acquire, epoch), 0);
    }
    for (uint64_t cut = 0; cut <= 41; cut++) {
        struct tic_line line = {0};
        size_t own = cut < 40 ? cut : 40;
        assert_int_equal(describe(cut, &line), 0);
        assert_int_equal(line.acquire_count, TIC_COUNT(recovered_acquires) + own);
        assert_memory_equal(line.acquires, recovered_acquires, sizeof(recovered_acquires));
        for (size_t i = 0; i < own; i++)
            assert_int_equal(line.acquires[TIC_COUNT(recovered_acquires) + i].id, i + 1);
        tic_line_clear(&line);
    }
}

static void test_describe_has_signatures_after_blocks(void **state)
{
    const uint64_t count = TIC_SIGNATURE_BLOCK + 2;
    struct tic_line line = {0};
    (void)state;
    for (uint64_t i = 0; i < count; i++)
        if (tic_signature_submit(&graph.signature, i, 0) != 0)
            fail_msg("submission %lu refused", (unsigned long)i);
    tic_graph_drop_tail(&graph, TIC_TABLE_SIGNATURES, TIC_SIGNATURE_BLOCK);
    assert_int_equal(describe(1, &line), 0);
    assert_int_equal(line.tasks_submitted, count);
    assert_int_equal(line.signature_count, 2);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(line.signatures[i],
                         tic_signature_entry(&graph.signature, TIC_SIGNATURE_BLOCK + i));
    tic_line_clear(&line);
}

static int set_up(void **state)
{
    (void)state;
    return tic_graph_init(&graph);
}

static int tear_down(void **state)
{
    (void)state;
    tic_graph_fini(&graph);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_describe_of_nothing),
        TEST(test_handles_are_numbered),
        TEST(test_recovered_values_are_claimed_by_id),
        TEST(test_describe_keeps_unclaimed_values),
        TEST(test_describe_has_values_of_the_cut),
        TEST(test_describe_survives_two_saves_after_the_cut),
        TEST(test_describe_of_two_first_saves_after_the_cut),
        TEST(test_describe_misses_no_due_value),
        TEST(test_gone_handles),
        TEST(test_reclaim),
        TEST(test_inputs),
        TEST(test_events_are_replayed_then_recorded),
        TEST(test_answers_end_where_main_goes_on),
        TEST(test_last_answers_stay_until_asked_for),
        TEST(test_answers_do_not_hold_up_events),
        TEST(test_workers_belong_to_starts),
        TEST(test_acquires_are_replayed),
        TEST(test_acquires_belong_to_cuts),
        TEST(test_describe_has_signatures_after_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
