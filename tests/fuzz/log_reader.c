/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the readers of the event log and of segments behind their checksums: takes the store of a
 * killed run, changes words of records, numbers of segment headers, and keys and bytes of rows,
 * gives records and headers the checksums that belong to them, and recovers as a restart does: the
 * line, the log, what of it is used, the plan. A start may be refused; nothing may crash, hang, or
 * read where there is nothing, and a value that is good has its checksum.
 *
 * log_reader STORE SEED SECONDS, or libFuzzer's arguments with TIC_FUZZ_STORE=STORE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "fuzz/choices.h"
#include "fuzz/fuzzer.h"
#include "lib/tmpdir.h"
#include "recovery/plan.h"
#include "snapshot/forced.h"
#include "store/payload.h"
#include "store/schema.h"
#include "store/segment.h"
#include "store/store.h"

enum { MOST_FILES = 64, MOST_RECORDS = 4096, MOST_CHANGES = 4, WORKERS = 4 };

/* Copies of the files of the store, in memory: what is changed there is in the file. */
static struct file {
    char name[64];
    char *bytes;
    size_t size;
} files[MOST_FILES];
static unsigned file_count;
static uint64_t *records[MOST_RECORDS]; /* of the log, from their checksum on */
static unsigned record_count;
static struct tic_tmpdir originals, work;
static unsigned long recovered, results;

/* ---- records -------------------------------------------------------------------------------- */

static uint32_t record_bytes(const uint64_t *record)
{
    return (uint32_t)record[1];
}

static void sign_record(uint64_t *record)
{
    record[0] = XXH3_64bits(record + 1, record_bytes(record) - 8);
}

/* A word, or the kind. */
static void change_record(struct change *change)
{
    uint64_t *record = records[choose(record_count)];
    uint64_t words = record_bytes(record) / 8 - TIC_LOG_HEAD_WORDS;
    uint64_t which = choose(words + 2);

    if (which >= words)
        set(change, (char *)record + (which == words ? 12 : 16), which == words ? 4 : 8);
    else
        set(change, record + TIC_LOG_HEAD_WORDS + which, 8);
    sign_record(record);
}

/* ---- headers of segments -------------------------------------------------------------------- */

/* The header with one of its numbers another; its old text is kept as a whole. */
static struct {
    char *place;
    char text[8192];
    size_t size;
} header;

static void change_header(void)
{
    struct file *file = &files[choose(file_count)];
    char table[8192];
    unsigned major, minor;
    unsigned long long extents, high, low;
    int title = 0;

    header.place = NULL;
    if (sscanf(file->bytes, TIC_SEGMENT_HEADER_SCAN "%n", &major, &minor, &extents, &high, &low,
               &title) != 5)
        return;
    const char *end = memmem(file->bytes, file->size, "\n\n", 2);
    size_t size = end ? (size_t)(end - file->bytes) + 1 : 0;
    if (size < (size_t)title || size > sizeof(header.text) - 64)
        return;
    /* numbers are separated by one character */
    size_t at = (size_t)title + choose(size - (size_t)title);
    while (at > (size_t)title && file->bytes[at - 1] != ' ' && file->bytes[at - 1] != '\n')
        at--;
    size_t behind = at + strcspn(file->bytes + at, " \n");
    int length = snprintf(table, sizeof(table), "%.*s%llu%.*s", (int)(at - (size_t)title),
                          file->bytes + title, (unsigned long long)wild(), (int)(size - behind),
                          file->bytes + behind);
    XXH128_hash_t hash = XXH3_128bits(table, (size_t)length);
    header.place = file->bytes;
    header.size = size + 64;
    memcpy(header.text, file->bytes, header.size);
    int used = snprintf(file->bytes, 256, TIC_SEGMENT_HEADER_FORMAT, major, minor, extents,
                        (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    memcpy(file->bytes + used, table, (size_t)length);
    for (size_t i = (size_t)(used + length); i < size; i++)
        file->bytes[i] = '\n';
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Bytes anywhere behind the header: of rows, of keys, or of what HDF5 has made. */
static void change_bytes(struct change *change)
{
    struct file *file = &files[choose(file_count)];

    if (strstr(file->name, "-segment-") && file->size > 16384)
        set(change, file->bytes + 8192 + choose(file->size - 16384), 8);
}

/* ---- recovery ------------------------------------------------------------------------------- */

struct chosen {
    struct tic_line line;
};

static bool take_first_good(void *arg, const char *name, int status, struct tic_line *line)
{
    struct chosen *chosen = arg;

    (void)name;
    if (status)
        return false;
    chosen->line = *line;
    memset(line, 0, sizeof(*line));
    return true;
}

/* What the log gave, as the restart would read it. */
static void read_results(struct tic_snapshot *snapshot)
{
    for (unsigned long i = 0; i < snapshot->recovery.value_count; i++) {
        struct tic_forced_value *value = &snapshot->recovery.values[i];
        int status = tic_store_verify(snapshot->store, &value->saved);
        if (value->fate == TIC_FATE_GOOD && status != 0)
            abort();
        results += status == 0;
    }
}

static void recover(void)
{
    struct tic_store store;
    struct tic_graph graph;
    struct tic_snapshot snapshot;
    struct chosen chosen = {0};

    if (tic_graph_init(&graph) != 0 || tic_snapshot_init(&snapshot, &graph, &store, WORKERS) != 0 ||
        tic_store_open(&store, work.path, TIC_STORE_USE, false, &tic_h5_ops) != 0)
        abort();
    store.log = &snapshot.log;
    tic_store_walk(&store, take_first_good, &chosen);
    if (chosen.line.version && tic_snapshot_find_forced(&snapshot, &chosen.line) == 0 &&
        tic_store_adopt(&store, &chosen.line, NULL, 0) == 0 &&
        tic_graph_load(&graph, &store.kept[0]) == 0 && tic_snapshot_keep_forced(&snapshot) == 0 &&
        tic_recovery_plan(&snapshot) == 0) {
        recovered++;
        read_results(&snapshot);
    }
    tic_line_clear(&chosen.line);
    tic_snapshot_fini(&snapshot);
    tic_graph_fini(&graph);
    tic_store_close(&store);
}

static void each_link(bool make)
{
    int from = open(originals.path, O_RDONLY | O_DIRECTORY),
        to = open(work.path, O_RDONLY | O_DIRECTORY);

    for (unsigned i = 0; i < file_count; i++)
        if (make ? linkat(from, files[i].name, to, files[i].name, 0) != 0
                 : unlinkat(to, files[i].name, 0) != 0 && errno != ENOENT)
            abort();
    close(from);
    close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct change changes[MOST_CHANGES] = {{0}};

    choices = data;
    choices_end = data + size;
    uint64_t count = 1 + choose(MOST_CHANGES);
    header.place = NULL;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t what = choose(8);
        if (what == 0 && !header.place && i + 1 == count)
            change_header();
        else if (what == 1)
            change_bytes(&changes[i]);
        else if (record_count > 0)
            change_record(&changes[i]);
    }
    each_link(true);
    recover();
    each_link(false);
    if (header.place)
        memcpy(header.place, header.text, header.size);
    take_back(changes, count);
    for (unsigned i = 0; i < record_count; i++)
        sign_record(records[i]);
    return 0;
}

/* ---- start ---------------------------------------------------------------------------------- */

static void find_records(struct file *file)
{
    struct tic_line_extent *extents;
    size_t count;
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", originals.path, file->name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || tic_segment_read(fd, &extents, &count) != 0 || count != 1)
        abort();
    close(fd);
    for (unsigned block = 0; block < TIC_LOG_BLOCKS; block++) {
        char *at = file->bytes + extents[0].offset + block * TIC_LOG_BLOCK;
        for (uint64_t *record = (uint64_t *)at;
             record_count < MOST_RECORDS && record_bytes(record) >= TIC_LOG_HEAD_WORDS * 8 &&
             (char *)record + record_bytes(record) <= at + TIC_LOG_BLOCK &&
             record[0] == XXH3_64bits(record + 1, record_bytes(record) - 8);
             record += record_bytes(record) / 8)
            records[record_count++] = record;
    }
    free(extents);
}

static void take_file(const char *directory, const char *name)
{
    struct file *file = &files[file_count];
    struct stat info;
    char path[600];

    if (file_count == MOST_FILES || strlen(name) >= sizeof(file->name))
        return;
    strcpy(file->name, name);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int from = open(path, O_RDONLY);
    snprintf(path, sizeof(path), "%s/%s", originals.path, name);
    int to = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (from < 0 || to < 0 || fstat(from, &info) != 0 || ftruncate(to, info.st_size) != 0)
        abort();
    file->size = (size_t)info.st_size;
    file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    if (file->bytes == MAP_FAILED || pread(from, file->bytes, file->size, 0) != info.st_size)
        abort();
    close(from);
    close(to);
    file_count++;
    if (strstr(name, "-log-"))
        find_records(file);
}

void fuzz_start(const char *directory)
{
    struct dirent *entry;
    DIR *dir = directory ? opendir(directory) : NULL;

    if (!dir) {
        fprintf(stderr, "no store: %s\n", directory ? directory : "");
        exit(2);
    }
    tic_tmpdir_create(&originals);
    tic_tmpdir_create(&work);
    while ((entry = readdir(dir)))
        if (strstr(entry->d_name, ".h5") && !strstr(entry->d_name, ".new"))
            take_file(directory, entry->d_name);
    closedir(dir);
    if (record_count == 0) {
        fprintf(stderr, "no event log in %s\n", directory);
        exit(2);
    }
    each_link(true);
    recover();
    each_link(false);
    if (recovered != 1) {
        fprintf(stderr, "%s cannot be continued from as it is\n", directory);
        exit(2);
    }
}

int fuzz_finish(unsigned long inputs)
{
    printf(
        "%u records, %lu changed stores, %lu of them recovered from, %lu values of results good\n",
        record_count, inputs, recovered, results);
    tic_tmpdir_remove(&work);
    tic_tmpdir_remove(&originals);
    return recovered > 0 && results > 0 ? 0 : 1;
}
