/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic stats: the file of STARPU_TIC_STATS for people, in groups, with units. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/json_text.h"
#include "tools/scale.h"
#include "tools/tool.h"

enum unit { COUNT, BYTES, SECONDS, NUMBER, FLAG, TEXT, TIMES };

static const struct stat_row {
    const char *group; /* not NULL: only this */
    const char *key, *what;
    enum unit unit;
} rows[] = {
#define GROUP(title) {.group = title},
#define STAT(name, unit_, what_) {.key = #name, .what = what_, .unit = unit_},
#include "tools/statistics.def"
#undef GROUP
#undef STAT
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), WIDTH = 58 };

static bool is_known(const char *key)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].key && strcmp(rows[i].key, key) == 0)
            return true;
    return false;
}

static void format(char text[TIC_SCALE_TEXT], enum unit unit, const json_t *value)
{
    double number = json_number_value(value);

    if (unit == BYTES)
        tic_scale_bytes(text, number);
    else if (unit == SECONDS)
        tic_scale_duration(text, number);
    else if (unit == NUMBER)
        snprintf(text, TIC_SCALE_TEXT, "%.4g", number);
    else if (unit == FLAG)
        snprintf(text, TIC_SCALE_TEXT, "%s", json_is_true(value) ? "yes" : "no");
    else if (unit == TEXT)
        snprintf(text, TIC_SCALE_TEXT, "%s",
                 json_string_value(value) ? json_string_value(value) : "?");
    else
        tic_scale_count(text, (uint64_t)json_integer_value(value));
}

/* A histogram: only the counts that there are. */
static void print_times(const char *what, const json_t *list)
{
    size_t i;
    const json_t *count;

    printf("  %s:", what);
    json_array_foreach(list, i, count) printf(" %" JSON_INTEGER_FORMAT, json_integer_value(count));
    putchar('\n');
}

static void print_row(const struct stat_row *row, const json_t *value)
{
    char text[TIC_SCALE_TEXT];

    if (row->unit == TIMES) {
        print_times(row->what, value);
        return;
    }
    format(text, row->unit, value);
    printf("  %-*s %s\n", (int)WIDTH, row->what, text);
}

static void print_plain(json_t *stats)
{
    const char *group = NULL, *key;
    json_t *value;
    bool other = false;

    for (size_t i = 0; i < ROWS; i++) {
        value = rows[i].key ? json_object_get(stats, rows[i].key) : NULL;
        group = rows[i].group ? rows[i].group : group;
        if (!value)
            continue;
        if (group)
            printf("%s%s\n", i > 1 ? "\n" : "", group);
        group = NULL;
        print_row(&rows[i], value);
    }
    json_object_foreach(stats, key, value)
    {
        if (is_known(key))
            continue;
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        printf("%s  %-*s %s\n", other ? "" : "\nOther\n", (int)WIDTH, key, text ? text : "?");
        free(text);
        other = true;
    }
}

static void print_json(json_t *stats)
{
    json_t *groups = json_object(), *group = NULL;

    for (size_t i = 0; i < ROWS; i++) {
        json_t *value = rows[i].key ? json_object_get(stats, rows[i].key) : NULL;
        if (rows[i].group) {
            group = json_object();
            json_object_set_new(groups, rows[i].group, group);
        } else if (value) {
            json_object_set(group, rows[i].key, value);
        }
    }
    tic_json_print(groups, 9);
}

static int print_file(const char *path, bool as_json)
{
    json_error_t error;
    json_t *stats = json_load_file(path, 0, &error);

    if (!json_is_object(stats)) {
        bool is_read = access(path, R_OK) == 0;
        fprintf(stderr, "starpu-tic: %s: %s\n", path,
                is_read ? "this is no file of statistics. STARPU_TIC_STATS has a run write one"
                        : error.text);
        json_decref(stats);
        return is_read ? TIC_TOOL_USAGE : TIC_TOOL_FAILED;
    }
    if (as_json)
        print_json(stats);
    else
        print_plain(stats);
    json_decref(stats);
    return TIC_TOOL_OK;
}

int tic_tool_stats(int argc, char **argv)
{
    return tic_tool_report(argc, argv, print_file, true);
}
