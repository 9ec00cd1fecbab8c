/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the checkpoints of a run cost, as its recovery lines or its statistics tell. */
#include "tools/arguments.h"
#include "tools/measured.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store.h"
#include "tools/tool.h"

static bool is_complete(const struct tic_measured *measured)
{
    return measured->cost >= 0 && measured->latency > 0 && measured->period > 0;
}

/* Lines come from the newest one on. */
static bool take_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct tic_measured *measured = arg;
    const struct tic_account *account = &line->account;

    (void)name;
    if (status == 0)
        *measured = (struct tic_measured){.line = line->number,
                                          .cost = (double)account->cost * 1e-9,
                                          .latency = (double)account->latency * 1e-9,
                                          .period = (double)account->period * 1e-9};
    return status == 0 && is_complete(measured);
}

static int read_directory(const char *path, struct tic_measured *measured)
{
    struct tic_store store;
    int status = tic_tool_open_store(&store, path);

    if (status == 0) {
        status = tic_store_walk(&store, take_line, measured);
        tic_store_close(&store);
    }
    if (status)
        tic_arguments_cannot_read(path, status);
    else if (!is_complete(measured))
        fprintf(stderr,
                "starpu-tic: no undamaged recovery line in %s tells what a checkpoint costs: each "
                "run's second line is the first that does\n",
                path);
    return is_complete(measured) ? 0 : -1;
}

static int read_statistics(const char *path, struct tic_measured *measured)
{
    json_error_t error;
    json_t *stats = json_load_file(path, 0, &error);

    measured->cost = json_number_value(json_object_get(stats, "checkpoint_cost_seconds"));
    measured->latency = json_number_value(json_object_get(stats, "checkpoint_latency_seconds"));
    measured->period = json_number_value(json_object_get(stats, "period_seconds"));
    if (!stats)
        fprintf(stderr, "starpu-tic: cannot read %s: %s\n", path, error.text);
    else if (!is_complete(measured))
        fprintf(stderr, "starpu-tic: %s does not tell what a checkpoint costs\n", path);
    json_decref(stats);
    return is_complete(measured) ? 0 : -1;
}

int tic_measured_read(const char *path, struct tic_measured *measured)
{
    struct tic_measured found = {0};
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    int status = is_file ? read_statistics(path, &found) : read_directory(path, &found);

    if (status)
        return status;
    /* A checkpoint begins so early that its line is committed when the period is over. */
    double early = found.latency < found.period / 2 ? found.latency : found.period / 2;
    found.between = found.period - early;
    *measured = found;
    return 0;
}
