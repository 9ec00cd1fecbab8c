/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic failpoints: the table of failpoints. */
#include "base/failpoint.h"

#include <stdio.h>

#include "tools/arguments.h"
#include "tools/tool.h"

int tic_tool_failpoints(int argc, char **argv)
{
    bool roff = false;
    const struct tic_option options[] = {{"roff", 0, NULL, &roff}, {0}};
    int status = tic_options_read(argc, argv, options, false, NULL);

    if (status >= 0)
        return status;
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
