/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the trace: whole lines of JSON, in which a task is there while it runs, what has no room
 * is counted, and what was torn by a kill harms no line that follows. The tests share the one trace
 * that a process has. */
#include "base/trace.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"

static struct tic_tmpdir dir;
static char path[300];

static json_t *load_events(void)
{
    FILE *file = fopen(path, "r");
    json_t *events = json_array();
    char line[4096];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        json_t *event = json_loads(line, 0, NULL);
        assert_true(event || strncmp(line, "torn", 4) == 0);
        if (event)
            json_array_append_new(events, event);
    }
    fclose(file);
    return events;
}

/* How many events of this kind there are; *last: the last one, borrowed. */
static size_t count_kind(const json_t *events, const char *kind, json_t **last)
{
    size_t i, count = 0;
    json_t *event;

    json_array_foreach(
        events, i, event) if (strcmp(json_string_value(json_object_get(event, "kind")), kind) == 0)
    {
        count++;
        if (last)
            *last = event;
    }
    return count;
}

/* checks that nothing is put before there is a trace, and that what is no plain file is refused */
static void test_off(void **state)
{
    (void)state;
    assert_false(tic_trace_is_on());
    tic_trace_put("message", ", \"text\": \"\"");
    tic_trace_flush();
    assert_int_equal(tic_trace_open("/nowhere/trace"), -ENOENT);
    assert_int_equal(tic_trace_open("/dev/null"), -EINVAL);
    assert_false(tic_trace_is_on());
}

/* checks that a trace goes on behind half a line */
static void test_open(void **state)
{
    json_t *run = NULL;

    (void)state;
    tic_tmpdir_store(&dir, "trace", "torn", 4);
    assert_int_equal(tic_trace_open(path), 0);
    assert_true(tic_trace_is_on());
    tic_trace_flush();
    json_t *events = load_events();
    assert_int_equal(count_kind(events, "run", &run), 1);
    assert_int_equal(json_integer_value(json_object_get(run, "process")), getpid());
    json_decref(events);
}

/* checks that a task is there while it runs, and again with its end */
static void test_task(void **state)
{
    json_t *task = NULL;

    (void)state;
    tic_trace_begin(3, 41, 2, "a \"name\"");
    tic_trace_flush();
    json_t *events = load_events();
    assert_int_equal(count_kind(events, "task", &task), 1);
    assert_null(json_object_get(task, "end"));
    assert_string_equal(json_string_value(json_object_get(task, "name")), "a \"name\"");
    json_decref(events);
    tic_trace_end(3);
    tic_trace_end(3); /* of nothing */
    tic_trace_flush();
    events = load_events();
    assert_int_equal(count_kind(events, "task", &task), 2);
    assert_true(json_number_value(json_object_get(task, "end")) >=
                json_number_value(json_object_get(task, "begin")));
    assert_int_equal(json_integer_value(json_object_get(task, "worker")), 3);
    assert_int_equal(json_integer_value(json_object_get(task, "victim")), 2);
    assert_int_equal(json_integer_value(json_object_get(task, "task")), 41);
    json_decref(events);
}

/* checks that every record is in the file or counted */
static void test_many(void **state)
{
    enum { MANY = 3 * TIC_TRACE_RECORDS };
    size_t i, left_out = 0;
    json_t *event;

    (void)state;
    for (i = 0; i < MANY; i++)
        tic_trace_stall(5, i, i + 1);
    tic_trace_begin(TIC_TRACE_SLOTS, 1, -1, "in a slot without memory");
    tic_trace_end(TIC_TRACE_SLOTS);
    tic_trace_flush();
    json_t *events = load_events();
    json_array_foreach(events, i, event) left_out +=
        (size_t)json_integer_value(json_object_get(event, "records"));
    assert_int_equal(count_kind(events, "stall", NULL) + left_out, MANY + 1);
    json_decref(events);
}

/* checks that messages are there, whatever the level that is shown */
static void test_message(void **state)
{
    json_t *message = NULL;

    (void)state;
    tic_log(TIC_LOG_DETAIL, "so \"it\" is\nin %d lines", 2);
    tic_trace_flush();
    json_t *events = load_events();
    assert_int_equal(count_kind(events, "message", &message), 1);
    assert_string_equal(json_string_value(json_object_get(message, "text")),
                        "so \"it\" is in 2 lines");
    json_decref(events);
}

/* checks that a child of fork neither writes nor waits */
static void test_fork(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        tic_trace_put("child", ", \"at\": %d", 1);
        tic_trace_flush();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tic_trace_flush();
    json_t *events = load_events();
    assert_int_equal(count_kind(events, "child", NULL), 0);
    json_decref(events);
}

/* checks that another process can append, also behind half a line */
static void test_append(void **state)
{
    json_t *end = NULL;

    (void)state;
    FILE *file = fopen(path, "a");
    fputs("torn again", file);
    fclose(file);
    assert_int_equal(tic_trace_append(path, "ended", ", \"status\": %d", 137), 0);
    json_t *events = load_events();
    assert_int_equal(count_kind(events, "ended", &end), 1);
    assert_int_equal(json_integer_value(json_object_get(end, "status")), 137);
    json_decref(events);
}

/* checks that text is short enough, and no end of a string is in it */
static void test_quote(void **state)
{
    char quoted[8];

    (void)state;
    tic_trace_quote(quoted, sizeof(quoted), "\"\"\"\"\"\"");
    assert_string_equal(quoted, "\\\"\\\"\\\"");
    tic_trace_quote(quoted, sizeof(quoted), "\xc3\xa9\x01");
    assert_string_equal(quoted, "???");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),    cmocka_unit_test(test_open),    cmocka_unit_test(test_task),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_message), cmocka_unit_test(test_fork),
        cmocka_unit_test(test_append), cmocka_unit_test(test_quote),
    };
    tic_log_set_level(0);
    tic_tmpdir_create(&dir);
    snprintf(path, sizeof(path), "%s/trace", dir.path);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tic_tmpdir_remove(&dir);
    return failed;
}
