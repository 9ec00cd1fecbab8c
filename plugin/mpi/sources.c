/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/sources.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core.h"

/* A value in a part, or a late message of it. */
struct place {
    struct tic_source of;
    uint64_t last;
    unsigned rank;
    uint64_t id;
    const struct tic_late *late;
};

/* Immutable once main() runs, but for: */
static struct {
    _Atomic unsigned long coming; /* values */
    uint64_t end;
    struct tic_insertion *insertions; /* their state: BEFORE, or as ELSEWHERE: not done */
    struct place *places;
    uint64_t place_count;
    struct tic_labelled *inputs; /* by tag */
    uint64_t input_count;
    void **parts; /* NULL: nothing is brought back */
} from;

static int by_source(const void *a, const void *b)
{
    const struct tic_source *one = a, *other = b;

    if (one->tag != other->tag)
        return one->tag < other->tag ? -1 : 1;
    return one->label < other->label ? -1 : one->label > other->label;
}

/* Of those with one label what has most comes first. */
static int by_content(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    int order = by_source(a, b);

    return order ? order : one->last > other->last ? -1 : one->last < other->last;
}

static const struct place *find(int64_t tag, uint64_t label)
{
    const struct tic_source wanted = {tag, label};
    const struct place *found =
        from.places ? bsearch(&wanted, from.places, from.place_count, sizeof(*found), by_source)
                    : NULL;

    while (found && found > from.places && by_source(&found[-1], &wanted) == 0)
        found--;
    return found;
}

uint64_t tic_sources_end(void)
{
    return from.end;
}

bool tic_sources_is_done(uint64_t insertion)
{
    return from.insertions[insertion].state == TIC_INSERTION_BEFORE;
}

bool tic_sources_compare(uint64_t insertion, const struct tic_insertion *now)
{
    return tic_insertion_is(&from.insertions[insertion], now);
}

uint64_t tic_sources_input(int64_t tag)
{
    const struct tic_source wanted = {tag, 0};
    const struct tic_labelled *found =
        from.inputs ? bsearch(&wanted, from.inputs, from.input_count, sizeof(*found), by_source)
                    : NULL;

    return found ? found->input : 0;
}

bool tic_sources_has(int64_t tag, uint64_t label)
{
    return find(tag, label) != NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void merge_insertions(const struct tic_table *tables, unsigned ranks)
{
    for (unsigned i = 0; i < ranks; i++)
        if (tables[i].insertion_count > from.end)
            from.end = tables[i].insertion_count;
    from.insertions = calloc(from.end + 1, sizeof(*from.insertions));
    for (unsigned i = 0; i < ranks && from.insertions; i++)
        for (uint64_t n = 0; n < tables[i].insertion_count; n++) {
            struct tic_insertion *to = &from.insertions[n];
            const struct tic_insertion *own = &tables[i].insertions[n];
            to->what = own->what;
            to->data = own->data ? own->data : to->data;
            if (own->state == TIC_INSERTION_DONE || own->state == TIC_INSERTION_BEFORE)
                to->state = TIC_INSERTION_BEFORE;
        }
}

static void add_place(const struct place *place)
{
    if (place->of.label > 0 && place->of.label <= from.end)
        from.places[from.place_count++] = *place;
}

static const struct tic_late *find_late(const struct tic_labelled_message *message,
                                        const struct tic_late *late, unsigned long count)
{
    unsigned long i = 0;

    while (i < count && (late[i].peer != message->peer || late[i].tag != message->name ||
                         late[i].number != message->number))
        i++;
    return i < count ? &late[i] : NULL;
}

static void merge_rank(const struct tic_table *table, unsigned rank, const struct tic_late *late,
                       unsigned long late_count)
{
    for (uint64_t i = 0; i < table->value_count; i++) {
        const struct tic_labelled *value = &table->values[i];
        add_place(&(struct place){
            {value->tag, value->label}, value->last, .rank = rank, .id = value->id});
        if (value->input != 0) {
            from.inputs[from.input_count] = *value;
            from.inputs[from.input_count++].label = 0;
        }
    }
    for (uint64_t i = 0; i < table->message_count && late_count > 0; i++) {
        const struct tic_labelled_message *message = &table->messages[i];
        const struct tic_late *found = find_late(message, late, late_count);
        if (found)
            add_place(
                &(struct place){{message->tag, message->label}, message->last, .late = found});
    }
}

static int open_rank(const char *directory, const struct tic_job_line *line, unsigned rank,
                     const struct tic_table *table)
{
    const struct tic_job_part *part = &line->parts[rank];
    struct tic_late *late = NULL;
    unsigned long count = 0;
    char path[PATH_MAX];

    tic_job_beside(directory, line->generation, rank, "late", part->name, path);
    int status = part->late_size > 0 ? tic_late_read(path, &late, &count) : 0;
    if (status == 0)
        merge_rank(table, rank, late, count);
    tic_job_folder(directory, line->generation, rank, path);
    from.parts[rank] = tic_mpi_core->open_part(path, part->name);
    return from.parts[rank] ? status : -EIO;
}

int tic_sources_open(const char *directory, const struct tic_job_line *line,
                     struct tic_table *tables)
{
    uint64_t most = 1;
    int status = 0;

    for (unsigned i = 0; i < line->ranks; i++)
        most += tables[i].value_count + tables[i].message_count;
    merge_insertions(tables, line->ranks);
    from.places = calloc(most, sizeof(*from.places));
    from.inputs = calloc(most, sizeof(*from.inputs));
    from.parts = calloc(line->ranks, sizeof(*from.parts));
    if (!from.insertions || !from.places || !from.inputs || !from.parts)
        return -ENOMEM;
    for (unsigned i = 0; i < line->ranks && status == 0; i++)
        status = open_rank(directory, line, i, &tables[i]);
    qsort(from.places, from.place_count, sizeof(*from.places), by_content);
    qsort(from.inputs, from.input_count, sizeof(*from.inputs), by_source);
    tic_tables_clear(tables, line->ranks);
    return status;
}

int tic_sources_continue(struct tic_table *table)
{
    from.places = calloc(table->source_count + 1, sizeof(*from.places));
    if (!from.places || table->insertion_count < table->end)
        return from.places ? -EBADMSG : -ENOMEM;
    for (uint64_t i = 0; i < table->source_count; i++)
        from.places[i].of = table->sources[i];
    from.place_count = table->source_count;
    from.end = table->end;
    from.insertions = table->insertions;
    table->insertions = NULL;
    return 0;
}

/* ---- values come back ------------------------------------------------------------------------ */

struct arrival {
    void *data, *bytes;
    size_t size;
};

static void note_arrival(void *arg)
{
    (void)arg;
    from.coming--;
}

/* As a message: at its end, at once. */
static void granted(void *arg)
{
    struct arrival *arrival = arg;
    const struct tic_ranks_messages *messages = &tic_mpi_core->messages;

    tic_mpi_core->guard(1);
    messages->note_granted(arrival->data);
    if (!messages->fill(arrival->data, arrival->bytes, arrival->size))
        tic_mpi_core->stop("a value of a part does not fit into its data");
    messages->note_received(arrival->data, note_arrival, NULL);
    messages->release(arrival->data);
    free(arrival->bytes);
    free(arrival);
    tic_mpi_core->guard(-1);
}

static void *load(const struct place *place, size_t *size)
{
    if (!place->late)
        return tic_mpi_core->part_value(from.parts[place->rank], place->id, size);
    void *bytes = malloc(place->late->size + 1);
    *size = place->late->size;
    return bytes ? memcpy(bytes, place->late->bytes, *size) : NULL;
}

bool tic_sources_bring(void *data, int64_t tag, uint64_t label)
{
    const struct tic_source wanted = {tag, label};
    const struct place *place = find(tag, label);
    struct arrival arrival = {.data = data}, *copy;

    tic_mpi_core->messages.note_asked(data, true, !from.parts);
    if (!from.parts) /* the line has it */
        return true;
    const uint64_t last = place ? place->last : 0;
    for (; place && !arrival.bytes && place < from.places + from.place_count &&
           by_source(&place->of, &wanted) == 0 && place->last == last;
         place++)
        arrival.bytes = load(place, &arrival.size);
    copy = arrival.bytes ? malloc(sizeof(*copy)) : NULL;
    if (!copy)
        return false;
    *copy = arrival;
    from.coming++;
    tic_mpi_core->messages.acquire(data, granted, copy);
    return true;
}

bool tic_sources_are_busy(void)
{
    return from.coming > 0;
}

bool tic_sources_describe(struct tic_table *table)
{
    table->end = from.end;
    table->sources = calloc(from.place_count + 1, sizeof(*table->sources));
    for (uint64_t i = 0; i < from.place_count && table->sources; i++)
        table->sources[table->source_count++] = from.places[i].of;
    return table->sources != NULL;
}
