/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that settings are read as the table says, and that every mistake is named. */
#include <errno.h>
#include <string.h>

#include "base/settings.h"
#include "lib/testing.h"

/* The environment of the test; ends with NULL. */
static const char *environment[8];
static char message[256];

static const char *get(const char *name)
{
    size_t length = strlen(name);
    for (const char **entry = environment; *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

static int read_with(const char *assignment, struct tic_settings *out)
{
    memset(environment, 0, sizeof(environment));
    environment[0] = "PATH=/bin";
    environment[1] = "STARPU_SCHED=dmdas";
    environment[2] = assignment;
    message[0] = '\0';
    return tic_settings_read(out, get, (char *const *)environment, message, sizeof(message));
}

static void expect_defaults(const struct tic_settings *settings)
{
    assert_string_equal(settings->dir, "");
    assert_true(settings->period == 10.0);
    assert_true(settings->mtbf == 86400.0);
    assert_true(settings->max_recovery == 0);
    assert_int_equal(settings->max_overhead, 0);
    assert_int_equal(settings->every, 0);
    assert_int_equal(settings->protocol, TIC_PROTOCOL_TIC);
    assert_string_equal(settings->sched, "");
    assert_int_equal(settings->sync, TIC_SYNC_COMMIT);
    assert_false(settings->keep);
    assert_true(settings->inputs);
    assert_int_equal(settings->pointers, TIC_POINTERS_REFUSE);
    assert_int_equal(settings->workers, TIC_WORKERS_RECORDED);
    assert_int_equal(settings->verbose, 1);
    assert_false(settings->pages);
    assert_string_equal(settings->stats, "");
    assert_string_equal(settings->retry, "");
    assert_int_equal(settings->retries, 3);
    assert_int_equal(settings->certify, 0);
    assert_string_equal(settings->fail, "");
}

static void test_defaults(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with(NULL, &settings), 0);
    expect_defaults(&settings);
}

static void test_empty_means_default(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_PERIOD=", &settings), 0);
    expect_defaults(&settings);
}

static void test_strings(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_DIR=/a b=c", &settings), 0);
    assert_string_equal(settings.dir, "/a b=c");
    assert_int_equal(read_with("STARPU_TIC_SCHED=dmdas", &settings), 0);
    assert_string_equal(settings.sched, "dmdas");
}

static void test_seconds(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_PERIOD=0.25", &settings), 0);
    assert_true(settings.period == 0.25);
    assert_int_equal(read_with("STARPU_TIC_PERIOD=3600", &settings), 0);
    assert_true(settings.period == 3600.0);
    assert_true(settings.patience == TIC_PATIENCE_DEFAULT);
    assert_int_equal(read_with("STARPU_TIC_PATIENCE=0", &settings), 0);
    assert_true(settings.patience == 0);
    assert_int_equal(read_with("STARPU_TIC_PATIENCE=0.5", &settings), 0);
    assert_true(settings.patience == 0.5);
    assert_int_equal(read_with("STARPU_TIC_PATIENCE=-1", &settings), -EINVAL);
}

static void test_adaptive_period(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_PERIOD=auto", &settings), 0);
    assert_true(settings.period == TIC_PERIOD_AUTO);
    assert_int_equal(read_with("STARPU_TIC_MTBF=3600.5", &settings), 0);
    assert_true(settings.mtbf == 3600.5);
    assert_int_equal(read_with("STARPU_TIC_MAX_RECOVERY=0", &settings), 0);
    assert_true(settings.max_recovery == 0);
    assert_int_equal(read_with("STARPU_TIC_MAX_RECOVERY=0.5", &settings), 0);
    assert_true(settings.max_recovery == 0.5);
    assert_int_equal(read_with("STARPU_TIC_MAX_OVERHEAD=100", &settings), 0);
    assert_int_equal(settings.max_overhead, 100);
    for (const char **wrong =
             (const char *[]){"STARPU_TIC_PERIOD=0", "STARPU_TIC_PERIOD=Auto",
                              "STARPU_TIC_PERIOD=auto5", "STARPU_TIC_MTBF=0",
                              "STARPU_TIC_MTBF=auto", "STARPU_TIC_MAX_RECOVERY=-1",
                              "STARPU_TIC_MAX_RECOVERY=x", "STARPU_TIC_MAX_OVERHEAD=101", NULL};
         *wrong; wrong++)
        assert_int_equal(read_with(*wrong, &settings), -EINVAL);
}

static void test_counts(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_EVERY=0", &settings), 0);
    assert_int_equal(settings.every, 0);
    assert_int_equal(read_with("STARPU_TIC_EVERY=4000000000", &settings), 0);
    assert_true(settings.every == 4000000000ul);
}

/* Units as people write them; the powers of coreutils. */
static void test_units(void **state)
{
    struct tic_settings settings;
    (void)state;
    const struct {
        const char *text;
        double seconds;
    } periods[] = {{"STARPU_TIC_PERIOD=60s", 60},
                   {"STARPU_TIC_PERIOD=5min", 300},
                   {"STARPU_TIC_PERIOD=1.5h", 5400},
                   {"STARPU_TIC_PERIOD=2d", 172800},
                   {"STARPU_TIC_PERIOD=250ms", 0.25}};
    const struct {
        const char *text;
        unsigned long bytes;
    } spaces[] = {{"STARPU_TIC_SPACE=4G", 4ul << 30},
                  {"STARPU_TIC_SPACE=4GiB", 4ul << 30},
                  {"STARPU_TIC_SPACE=10GB", 10000000000ul},
                  {"STARPU_TIC_SPACE=1.5k", 1536},
                  {"STARPU_TIC_SPACE=9007199254740993", 9007199254740993ul}};
    for (unsigned i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
        assert_int_equal(read_with(periods[i].text, &settings), 0);
        assert_true(settings.period == periods[i].seconds);
    }
    for (unsigned i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        assert_int_equal(read_with(spaces[i].text, &settings), 0);
        assert_true(settings.space == spaces[i].bytes);
    }
    for (const char **wrong =
             (const char *[]){"STARPU_TIC_PERIOD=5m", "STARPU_TIC_PERIOD=s",
                              "STARPU_TIC_PERIOD=1 s", "STARPU_TIC_SPACE=4g",
                              "STARPU_TIC_SPACE=1.5", "STARPU_TIC_SPACE=-1k",
                              "STARPU_TIC_SPACE=99999999T", "STARPU_TIC_EVERY=4k", NULL};
         *wrong; wrong++)
        assert_int_equal(read_with(*wrong, &settings), -EINVAL);
}

static void test_misspelt(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_PERIO=1", &settings), -EINVAL);
    assert_non_null(strstr(message, "not STARPU_TIC_PERIOD:"));
    assert_int_equal(read_with("STARPU_TIC_SOMETHING_ELSE=1", &settings), -EINVAL);
    assert_null(strstr(message, ", not "));
}

static void test_choices(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_PROTOCOL=off", &settings), 0);
    assert_int_equal(settings.protocol, TIC_PROTOCOL_OFF);
    assert_int_equal(read_with("STARPU_TIC_PROTOCOL=tic", &settings), 0);
    assert_int_equal(settings.protocol, TIC_PROTOCOL_TIC);
    assert_int_equal(read_with("STARPU_TIC_PROTOCOL=sel", &settings), 0);
    assert_int_equal(settings.protocol, TIC_PROTOCOL_SEL);
    assert_int_equal(read_with("STARPU_TIC_PROTOCOL=tic+sel", &settings), 0);
    assert_int_equal(settings.protocol, TIC_PROTOCOL_TIC_SEL);
    assert_int_equal(read_with("STARPU_TIC_SYNC=never", &settings), 0);
    assert_int_equal(settings.sync, TIC_SYNC_NEVER);
    assert_int_equal(read_with("STARPU_TIC_SYNC=commit", &settings), 0);
    assert_int_equal(settings.sync, TIC_SYNC_COMMIT);
    assert_int_equal(read_with("STARPU_TIC_POINTERS=refuse", &settings), 0);
    assert_int_equal(settings.pointers, TIC_POINTERS_REFUSE);
    assert_int_equal(read_with("STARPU_TIC_POINTERS=trust", &settings), 0);
    assert_int_equal(settings.pointers, TIC_POINTERS_TRUST);
    assert_int_equal(read_with("STARPU_TIC_STOP=none", &settings), 0);
    assert_int_equal(settings.stop, 0);
    assert_int_equal(read_with("STARPU_TIC_STOP=term", &settings), 0);
    assert_int_equal(settings.stop, 1);
    assert_int_equal(read_with("STARPU_TIC_STOP=usr2+term", &settings), 0);
    assert_int_equal(settings.stop, 5);
    for (const char **wrong =
             (const char *[]){"STARPU_TIC_STOP=kill", "STARPU_TIC_STOP=term+", "STARPU_TIC_STOP=+",
                              "STARPU_TIC_STOP=ter", "STARPU_TIC_STOP=none+term", NULL};
         *wrong; wrong++)
        assert_int_equal(read_with(*wrong, &settings), -EINVAL);
    assert_int_equal(read_with("STARPU_TIC_WORKERS=recorded", &settings), 0);
    assert_int_equal(settings.workers, TIC_WORKERS_RECORDED);
    assert_int_equal(read_with("STARPU_TIC_WORKERS=real", &settings), 0);
    assert_int_equal(settings.workers, TIC_WORKERS_REAL);
}

static void test_flags_and_levels(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TIC_KEEP=1", &settings), 0);
    assert_true(settings.keep);
    assert_int_equal(read_with("STARPU_TIC_INPUTS=0", &settings), 0);
    assert_int_equal(settings.inputs, TIC_INPUTS_IGNORE);
    assert_int_equal(read_with("STARPU_TIC_INPUTS=check", &settings), 0);
    assert_int_equal(settings.inputs, TIC_INPUTS_CHECK);
    for (int level = 0; level <= 2; level++) {
        char assignment[] = "STARPU_TIC_VERBOSE=0";
        assignment[sizeof(assignment) - 2] = (char)('0' + level);
        assert_int_equal(read_with(assignment, &settings), 0);
        assert_int_equal(settings.verbose, level);
    }
}

static const char *const bad[] = {
    "STARPU_TIC_PERIOD=0",     "STARPU_TIC_PERIOD=-1",
    "STARPU_TIC_PERIOD=nan",   "STARPU_TIC_PERIOD=inf",
    "STARPU_TIC_PERIOD=1e9",   "STARPU_TIC_PERIOD=10 s",
    "STARPU_TIC_PERIOD=ten",   "STARPU_TIC_EVERY=-1",
    "STARPU_TIC_EVERY= 1",     "STARPU_TIC_EVERY=1.5",
    "STARPU_TIC_EVERY=+1",     "STARPU_TIC_EVERY=9999999999999999999999",
    "STARPU_TIC_PROTOCOL=TIC", "STARPU_TIC_PROTOCOL=tic ",
    "STARPU_TIC_WORKERS=4",    "STARPU_TIC_WORKERS=Real",
    "STARPU_TIC_POINTERS=1",   "STARPU_TIC_POINTERS=Trust",
    "STARPU_TIC_SYNC=always",  "STARPU_TIC_KEEP=2",
    "STARPU_TIC_KEEP=10",      "STARPU_TIC_KEEP=yes",
    "STARPU_TIC_INPUTS=true",  "STARPU_TIC_VERBOSE=3",
    "STARPU_TIC_VERBOSE=-1",   "STARPU_TIC_VERBOSE=11",
    "STARPU_TIC_PROTOCOL=se",  "STARPU_TIC_LOG_SYNC=-1",
};

static void test_bad_values_name_the_variable(void **state)
{
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(bad); i++) {
        struct tic_settings settings = {.every = 77};
        assert_int_equal(read_with(bad[i], &settings), -EINVAL);
        if (!strstr(message, bad[i]))
            fail_msg("\"%s\" does not name %s", message, bad[i]);
        assert_int_equal(settings.every, 77); /* outputs written only on success */
    }
}

static void test_unknown_names_are_refused(void **state)
{
    static const char *const unknown[] = {"STARPU_TIC_X=1", "STARPU_TIC_PERIO=1",
                                          "STARPU_TIC_PERIODS=1", "STARPU_TIC_=1",
                                          "STARPU_TIC_period=1"};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(unknown); i++) {
        struct tic_settings settings;
        char name[64] = "";
        strncat(name, unknown[i], strcspn(unknown[i], "="));
        assert_int_equal(read_with(unknown[i], &settings), -EINVAL);
        assert_non_null(strstr(message, name));
    }
}

static void test_others_are_left_alone(void **state)
{
    struct tic_settings settings;
    (void)state;
    assert_int_equal(read_with("STARPU_TICK=1", &settings), 0);
    assert_int_equal(read_with("MY_STARPU_TIC_X=1", &settings), 0);
}

static void test_long_messages_are_cut(void **state)
{
    struct tic_settings settings;
    char value[600] = "STARPU_TIC_KEEP=";
    (void)state;
    memset(value + strlen(value), 'x', sizeof(value) - strlen(value) - 1);
    assert_int_equal(read_with(value, &settings), -EINVAL);
    assert_int_equal(strlen(message), sizeof(message) - 1);
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(tic_settings_list_has("one", "one"));
    assert_true(tic_settings_list_has("one,two,three", "two"));
    assert_true(tic_settings_list_has("one,two,three", "three"));
    assert_false(tic_settings_list_has("one,two,three", "on"));
    assert_false(tic_settings_list_has("one,two,three", "one,two"));
    assert_false(tic_settings_list_has("one,two,three", "threes"));
    assert_false(tic_settings_list_has("", "one"));
    assert_false(tic_settings_list_has("", ""));
    assert_false(tic_settings_list_has("one,,two", ""));
    assert_true(tic_settings_list_has("one,,two,", "two"));
}

static void test_every_row_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < tic_setting_count; i++) {
        const struct tic_setting_row *row = &tic_setting_rows[i];
        assert_int_equal(strncmp(row->name, TIC_SETTING_PREFIX, strlen(TIC_SETTING_PREFIX)), 0);
        assert_true(row->field[0] && row->values[0] && row->help[0]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(row->name, tic_setting_rows[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_empty_means_default),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_adaptive_period),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_misspelt),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_flags_and_levels),
        cmocka_unit_test(test_bad_values_name_the_variable),
        cmocka_unit_test(test_unknown_names_are_refused),
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_every_row_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
