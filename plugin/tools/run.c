/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic run: starts a program with the library preloaded and the settings in its environment:
 * in its own place, or as a child that it supervises. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/settings.h"
#include "tools/arguments.h"
#include "tools/child.h"
#include "tools/rank_count.h"
#include "tools/reach.h"
#include "tools/supervise.h"
#include "tools/tool.h"

/* Seconds. */
#define BACKOFF 0.5
#define MOST_BACKOFF 86400.0

static const char *environment_get(const char *name)
{
    return getenv(name);
}

static const char help[] =
    "\n  -d, --dir DIR          directory of the recovery lines (STARPU_TIC_DIR)\n"
    "  -p, --period SECONDS   period between checkpoints, or auto (STARPU_TIC_PERIOD)\n"
    "      --protocol NAME    tic, sel, tic+sel or off (STARPU_TIC_PROTOCOL)\n"
    "  -s, --sched POLICY     StarPU scheduling policy (STARPU_TIC_SCHED)\n"
    "      --trace FILE       what happens when, for starpu-tic report (STARPU_TIC_TRACE)\n"
    "  -r, --max-restarts N   start the program again when a signal has killed it, so often\n"
    "                         at most (0)\n"
    "      --restart-on-exit  also when it has ended with an exit status other than 0\n"
    "  -q, --quiet            no progress, and only warnings and errors "
    "(STARPU_TIC_VERBOSE=0)\n"
    "      --ranks-from WHAT  a file, or a command: at each start its first line is put in\n"
    "                         place of words {ranks}, as in mpirun -np {ranks} ./program\n"
    "      --no-progress N    give up after N restarts in a row without a new recovery line\n"
    "                         (3 when signal 9 has killed it, else 1)\n"
    "      --backoff SECONDS  before a restart; twice as long after each short run, or one\n"
    "                         without progress (0.5)\n\n"
    "The exit status is the program's, of its last run: 128 and the number of the signal that\n"
    "killed it. It is 75 when a signal of STARPU_TIC_STOP has stopped it, 78 when the start\n"
    "was refused, 70 when the replay of an earlier run diverged.";

static bool take_restarts(const char *text, void *to)
{
    unsigned long *restarts = to;
    char *end;

    errno = 0;
    *restarts = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

static bool take_idle(const char *text, void *to)
{
    return take_restarts(text, to) && *(unsigned long *)to > 0;
}

static bool take_backoff(const char *text, void *to)
{
    return tic_option_seconds(text, 0, MOST_BACKOFF, to);
}

static bool set(const char *value, void *name)
{
    return setenv(name, value, 1) == 0;
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct tic_restart_rules *rules)
{
    const struct tic_option options[] = {{"dir", 'd', set, (void *)"STARPU_TIC_DIR"},
                                         {"period", 'p', set, (void *)"STARPU_TIC_PERIOD"},
                                         {"protocol", 0, set, (void *)"STARPU_TIC_PROTOCOL"},
                                         {"sched", 's', set, (void *)"STARPU_TIC_SCHED"},
                                         {"trace", 0, set, (void *)"STARPU_TIC_TRACE"},
                                         {"max-restarts", 'r', take_restarts, &rules->most},
                                         {"no-progress", 0, take_idle, &rules->idle},
                                         {"backoff", 0, take_backoff, &rules->backoff},
                                         {"ranks-from", 0, tic_option_text, &rules->ranks_from},
                                         {"quiet", 'q', NULL, &rules->quiet},
                                         {"restart-on-exit", 0, NULL, &rules->on_exit},
                                         {0}};
    int status = tic_options_read(argc, argv, options, true, help);

    if (status >= 0)
        return status;
    if (rules->quiet && setenv("STARPU_TIC_VERBOSE", "0", 1) != 0)
        return TIC_TOOL_FAILED;
    return optind < argc ? -1 : tic_tool_usage("run", TIC_TOOL_USAGE);
}

/* The program may be in another directory when it begins. False after a message. */
static bool place_paths(void)
{
    for (size_t i = 0; i < tic_setting_count; i++) {
        const struct tic_setting_row *row = &tic_setting_rows[i];
        const char *path = getenv(row->name), *whole = path;
        if (!path || strcmp(row->kind, "path") != 0)
            continue;
        if ((whole = tic_path_absolute(path)) && setenv(row->name, whole, 1) == 0)
            continue;
        fprintf(stderr,
                "starpu-tic: %s=%s means nothing, as the working directory is gone. Name an "
                "absolute path\n",
                row->name, path);
        return false;
    }
    return true;
}

int tic_tool_run(int argc, char **argv)
{
    char ranks[TIC_RANK_COUNT];
    struct tic_restart_rules rules = {.backoff = BACKOFF, .ranks = ranks};
    struct tic_settings settings;
    char message[512];
    int status = parse_options(argc, argv, &rules);

    if (status >= 0)
        return status;
    if (rules.most > 0) /* who supervises is who knows that the program is to go on */
        setenv("STARPU_TIC_STOP", "term", 0);
    if (!place_paths())
        return TIC_TOOL_FAILED;
    if (tic_settings_read(&settings, environment_get, environ, message, sizeof(message)) != 0) {
        fprintf(stderr, "starpu-tic: %s\n", message);
        return TIC_TOOL_USAGE;
    }
    if (rules.ranks_from && !tic_rank_count_put(argv + optind, rules.ranks_from, ranks))
        return TIC_TOOL_FAILED;
    if (tic_tool_preload(argv[optind]) != 0)
        return TIC_TOOL_FAILED;
    if (settings.protocol != TIC_PROTOCOL_OFF)
        tic_reach_tell(argv[optind]);
    return rules.most == 0 ? tic_child_execute(argv + optind)
                           : tic_supervise(argv + optind, &rules, &settings);
}
