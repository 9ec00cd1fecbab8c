/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/ranks.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"

static struct {
    const struct tic_ranks *library;
    unsigned rank, count;
} here; /* immutable before main() */

static const struct {
    const char *count, *rank;
} variables[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
};

static unsigned read_number(const char *name)
{
    const char *text = getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

unsigned tic_ranks_launched(void)
{
    unsigned most = 1;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        unsigned told = read_number(variables[i].count);
        most = told > most ? told : most;
    }
    return most;
}

const struct tic_ranks *tic_ranks_library(void)
{
    return here.library;
}

unsigned tic_ranks_rank(void)
{
    return here.rank;
}

unsigned tic_ranks_count(void)
{
    return here.count;
}

static bool are_wanted(void)
{
    const char *wanted = getenv(TIC_SETTING_PREFIX "RANKS");
    const char *protocol = getenv(TIC_SETTING_PREFIX "PROTOCOL");

    return wanted && strcmp(wanted, "try") == 0 && (!protocol || strcmp(protocol, "off") != 0);
}

/* One rank is a process as any other, unless it goes on from lines of several. */
static bool has_job_lines(void)
{
    const char *path = getenv(TIC_SETTING_PREFIX "DIR");
    DIR *stream = path ? opendir(path) : NULL;
    bool has = false;

    for (struct dirent *entry; stream && !has && (entry = readdir(stream));)
        has = strncmp(entry->d_name, "job-line-", 9) == 0;
    if (stream)
        closedir(stream);
    return has;
}

static void take(const struct tic_ranks *library, unsigned rank, unsigned count)
{
    here.count = count;
    here.rank = rank;
    here.library = library;
    tic_log_set_rank(rank);
}

bool tic_ranks_take(const struct tic_ranks *library)
{
    if (!are_wanted())
        return false;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && !here.library; i++)
        if (read_number(variables[i].count) > 1 && getenv(variables[i].rank))
            take(library, read_number(variables[i].rank), read_number(variables[i].count));
    if (!here.library && tic_ranks_launched() == 1 && has_job_lines())
        take(library, 0, 1);
    return here.library != NULL;
}
