/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/core.h"
#include "mpi/line.h"
#include "mpi/sources.h"

/* Immutable once main() runs. */
static struct {
    struct tic_restart found;
    struct tic_late *late;
    unsigned long late_count;
    char *directory; /* of the job */
} restart;

const struct tic_restart *tic_restart_found(void)
{
    return &restart.found;
}

static bool are_parts_good(const char *directory, const struct tic_job_line *line)
{
    int bad = tic_job_line_find_bad(directory, line, tic_mpi_core->hash);

    if (bad >= 0 && tic_mpi_core->rank == 0)
        tic_mpi_core->log(TIC_LOG_WARN,
                          "job line %" PRIu64 " cannot be used: the part of rank %d is missing, or "
                          "damaged",
                          line->number, bad);
    return bad < 0;
}

static int take_counts(const struct tic_job_line *line)
{
    const struct tic_job_part *own = &line->parts[tic_mpi_core->rank];
    struct tic_channel_counts *counts = malloc(line->ranks * sizeof(*counts));
    unsigned long count;

    for (unsigned i = 0; i < line->ranks && counts; i++)
        counts[i] = (struct tic_channel_counts){line->parts[i].counts, line->parts[i].count};
    struct tic_channel_count *incoming =
        counts ? tic_channels_incoming(counts, line->ranks, tic_mpi_core->rank, &count) : NULL;
    bool fine = incoming && tic_channels_recover(own->counts, own->count, incoming, count);
    free(incoming);
    free(counts);
    return fine ? 0 : -ENOMEM;
}

static int continue_table(const char *directory, const struct tic_job_line *line)
{
    const struct tic_job_part *own = &line->parts[tic_mpi_core->rank];
    struct tic_table table = {.end = 0};
    char path[PATH_MAX];

    tic_job_beside(directory, line->generation, tic_mpi_core->rank, "ranks", own->name, path);
    int status = own->ranks_size > 0 ? tic_table_read(path, &table) : 0;
    if (status == 0 && table.end > 0)
        status = tic_sources_continue(&table);
    tic_table_clear(&table);
    return status;
}

static int take(const char *directory, const struct tic_job_line *line,
                struct tic_ranks_choice *choice)
{
    const struct tic_job_part *own = &line->parts[tic_mpi_core->rank];
    char path[PATH_MAX];
    int status = take_counts(line);

    tic_job_beside(directory, line->generation, tic_mpi_core->rank, "late", own->name, path);
    if (status == 0 && own->late_size > 0)
        status = tic_late_read(path, &restart.late, &restart.late_count);
    status = status ? status : continue_table(directory, line);
    strcpy(choice->part, own->name);
    restart.found.generation = line->generation;
    return status ? status : 1;
}

/* ---- results of tasks ------------------------------------------------------------------------ */

static bool name_mark(unsigned rank, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/results-%u", restart.directory, rank) < PATH_MAX;
}

/* The name is on the disk, or gone from there. */
static int force_names(void)
{
    int fd = open(restart.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd < 0 ? (errno == ENOENT ? 0 : -errno) : fsync(fd) == 0 ? 0 : -errno;

    if (fd >= 0)
        close(fd);
    return status;
}

int tic_restart_log(bool logs)
{
    char path[PATH_MAX];

    if (!restart.directory || !name_mark(tic_mpi_core->rank, path))
        return -ENAMETOOLONG;
    int fd = logs ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (logs ? fd < 0 : unlink(path) != 0 && errno != ENOENT)
        return -errno;
    if (fd >= 0)
        close(fd);
    return force_names();
}

bool tic_restart_all_log(void)
{
    char path[PATH_MAX];
    unsigned rank = 0;

    while (rank < tic_mpi_core->count && restart.directory && name_mark(rank, path) &&
           access(path, F_OK) == 0)
        rank++;
    return rank == tic_mpi_core->count;
}

/* Logs of what came after an older line may be gone on some ranks. */
static bool may_use_results(void)
{
    return restart.found.number == restart.found.newest && tic_restart_all_log();
}

/* ---- the line -------------------------------------------------------------------------------- */

/* What was done is left out, and its results come back from all parts: sources.c. */
static int take_others(const char *directory, const struct tic_job_line *line,
                       struct tic_ranks_choice *choice)
{
    struct tic_table *tables;
    char why[TIC_REASON];

    snprintf(why, sizeof(why), "%s", line->why);
    if (why[0] || !tic_tables_read(directory, line, &tables, why)) {
        if (!choice->why[0])
            memcpy(choice->why, why, sizeof(why));
        return 0;
    }
    /* What a newer line has would be lost for what is hardly more than a run from the beginning. */
    if (choice->why[0] && !tic_tables_have_begun(tables, line->ranks)) {
        tic_tables_clear(tables, line->ranks);
        return 0;
    }
    int status = tic_sources_open(directory, line, tables);
    restart.found.generation = line->generation + 1;
    return status ? status : 1;
}

static int take_newest(const char *directory, const uint64_t *numbers, unsigned long count,
                       struct tic_ranks_choice *choice)
{
    int status = 0;

    for (unsigned long i = 0; i < count && status == 0; i++) {
        struct tic_job_line line;
        if (tic_job_line_read(directory, numbers[i], &line) != 0)
            continue;
        bool as_many = line.ranks == tic_mpi_core->count;
        choice->ranks = line.ranks;
        if (are_parts_good(directory, &line))
            status = (as_many ? take : take_others)(directory, &line, choice);
        choice->number = status == 1 ? line.number : 0;
        tic_job_line_clear(&line);
    }
    return status == 0 && choice->why[0] ? -ERANGE : status;
}

int tic_restart_choose(const char *directory, struct tic_ranks_choice *choice)
{
    unsigned long count;
    uint64_t *numbers = tic_job_line_list(directory, &count);
    char path[PATH_MAX];

    free(restart.directory);
    restart.directory = strdup(directory);
    restart.found.newest = count > 0 ? numbers[0] : 0;
    int status =
        numbers && restart.directory ? take_newest(directory, numbers, count, choice) : -ENOMEM;
    free(numbers);
    restart.found.number = choice->number;
    choice->results = status == 1 && choice->ranks == tic_mpi_core->count && may_use_results();
    tic_job_folder("", restart.found.generation, tic_mpi_core->rank, path);
    memcpy(choice->folder, path + 1, sizeof(choice->folder) - 1);
    return status;
}

const struct tic_late *tic_restart_find_late(int peer, int64_t tag, uint64_t number)
{
    for (unsigned long i = 0; i < restart.late_count; i++)
        if (restart.late[i].peer == peer && restart.late[i].tag == tag &&
            restart.late[i].number == number)
            return &restart.late[i];
    return NULL;
}
