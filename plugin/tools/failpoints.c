/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic failpoints: the table of failpoints. */
#include "base/failpoint.h"

#include <getopt.h>
#include <stdio.h>

#include "tools/tool.h"

int tic_tool_failpoints(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"roff", no_argument, NULL, 'r'}, {0}};
    int option, roff = 0;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option != 'r')
            return tic_tool_usage("failpoints", option == 'h' ? TIC_TOOL_OK : TIC_TOOL_USAGE);
        roff = 1;
    }
    for (int i = 0; i < TIC_FAIL_COUNT; i++) {
        if (roff) {
            printf(".TP\n.B ");
            tic_tool_print_roff(tic_failpoint_rows[i].name);
            printf("\n");
            tic_tool_print_roff(tic_failpoint_rows[i].where);
            printf("\n");
        } else {
            printf("%-18s %s\n", tic_failpoint_rows[i].name, tic_failpoint_rows[i].where);
        }
    }
    return TIC_TOOL_OK;
}
