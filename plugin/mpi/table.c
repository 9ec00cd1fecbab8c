/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file: this, then the four arrays. */
struct header {
    char magic[8], why[TIC_REASON];
    uint64_t end, counts[4];
};
static const char magic[8] = "ticrank1";

struct array {
    void **items;
    uint64_t *count;
    size_t size; /* of one */
};

static void list(struct tic_table *table, struct array arrays[4])
{
    arrays[0] = (struct array){(void **)&table->insertions, &table->insertion_count,
                               sizeof(*table->insertions)};
    arrays[1] =
        (struct array){(void **)&table->values, &table->value_count, sizeof(*table->values)};
    arrays[2] =
        (struct array){(void **)&table->messages, &table->message_count, sizeof(*table->messages)};
    arrays[3] =
        (struct array){(void **)&table->sources, &table->source_count, sizeof(*table->sources)};
}

int tic_table_write(const char *path, const struct tic_table *table)
{
    struct tic_table copy = *table;
    struct header header = {.end = table->end};
    struct array arrays[4];
    FILE *file = fopen(path, "we");

    list(&copy, arrays);
    memcpy(header.magic, magic, sizeof(magic));
    memcpy(header.why, table->why, sizeof(header.why));
    for (int i = 0; i < 4; i++)
        header.counts[i] = *arrays[i].count;
    bool fine = file && fwrite(&header, sizeof(header), 1, file) == 1;
    for (int i = 0; i < 4 && fine; i++)
        fine = *arrays[i].count == 0 ||
               fwrite(*arrays[i].items, arrays[i].size, *arrays[i].count, file) == *arrays[i].count;
    fine = fine && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0)
        fine = false;
    return fine ? 0 : -EIO;
}

static bool read_array(FILE *file, const struct array *array, uint64_t count)
{
    *array->items = count < UINT32_MAX ? calloc(count + 1, array->size) : NULL;
    *array->count = *array->items ? count : 0;
    return *array->items && fread(*array->items, array->size, count, file) == count;
}

int tic_table_read(const char *path, struct tic_table *table)
{
    struct header header;
    struct array arrays[4];
    FILE *file = fopen(path, "re");

    *table = (struct tic_table){.end = 0};
    if (!file)
        return -errno;
    bool fine = fread(&header, sizeof(header), 1, file) == 1 &&
                memcmp(header.magic, magic, sizeof(magic)) == 0;
    if (fine) {
        memcpy(table->why, header.why, sizeof(table->why) - 1);
        table->end = header.end;
    }
    list(table, arrays);
    for (int i = 0; i < 4 && fine; i++)
        fine = read_array(file, &arrays[i], header.counts[i]);
    fclose(file);
    if (!fine)
        tic_table_clear(table);
    return fine ? 0 : -EBADMSG;
}

void tic_table_clear(struct tic_table *table)
{
    free(table->insertions);
    free(table->values);
    free(table->messages);
    free(table->sources);
    *table = (struct tic_table){.end = 0};
}

bool tic_insertion_is(const struct tic_insertion *one, const struct tic_insertion *other)
{
    return one->what == other->what &&
           (one->data == other->data || one->data == 0 || other->data == 0);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static const char *compare_one(const struct tic_table *tables, unsigned ranks, uint64_t n)
{
    struct tic_insertion first = {.what = 0};
    unsigned executed = 0, before = 0, entered = 0;

    for (unsigned i = 0; i < ranks; i++) {
        if (n >= tables[i].insertion_count)
            continue;
        const struct tic_insertion *own = &tables[i].insertions[n];
        if (entered++ > 0 && !tic_insertion_is(own, &first))
            return "ranks enter different insertions";
        first.what = own->what;
        first.data = own->data ? own->data : first.data;
        executed += own->state == TIC_INSERTION_LIVE || own->state == TIC_INSERTION_DONE;
        before += own->state == TIC_INSERTION_BEFORE;
    }
    if (executed > 1)
        return "several ranks execute one insertion";
    if (before > 0 && (before < ranks || executed > 0))
        return "internal error: ranks began from different insertions";
    return entered == ranks && executed + before == 0 ? "no rank executes an insertion" : NULL;
}

const char *tic_tables_compare(const struct tic_table *tables, unsigned ranks)
{
    const char *why = NULL;
    uint64_t most = 0;

    for (unsigned i = 0; i < ranks; i++) {
        if (tables[i].why[0])
            return tables[i].why;
        most = tables[i].insertion_count > most ? tables[i].insertion_count : most;
    }
    for (uint64_t n = 0; n < most && !why; n++)
        why = compare_one(tables, ranks, n);
    return why;
}

bool tic_tables_have_begun(const struct tic_table *tables, unsigned ranks)
{
    unsigned rank = 0;

    while (rank < ranks && tables[rank].insertion_count > 0)
        rank++;
    return rank == ranks;
}

void tic_tables_clear(struct tic_table *tables, unsigned ranks)
{
    for (unsigned i = 0; i < ranks && tables; i++)
        tic_table_clear(&tables[i]);
    free(tables);
}

bool tic_tables_read(const char *directory, const struct tic_job_line *line,
                     struct tic_table **found, char text[TIC_REASON])
{
    struct tic_table *tables = calloc(line->ranks, sizeof(*tables));
    const char *why = tables ? NULL : "out of memory";
    char path[PATH_MAX];

    for (unsigned i = 0; i < line->ranks && !why; i++) {
        tic_job_beside(directory, line->generation, i, "ranks", line->parts[i].name, path);
        if (line->parts[i].why[0])
            why = line->parts[i].why;
        else if (tic_table_read(path, &tables[i]) != 0)
            why = "what ranks have told of their insertions cannot be read";
    }
    why = why ? why : tic_tables_compare(tables, line->ranks);
    snprintf(text, TIC_REASON, "%s", why ? why : "");
    if (tables && found && !why) {
        *found = tables;
        return true;
    }
    tic_tables_clear(tables, line->ranks);
    return !why;
}
