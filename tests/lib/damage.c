/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damages a store in random ways, one after the other, and judges each as the restart would: the
 * newest line that passes all checks must be, bit for bit, a line that was there before, or there
 * is none; and so must the records of forced checkpoints. The damage is undone.
 *
 * damage DIRECTORY SEED FLIPS TRUNCATIONS SPLICES   prints how they were judged; 1: one is wrong
 * damage DIRECTORY SEED                             leaves one of a random kind, and tells it */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/judge.h"
#include "lib/random.h"
#include "store/forced.h"
#include "store/store.h"

enum { FILES = 64, LINES = 16, RECORDS = 4096, MOST_SPLICED = 8192, TEXT = 256 };

struct file {
    char name[64];
    char *bytes;
    uint64_t size;
};

static const char *directory;
static struct file files[FILES];
static unsigned file_count;
static uint64_t total;
static uint64_t numbers[LINES], contents[LINES]; /* of the lines as they were */
static unsigned line_count;
static uint64_t records[RECORDS];
static unsigned record_count;

static void require(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(2);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int at(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open(directory, O_RDONLY | O_DIRECTORY);
    require(fd >= 0, directory);
    return fd;
}

static void write_file(const char *name, const char *bytes, uint64_t size)
{
    int fd = openat(at(), name, O_WRONLY | O_TRUNC);
    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, name);
}

static void load_files(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;

    require(dir != NULL, directory);
    while ((entry = readdir(dir)) && file_count < FILES) {
        struct file *file = &files[file_count];
        struct stat info;
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(file->name))
            continue;
        int fd = openat(at(), entry->d_name, O_RDONLY);
        require(fd >= 0 && fstat(fd, &info) == 0, entry->d_name);
        strcpy(file->name, entry->d_name);
        file->size = (uint64_t)info.st_size;
        file->bytes = malloc(file->size + 1);
        require(file->bytes && read(fd, file->bytes, file->size) == info.st_size, file->name);
        close(fd);
        total += file->size;
        file_count++;
    }
    closedir(dir);
    require(file_count > 0 && total > 0, "an empty store");
}

/* ---- judging -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, hash + size);
}

enum outcome { NEWEST, OLDER, REFUSED, WRONG };
static const char *const outcome_names[] = {"harmless", "older line", "refused", "wrong"};

struct judgement {
    struct tic_store *store;
    bool first; /* the store as it was */
    enum outcome outcome;
};

static bool note_record(void *arg, const struct tic_log_record *record)
{
    struct judgement *judgement = arg;
    uint64_t hash =
        mix(mix(2, &record->kind, sizeof(record->kind)), record->words, record->count * 8);
    bool known = false;

    if (judgement->first && record_count < RECORDS)
        records[record_count++] = hash;
    for (unsigned i = 0; i < record_count && !known; i++)
        known = records[i] == hash;
    if (!known)
        judgement->outcome = WRONG;
    return true;
}

static bool judge_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct judgement *judgement = arg;

    (void)name;
    if (status == -EPROTONOSUPPORT || status == -ENOTSUP)
        return true; /* refused */
    if (status || tic_store_check(judgement->store, line) != 0)
        return false;
    uint64_t content = tic_judge_content(line);
    if (judgement->first && line_count < LINES) {
        numbers[line_count] = line->number;
        contents[line_count++] = content;
        return false;
    }
    judgement->outcome = WRONG;
    for (unsigned i = 0; i < line_count; i++)
        if (numbers[i] == line->number && contents[i] == content)
            judgement->outcome = i == 0 ? NEWEST : OLDER;
    return true;
}

static enum outcome judge(bool first)
{
    struct tic_store store;
    struct judgement judgement = {&store, first, REFUSED};

    require(tic_store_open(&store, directory, TIC_STORE_READ, false, &tic_h5_ops) == 0, directory);
    require(tic_store_walk(&store, judge_line, &judgement) == 0, "walk");
    require(tic_eventlog_walk(&store, note_record, &judgement) == 0, "log");
    tic_store_close(&store);
    return judgement.outcome;
}

/* ---- damage --------------------------------------------------------------------------------- */

enum kind { FLIP, TRUNCATION, SPLICE, KINDS };
static const char *const kind_names[] = {"bit flips", "truncations", "spliced blocks"};

/* A file, and a place in it: every byte of the store is as likely. */
static struct file *choose(struct tic_random *random, uint64_t *offset)
{
    uint64_t byte = tic_random_below(random, total);
    struct file *file = files;

    while (byte >= file->size) {
        byte -= file->size;
        file++;
    }
    *offset = byte;
    return file;
}

static struct file *apply(struct tic_random *random, enum kind kind, char text[TEXT])
{
    uint64_t offset, from = 0;
    struct file *file = choose(random, &offset);
    char *bytes = malloc(file->size);

    require(bytes != NULL, "memory");
    memcpy(bytes, file->bytes, file->size);
    if (kind == FLIP) {
        unsigned bit = (unsigned)tic_random_below(random, 8);
        bytes[offset] = (char)(bytes[offset] ^ 1 << bit);
        snprintf(text, TEXT, "%s: bit %u of byte %llu flipped", file->name, bit,
                 (unsigned long long)offset);
        write_file(file->name, bytes, file->size);
    } else if (kind == TRUNCATION) {
        snprintf(text, TEXT, "%s: truncated to %llu bytes", file->name, (unsigned long long)offset);
        write_file(file->name, bytes, offset);
    } else {
        const struct file *source = choose(random, &from);
        uint64_t size = 1 + tic_random_below(random, MOST_SPLICED);
        if (tic_random_below(random, 2)) { /* whole blocks, as a file system mixes them up */
            size = (size + 511) / 512 * 512;
            from -= from % 512;
            offset -= offset % 512;
        }
        size = size < source->size - from ? size : source->size - from;
        size = size < file->size - offset ? size : file->size - offset;
        memcpy(bytes + offset, source->bytes + from, size);
        snprintf(text, TEXT, "%s: %llu bytes at %llu from byte %llu of %s", file->name,
                 (unsigned long long)size, (unsigned long long)offset, (unsigned long long)from,
                 source->name);
        write_file(file->name, bytes, file->size);
    }
    free(bytes);
    return file;
}

static unsigned long campaign(struct tic_random *random, enum kind kind, unsigned long count)
{
    unsigned long outcomes[4] = {0};

    for (unsigned long i = 0; i < count; i++) {
        char text[TEXT];
        struct file *file = apply(random, kind, text);
        enum outcome outcome = judge(false);
        outcomes[outcome]++;
        if (outcome == WRONG)
            printf("# wrong: %s\n", text);
        write_file(file->name, file->bytes, file->size);
    }
    printf("%s: %lu", kind_names[kind], count);
    for (unsigned i = 0; i < 4; i++)
        printf(", %s %lu", outcome_names[i], outcomes[i]);
    putchar('\n');
    return outcomes[WRONG];
}

int main(int argc, char **argv)
{
    struct tic_random random;
    unsigned long wrong = 0;
    char text[TEXT];

    if (argc != 3 && argc != 3 + KINDS)
        return 2;
    directory = argv[1];
    load_files();
    judge(true);
    tic_random_init(&random, strtoull(argv[2], NULL, 10));
    if (argc == 3) {
        apply(&random, (enum kind)tic_random_below(&random, KINDS), text);
        puts(text);
        return 0;
    }
    printf("%u files, %llu bytes, %u lines, %u forced checkpoints\n", file_count,
           (unsigned long long)total, line_count, record_count);
    for (int kind = 0; kind < KINDS; kind++)
        wrong += campaign(&random, (enum kind)kind, strtoul(argv[3 + kind], NULL, 10));
    return wrong > 0 || line_count == 0;
}
