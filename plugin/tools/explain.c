/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic explain: more of messages that name it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/tool.h"

static const struct {
    const char *name, *text;
} rows[] = {
#define EXPLAIN(name, text) {name, text},
#include "tools/explain.def"
#undef EXPLAIN
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_row(size_t i, bool roff)
{
    if (!roff) {
        printf("%s: %s\n", rows[i].name, rows[i].text);
        return;
    }
    printf(".TP\n.B ");
    tic_tool_print_roff(rows[i].name);
    printf("\n");
    tic_tool_print_roff(rows[i].text);
    printf("\n");
}

static int explain(const char *name)
{
    size_t i = 0;

    while (i < ROWS && strcmp(rows[i].name, name) != 0)
        i++;
    if (i == ROWS) {
        fprintf(stderr, "starpu-tic: no message names \"%s\"; `starpu-tic explain` lists all\n",
                name);
        return TIC_TOOL_USAGE;
    }
    print_row(i, false);
    return TIC_TOOL_OK;
}

int tic_tool_explain(int argc, char **argv)
{
    bool roff = false;
    const struct tic_option options[] = {{"roff", 0, NULL, &roff}, {0}};
    int status = tic_options_read(argc, argv, options, false, NULL);

    if (status >= 0)
        return status;
    status = TIC_TOOL_OK;
    for (size_t i = 0; optind == argc && i < ROWS; i++)
        print_row(i, roff);
    for (; optind < argc && status == TIC_TOOL_OK; optind++)
        status = explain(argv[optind]);
    return status;
}
