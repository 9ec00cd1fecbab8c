/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings from the environment (STARPU_TIC_*), checked completely before anything starts. */
#include "base/settings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/type_rules.h"

const struct tic_setting_row tic_setting_rows[] = {
#define SETTING(field, NAME, kind, fallback, values, help)                                         \
    {#field, TIC_SETTING_PREFIX #NAME, #kind, fallback, values, help},
#include "base/settings.def"
#undef SETTING
};
const size_t tic_setting_count = sizeof(tic_setting_rows) / sizeof(tic_setting_rows[0]);

static bool parse_string(const char *text, const char **out)
{
    *out = text;
    return true;
}

static bool parse_path(const char *text, const char **out)
{
    *out = tic_path_absolute(text);
    return *out != NULL;
}

static bool parse_types(const char *text, const char **out)
{
    *out = text;
    return tic_type_rules_are_valid(text);
}

static bool parse_seconds(const char *text, double *out)
{
    return tic_numbers_seconds(text, out) && *out > 0 && *out < 1e9;
}

static bool parse_period(const char *text, double *out)
{
    if (parse_seconds(text, out))
        return true;
    *out = TIC_PERIOD_AUTO;
    return strcmp(text, "auto") == 0;
}

static bool parse_bound(const char *text, double *out)
{
    if (parse_seconds(text, out))
        return true;
    *out = 0;
    return strcmp(text, "0") == 0;
}

static bool parse_patience(const char *text, double *out)
{
    *out = text[0] ? 0 : TIC_PATIENCE_DEFAULT;
    return text[0] == '\0' || strcmp(text, "0") == 0 || parse_seconds(text, out);
}

static bool parse_count(const char *text, unsigned long *out)
{
    char *end;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool parse_bytes(const char *text, unsigned long *out)
{
    return tic_numbers_bytes(text, out);
}

static bool parse_lines(const char *text, unsigned long *out)
{
    return parse_count(text, out) && *out >= 1 && *out <= 100;
}

static bool parse_percent(const char *text, unsigned long *out)
{
    return parse_count(text, out) && *out <= 100;
}

static bool parse_digit(const char *text, int *out)
{
    *out = text[0] - '0';
    return text[0] >= '0' && text[0] <= '9' && text[1] == '\0';
}

static bool parse_level(const char *text, int *out)
{
    return parse_digit(text, out) && *out <= 2;
}

static bool parse_flag(const char *text, bool *out)
{
    *out = text[0] == '1';
    return (text[0] == '0' || text[0] == '1') && text[1] == '\0';
}

const char *const tic_protocol_names[] = {
    [TIC_PROTOCOL_OFF] = "off",
    [TIC_PROTOCOL_TIC] = "tic",
    [TIC_PROTOCOL_SEL] = "sel",
    [TIC_PROTOCOL_TIC_SEL] = "tic+sel",
};

static bool parse_protocol(const char *text, enum tic_protocol *out)
{
    for (unsigned i = 0; i <= TIC_PROTOCOL_TIC_SEL; i++) {
        *out = (enum tic_protocol)i;
        if (strcmp(text, tic_protocol_names[i]) == 0)
            return true;
    }
    return false;
}

/* One of two words. */
#define WORDS(kind, type, word, WORD, other, OTHER)                                                \
    static bool parse_##kind(const char *text, enum type *out)                                     \
    {                                                                                              \
        *out = strcmp(text, word) == 0 ? WORD : OTHER;                                             \
        return *out == WORD || strcmp(text, other) == 0;                                           \
    }
WORDS(sync, tic_sync, "commit", TIC_SYNC_COMMIT, "never", TIC_SYNC_NEVER)
WORDS(pointers, tic_pointers, "trust", TIC_POINTERS_TRUST, "refuse", TIC_POINTERS_REFUSE)
WORDS(arguments, tic_arguments, "ignore", TIC_ARGUMENTS_IGNORE, "compare", TIC_ARGUMENTS_COMPARE)
WORDS(unused, tic_unused, "leave", TIC_UNUSED_LEAVE, "restore", TIC_UNUSED_RESTORE)
WORDS(devices, tic_devices, "all", TIC_DEVICES_ALL, "tried", TIC_DEVICES_TRIED)
WORDS(program, tic_program, "any", TIC_PROGRAM_ANY, "same", TIC_PROGRAM_SAME)
WORDS(ranks, tic_ranks_wanted, "try", TIC_RANKS_TRY, "refuse", TIC_RANKS_REFUSE)
WORDS(workers, tic_worker_numbers, "real", TIC_WORKERS_REAL, "recorded", TIC_WORKERS_RECORDED)

/* Digits are what it took once. */
static bool parse_inputs(const char *text, enum tic_inputs *out)
{
    static const char *const names[][2] = {[TIC_INPUTS_IGNORE] = {"ignore", "0"},
                                           [TIC_INPUTS_CHECK] = {"check", "1"},
                                           [TIC_INPUTS_SAVE] = {"save", "save"}};

    for (unsigned i = 0; i <= TIC_INPUTS_SAVE; i++)
        if (strcmp(text, names[i][0]) == 0 || strcmp(text, names[i][1]) == 0) {
            *out = (enum tic_inputs)i;
            return true;
        }
    return false;
}

const struct tic_stop_signal tic_stop_signals[TIC_STOP_SIGNALS] = {
    {"term", SIGTERM}, {"usr1", SIGUSR1}, {"usr2", SIGUSR2}, {"xcpu", SIGXCPU}};

/* The bit of the name; 0: there is no such name. */
static unsigned find_signal(const char *name, size_t length)
{
    for (unsigned i = 0; i < TIC_STOP_SIGNALS; i++)
        if (strlen(tic_stop_signals[i].name) == length &&
            strncmp(tic_stop_signals[i].name, name, length) == 0)
            return 1u << i;
    return 0;
}

static bool parse_signals(const char *text, unsigned *out)
{
    *out = 0;
    if (strcmp(text, "none") == 0)
        return true;
    for (;;) {
        size_t length = strcspn(text, "+");
        unsigned bit = find_signal(text, length);
        *out |= bit;
        if (bit == 0 || text[length] == '\0')
            return bit != 0;
        text += length + 1;
    }
}

static bool is_known(const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    for (size_t i = 0; i < tic_setting_count; i++)
        if (strlen(tic_setting_rows[i].name) == length &&
            strncmp(tic_setting_rows[i].name, assignment, length) == 0)
            return true;
    return false;
}

static const char *find_near(const char *name, size_t length)
{
    for (size_t i = 0; i < tic_setting_count; i++)
        if (tic_near(name, length, tic_setting_rows[i].name))
            return tic_setting_rows[i].name;
    return NULL;
}

static int check_unknown(char *const *environment, char *message, size_t message_size)
{
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, TIC_SETTING_PREFIX, strlen(TIC_SETTING_PREFIX)) != 0 ||
            is_known(*environment))
            continue;
        int length = (int)strcspn(*environment, "=");
        const char *meant = find_near(*environment, (size_t)length);
        snprintf(message, message_size,
                 "unknown setting %.*s%s%s: `starpu-tic settings` lists the known ones", length,
                 *environment, meant ? ", not " : "", meant ? meant : "");
        return -EINVAL;
    }
    return 0;
}

int tic_settings_read(struct tic_settings *out, const char *(*get)(const char *name),
                      char *const *environment, char *message, size_t message_size)
{
    struct tic_settings read = {0};
    const char *text;
#define SETTING(field, NAME, kind, fallback, values, help)                                         \
    text = get(TIC_SETTING_PREFIX #NAME);                                                          \
    if (!text || !text[0])                                                                         \
        text = fallback;                                                                           \
    if (!parse_##kind(text, &read.field)) {                                                        \
        snprintf(message, message_size, "%s=%s is not valid: it takes %s",                         \
                 TIC_SETTING_PREFIX #NAME, text, values);                                          \
        return -EINVAL;                                                                            \
    }
#include "base/settings.def"
#undef SETTING
    int status = check_unknown(environment, message, message_size);
    if (status == 0)
        *out = read;
    return status;
}

bool tic_settings_list_has(const char *list, const char *name)
{
    size_t length = strcspn(list, ",");

    while (list[length] && (strlen(name) != length || strncmp(list, name, length) != 0)) {
        list += length + 1;
        length = strcspn(list, ",");
    }
    return length > 0 && strlen(name) == length && strncmp(list, name, length) == 0;
}
