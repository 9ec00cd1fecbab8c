/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Simulates losses of power: takes the calls of a run (recorder.c) up to a random one, and makes
 * the directory as a disk may have it then. What was forced to the disk is there. Of the other
 * writes, each page has a random number, in their order; of the other changes of names there are
 * the first ones, or any. Each state must open at a line that was committed, or, if the run forces
 * its data to the disk, at one not older than the last one that was committed.
 *
 * powerloss STREAM DIRECTORY SEED CUTS commit|never */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/judge.h"
#include "lib/random.h"
#include "lib/stream.h"

enum { PAGE = 4096, MOST_FILES = 4096, MOST_LINES = 4096 };

struct call {
    struct tic_call_head head;
    const char *name, *bytes;
    unsigned file;  /* our number of it: inodes are used again */
    size_t durable; /* index of the call that forces it to the disk, or SIZE_MAX */
};

struct file {
    uint64_t inode;
    char *bytes;
    uint64_t size, capacity;
};

static struct call *calls;
static size_t call_count;
static struct file files[MOST_FILES];
static unsigned file_count;
/* A line is committed when the directory was forced to the disk after its rename. */
static struct {
    size_t call;
    struct tic_judged judged;
} lines[MOST_LINES];
static unsigned line_count;
static const char *directory;

static void require(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(2);
}

/* ---- the stream ----------------------------------------------------------------------------- */

static unsigned number_of(uint64_t inode)
{
    for (unsigned i = file_count; i-- > 0;)
        if (files[i].inode == inode)
            return i;
    require(false, "a file that was not created");
    return 0;
}

static bool changes_names(const struct call *call)
{
    return call->head.call == TIC_CALL_CREATE || call->head.call == TIC_CALL_RENAME ||
           call->head.call == TIC_CALL_UNLINK;
}

static void note_sync(size_t at)
{
    for (size_t i = 0; i < at; i++) {
        bool covered = calls[at].head.file == 0
                           ? changes_names(&calls[i])
                           : !changes_names(&calls[i]) && calls[i].file == calls[at].file &&
                                 calls[i].head.file != 0;
        if (covered && calls[i].durable == SIZE_MAX)
            calls[i].durable = at;
    }
}

static void load(const char *path)
{
    FILE *stream = fopen(path, "re");
    struct stat info;

    require(stream && fstat(fileno(stream), &info) == 0, path);
    char *bytes = malloc((size_t)info.st_size + 1), *end = bytes + info.st_size;
    require(bytes && fread(bytes, 1, (size_t)info.st_size, stream) == (size_t)info.st_size, path);
    fclose(stream);
    calls = calloc((size_t)info.st_size / sizeof(struct tic_call_head) + 1, sizeof(*calls));
    require(calls != NULL, "memory");
    while (bytes < end) {
        struct call *call = &calls[call_count];
        memcpy(&call->head, bytes, sizeof(call->head));
        call->name = bytes + sizeof(call->head);
        call->bytes = call->name + call->head.name_size;
        call->durable = SIZE_MAX;
        bytes = (char *)call->bytes + (call->head.call == TIC_CALL_WRITE ? call->head.size : 0);
        if (call->head.call == TIC_CALL_CREATE) {
            require(file_count < MOST_FILES, "too many files");
            files[file_count].inode = call->head.file;
            call->file = file_count++;
        } else if (call->head.file != 0) {
            call->file = number_of(call->head.file);
        }
        if (call->head.call == TIC_CALL_SYNC)
            note_sync(call_count);
        call_count++;
    }
}

/* ---- a state of the disk -------------------------------------------------------------------- */

static void grow(struct file *file, uint64_t size)
{
    if (size > file->capacity) {
        uint64_t wanted = size * 2 > 65536 ? size * 2 : 65536;
        file->bytes = realloc(file->bytes, wanted);
        require(file->bytes != NULL, "memory");
        memset(file->bytes + file->capacity, 0, wanted - file->capacity);
        file->capacity = wanted;
    }
}

static void write_piece(struct file *file, uint64_t offset, const char *bytes, uint64_t size)
{
    grow(file, offset + size);
    memcpy(file->bytes + offset, bytes, size);
    if (offset + size > file->size)
        file->size = offset + size;
}

/* Has this write reached the page? Decided once per page and state: those before a random call. */
static bool reaches(uint64_t salt, unsigned file, uint64_t page, size_t at, size_t cut)
{
    struct tic_random random;
    tic_random_init(&random, salt + file * UINT64_C(1000003) + page);
    return at < tic_random_below(&random, cut + 1);
}

static void apply_write(const struct call *call, size_t at, size_t cut, uint64_t salt)
{
    struct file *file = &files[call->file];
    uint64_t offset = call->head.offset, end = offset + call->head.size;

    while (offset < end) {
        uint64_t next = (offset / PAGE + 1) * PAGE < end ? (offset / PAGE + 1) * PAGE : end;
        if (call->durable < cut || salt == 0 || reaches(salt, call->file, offset / PAGE, at, cut))
            write_piece(file, offset, call->bytes + (offset - call->head.offset), next - offset);
        offset = next;
    }
}

static void apply_resize(const struct call *call, size_t at, size_t cut, uint64_t salt)
{
    struct file *file = &files[call->file];

    if (call->durable >= cut && salt != 0 && !reaches(salt, call->file, UINT32_MAX, at, cut))
        return;
    grow(file, call->head.size);
    if (call->head.size < file->size)
        memset(file->bytes + call->head.size, 0, file->size - call->head.size);
    file->size = call->head.size;
}

struct entry {
    char name[128];
    unsigned file;
};

static struct entry entries[MOST_FILES];
static unsigned entry_count;

static struct entry *find(const char *name)
{
    for (unsigned i = 0; i < entry_count; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

static void apply_name(const struct call *call)
{
    struct entry *entry = find(call->name);

    if (call->head.call == TIC_CALL_CREATE) {
        if (!entry)
            entry = &entries[entry_count++];
        snprintf(entry->name, sizeof(entry->name), "%s", call->name);
        entry->file = call->file;
    } else if (entry && call->head.call == TIC_CALL_UNLINK) {
        *entry = entries[--entry_count];
    } else if (entry) {
        const char *to = call->name + strlen(call->name) + 1;
        struct entry *old = find(to);
        if (old) {
            old->file = entry->file;
            *entry = entries[--entry_count];
        } else {
            snprintf(entry->name, sizeof(entry->name), "%s", to);
        }
    }
}

static void remove_all(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;

    require(dir != NULL, directory);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            require(unlinkat(dirfd(dir), entry->d_name, 0) == 0, entry->d_name);
    closedir(dir);
}

static void write_all(void)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    require(at >= 0, directory);
    for (unsigned i = 0; i < entry_count; i++) {
        const struct file *file = &files[entries[i].file];
        int fd = openat(at, entries[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        require(fd >= 0 &&
                    (file->size == 0 || write(fd, file->bytes, file->size) == (ssize_t)file->size),
                entries[i].name);
        close(fd);
    }
    close(at);
}

/* The directory after the calls before `cut`; salt 0: all of them are on the disk. */
static void make_state(size_t cut, uint64_t salt)
{
    struct tic_random random;

    tic_random_init(&random, salt);
    bool ordered = tic_random_below(&random, 2);
    size_t last = tic_random_below(&random, cut + 1);
    for (unsigned i = 0; i < file_count; i++) {
        memset(files[i].bytes, 0, files[i].bytes ? files[i].size : 0);
        files[i].size = 0;
    }
    entry_count = 0;
    for (size_t at = 0; at < cut; at++) {
        const struct call *call = &calls[at];
        bool there = call->durable < cut || salt == 0 ||
                     (ordered ? at < last : tic_random_below(&random, 2) != 0);
        if (call->head.call == TIC_CALL_WRITE)
            apply_write(call, at, cut, salt);
        else if (call->head.call == TIC_CALL_RESIZE)
            apply_resize(call, at, cut, salt);
        else if (changes_names(call) && there)
            apply_name(call);
    }
    remove_all();
    write_all();
}

/* ---- judging -------------------------------------------------------------------------------- */

/* All lines, as they were when they had got their name. */
static void find_lines(void)
{
    for (size_t at = 0; at < call_count; at++) {
        if (calls[at].head.call != TIC_CALL_RENAME)
            continue;
        make_state(at + 1, 0);
        require(line_count < MOST_LINES, "too many lines");
        lines[line_count].judged = tic_judge_directory(directory);
        lines[line_count++].call = calls[at].durable;
    }
}

static bool is_right(struct tic_judged judged, size_t cut, bool commit)
{
    uint64_t committed = 0;
    bool known = judged.number == 0;

    for (unsigned i = 0; i < line_count; i++) {
        if (lines[i].call < cut)
            committed = lines[i].judged.number;
        known |=
            lines[i].judged.number == judged.number && lines[i].judged.content == judged.content;
    }
    return known && (!commit || (judged.number >= committed && !judged.refused));
}

int main(int argc, char **argv)
{
    unsigned long wrong = 0, opened = 0, empty = 0, refused = 0;

    if (argc != 6)
        return 2;
    directory = argv[2];
    uint64_t seed = strtoull(argv[3], NULL, 10);
    unsigned long cuts = strtoul(argv[4], NULL, 10);
    bool commit = strcmp(argv[5], "commit") == 0;
    load(argv[1]);
    find_lines();
    for (unsigned long i = 1; i <= cuts; i++) {
        struct tic_random random;
        tic_random_init(&random, seed + i);
        size_t cut = tic_random_below(&random, call_count + 1);
        make_state(cut, seed + i);
        struct tic_judged judged = tic_judge_directory(directory);
        opened += judged.number > 0;
        refused += judged.refused;
        empty += judged.number == 0 && !judged.refused;
        if (is_right(judged, cut, commit))
            continue;
        wrong++;
        printf("# wrong: cut %lu at call %zu of %zu: line %llu%s\n", i, cut, call_count,
               (unsigned long long)judged.number, judged.refused ? ", refused" : "");
    }
    printf(
        "%lu cuts in %zu calls, %u lines: %lu open at a line, %lu before the first, %lu refused, "
        "%lu wrong\n",
        cuts, call_count, line_count, opened, empty, refused, wrong);
    return wrong > 0 || line_count < 3;
}
