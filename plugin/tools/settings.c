/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic settings: the table of settings, plain, for the manual, or as doc/settings.md. */
#include "base/settings.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/near.h"
#include "tools/arguments.h"
#include "tools/json_text.h"
#include "tools/tool.h"

/* In the order of the table: a title where a group begins, NULL for each setting. */
static const char *const titles[] = {
#define GROUP(title) title,
#define SETTING(field, NAME, kind, fallback, values, help) NULL,
#include "base/settings.def"
#undef SETTING
};
enum { TITLES = sizeof(titles) / sizeof(titles[0]) };

struct format {
    void (*begin)(void);
    void (*group)(const char *title);
    void (*row)(const struct tic_setting_row *row);
};

static void print_nothing(void)
{
}

static void print_no_group(const char *title)
{
    (void)title;
}

static void print_plain(const struct tic_setting_row *row)
{
    printf("%s=%s\n    values: %s\n    %s\n", row->name, row->fallback, row->values, row->help);
}

static void print_group_roff(const char *title)
{
    printf(".SS ");
    tic_tool_print_roff(title);
    printf("\n");
}

static void print_row_roff(const struct tic_setting_row *row)
{
    printf(".TP\n.B ");
    tic_tool_print_roff(row->name);
    printf(" \\fR(");
    tic_tool_print_roff(row->values);
    if (row->fallback[0]) {
        printf("; default ");
        tic_tool_print_roff(row->fallback);
    }
    printf(")\n");
    tic_tool_print_roff(row->help);
    printf("\n");
}

static void begin_markdown(void)
{
    printf(
        "# Settings\n\n"
        "Environment variables. An empty one means its default; a value that is not valid, or an "
        "unknown\n`STARPU_TIC_*` variable, stops the start (status 78). Times are seconds, or have "
        "a unit: ms, "
        "s, min, h, d.\nSizes are bytes, or have one: k, M, G, T (as KiB to TiB) are powers of "
        "1024, kB, "
        "MB, GB, TB of 1000.\nThis page is what `starpu-tic settings --markdown` prints.\n");
}

static void print_group_markdown(const char *title)
{
    printf("\n## %s\n\n| setting | values | default | meaning |\n|---|---|---|---|\n", title);
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\%c" : "%c", *text);
}

static void print_row_markdown(const struct tic_setting_row *row)
{
    printf("| `%s` | ", row->name);
    print_cell(row->values);
    printf(" | %s | ", row->fallback);
    print_cell(row->help);
    printf(" |\n");
}

static int print_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tic_setting_count; i++) {
        const struct tic_setting_row *row = &tic_setting_rows[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", row->name, "default",
                                              row->fallback, "values", row->values, "meaning",
                                              row->help));
    }
    tic_json_print(list, 17);
    return TIC_TOOL_OK;
}

/* With its prefix or without. */
static int print_one(const char *name)
{
    const size_t prefix = strlen(TIC_SETTING_PREFIX);
    const struct tic_setting_row *meant = NULL;

    for (size_t i = 0; i < tic_setting_count; i++) {
        const struct tic_setting_row *row = &tic_setting_rows[i];
        if (strcasecmp(name, row->name) == 0 || strcasecmp(name, row->name + prefix) == 0) {
            print_plain(row);
            return TIC_TOOL_OK;
        }
        if (tic_near(name, strlen(name), row->name) ||
            tic_near(name, strlen(name), row->name + prefix))
            meant = row;
    }
    fprintf(stderr, "starpu-tic: no setting %s%s%s%s\n", name, meant ? ". Did you mean " : "",
            meant ? meant->name : "", meant ? "?" : "");
    return TIC_TOOL_USAGE;
}

int tic_tool_settings(int argc, char **argv)
{
    bool roff = false, markdown = false, as_json = false;
    const struct tic_option options[] = {{"roff", 0, NULL, &roff},
                                         {"markdown", 0, NULL, &markdown},
                                         {"json", 'j', NULL, &as_json},
                                         {0}};
    struct format format = {print_nothing, print_no_group, print_plain};
    const struct tic_setting_row *row = tic_setting_rows;
    int status = tic_options_read(argc, argv, options, false, NULL);

    if (status >= 0)
        return status;
    if (as_json)
        return print_json();
    if (optind < argc) {
        for (status = TIC_TOOL_OK; optind < argc; optind++)
            status = print_one(argv[optind]) == TIC_TOOL_OK ? status : TIC_TOOL_USAGE;
        return status;
    }
    if (roff)
        format = (struct format){print_nothing, print_group_roff, print_row_roff};
    if (markdown)
        format = (struct format){begin_markdown, print_group_markdown, print_row_markdown};
    format.begin();
    for (unsigned i = 0; i < TITLES; i++)
        if (titles[i])
            format.group(titles[i]);
        else
            format.row(row++);
    return TIC_TOOL_OK;
}
