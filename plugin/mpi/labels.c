/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mpi/labels.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/words.h"
#include "mpi/channels.h"
#include "mpi/core.h"
#include "mpi/sources.h"

enum { BUCKETS = 4096 };
#define UNKNOWN UINT64_MAX /* a label: what this rank had no data for may have written it */

/* What makes, uses or ends a value of a datum on this rank, in the order of main(). */
struct action {
    uint64_t label, last;
    enum { TASK, READ, RECEIVE, SEND, BROUGHT, INVALID } kind; /* READ: of a task */
    int peer;                                                  /* of a message */
    int64_t name;                                              /* the same */
    uint64_t number;                                           /* of the message, or the task */
};

struct datum {
    struct datum *next, *next_tag;
    void *data; /* NULL: others are at its address now */
    int64_t tag;
    uint64_t id, size, input;
    uint64_t label, last;
    bool mentioned, commutes, looked;
    bool absent;         /* it was done, and its value has not come back: the same on all ranks */
    bool shown;          /* but for main() of this one, its owner */
    struct action value; /* at the last line: of actions that are gone */
    struct action *actions;
    unsigned long count, capacity;
};

static struct {
    pthread_mutex_t mutex;
    /* guarded by mutex */
    char why[TIC_REASON];
    struct datum *by_data[BUCKETS], *by_tag[BUCKETS];
    uint64_t datum_count;
    struct tic_insertion *insertions;
    uint64_t *tasks; /* of each insertion: 1 + the number of its task; 0: none of this rank */
    unsigned long count, capacity, task_count, task_capacity;
    uint64_t cut; /* insertions at the cut */
    bool back;    /* all that the line had that the run began from, if from one of others */
    bool blind;   /* insertions had data that this rank has not registered */
    /* owner thread; guarded by mutex, too, where others read it */
    bool open; /* main() is inside of the last one */
    bool moves;
    uint64_t position;                       /* tasks that it had submitted before, or after that */
    const struct tic_label_access *accesses; /* of the open one */
    unsigned access_count;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void refuse_locked(const char *why)
{
    if (!all.why[0])
        snprintf(all.why, sizeof(all.why), "%s", why);
}

static bool is_back_locked(void)
{
    return all.back || tic_sources_end() == 0;
}

/* What is still to come back would be wrong then. */
void tic_labels_refuse(const char *why)
{
    pthread_mutex_lock(&all.mutex);
    bool stops = !is_back_locked();
    refuse_locked(why);
    pthread_mutex_unlock(&all.mutex);
    if (stops)
        tic_mpi_core->stop(why);
}

/* ---- data ------------------------------------------------------------------------------------ */

static struct datum **bucket_of(const void *data)
{
    return &all.by_data[((uintptr_t)data >> 6) % BUCKETS];
}

static struct datum *find(const void *data)
{
    struct datum *datum = data ? *bucket_of(data) : NULL;

    while (datum && datum->data != data)
        datum = datum->next;
    return datum;
}

static struct datum **bucket_of_tag(int64_t tag)
{
    return &all.by_tag[(uint64_t)tag % BUCKETS];
}

static struct datum *find_tag(int64_t tag)
{
    struct datum *datum = *bucket_of_tag(tag);

    while (datum && datum->tag != tag)
        datum = datum->next_tag;
    return datum;
}

static void add(void *data, int64_t tag)
{
    struct datum *datum = calloc(1, sizeof(*datum)), *other = find(data);

    if (!datum) {
        tic_labels_refuse("out of memory");
        return;
    }
    pthread_mutex_lock(&all.mutex);
    if (other)
        other->data = NULL; /* it was unregistered */
    *datum = (struct datum){.next = *bucket_of(data),
                            .next_tag = *bucket_of_tag(tag),
                            .data = data,
                            .tag = tag,
                            .label = all.blind ? UNKNOWN : 0};
    *bucket_of(data) = *bucket_of_tag(tag) = datum;
    all.datum_count++;
    pthread_mutex_unlock(&all.mutex);
}

void tic_labels_register(void *data, int64_t tag)
{
    const struct datum *known = find(data);

    if (known && known->tag == tag && !known->mentioned)
        return;
    if (find_tag(tag))
        tic_labels_refuse("two data have one tag, or one has it twice");
    else
        add(data, tag);
}

int starpu_mpi_data_get_rank(void *data);
void starpu_mpi_cached_send_clear(void *data);
void starpu_mpi_cached_receive_clear(void *data);

static bool is_own(const struct datum *datum)
{
    return (unsigned)TIC_MPI(starpu_mpi_data_get_rank, datum->data) == tic_mpi_core->rank;
}

static void append(struct datum *datum, const struct action *action)
{
    pthread_mutex_lock(&all.mutex);
    bool fine = tic_append(datum->actions, datum->count, datum->capacity, action) == 0;
    pthread_mutex_unlock(&all.mutex);
    if (!fine)
        tic_labels_refuse("out of memory");
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void stop_without(const struct datum *datum)
{
    char why[TIC_REASON];

    snprintf(why, sizeof(why),
             "the value of the data with tag %lld after insertion %llu is in no part any more",
             (long long)datum->tag, (unsigned long long)datum->label);
    tic_mpi_core->stop(why);
}

static void stop_late(void)
{
    tic_mpi_core->stop("a rank registers data later than others use it, and is to have its value");
}

/* To main(). */
static void show(struct datum *datum)
{
    const struct action action = {datum->label, datum->last, BROUGHT, 0, 0, 0};

    if (!datum->absent || datum->shown || !is_own(datum))
        return;
    datum->shown = true;
    append(datum, &action);
    if (!tic_sources_bring(datum->data, datum->tag, datum->label))
        stop_without(datum);
}

/* All ranks do, at the same insertion. */
static void bring(struct datum *datum)
{
    if (datum->label == UNKNOWN && is_own(datum))
        stop_late();
    show(datum);
    datum->absent = datum->shown = false;
}

/* What others have of it is not its value any more. */
static void lose(struct datum *datum, uint64_t label)
{
    if (!datum->absent) {
        TIC_MPI(starpu_mpi_cached_send_clear, datum->data);
        TIC_MPI(starpu_mpi_cached_receive_clear, datum->data);
    }
    datum->label = label;
    datum->absent = true;
    datum->shown = false;
}

static void bring_all(void)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct datum *each = all.by_tag[i]; each; each = each->next_tag)
            if (each->data)
                bring(each);
    pthread_mutex_lock(&all.mutex);
    all.back = true; /* or on its way */
    pthread_mutex_unlock(&all.mutex);
}

/* ---- insertions ------------------------------------------------------------------------------ */

/* The label that this access gives. */
static uint64_t label_after(const struct datum *datum, const struct tic_label_access *access)
{
    return access->writes && !(access->commutes && datum->commutes) ? all.count : datum->label;
}

static void pass_access(struct datum *datum, const struct tic_label_access *access)
{
    datum->label = label_after(datum, access);
    datum->last = access->writes ? all.count : datum->last;
    datum->commutes = access->commutes;
}

/* The content that main() has made, before anybody uses it. */
static void mention(struct datum *datum, bool reads)
{
    if (datum->mentioned)
        return;
    datum->mentioned = true;
    if (TIC_MPI(starpu_mpi_data_get_rank, datum->data) < 0)
        tic_labels_refuse("there is data of no rank, or of each");
    if (!tic_mpi_core->tasks.describe(datum->data, &datum->id, &datum->size))
        tic_labels_refuse("there is data that cannot come back elsewhere: parts, packed, excluded, "
                          "without an order");
    else if (reads && is_own(datum))
        datum->input = tic_mpi_core->tasks.hash_input(datum->data);
    uint64_t input = tic_sources_input(datum->tag);
    if (input != 0 && datum->input != 0 && datum->input != input)
        tic_mpi_core->stop("main() puts something else into data than on another number of ranks");
}

/* 0: this rank lacks some of it, and so does not execute the insertion. */
static uint64_t hash_data(const struct tic_label_access *accesses, unsigned count)
{
    uint64_t fold = 1;
    bool lacks = false;

    for (unsigned i = 0; i < count; i++) {
        struct datum *datum = find(accesses[i].data);
        if (datum)
            mention(datum, accesses[i].reads);
        else if (accesses[i].data)
            tic_labels_refuse("there is data without a tag");
        if (datum && datum->label == UNKNOWN && accesses[i].commutes)
            tic_labels_refuse("a rank registers data later than others, among tasks that commute");
        if (datum)
            fold = tic_words_hash((uint64_t[]){fold, (uint64_t)datum->tag, datum->size}, 3, 0);
        lacks |= !datum;
    }
    all.blind |= lacks;
    return lacks ? 0 : fold | 1;
}

static void begin(const struct tic_insertion *insertion, const struct tic_label_access *accesses,
                  unsigned count)
{
    const uint64_t none = 0;

    pthread_mutex_lock(&all.mutex);
    bool fine = tic_append(all.tasks, all.task_count, all.task_capacity, &none) == 0 &&
                tic_append(all.insertions, all.count, all.capacity, insertion) == 0;
    all.open = insertion->state != TIC_INSERTION_BEFORE;
    all.accesses = accesses;
    all.access_count = count;
    pthread_mutex_unlock(&all.mutex);
    if (!fine)
        tic_labels_refuse("out of memory");
}

/* It is done: its results are somewhere. */
static void pass_done(const struct tic_label_access *accesses, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct datum *datum = find(accesses[i].data);
        uint64_t label = datum ? label_after(datum, &accesses[i]) : 0;
        if (!datum)
            continue;
        if (accesses[i].writes && label != datum->label)
            lose(datum, label);
        pass_access(datum, &accesses[i]);
    }
}

/* It runs: what it reads is there before. Of several that commute others may be done, which come
 * later in main(). */
static void prepare(const struct tic_label_access *accesses, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct datum *datum = find(accesses[i].data);
        uint64_t label = datum ? label_after(datum, &accesses[i]) : 0;
        if (!datum)
            continue;
        if (accesses[i].commutes && label != datum->label && tic_sources_has(datum->tag, label)) {
            lose(datum, label);
            datum->commutes = true;
        }
        if (accesses[i].reads)
            bring(datum);
    }
}

bool tic_labels_enter(uint64_t what, const struct tic_label_access *accesses, unsigned count)
{
    struct tic_insertion insertion = {.what = what};
    const uint64_t end = tic_sources_end(), number = all.count,
                   position = tic_mpi_core->tasks.position();
    const bool done = number < end && tic_sources_is_done(number);

    if (!tic_mpi_core->tasks.is_main())
        tic_labels_refuse("others than main() enter insertions");
    if (position != all.position)
        tic_labels_refuse("main() submits tasks outside of insertions");
    if (!all.why[0])
        insertion.data = hash_data(accesses, count);
    if (all.why[0] && number < end)
        tic_mpi_core->stop(all.why);
    if (all.why[0])
        return true;
    if (number < end && !tic_sources_compare(number, &insertion))
        tic_mpi_core->stop("main() enters other insertions than on another number of ranks");
    insertion.state = done ? TIC_INSERTION_BEFORE : TIC_INSERTION_ELSEWHERE;
    begin(&insertion, accesses, count);
    if (done)
        pass_done(accesses, count);
    else if (number < end)
        prepare(accesses, count);
    if (done && number + 1 == end)
        bring_all();
    return !done;
}

/* Of the task of the open insertion. */
static struct action describe_use(const struct datum *datum, const struct tic_label_access *access)
{
    return (struct action){.label = label_after(datum, access),
                           .last = access->writes ? all.count : datum->last,
                           .kind = access->writes ? TASK : READ,
                           .number = all.position};
}

/* This rank executes it: what is asked for from now on comes after. Before labels are passed. */
static void note_task(void)
{
    bool writes = false;

    if (!all.open || all.tasks[all.count - 1] > 0 || tic_mpi_core->tasks.position() == all.position)
        return;
    for (unsigned i = 0; i < all.access_count; i++) {
        struct datum *datum = find(all.accesses[i].data);
        const struct action action = describe_use(datum, &all.accesses[i]);
        append(datum, &action);
        writes |= all.accesses[i].writes;
    }
    if (!writes)
        tic_labels_refuse("a task writes no data");
    pthread_mutex_lock(&all.mutex);
    all.tasks[all.count - 1] = all.position + 1;
    pthread_mutex_unlock(&all.mutex);
}

void tic_labels_leave(const struct tic_label_access *accesses, unsigned count)
{
    uint64_t position = tic_mpi_core->tasks.position();

    if (!all.why[0]) {
        note_task();
        for (unsigned i = 0; i < count; i++) {
            struct datum *datum = find(accesses[i].data);
            if (!datum)
                continue;
            if (accesses[i].writes && datum->looked)
                tic_labels_refuse("main() looks at data that insertions write later");
            pass_access(datum, &accesses[i]);
            datum->absent &= !accesses[i].writes;
        }
        if (position > all.position + 1)
            tic_labels_refuse("an insertion submits several tasks");
        if (all.count == tic_sources_end())
            bring_all();
    }
    pthread_mutex_lock(&all.mutex);
    all.position = position;
    all.open = false;
    all.access_count = 0;
    pthread_mutex_unlock(&all.mutex);
}

bool tic_labels_move(void *data)
{
    const struct datum *datum = find(data);

    all.moves = true;
    if (datum && datum->label == UNKNOWN && all.count < tic_sources_end())
        stop_late();
    return !datum || !datum->absent;
}

void tic_labels_moved(void *data)
{
    struct datum *datum = find(data);

    all.moves = false;
    if (datum)
        datum->shown = false;
}

/* What the owner of a result gets from who has executed the insertion has its label. */
static struct action describe_receive(const struct datum *datum)
{
    struct action action = {datum->label, datum->last, RECEIVE, 0, 0, 0};

    for (unsigned i = 0; i < all.access_count && all.open && is_own(datum); i++)
        if (all.accesses[i].data == datum->data && all.accesses[i].writes)
            action = describe_use(datum, &all.accesses[i]);
    return action;
}

void tic_labels_note_message(void *data, bool sends, int peer, int64_t name, uint64_t number)
{
    struct datum *datum = find(data);

    if (!all.open && !all.moves)
        tic_labels_refuse("there are messages outside of insertions and migration");
    if (!datum || all.why[0])
        return;
    note_task();
    struct action action = describe_receive(datum);
    action.kind = sends ? SEND : RECEIVE;
    action.peer = peer;
    action.name = name;
    action.number = number;
    append(datum, &action);
}

void tic_labels_note_rank(void *data)
{
    const struct datum *datum = find(data);

    if (datum && datum->mentioned && !all.moves)
        tic_labels_refuse("data gets another owner without migration");
}

void tic_labels_come(void *data, enum tic_ranks_use use)
{
    const struct action invalid = {.kind = INVALID};
    struct datum *datum = find(data);

    if (datum && use == TIC_RANKS_INVALIDATES && !all.why[0]) {
        note_task();
        append(datum, &invalid);
    }
    if (!datum || all.open || all.moves || use == TIC_RANKS_INVALIDATES)
        return;
    show(datum);
    datum->looked |= datum->label > 0;
    if (use == TIC_RANKS_WRITES && datum->label > 0)
        tic_labels_refuse("main() changes data that insertions have written");
    else if (use == TIC_RANKS_READS && !is_own(datum))
        tic_labels_refuse("main() looks at data of another rank");
    if (use == TIC_RANKS_LEAVES)
        datum->data = NULL;
}

bool tic_labels_are_short(void)
{
    pthread_mutex_lock(&all.mutex);
    bool are = all.count < tic_sources_end();
    pthread_mutex_unlock(&all.mutex);
    return are;
}

bool tic_labels_are_ahead(void)
{
    pthread_mutex_lock(&all.mutex);
    bool back = is_back_locked();
    pthread_mutex_unlock(&all.mutex);
    return !back || tic_sources_are_busy();
}

/* ---- a line ---------------------------------------------------------------------------------- */

void tic_labels_cut(void)
{
    pthread_mutex_lock(&all.mutex);
    all.cut = all.count;
    if (!all.open && tic_mpi_core->tasks.position() != all.position)
        refuse_locked("main() submits tasks outside of insertions");
    pthread_mutex_unlock(&all.mutex);
}

bool tic_labels_wait(void)
{
    pthread_mutex_lock(&all.mutex);
    bool open = all.open && all.count == all.cut;
    pthread_mutex_unlock(&all.mutex);
    return open;
}

static bool is_done(const struct action *action)
{
    switch (action->kind) {
    case TASK:
    case READ:
        return tic_mpi_core->tasks.is_done(action->number);
    case RECEIVE:
    case SEND:
        return tic_channels_was_counted(action->kind == SEND, action->peer, action->name,
                                        action->number);
    default:
        return true;
    }
}

/* Of several that commute the last one in the value need not be the last that is done. */
static void pass(struct action *value, const struct action *action)
{
    uint64_t last = value->label == action->label ? value->last : 0;

    if (action->kind == READ || action->kind == SEND)
        return;
    *value = *action;
    value->last = last > action->last ? last : action->last;
}

/* An invalidation is done when all before it is: StarPU may use the memory for other data then. */
static void describe_datum(struct datum *datum, struct tic_table *table)
{
    unsigned long gone = 0;

    while (gone < datum->count && is_done(&datum->actions[gone]))
        pass(&datum->value, &datum->actions[gone++]);
    datum->count -= gone;
    if (datum->count > 0)
        memmove(datum->actions, datum->actions + gone, datum->count * sizeof(*datum->actions));
    struct action value = datum->value;
    for (unsigned long i = 0; i < datum->count; i++) {
        const struct action *action = &datum->actions[i];
        if (action->kind != INVALID && is_done(action))
            pass(&value, action);
        else if (action->kind == RECEIVE)
            table->messages[table->message_count++] =
                (struct tic_labelled_message){datum->tag,     action->name,  action->peer,
                                              action->number, action->label, action->last};
    }
    table->values[table->value_count++] =
        (struct tic_labelled){datum->tag, value.label, value.last, datum->id, datum->input};
}

static uint64_t count_messages(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct datum *each = all.by_tag[i]; each; each = each->next_tag)
            count += each->count;
    return count;
}

static void describe_insertions(struct tic_table *table)
{
    if (all.cut > 0)
        memcpy(table->insertions, all.insertions, all.cut * sizeof(*table->insertions));
    table->insertion_count = all.cut;
    for (uint64_t i = 0; i < all.cut; i++)
        if (all.tasks[i] > 0)
            table->insertions[i].state = tic_mpi_core->tasks.is_done(all.tasks[i] - 1)
                                             ? TIC_INSERTION_DONE
                                             : TIC_INSERTION_LIVE;
}

/* A restart on as many ranks leaves them out again, whatever else is known. */
static bool describe_before_locked(struct tic_table *table)
{
    table->insertions = calloc(all.cut + 1, sizeof(*table->insertions));
    table->insertion_count = table->insertions ? table->end : 0;
    for (uint64_t i = 0; i < table->insertion_count; i++)
        table->insertions[i] = all.insertions[i];
    return table->insertions != NULL;
}

static bool describe_locked(struct tic_table *table)
{
    table->values = calloc(all.datum_count + 1, sizeof(*table->values));
    table->messages = calloc(count_messages() + 1, sizeof(*table->messages));
    if (!table->values || !table->messages)
        return false;
    describe_insertions(table);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct datum *each = all.by_tag[i]; each; each = each->next_tag)
            describe_datum(each, table);
    return true;
}

int tic_labels_write(const char *path, char why[TIC_REASON])
{
    struct tic_table table = {.end = 0};
    const char *bound = tic_mpi_core->tasks.bound();

    pthread_mutex_lock(&all.mutex);
    if (bound)
        refuse_locked(bound);
    bool fine = tic_sources_describe(&table) && describe_before_locked(&table);
    if (!all.why[0] && !(fine && describe_locked(&table)))
        refuse_locked("out of memory");
    memcpy(table.why, all.why, sizeof(table.why));
    pthread_mutex_unlock(&all.mutex);
    memcpy(why, table.why, sizeof(table.why));
    bool needs = table.end > 0 || !why[0];
    int status = !fine ? -ENOMEM : needs ? tic_table_write(path, &table) : 0;
    tic_table_clear(&table);
    return status ? status : needs;
}
