/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that restarts on another number of ranks, and those that go on from them, bring exactly
 * the values that the program has: a model of ranks with random orders around labels.c, sources.c
 * and table.c. StarPU, StarPU-MPI (its caches as in 1.3.10) and the core are not real. What each
 * value is follows from the order of the program, so each task, and main() at last, knows what it
 * is to find.
 *
 * TIC_MODEL_SEED, TIC_MODEL_ROUNDS: others than the usual ones.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/testing.h"
#include "mpi/core.h"

#undef TIC_MPI
#define TIC_MPI(name, ...) name(__VA_ARGS__)
#define find find_datum
#include "mpi/labels.c"
#undef find
#define find find_place
#include "mpi/sources.c"
#undef find
#define fsync(fd) 0
#include "mpi/table.c"

enum {
    RANKS = 5,
    DATA = 6,
    OPS = 40,
    MOST_USES = 3,
    MESSAGES = 3 * OPS,
    JOBS = 16 * OPS,
    MOST_LATE = 200
};
enum { STACK = 1 << 16, MOST_STEPS = 100000, MOST_RESTARTS = 5, ROUNDS = 3000 };

/* ---- the program ----------------------------------------------------------------------------- */

struct use {
    int datum;
    bool reads, writes, commutes;
};

struct op {
    enum { INSERT, MIGRATE, FLUSH, AWAIT, LOOK } kind;
    uint64_t number; /* of an insertion, from 1 */
    struct use uses[MOST_USES];
    int count, node; /* node: -1: where the first datum belongs */
    uint64_t inputs[MOST_USES], outputs[MOST_USES];
};

static struct {
    struct op ops[OPS];
    int count;
    bool looks, leaves, commutes;
    unsigned width, stays; /* data that most use; of so many one insertion goes to another rank */
    bool sparse, late;     /* ranks register what they use: at the start; when they do so */
    uint64_t inputs[DATA], results[DATA];
} program;

static uint64_t chance;

static unsigned dice(unsigned sides)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 20) % sides;
}

/* Those that commute add. */
static void compute(const struct op *op, const uint64_t *inputs, uint64_t *outputs)
{
    uint64_t fold = op->number;

    for (int i = 0; i < op->count; i++)
        if (op->uses[i].reads && !op->uses[i].commutes)
            fold = tic_words_hash((uint64_t[]){fold, inputs[i]}, 2, 0);
    for (int i = 0; i < op->count; i++)
        if (op->uses[i].writes)
            outputs[i] = op->uses[i].commutes
                             ? inputs[i] + (fold | 1) * (2 * (uint64_t)i + 1)
                             : tic_words_hash((uint64_t[]){fold, (uint64_t)i}, 2, 0);
}

/* Those of the first kinds commute only. */
static void make_insertion(struct op *op, uint64_t number)
{
    static const struct use kinds[][MOST_USES] = {
        {{0, true, true, true}, {1, true, false, false}},
        {{0, true, true, true}},
        {{0, true, true, true}, {1, true, true, true}},
        {{0, true, true, true}, {1, true, false, false}},
        {{0, true, true, false}, {1, true, false, false}},
        {{0, true, true, false}, {1, true, false, false}, {2, true, false, false}},
        {{0, false, true, false}},
        {{0, false, true, false}, {1, true, false, false}},
        {{0, true, true, false}, {1, true, true, false}},
        {{0, true, true, true}, {1, true, true, false}},
        {{0, true, true, true}, {1, false, true, false}, {2, true, false, false}},
    };
    const struct use *kind = kinds[dice(program.commutes && dice(8) ? 3 : TIC_COUNT(kinds))];
    int first = (int)dice(program.width), step = 1 + (int)dice(DATA / 2 - 1);

    *op = (struct op){
        .kind = INSERT, .number = number, .node = dice(program.stays) ? -1 : (int)dice(60)};
    for (; op->count < MOST_USES && (kind[op->count].reads || kind[op->count].writes);
         op->count++) {
        op->uses[op->count] = kind[op->count];
        op->uses[op->count].datum = (first + op->count * step) % DATA;
    }
}

static void make_program(bool late)
{
    uint64_t insertions = 0, now[DATA];
    unsigned looks = dice(8) == 0;

    memset(&program, 0, sizeof(program));
    program.leaves = dice(4) == 0;
    program.sparse = late || dice(3) == 0;
    program.late = late || dice(3) == 0;
    program.commutes = late || dice(3) == 0;
    program.width = 1 + dice(DATA);
    program.stays = 2 + dice(4);
    program.count = 6 + (int)dice(OPS - 6);
    for (int i = 0; i < DATA; i++)
        now[i] = program.inputs[i] = 1000 + (uint64_t)i;
    for (int i = 0; i < program.count; i++) {
        struct op *op = &program.ops[i];
        unsigned kind = dice(20);
        *op = (struct op){.kind = kind < 2   ? MIGRATE
                                  : kind < 4 ? FLUSH
                                  : kind < 5 ? AWAIT
                                             : INSERT,
                          .uses = {{.datum = (int)dice(DATA)}},
                          .node = (int)dice(60)};
        if (looks && dice(8) == 0)
            op->kind = LOOK;
        program.looks |= op->kind == LOOK;
        if (op->kind == INSERT)
            make_insertion(op, ++insertions);
        for (int k = 0; k < op->count || k == 0; k++)
            op->inputs[k] = now[op->uses[k].datum];
        compute(op, op->inputs, op->outputs);
        for (int k = 0; k < op->count; k++)
            if (op->uses[k].writes)
                now[op->uses[k].datum] = op->outputs[k];
    }
    memcpy(program.results, now, sizeof(now));
}

/* Of a number of ranks: who owns data at each place, and where a rank first uses it; OPS: never. */
static struct {
    int owners[OPS + 1][DATA], uses[RANKS][DATA];
} plan;

static void note_uses(const struct op *op, int at, int rank)
{
    for (int i = 0; i < op->count || i == 0; i++) {
        int *first = &plan.uses[rank][op->uses[i].datum];
        *first = at < *first ? at : *first;
    }
}

static int node_of(const struct op *op, const int *owners, int ranks)
{
    return op->node < 0 ? owners[op->uses[0].datum] : op->node % ranks;
}

static void make_plan(int ranks)
{
    for (int i = 0; i < DATA; i++)
        plan.owners[0][i] = i % ranks;
    for (int i = 0; i < RANKS * DATA; i++)
        plan.uses[i / DATA][i % DATA] = i % DATA % ranks == i / DATA ? 0 : OPS;
    for (int at = 0; at < program.count; at++) {
        const struct op *op = &program.ops[at];
        const int *owners = plan.owners[at];
        memcpy(plan.owners[at + 1], owners, sizeof(plan.owners[at]));
        for (int i = 0; i < op->count; i++)
            note_uses(op, at, owners[op->uses[i].datum]);
        if (op->kind == INSERT || op->kind == MIGRATE)
            note_uses(op, at, node_of(op, owners, ranks));
        for (int i = 0; i < ranks * op->count; i++)
            if (op->uses[i / ranks].writes && plan.uses[i % ranks][op->uses[i / ranks].datum] <= at)
                note_uses(op, at, i % ranks); /* its copy is none any more */
        if (op->kind == MIGRATE)
            plan.owners[at + 1][op->uses[0].datum] = op->node % ranks;
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

struct copy {
    uint64_t bytes;
    bool valid;
};

struct job { /* kind: TASK, SEND, RECEIVE, BROUGHT, INVALID */
    int kind, peer;
    bool begun, ended;
    const struct op *op;
    struct use use; /* but of a task */
    uint64_t number;
    void (*callback)(void *);
    void *argument;
};

struct part { /* of a rank at its cut */
    struct copy copies[DATA];
    bool tasks[OPS], invalid[JOBS], gone[DATA];
    int at;
    uint64_t sent[RANKS][DATA], received[RANKS][DATA];
};

struct channel {
    uint64_t asked[2], before[2]; /* receives, sends */
    uint64_t sent, received, bytes[MESSAGES];
};

struct line {
    bool is;
    unsigned ranks;
    struct tic_job_line about;
    struct tic_job_part parts[RANKS];
    struct part at[RANKS];
    uint64_t late[RANKS][RANKS][DATA][MESSAGES]; /* bytes of all messages */
};

enum phase { NOWHERE, READY, CUT, WRITTEN };

struct rank {
    ucontext_t context;
    const struct part *before;
    enum phase phase;
    bool holds, over, has[DATA], gone[DATA];
    int at, owner[DATA];
    bool has_received[DATA], has_sent[DATA][RANKS];
    struct copy copies[DATA];
    struct job jobs[JOBS];
    int job_count, first;
    uint64_t position, invalidations;
    bool tasks[OPS], invalid[JOBS];
    unsigned speeds[2]; /* of main(), and of jobs */
};

static struct {
    unsigned count, now;
    struct rank ranks[RANKS];
    struct channel channels[RANKS][RANKS][DATA];
    struct line lines[2];
    unsigned newest; /* of both */
    bool takes, main_runs;
    char *stop, wrong[256];
    ucontext_t scheduler;
    unsigned restarts, others, stops, whys, left, finished;
} world;

static char stacks[RANKS][STACK];
static int files[2][RANKS]; /* of tables: in memory, of both lines */
static typeof(all) fresh_labels, labels[RANKS];
static typeof(from) sources[RANKS];

static struct rank *own(void)
{
    return &world.ranks[world.now];
}

static void note_wrong(const char *what, int datum, uint64_t number)
{
    if (!world.wrong[0])
        snprintf(world.wrong, sizeof(world.wrong), "%s: data %d, %llu, rank %u of %u", what, datum,
                 (unsigned long long)number, world.now, world.count);
}

/* Addresses and tags are small, so that few buckets are used. */
static void *data_of(int datum)
{
    return (void *)((uintptr_t)(datum + 1) * 64);
}

static int datum_of(const void *data)
{
    return (int)((uintptr_t)data / 64) - 1;
}

static void copy_labels(typeof(all) *to, const typeof(all) *of)
{
    const size_t few = 16 * sizeof(void *), rest = offsetof(typeof(all), datum_count);

    memcpy(to, of, offsetof(typeof(all), by_data) + few);
    memcpy(to->by_tag, of->by_tag, few);
    memcpy((char *)to + rest, (const char *)of + rest, sizeof(*to) - rest);
}

static struct tic_ranks_core core;

static void turn_to(unsigned rank)
{
    if (rank == world.now)
        return;
    copy_labels(&labels[world.now], &all);
    sources[world.now] = from;
    copy_labels(&all, &labels[rank]);
    from = sources[rank];
    core.rank = world.now = rank;
}

/* main() of this rank stands here while others go on, and a cut may be here. */
static void pause_main(void)
{
    if (world.main_runs && dice(2))
        swapcontext(&own()->context, &world.scheduler);
}

/* ---- StarPU: tasks and messages in the order of main(), as far as they use the same ---------- */

static bool uses_are_ordered(const struct use *one, const struct use *other)
{
    return one->datum == other->datum && (one->writes || other->writes) &&
           !(one->commutes && other->commutes);
}

static int uses_of(const struct job *job, const struct use **uses)
{
    *uses = job->op ? job->op->uses : &job->use;
    return job->op ? job->op->count : 1;
}

static bool are_ordered(const struct job *one, const struct job *other)
{
    const struct use *uses, *others;
    int count = uses_of(one, &uses), other_count = uses_of(other, &others);

    for (int i = 0; i < count * other_count; i++)
        if (uses_are_ordered(&uses[i / other_count], &others[i % other_count]))
            return true;
    return false;
}

static bool is_granted(const struct rank *rank, int job)
{
    for (int i = rank->first; i < job; i++)
        if (!rank->jobs[i].ended && are_ordered(&rank->jobs[i], &rank->jobs[job]))
            return false;
    return true;
}

static void add_job(const struct job *job)
{
    struct rank *rank = own();

    if (rank->job_count == JOBS)
        abort();
    rank->jobs[rank->job_count++] = *job;
}

static void execute(struct rank *rank, const struct job *job)
{
    const struct op *op = job->op;
    uint64_t inputs[MOST_USES], outputs[MOST_USES];

    for (int i = 0; i < op->count; i++) {
        const struct copy *copy = &rank->copies[op->uses[i].datum];
        inputs[i] = copy->bytes;
        if (op->uses[i].reads &&
            (!copy->valid || (!op->uses[i].commutes && copy->bytes != op->inputs[i])))
            note_wrong("a task reads something else", op->uses[i].datum, op->number);
    }
    compute(op, inputs, outputs);
    for (int i = 0; i < op->count; i++)
        if (op->uses[i].writes)
            rank->copies[op->uses[i].datum] = (struct copy){outputs[i], true};
    rank->tasks[job->number] = true;
}

static bool begin_send(const struct rank *rank, struct job *job)
{
    struct channel *channel = &world.channels[world.now][job->peer][job->use.datum];
    const struct copy *copy = &rank->copies[job->use.datum];

    if (rank->holds || channel->sent != job->number - 1)
        return false;
    if (!copy->valid)
        note_wrong("a message has no value", job->use.datum, job->number);
    channel->bytes[channel->sent++] = copy->bytes;
    job->begun = true;
    return true;
}

static void end_receive(struct rank *rank, struct job *job)
{
    struct channel *channel = &world.channels[job->peer][world.now][job->use.datum];

    job->ended = channel->received == job->number - 1 && channel->sent >= job->number;
    if (job->ended)
        rank->copies[job->use.datum] = (struct copy){channel->bytes[channel->received++], true};
}

/* The memory may go to other data. */
static void invalidate_copy(struct rank *rank, const struct job *job)
{
    struct copy *copy = &rank->copies[job->use.datum];

    *copy = (struct copy){dice(2) ? rank->copies[dice(DATA)].bytes : copy->bytes, false};
    rank->invalid[job->number] = true;
}

static void run_job(struct rank *rank, int index)
{
    struct job *job = &rank->jobs[index];

    if (job->ended || !is_granted(rank, index))
        return;
    if (job->kind == SEND && !job->begun) {
        begin_send(rank, job);
        return;
    }
    job->ended = true;
    if (job->kind == TASK)
        execute(rank, job);
    else if (job->kind == RECEIVE)
        end_receive(rank, job);
    else if (job->kind == INVALID)
        invalidate_copy(rank, job);
    else if (job->kind == BROUGHT)
        job->callback(job->argument);
    while (rank->first < rank->job_count && rank->jobs[rank->first].ended)
        rank->first++;
}

static bool is_used(const struct rank *rank, int datum)
{
    for (int i = rank->first; i < rank->job_count; i++) {
        const struct use *uses;
        int count = uses_of(&rank->jobs[i], &uses);
        for (int k = 0; k < count && !rank->jobs[i].ended; k++)
            if (datum < 0 ? rank->jobs[i].kind == TASK : uses[k].datum == datum)
                return true;
    }
    return false;
}

/* Data, or with -1 all tasks. */
static void await(int datum)
{
    while (is_used(own(), datum))
        pause_main();
}

/* ---- StarPU-MPI ------------------------------------------------------------------------------ */

int starpu_mpi_data_get_rank(void *data)
{
    return own()->owner[datum_of(data)];
}

static void invalidate(int datum)
{
    struct rank *rank = own();

    tic_labels_come(data_of(datum), TIC_RANKS_INVALIDATES);
    uint64_t number = rank->invalidations++;
    if (!rank->before || !rank->before->invalid[number])
        add_job(&(struct job){.kind = INVALID, .use = {datum, .writes = true}, .number = number});
    pause_main();
}

void starpu_mpi_cached_send_clear(void *data)
{
    memset(own()->has_sent[datum_of(data)], 0, sizeof(own()->has_sent[0]));
}

void starpu_mpi_cached_receive_clear(void *data)
{
    bool had = own()->has_received[datum_of(data)];

    own()->has_received[datum_of(data)] = false;
    if (had)
        invalidate(datum_of(data));
}

static void flush(int datum)
{
    starpu_mpi_cached_send_clear(data_of(datum));
    own()->has_received[datum] = false;
    if (own()->owner[datum] != (int)world.now)
        invalidate(datum);
}

static void ask(int datum, bool sends, int peer)
{
    struct channel *channel =
        sends ? &world.channels[world.now][peer][datum] : &world.channels[peer][world.now][datum];
    uint64_t number = ++channel->asked[sends];

    if (number > MESSAGES)
        abort();
    tic_labels_note_message(data_of(datum), sends, peer, datum, number);
    pause_main();
    if (number > channel->before[sends])
        add_job(&(struct job){.kind = sends ? SEND : RECEIVE,
                              .peer = peer,
                              .use = {datum, .reads = sends, .writes = !sends},
                              .number = number});
    pause_main();
}

/* Where somebody else has it, but for what the caches have. */
static void bring_to(int datum, int node)
{
    struct rank *rank = own();
    const int owner = rank->owner[datum], self = (int)world.now;
    bool *cache = self == node ? &rank->has_received[datum] : &rank->has_sent[datum][node];

    if (owner == node || (self != node && self != owner) || *cache)
        return;
    *cache = true;
    ask(datum, self == owner, self == owner ? node : owner);
}

static void submit(const struct op *op)
{
    uint64_t number = own()->position++;

    if (!own()->before || !own()->before->tasks[number])
        add_job(&(struct job){.kind = TASK, .op = op, .number = number});
}

static void insert_really(const struct op *op, int node)
{
    const int self = (int)world.now;

    for (int i = 0; i < op->count; i++)
        if (op->uses[i].reads && own()->has[op->uses[i].datum])
            bring_to(op->uses[i].datum, node);
    if (node == self)
        submit(op);
    pause_main();
    for (int i = 0; i < op->count; i++) {
        int datum = op->uses[i].datum, owner = own()->owner[datum];
        if (!op->uses[i].writes)
            continue;
        if (owner != node && (owner == self || node == self))
            ask(datum, node == self, node == self ? owner : node);
        starpu_mpi_cached_send_clear(data_of(datum));
        starpu_mpi_cached_receive_clear(data_of(datum));
    }
}

/* Of data that a rank has not registered it has nothing. */
static void insert(const struct op *op)
{
    struct tic_label_access accesses[MOST_USES];
    bool has_all = true; /* that is written */

    for (int i = 0; i < op->count; i++) {
        const struct use *use = &op->uses[i];
        bool has = own()->has[use->datum];
        accesses[i] = (struct tic_label_access){has ? data_of(use->datum) : NULL, use->reads,
                                                use->writes, use->commutes};
        has_all &= has || !use->writes;
    }
    if (!tic_labels_enter(op->number, accesses, (unsigned)op->count))
        return;
    pause_main();
    if (has_all)
        insert_really(op, node_of(op, own()->owner, (int)world.count));
    pause_main();
    tic_labels_leave(accesses, (unsigned)op->count);
}

static void migrate(int datum, int node)
{
    bool moves = tic_labels_move(data_of(datum)) && own()->owner[datum] != node;

    if (moves)
        bring_to(datum, node);
    tic_labels_note_rank(data_of(datum));
    own()->owner[datum] = node;
    if (moves)
        flush(datum);
    pause_main();
    tic_labels_moved(data_of(datum));
}

/* ---- main() ---------------------------------------------------------------------------------- */

static void look(int datum, uint64_t expected)
{
    if (!own()->has[datum] || own()->owner[datum] != (int)world.now)
        return;
    tic_labels_come(data_of(datum), TIC_RANKS_READS);
    await(datum);
    if (own()->before && own()->at < own()->before->at)
        return; /* the history tells */
    if (!own()->copies[datum].valid || own()->copies[datum].bytes != expected)
        note_wrong("main() finds something else", datum, (uint64_t)own()->at);
}

static void register_data(int datum, int owner)
{
    struct rank *rank = own();

    rank->has[datum] = true;
    rank->owner[datum] = owner;
    tic_labels_register(data_of(datum), datum);
}

static void do_op(const struct op *op)
{
    for (int i = 0; i < DATA; i++)
        if (!own()->has[i] && plan.uses[world.now][i] <= own()->at)
            register_data(i, plan.owners[own()->at][i]);
    if (op->kind == INSERT)
        insert(op);
    else if (!own()->has[op->uses[0].datum])
        return;
    else if (op->kind == MIGRATE)
        migrate(op->uses[0].datum, op->node % (int)world.count);
    else if (op->kind == FLUSH)
        flush(op->uses[0].datum);
    else if (op->kind == AWAIT)
        await(-1);
    else if (op->kind == LOOK)
        look(op->uses[0].datum, op->inputs[0]);
    pause_main();
}

static void run_main(void)
{
    for (; own()->at < program.count; own()->at++)
        do_op(&program.ops[own()->at]);
    for (int i = 0; i < DATA; i++)
        look(i, program.results[i]);
    for (int i = 0; i < DATA && program.leaves; i++) {
        if (!own()->has[i])
            continue;
        tic_labels_come(data_of(i), TIC_RANKS_LEAVES);
        await(i);
        own()->gone[i] = true;
        pause_main();
    }
    own()->over = true;
    swapcontext(&own()->context, &world.scheduler);
}

/* ---- the core -------------------------------------------------------------------------------- */

static void stop(const char *why)
{
    world.stop = strdup(why);
    if (!world.main_runs)
        abort();
    swapcontext(&own()->context, &world.scheduler);
}

static bool yes(void)
{
    return true;
}

static uint64_t position(void)
{
    return own()->position;
}

/* Of the line that is taken: what ended after the cut is of the next one. */
static bool is_task_done(uint64_t task)
{
    return world.lines[!world.newest].at[world.now].tasks[task];
}

static const char *bound(void)
{
    return NULL;
}

static bool describe(void *data, uint64_t *id, uint64_t *size)
{
    *id = (uint64_t)datum_of(data);
    *size = sizeof(uint64_t);
    pause_main();
    return true;
}

static uint64_t hash_input(void *data)
{
    int datum = datum_of(data);

    return datum % (int)world.count == (int)world.now ? program.inputs[datum] : 0;
}

static void note_asked(void *data, bool receives, bool done)
{
    (void)receives;
    if (done != (own()->before != NULL))
        note_wrong("a value comes back, or not", datum_of(data), 0);
    pause_main();
}

static void acquire(void *data, void (*callback)(void *), void *argument)
{
    add_job(&(struct job){.kind = BROUGHT,
                          .use = {datum_of(data), .writes = true},
                          .callback = callback,
                          .argument = argument});
    pause_main();
}

static bool fill(void *data, const void *bytes, size_t size)
{
    struct copy *copy = &own()->copies[datum_of(data)];

    copy->valid = true;
    memcpy(&copy->bytes, bytes, sizeof(copy->bytes));
    return size == sizeof(copy->bytes);
}

static void note_received(void *data, void (*note)(void *), void *argument)
{
    (void)data;
    note(argument);
}

static void ignore(void *data)
{
    (void)data;
}

static void guard(int by)
{
    (void)by;
}

/* A folder's name is the rank. */
static void *open_part(const char *folder, const char *name)
{
    (void)name;
    return &world.lines[world.newest].at[atoi(folder)];
}

static void *part_value(void *opened, uint64_t id, size_t *size)
{
    const struct part *part = opened;
    uint64_t *bytes = part->gone[id] ? NULL : malloc(sizeof(*bytes));

    *size = sizeof(*bytes);
    if (bytes)
        *bytes = part->copies[id].bytes;
    return bytes;
}

static struct tic_ranks_core core = {
    .stop = stop,
    .give_up = stop,
    .guard = guard,
    .open_part = open_part,
    .part_value = part_value,
    .tasks = {.is_main = yes,
              .position = position,
              .is_done = is_task_done,
              .bound = bound,
              .describe = describe,
              .hash_input = hash_input},
    .messages = {.note_asked = note_asked,
                 .acquire = acquire,
                 .release = ignore,
                 .note_granted = ignore,
                 .fill = fill,
                 .note_received = note_received},
};

const struct tic_ranks_core *tic_mpi_core = &core;

bool tic_channels_was_counted(bool sends, int peer, int64_t tag, uint64_t number)
{
    const struct part *part = &world.lines[!world.newest].at[world.now];

    return number <= (sends ? part->sent : part->received)[peer][tag];
}

void tic_job_folder(const char *job, unsigned generation, unsigned rank, char *path)
{
    (void)job;
    (void)generation;
    snprintf(path, PATH_MAX, "%u", rank);
}

void tic_job_beside(const char *job, unsigned generation, unsigned rank, const char *what,
                    const char *part, char *path)
{
    (void)job;
    (void)generation;
    if (strcmp(what, "late") == 0)
        snprintf(path, PATH_MAX, "%u", rank);
    else
        snprintf(path, PATH_MAX, "/proc/self/fd/%d", files[atoi(part)][rank]);
}

int tic_late_read(const char *path, struct tic_late **late, unsigned long *count)
{
    static struct tic_late found[RANKS][RANKS][MOST_LATE]; /* of who reads, and whose they are */
    struct line *line = &world.lines[world.newest];
    const int to = atoi(path);

    *late = found[world.now][to];
    *count = 0;
    for (int peer = 0; peer < (int)line->ranks; peer++)
        for (int datum = 0; datum < DATA; datum++)
            for (uint64_t i = line->at[to].received[peer][datum];
                 i < line->at[peer].sent[to][datum] && *count < MOST_LATE; i++)
                (*late)[(*count)++] = (struct tic_late){
                    peer, datum, i + 1, &line->late[peer][to][datum][i], sizeof(uint64_t)};
    return *count < MOST_LATE ? 0 : -ENOMEM;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static struct line *next_line(void)
{
    return &world.lines[!world.newest];
}

static bool all_are(enum phase phase)
{
    for (unsigned i = 0; i < world.count; i++)
        if (world.ranks[i].phase < phase)
            return false;
    return true;
}

static void cut(struct rank *rank)
{
    struct part *part = &next_line()->at[world.now];

    memcpy(part->copies, rank->copies, sizeof(part->copies));
    memcpy(part->tasks, rank->tasks, sizeof(part->tasks));
    memcpy(part->invalid, rank->invalid, sizeof(part->invalid));
    memcpy(part->gone, rank->gone, sizeof(part->gone));
    part->at = rank->at;
    for (unsigned peer = 0; peer < world.count; peer++)
        for (int datum = 0; datum < DATA; datum++) {
            part->sent[peer][datum] = world.channels[world.now][peer][datum].sent;
            part->received[peer][datum] = world.channels[peer][world.now][datum].received;
        }
    tic_labels_cut();
    rank->holds = true;
    rank->phase = CUT;
}

/* It waits for what others have sent before their cuts, as job.c does. */
static bool has_late(void)
{
    for (unsigned peer = 0; peer < world.count; peer++)
        for (int datum = 0; datum < DATA; datum++)
            if (world.channels[peer][world.now][datum].received <
                next_line()->at[peer].sent[world.now][datum])
                return true;
    return tic_labels_wait();
}

static void write_part(struct rank *rank)
{
    struct tic_job_part *part = &next_line()->parts[world.now];
    char path[PATH_MAX];

    memset(part, 0, sizeof(*part));
    snprintf(part->name, sizeof(part->name), "%u", !world.newest);
    tic_job_beside("", 0, world.now, "ranks", part->name, path);
    int status = tic_labels_write(path, part->why);
    if (status < 0)
        note_wrong("a table cannot be written", 0, 0);
    part->ranks_size = (uint64_t)(status > 0);
    part->late_size = 1;
    rank->phase = WRITTEN;
}

struct content {
    struct tic_labelled of;
    uint64_t bytes;
};

static void check_content(struct content *all_of, unsigned *count, const struct content *one)
{
    for (unsigned i = 0; i < *count; i++)
        if (all_of[i].of.tag == one->of.tag && all_of[i].of.label == one->of.label &&
            all_of[i].of.last == one->of.last && all_of[i].bytes != one->bytes)
            note_wrong("two values have one label", (int)one->of.tag, one->of.label);
    for (int i = 0; i < program.count; i++)
        for (int k = 0; k < program.ops[i].count; k++)
            if (program.ops[i].number == one->of.label && one->of.label == one->of.last &&
                program.ops[i].uses[k].datum == one->of.tag && !program.ops[i].uses[k].commutes &&
                program.ops[i].outputs[k] != one->bytes)
                note_wrong("a value is not that of its label", (int)one->of.tag, one->of.label);
    all_of[(*count)++] = *one;
}

/* What has one label is one value, and the one that the program has. */
static void check_line(const struct line *line, struct tic_table *tables)
{
    struct content contents[RANKS * (DATA + JOBS)];
    unsigned count = 0;

    for (unsigned rank = 0; rank < line->ranks; rank++) {
        for (uint64_t i = 0; i < tables[rank].value_count; i++) {
            const struct tic_labelled *value = &tables[rank].values[i];
            if (value->label > 0 && value->label != UNKNOWN && !line->at[rank].gone[value->tag])
                check_content(contents, &count,
                              &(struct content){*value, line->at[rank].copies[value->tag].bytes});
        }
        for (uint64_t i = 0; i < tables[rank].message_count; i++) {
            const struct tic_labelled_message *of = &tables[rank].messages[i];
            if (of->label > 0 && of->label != UNKNOWN &&
                of->number <= line->at[of->peer].sent[rank][of->tag])
                check_content(
                    contents, &count,
                    &(struct content){{of->tag, of->label, of->last, 0, 0},
                                      line->late[of->peer][rank][of->tag][of->number - 1]});
        }
        tic_table_clear(&tables[rank]);
    }
    free(tables);
}

static bool may_need_as_many(const char *why)
{
    return (program.looks && strstr(why, "main() looks at data that insertions write later")) ||
           (program.sparse && program.late && strstr(why, "a rank registers data later"));
}

static void commit(void)
{
    struct line *line = next_line();
    struct tic_table *tables = NULL;

    line->about = (struct tic_job_line){.ranks = world.count, .parts = line->parts};
    line->is = true;
    line->ranks = world.count;
    for (unsigned i = 0; i < world.count; i++)
        for (unsigned k = 0; k < world.count; k++)
            for (int datum = 0; datum < DATA; datum++)
                memcpy(line->late[i][k][datum], world.channels[i][k][datum].bytes,
                       sizeof(line->late[i][k][datum]));
    if (tic_tables_read("", &line->about, &tables, line->about.why))
        check_line(line, tables);
    else if (!may_need_as_many(line->about.why))
        snprintf(world.wrong, sizeof(world.wrong), "a line is refused: %s", line->about.why);
    else
        world.whys++;
    world.newest = !world.newest;
}

static void end_line(void)
{
    world.takes = false;
    for (unsigned i = 0; i < world.count; i++) {
        world.ranks[i].phase = NOWHERE;
        world.ranks[i].holds = false;
    }
}

static void step_line(struct rank *rank)
{
    const bool is_ahead = rank->before && rank->at <= rank->before->at && !rank->over;

    if (!world.takes) {
        world.takes = dice(40) == 0;
    } else if (rank->phase == NOWHERE) {
        rank->phase = READY;
        if (is_ahead || tic_labels_are_ahead())
            end_line();
    } else if (rank->phase == READY && all_are(READY)) {
        cut(rank);
    } else if (rank->phase == CUT && all_are(CUT)) {
        for (unsigned i = 0; i < world.count; i++)
            world.ranks[i].holds = false;
        if (!has_late())
            write_part(rank);
    } else if (all_are(WRITTEN)) {
        commit();
        end_line();
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Of the rank whose turn it is, as it was when its process began. */
static void forget(void)
{
    for (unsigned i = 0; i < 16; i++)
        for (struct datum *each = all.by_tag[i], *next; each; each = next) {
            next = each->next_tag;
            free(each->actions);
            free(each);
        }
    free(all.insertions);
    free(all.tasks);
    free(from.insertions);
    free(from.places);
    free(from.inputs);
    free(from.parts);
    copy_labels(&all, &fresh_labels);
    memset(&from, 0, sizeof(from));
}

/* As restart.c does. */
static void open_line(struct rank *rank, const struct line *line)
{
    struct tic_table *tables = NULL, table = {.end = 0};
    char path[PATH_MAX], why[TIC_REASON];
    int status = 0;

    if (line->ranks != world.count) {
        status = tic_tables_read("", &line->about, &tables, why)
                     ? tic_sources_open("", &line->about, tables)
                     : -1;
    } else {
        rank->before = &line->at[world.now];
        tic_job_beside("", 0, world.now, "ranks", line->parts[world.now].name, path);
        if (line->parts[world.now].ranks_size > 0)
            status = tic_table_read(path, &table);
        if (status == 0 && table.end > 0)
            status = tic_sources_continue(&table);
        tic_table_clear(&table);
    }
    if (status)
        note_wrong("a line cannot be opened", 0, 0);
}

static void begin_channels(const struct line *line)
{
    memset(world.channels, 0, sizeof(world.channels));
    for (unsigned i = 0; i < world.count && line->is && line->ranks == world.count; i++)
        for (unsigned k = 0; k < world.count; k++)
            for (int datum = 0; datum < DATA; datum++) {
                struct channel *channel = &world.channels[i][k][datum];
                channel->sent = channel->before[1] = line->at[i].sent[k][datum];
                channel->received = channel->before[0] = line->at[k].received[i][datum];
                memcpy(channel->bytes, line->late[i][k][datum], sizeof(channel->bytes));
            }
}

static void begin_rank(struct rank *rank, const struct line *line)
{
    memset(rank, 0, sizeof(*rank));
    rank->speeds[0] = 1 + dice(16);
    rank->speeds[1] = 1 + dice(16);
    for (int i = 0; i < DATA; i++) {
        bool owns = plan.owners[0][i] == (int)world.now;
        rank->copies[i] = (struct copy){owns ? program.inputs[i] : dice(1000), owns};
        if (owns || !program.sparse || (!program.late && plan.uses[world.now][i] < OPS))
            register_data(i, plan.owners[0][i]);
    }
    if (line->is)
        open_line(rank, line);
    if (rank->before) {
        memcpy(rank->copies, rank->before->copies, sizeof(rank->copies));
        memcpy(rank->tasks, rank->before->tasks, sizeof(rank->tasks));
        memcpy(rank->invalid, rank->before->invalid, sizeof(rank->invalid));
    }
    getcontext(&rank->context);
    rank->context.uc_stack.ss_sp = stacks[world.now];
    rank->context.uc_stack.ss_size = STACK;
    makecontext(&rank->context, run_main, 0);
}

static bool are_over(void)
{
    for (unsigned i = 0; i < world.count; i++)
        if (!world.ranks[i].over || world.ranks[i].first < world.ranks[i].job_count)
            return false;
    return true;
}

static void step(void)
{
    const unsigned number = dice(world.count), kind = dice(40);
    struct rank *rank = &world.ranks[number];

    turn_to(number);
    if (kind < rank->speeds[0] && !rank->over) {
        world.main_runs = true;
        swapcontext(&world.scheduler, &rank->context);
        world.main_runs = false;
    } else if (kind < 16 + rank->speeds[1] && rank->first < rank->job_count) {
        int open = rank->job_count - rank->first;
        run_job(rank, rank->first + (dice(2) ? 0 : (int)dice((unsigned)open)));
    } else if (kind > 36) {
        step_line(rank);
    }
}

/* What a line promises comes back, but for what main() had given back, or looks at. */
static bool may_stop(const struct line *line)
{
    bool gone = false;

    for (unsigned i = 0; i < line->ranks; i++)
        for (int datum = 0; datum < DATA; datum++)
            gone |= line->at[i].gone[datum];
    return ((gone || (program.sparse && program.late)) &&
            strstr(world.stop, "is in no part any more")) ||
           may_need_as_many(world.stop);
}

/* True: it went on to its end. It is killed after so many steps. */
static bool run(unsigned count, unsigned steps)
{
    const struct line line_before = {.is = world.lines[world.newest].is,
                                     .ranks = world.lines[world.newest].ranks};
    unsigned done = 0;

    core.count = world.count = count;
    make_plan((int)count);
    end_line();
    begin_channels(&world.lines[world.newest]);
    for (unsigned i = 0; i < count; i++) {
        turn_to(i);
        begin_rank(&world.ranks[i], &world.lines[world.newest]);
    }
    const struct line *line = &world.lines[world.newest];
    while (done < steps && !world.wrong[0] && !world.stop && !are_over()) {
        step();
        done++;
    }
    if (world.stop && !may_stop(line))
        snprintf(world.wrong, sizeof(world.wrong), "it stops: %s", world.stop);
    else if (done == MOST_STEPS)
        note_wrong("it hangs", 0, 0);
    for (unsigned i = 0; i < count; i++) {
        turn_to(i);
        forget();
    }
    world.restarts += line_before.is;
    world.others += line_before.is && line_before.ranks != count;
    return are_over();
}

static unsigned choose_count(void)
{
    const struct line *line = &world.lines[world.newest];

    return line->is && (line->about.why[0] || dice(3) == 0) ? line->ranks : 1 + dice(RANKS);
}

/* Runs that are killed, each after the newest line of the one before. */
static bool play(uint64_t seed, bool late)
{
    bool over = false;

    chance = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    world.lines[0].is = world.lines[1].is = false;
    world.wrong[0] = '\0';
    make_program(late);
    for (unsigned i = 0; i <= MOST_RESTARTS && !over && !world.wrong[0] && !world.stop; i++)
        over = run(choose_count(), i < MOST_RESTARTS ? 100 + dice(1500) : MOST_STEPS);
    world.finished += over;
    world.stops += world.stop != NULL;
    free(world.stop);
    world.stop = NULL;
    if (world.wrong[0])
        print_message("seed %llu: %s\n", (unsigned long long)seed, world.wrong);
    return !world.wrong[0];
}

static uint64_t wanted(const char *name, uint64_t usual)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : usual;
}

static void explore(bool late)
{
    const uint64_t first = wanted("TIC_MODEL_SEED", 1), rounds = wanted("TIC_MODEL_ROUNDS", ROUNDS);
    unsigned bad = 0;

    world.restarts = world.others = world.finished = world.stops = world.whys = 0;
    for (uint64_t i = 0; i < rounds && bad < 5; i++)
        bad += !play(first + i, late);
    if (getenv("TIC_MODEL_ROUNDS"))
        print_message("%u restarts, %u on other numbers, %u ends, %u stops, %u lines refused\n",
                      world.restarts, world.others, world.finished, world.stops, world.whys);
    assert_int_equal(bad, 0);
    assert_true(rounds < ROUNDS ||
                (world.others > rounds / (late ? 40 : 4) && world.finished > rounds / 2));
}

static void test_any_order(void **state)
{
    (void)state;
    explore(false);
}

static void test_data_that_is_registered_late(void **state)
{
    (void)state;
    explore(true);
}

static int set_up(void **state)
{
    (void)state;
    copy_labels(&fresh_labels, &all);
    for (unsigned i = 0; i < RANKS; i++)
        copy_labels(&labels[i], &all);
    for (unsigned i = 0; i < 2 * RANKS; i++)
        files[i % 2][i / 2] = memfd_create("table", MFD_CLOEXEC);
    return files[1][RANKS - 1] < 0;
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    puts("1..0 # SKIP one thread, whose contexts ThreadSanitizer does not know");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_data_that_is_registered_late),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
