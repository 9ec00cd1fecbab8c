/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/ranks.h"

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

bool tic_ranks_take(const struct tic_ranks *library)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && !here.library; i++)
        if (are_wanted() && read_number(variables[i].count) > 1 && getenv(variables[i].rank)) {
            here.count = read_number(variables[i].count);
            here.rank = read_number(variables[i].rank);
            here.library = library;
            tic_log_set_rank(here.rank);
        }
    return here.library != NULL;
}
