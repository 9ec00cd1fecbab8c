/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/line.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

static const char prefix[] = "job-line-", heading[] = "starpu-tic job line 1\n";

/* ---- parts ----------------------------------------------------------------------------------- */

int tic_job_part_print(const struct tic_job_part *part, char *text, size_t size)
{
    return snprintf(text, size,
                    "%s %" PRIu64 " %016" PRIx64 " %" PRIu64 " %016" PRIx64 " %" PRIu64
                    " %016" PRIx64,
                    part->name, part->size, part->hash, part->late_size, part->late_hash,
                    part->ranks_size, part->ranks_hash);
}

bool tic_job_part_scan(struct tic_job_part *part, const char *text)
{
    part->ranks_size = part->ranks_hash = 0; /* lines of before lack them */
    return sscanf(text, "%63s %" SCNu64 " %" SCNx64 " %" SCNu64 " %" SCNx64 " %" SCNu64 " %" SCNx64,
                  part->name, &part->size, &part->hash, &part->late_size, &part->late_hash,
                  &part->ranks_size, &part->ranks_hash) >= 5;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void print_part(FILE *file, unsigned rank, const struct tic_job_part *part)
{
    char text[256];

    tic_job_part_print(part, text, sizeof(text));
    fprintf(file, "part %u %lu %s\n", rank, part->count, text);
    for (unsigned long i = 0; i < part->count; i++)
        fprintf(file, "%s %" PRId32 " %" PRId64 " %" PRIu64 "\n",
                part->counts[i].sends ? "to" : "from", part->counts[i].peer, part->counts[i].tag,
                part->counts[i].count);
}

static bool is_forced(FILE *file)
{
    return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

static bool print(FILE *file, const struct tic_job_line *line)
{
    fprintf(file,
            "%snumber %" PRIu64 "\nin-transit %" PRIu64 "\nranks %u\ngeneration %u\nany-ranks %s\n",
            heading, line->number, line->in_transit, line->ranks, line->generation,
            line->why[0] ? line->why : "yes");
    for (unsigned i = 0; i < line->ranks; i++)
        print_part(file, i, &line->parts[i]);
    fprintf(file, "end\n");
    return is_forced(file);
}

static int force_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;

    if (fd >= 0)
        close(fd);
    return status;
}

/* Lines have numbers from 1 on. */
static bool name_line(const char *directory, uint64_t number, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s/%s%" PRIu64, directory, prefix, number) < PATH_MAX;
}

int tic_job_line_write(const char *directory, const struct tic_job_line *line,
                       void (*written)(void))
{
    char name[PATH_MAX], fresh[PATH_MAX];

    if (!name_line(directory, line->number, name) || !name_line(directory, 0, fresh))
        return -ENAMETOOLONG;
    FILE *file = fopen(fresh, "we");
    int status = file && print(file, line) ? 0 : -errno;
    if (file && fclose(file) != 0 && status == 0)
        status = -errno;
    if (status == 0 && written)
        written();
    if (status == 0 && rename(fresh, name) != 0)
        status = -errno;
    if (status)
        unlink(fresh);
    if (status == 0 && (status = force_directory(directory)) != 0)
        unlink(name);
    return status;
}

void tic_job_line_remove(const char *directory, uint64_t number)
{
    char name[PATH_MAX];

    if (name_line(directory, number, name))
        unlink(name);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_count(FILE *file, struct tic_channel_count *count)
{
    char way[8] = "";
    bool fine = fscanf(file, "%7s %" SCNd32 " %" SCNd64 " %" SCNu64 "\n", way, &count->peer,
                       &count->tag, &count->count) == 4;

    count->sends = strcmp(way, "to") == 0;
    return fine && (count->sends || strcmp(way, "from") == 0);
}

static bool read_part(FILE *file, unsigned rank, struct tic_job_part *part)
{
    unsigned told;
    char text[256];

    if (fscanf(file, "part %u %lu %255[^\n]\n", &told, &part->count, text) != 3 || told != rank ||
        !tic_job_part_scan(part, text) || part->count > INT_MAX)
        return false;
    part->counts = calloc(part->count + 1, sizeof(*part->counts));
    bool fine = part->counts != NULL;
    for (unsigned long i = 0; fine && i < part->count; i++)
        fine = read_count(file, &part->counts[i]);
    return fine;
}

/* Lines of before lack it. */
static void read_any(FILE *file, struct tic_job_line *line)
{
    if (fscanf(file, "generation %u\nany-ranks %127[^\n]\n", &line->generation, line->why) != 2)
        strcpy(line->why, "an earlier version has written it");
    else if (strcmp(line->why, "yes") == 0)
        line->why[0] = '\0';
}

static bool read_all(FILE *file, struct tic_job_line *line)
{
    char first[64], end[8] = "";

    if (!fgets(first, sizeof(first), file) || strcmp(first, heading) != 0 ||
        fscanf(file, "number %" SCNu64 "\nin-transit %" SCNu64 "\nranks %u\n", &line->number,
               &line->in_transit, &line->ranks) != 3 ||
        line->ranks > INT_MAX)
        return false;
    read_any(file, line);
    line->parts = calloc(line->ranks + 1, sizeof(*line->parts));
    bool fine = line->parts != NULL;
    for (unsigned i = 0; fine && i < line->ranks; i++)
        fine = read_part(file, i, &line->parts[i]);
    return fine && fscanf(file, "%7s", end) == 1 && strcmp(end, "end") == 0;
}

int tic_job_line_read(const char *directory, uint64_t number, struct tic_job_line *line)
{
    char name[PATH_MAX];
    FILE *file = name_line(directory, number, name) ? fopen(name, "re") : NULL;

    *line = (struct tic_job_line){.number = 0};
    if (!file)
        return -errno;
    int status = read_all(file, line) ? 0 : -EBADMSG;
    fclose(file);
    if (status)
        tic_job_line_clear(line);
    return status;
}

void tic_job_line_clear(struct tic_job_line *line)
{
    for (unsigned i = 0; i < line->ranks && line->parts; i++)
        free(line->parts[i].counts);
    free(line->parts);
    *line = (struct tic_job_line){.number = 0};
}

static int is_older(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;

    return *one > *other ? -1 : *one < *other;
}

uint64_t *tic_job_line_list(const char *directory, unsigned long *count)
{
    unsigned long capacity = 0;
    uint64_t number, *numbers = tic_grow(NULL, &capacity, 1, sizeof(number));
    DIR *stream = numbers ? opendir(directory) : NULL;
    struct dirent *entry;
    char *end;

    *count = 0;
    while (stream && (entry = readdir(stream))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        number = strtoull(entry->d_name + strlen(prefix), &end, 10);
        if (*end == '\0' && number > 0 && tic_append(numbers, *count, capacity, &number) != 0)
            break;
    }
    if (stream)
        closedir(stream);
    if (numbers)
        qsort(numbers, *count, sizeof(*numbers), is_older);
    return numbers;
}

/* ---- late messages --------------------------------------------------------------------------- */

/* The file: of each this, then its bytes. */
struct late_header {
    int64_t peer, tag;
    uint64_t number, size;
};

void tic_job_folder(const char *directory, unsigned generation, unsigned rank, char *path)
{
    if (generation > 0)
        snprintf(path, PATH_MAX, "%s/p%u.%u", directory, rank, generation);
    else
        snprintf(path, PATH_MAX, "%s/p%u", directory, rank);
}

unsigned tic_job_newest_generation(const char *directory)
{
    unsigned newest = 0, generation;
    DIR *stream = opendir(directory);
    struct dirent *entry;

    while (stream && (entry = readdir(stream)))
        if (sscanf(entry->d_name, "p0.%u", &generation) == 1 && generation > newest)
            newest = generation;
    if (stream)
        closedir(stream);
    return newest;
}

void tic_job_beside(const char *directory, unsigned generation, unsigned rank, const char *what,
                    const char *part, char *path)
{
    char folder[PATH_MAX];

    tic_job_folder(directory, generation, rank, folder);
    if (snprintf(path, PATH_MAX, "%s/%s%s%s", folder, what, what[0] ? "-" : "", part) >= PATH_MAX)
        path[0] = '\0';
}

int tic_late_write(const char *path, const struct tic_late *late, unsigned long count)
{
    FILE *file = fopen(path, "we");
    bool fine = file != NULL;

    for (unsigned long i = 0; fine && i < count; i++) {
        const struct late_header header = {late[i].peer, late[i].tag, late[i].number, late[i].size};
        fine = fwrite(&header, sizeof(header), 1, file) == 1 &&
               fwrite(late[i].bytes, 1, late[i].size, file) == late[i].size;
    }
    fine = fine && is_forced(file);
    if (file && fclose(file) != 0)
        fine = false;
    return fine ? 0 : -EIO;
}

static bool read_late(FILE *file, struct tic_late *late)
{
    struct late_header header;

    if (fread(&header, sizeof(header), 1, file) != 1)
        return false;
    *late = (struct tic_late){(int)header.peer, header.tag, header.number, malloc(header.size + 1),
                              header.size};
    if (late->bytes && fread(late->bytes, 1, late->size, file) == late->size)
        return true;
    free(late->bytes);
    return false;
}

int tic_late_read(const char *path, struct tic_late **late, unsigned long *count)
{
    FILE *file = fopen(path, "re");
    unsigned long capacity = 0;
    struct tic_late one;

    *late = NULL;
    *count = 0;
    if (!file)
        return -errno;
    while (read_late(file, &one))
        if (tic_append(*late, *count, capacity, &one) != 0)
            break;
    int status = feof(file) ? 0 : -EIO;
    fclose(file);
    return status;
}

/* ---- parts as they are -------------------------------------------------------------------------
 */

static bool is_good(const char *path, uint64_t size, uint64_t hash,
                    int (*ask)(const char *path, uint64_t *size, uint64_t *hash))
{
    uint64_t found_size, found_hash;

    return ask(path, &found_size, &found_hash) == 0 && found_size == size && found_hash == hash;
}

int tic_job_line_find_bad(const char *directory, const struct tic_job_line *line,
                          int (*hash)(const char *path, uint64_t *size, uint64_t *hash))
{
    char path[PATH_MAX];

    for (unsigned i = 0; i < line->ranks; i++) {
        const struct tic_job_part *part = &line->parts[i];
        tic_job_beside(directory, line->generation, i, "", part->name, path);
        if (!is_good(path, part->size, part->hash, hash))
            return (int)i;
        tic_job_beside(directory, line->generation, i, "late", part->name, path);
        if (part->late_size > 0 && !is_good(path, part->late_size, part->late_hash, hash))
            return (int)i;
        tic_job_beside(directory, line->generation, i, "ranks", part->name, path);
        if (part->ranks_size > 0 && !is_good(path, part->ranks_size, part->ranks_hash, hash))
            return (int)i;
    }
    return -1;
}
