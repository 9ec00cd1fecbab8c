/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/rank_count.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_plain_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) != 0;
}

/* The first line must be a number, and nothing else. */
static bool scan(FILE *file, char number[TIC_RANK_COUNT])
{
    char line[64] = "";
    unsigned ranks = 0;
    int end = 0;

    if (!file || !fgets(line, sizeof(line), file) || !isdigit((unsigned char)line[0]) ||
        sscanf(line, "%6u %n", &ranks, &end) < 1 || line[end] != '\0' || ranks == 0)
        return false;
    snprintf(number, TIC_RANK_COUNT, "%u", ranks);
    return true;
}

static bool ask(const char *from, char number[TIC_RANK_COUNT])
{
    bool is_file = is_plain_file(from);
    FILE *file = is_file ? fopen(from, "re") : popen(from, "re");
    char found[TIC_RANK_COUNT], rest[256];
    bool fine = scan(file, found);

    while (file && fgets(rest, sizeof(rest), file))
        ;
    if (file && (is_file ? fclose(file) : pclose(file)) != 0)
        fine = false;
    if (fine)
        strcpy(number, found);
    return fine;
}

bool tic_rank_count_put(char **command, const char *from, char number[TIC_RANK_COUNT])
{
    bool has = false;

    number[0] = '\0';
    for (; *command; command++)
        if (strcmp(*command, "{ranks}") == 0) {
            *command = number;
            has = true;
        }
    if (!has)
        fputs("starpu-tic: --ranks-from: no word of the command is {ranks}\n", stderr);
    else if (!ask(from, number))
        fprintf(stderr, "starpu-tic: --ranks-from %s: the first line is no number of ranks\n",
                from);
    return number[0] != '\0';
}

void tic_rank_count_renew(const char *from, char number[TIC_RANK_COUNT])
{
    if (!ask(from, number))
        fprintf(stderr,
                "starpu-tic: --ranks-from %s: the first line is no number of ranks: it stays %s\n",
                from, number);
}
