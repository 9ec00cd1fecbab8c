/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the reader behind its checksum: takes a recovery line of a real store, changes some of its
 * numbers, lengths and bytes, writes it with the checksum that belongs to it, and reads it as the
 * restart does: sanity, rows, records of forced checkpoints, what is loaded into the graph. Lines
 * may be refused; nothing may crash, hang, or read where there is nothing. With libFuzzer the
 * choices are its input; else they come from a seed. HDF5's own parser gets no bytes that it did
 * not write itself.
 *
 * reader STORE SEED SECONDS, or libFuzzer's arguments with TIC_FUZZ_STORE=STORE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/choices.h"
#include "fuzz/fuzzer.h"
#include "graph/graph.h"
#include "lib/tmpdir.h"
#include "store/forced.h"
#include "store/linefile.h"
#include "store/schema.h"
#include "store/store.h"

enum { MOST_LINES = 16, MOST_CHANGES = 8, HANDLES = 8 };

static struct tic_line lines[MOST_LINES];
static unsigned line_count;
static struct tic_tmpdir work;
static unsigned long read_lines, good_lines;

/* ---- changes to a line ---------------------------------------------------------------------- */

/* Fewer entries than there are. */
static void shorten(struct change *change, size_t *count)
{
    change->place = count;
    change->size = sizeof(*count);
    memcpy(change->before, count, sizeof(*count));
    *count = choose(*count + 1);
}

static void change_line(struct tic_line *line, struct change *change)
{
    uint64_t places = 0, chosen;

#define COUNT_NUMBER(member) places++;
#define COUNT_FIELD(S, text, member, type) places++;
#define COUNT_TABLE(path, S, array, count, FIELDS)                                                 \
    places++;                                                                                      \
    if (line->count > 0) {                                                                         \
        FIELDS(S, COUNT_FIELD)                                                                     \
    }
#define COUNT_ARRAY(path, type, array, count) places += line->count > 0 ? 2 : 1;
    TIC_LINE_NUMBERS(COUNT_NUMBER)
    TIC_ACCOUNT_NUMBERS(COUNT_NUMBER)
    TIC_ACCOUNT_LATER_NUMBERS(COUNT_NUMBER)
    TIC_LINE_TABLES(COUNT_TABLE)
    TIC_LINE_ARRAYS(COUNT_ARRAY)
    chosen = choose(places);
#define HERE (chosen-- == 0)
#define SET_NUMBER(member)                                                                         \
    if (HERE)                                                                                      \
        set(change, &line->member, sizeof(line->member));
#define SET_ACCOUNT_NUMBER(member) SET_NUMBER(account.member)
#define SET_FIELD(S, text, member, type)                                                           \
    if (HERE)                                                                                      \
        set(change, &item->member, sizeof(item->member));
#define SET_TABLE(path, S, array, count, FIELDS)                                                   \
    if (HERE)                                                                                      \
        shorten(change, &line->count);                                                             \
    else if (line->count > 0) {                                                                    \
        struct S *item = &line->array[choose(line->count)];                                        \
        FIELDS(S, SET_FIELD)                                                                       \
    }
#define SET_ARRAY(path, type, array, count)                                                        \
    if (HERE)                                                                                      \
        shorten(change, &line->count);                                                             \
    else if (line->count > 0 && HERE)                                                              \
        set(change, &line->array[choose(line->count)], sizeof(*line->array));
    TIC_LINE_NUMBERS(SET_NUMBER)
    TIC_ACCOUNT_NUMBERS(SET_ACCOUNT_NUMBER)
    TIC_ACCOUNT_LATER_NUMBERS(SET_ACCOUNT_NUMBER)
    TIC_LINE_TABLES(SET_TABLE)
    TIC_LINE_ARRAYS(SET_ARRAY)
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool decode_record(void *arg, const struct tic_log_record *record)
{
    struct tic_forced forced;

    (void)arg;
    if (tic_forced_decode(record, &forced) && forced.count > TIC_FORCED_OUTPUTS)
        abort();
    return true;
}

/* What recovery does with a line that it has chosen. */
static void use(struct tic_store *store, struct tic_line *line)
{
    struct tic_graph graph;

    tic_eventlog_walk(store, decode_record, NULL);
    if (tic_graph_init(&graph) != 0)
        abort();
    if (tic_graph_load(&graph, line) == 0) {
        for (unsigned i = 0; i < HANDLES; i++)
            if (!tic_graph_add_handle(&graph))
                abort();
        for (size_t i = 0; i < line->acquire_count; i++)
            tic_graph_replay_acquire(&graph);
    }
    tic_graph_fini(&graph);
}

static bool visit(void *arg, const char *name, int status, struct tic_line *line)
{
    struct tic_store *store = arg;

    (void)name;
    read_lines++;
    if (status)
        return false;
    good_lines++;
    tic_store_check(store, line); /* a row that is not as it was: the rest is tried all the same */
    use(store, line);
    return false;
}

static void read_back(const struct tic_line *line)
{
    struct tic_store store;
    char name[64];

    if (tic_store_open(&store, work.path, TIC_STORE_READ, false, &tic_h5_ops) != 0)
        abort();
    snprintf(name, sizeof(name), TIC_FILE_LINE, 0u, (unsigned long long)line->number);
    if (tic_linefile_write(store.directory, name, &tic_h5_ops, line, false) == 0)
        tic_store_walk(&store, visit, &store);
    unlinkat(store.directory, name, 0);
    tic_store_close(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct change changes[MOST_CHANGES] = {{0}};

    choices = data;
    choices_end = data + size;
    struct tic_line *line = &lines[choose(line_count)];
    uint64_t count = 1 + choose(MOST_CHANGES);
    for (uint64_t i = 0; i < count; i++)
        change_line(line, &changes[i]);
    read_back(line);
    take_back(changes, count);
    return 0;
}

/* ---- start ---------------------------------------------------------------------------------- */

static bool take(void *arg, const char *name, int status, struct tic_line *line)
{
    (void)arg;
    (void)name;
    if (status == 0 && line_count < MOST_LINES) {
        lines[line_count++] = *line;
        memset(line, 0, sizeof(*line));
    }
    return false;
}

void fuzz_start(const char *directory)
{
    struct tic_store store;
    struct dirent *entry;
    char from[600], to[600];
    DIR *dir = directory ? opendir(directory) : NULL;

    if (!dir || tic_store_open(&store, directory, TIC_STORE_READ, false, &tic_h5_ops) != 0 ||
        tic_store_walk(&store, take, NULL) != 0 || line_count == 0) {
        fprintf(stderr, "no store with recovery lines: %s\n", directory ? directory : "");
        exit(2);
    }
    tic_store_close(&store);
    tic_tmpdir_create(&work);
    while ((entry = readdir(dir))) {
        snprintf(from, sizeof(from), "%s/%s", directory, entry->d_name);
        snprintf(to, sizeof(to), "%s/%s", work.path, entry->d_name);
        if (strstr(entry->d_name, "-segment-") && link(from, to) != 0 && symlink(from, to) != 0)
            abort();
    }
    closedir(dir);
}

int fuzz_finish(unsigned long inputs)
{
    printf("%u lines, %lu changed ones read, %lu of them accepted\n", line_count, inputs,
           good_lines);
    tic_tmpdir_remove(&work);
    return read_lines > 0 ? 0 : 1;
}
