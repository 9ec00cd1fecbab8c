/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic settings: the table of settings. */
#include "base/settings.h"

#include <getopt.h>
#include <stdio.h>

#include "tools/tool.h"

static void print_plain(const struct tic_setting_row *row)
{
    printf("%s=%s\n    values: %s\n    %s\n", row->name, row->fallback, row->values, row->help);
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

int tic_tool_settings(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"roff", no_argument, NULL, 'r'}, {0}};
    void (*print)(const struct tic_setting_row *) = print_plain;
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option != 'r')
            return tic_tool_usage("settings", option == 'h' ? TIC_TOOL_OK : TIC_TOOL_USAGE);
        print = print_row_roff;
    }
    for (size_t i = 0; i < tic_setting_count; i++)
        print(&tic_setting_rows[i]);
    return TIC_TOOL_OK;
}
