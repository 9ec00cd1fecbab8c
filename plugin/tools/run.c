/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic run: starts a program with the library preloaded and the settings in its environment.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "tools/tool.h"

/* 127 and 126, as the shell has them for a program that cannot be started. */
enum { STATUS_NOT_FOUND = 127, STATUS_NOT_RUNNABLE = 126 };

static const char *environment_get(const char *name)
{
    return getenv(name);
}

/* 0, or an exit status. */
static int parse_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"dir", required_argument, NULL, 'd'},      {"period", required_argument, NULL, 'p'},
        {"protocol", required_argument, NULL, 'P'}, {"sched", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option;

    while ((option = getopt_long(argc, argv, "+d:p:s:h", options, NULL)) != -1) {
        const char *name = option == 'd'   ? "STARPU_TIC_DIR"
                           : option == 'p' ? "STARPU_TIC_PERIOD"
                           : option == 'P' ? "STARPU_TIC_PROTOCOL"
                           : option == 's' ? "STARPU_TIC_SCHED"
                                           : NULL;
        if (option == 'h') {
            tic_tool_usage("run", TIC_TOOL_OK);
            puts("\n  -d, --dir DIR          directory of the recovery lines (STARPU_TIC_DIR)\n"
                 "  -p, --period SECONDS   period between checkpoints (STARPU_TIC_PERIOD)\n"
                 "      --protocol NAME    tic, sel, tic+sel or off (STARPU_TIC_PROTOCOL)\n"
                 "  -s, --sched POLICY     StarPU scheduling policy (STARPU_TIC_SCHED)\n\n"
                 "The exit status is the program's; 78 when the start was refused, 70 when the\n"
                 "replay of an earlier run diverged.");
            exit(TIC_TOOL_OK);
        }
        if (!name)
            return tic_tool_usage("run", TIC_TOOL_USAGE);
        setenv(name, optarg, 1);
    }
    return optind < argc ? 0 : tic_tool_usage("run", TIC_TOOL_USAGE);
}

int tic_tool_run(int argc, char **argv)
{
    struct tic_settings settings;
    char message[512];
    int status = parse_options(argc, argv);

    if (status)
        return status;
    if (tic_settings_read(&settings, environment_get, environ, message, sizeof(message)) != 0) {
        fprintf(stderr, "starpu-tic: %s\n", message);
        return TIC_TOOL_USAGE;
    }
    if (tic_tool_preload() != 0)
        return TIC_TOOL_FAILED;
    execvp(argv[optind], argv + optind);
    fprintf(stderr, "starpu-tic: cannot run %s: %s\n", argv[optind], strerror(errno));
    return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE;
}
