/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that the planner finds the smallest set of tasks: on random graphs it is the smallest of
 * all sets with which a replay gives the right values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/random.h"
#include "lib/testing.h"
#include "recovery/planner.h"

enum { GRAPHS = 10000, TASKS = 8, ACCESSES = 3, DATA = 4, ATOMS = 4 };

struct random_graph {
    struct tic_plan_task tasks[TASKS];
    struct tic_plan_access accesses[TASKS * ACCESSES];
    struct tic_plan_data data[DATA];
    struct tic_plan_graph graph;
};

/* ---- random graphs -------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static const uint32_t modes[] = {TIC_PLAN_R,
                                 TIC_PLAN_R,
                                 TIC_PLAN_W,
                                 TIC_PLAN_RW,
                                 TIC_PLAN_RW,
                                 TIC_PLAN_RW | TIC_PLAN_COMMUTE,
                                 TIC_PLAN_RW | TIC_PLAN_COMMUTE,
                                 TIC_PLAN_REDUX,
                                 TIC_PLAN_SCRATCH};

static bool overlaps(const struct tic_plan_data *a, const struct tic_plan_data *b)
{
    return a->first < b->first + b->atoms && b->first < a->first + a->atoms;
}

/* A task does not use the same memory twice. */
static void add_access(struct random_graph *random, struct tic_plan_task *task, uint32_t durable)
{
    uint32_t data = below((uint32_t)random->graph.data_count);

    for (uint32_t i = 0; i < task->count; i++)
        if (overlaps(&random->data[random->accesses[task->first + i].data], &random->data[data]))
            return;
    random->accesses[random->graph.access_count++] = (struct tic_plan_access){
        data, modes[below(sizeof(modes) / sizeof(modes[0]))], below(100) < durable};
    task->count++;
}

static void make(struct random_graph *random, uint64_t seed)
{
    struct tic_plan_graph *graph = &random->graph;

    state = seed * 0x9e3779b97f4a7c15u + 1;
    memset(random, 0, sizeof(*random));
    *graph = (struct tic_plan_graph){.tasks = random->tasks,
                                     .task_count = 1 + below(TASKS),
                                     .accesses = random->accesses,
                                     .data = random->data,
                                     .data_count = 1 + below(DATA),
                                     .atom_count = 1 + below(ATOMS)};
    for (size_t i = 0; i < graph->data_count; i++) {
        uint32_t first = below((uint32_t)graph->atom_count);
        random->data[i] = (struct tic_plan_data){
            first, 1 + below((uint32_t)graph->atom_count - first), below(3) > 0};
    }
    uint32_t durable = below(101), always = below(30);
    for (size_t t = 0; t < graph->task_count; t++) {
        random->tasks[t].first = graph->access_count;
        random->tasks[t].always = below(100) < always;
        for (uint32_t i = 1 + below(ACCESSES); i > 0; i--)
            add_access(random, &random->tasks[t], durable);
    }
}

/* ---- what happens --------------------------------------------------------------------------- */

static bool commutes(const struct tic_plan_access *access)
{
    return (access->mode & (TIC_PLAN_COMMUTE | TIC_PLAN_REDUX)) != 0;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t words[2] = {a, b};
    return XXH3_64bits(words, sizeof(words));
}

/* What a run of the program without faults left. */
struct run {
    uint64_t memory[ATOMS];
    uint64_t read[TASKS]; /* hash of all that the task read */
    uint64_t wrote[TASKS * ACCESSES]
                  [ATOMS];                  /* memory after the task; of what commutes: after all */
    uint64_t base[TASKS * ACCESSES][ATOMS]; /* memory before the first that commutes */
};

/* What the task reads, but for what commutes, on which its results do not depend. */
static uint64_t reads(const struct tic_plan_graph *graph, size_t t, const uint64_t *memory)
{
    uint64_t hash = t + 1;

    for (uint32_t i = 0; i < graph->tasks[t].count; i++) {
        const struct tic_plan_access *access = &graph->accesses[graph->tasks[t].first + i];
        const struct tic_plan_data *data = &graph->data[access->data];
        for (uint32_t k = 0; k < data->atoms && !commutes(access) && access->mode & TIC_PLAN_R; k++)
            hash = mix(hash, memory[data->first + k]);
    }
    return hash;
}

static void write_access(const struct tic_plan_graph *graph, uint64_t number, uint64_t result,
                         uint64_t *memory)
{
    const struct tic_plan_access *access = &graph->accesses[number];
    const struct tic_plan_data *data = &graph->data[access->data];

    for (uint32_t k = data->first; k < data->first + data->atoms; k++) {
        if (commutes(access))
            memory[k] += mix(result, k);
        else if (access->mode & TIC_PLAN_W)
            memory[k] = mix(mix(result, number), k);
    }
}

static bool touches(const struct tic_plan_graph *graph, uint64_t number, uint32_t atom)
{
    const struct tic_plan_data *data = &graph->data[graph->accesses[number].data];

    return !(graph->accesses[number].mode & TIC_PLAN_SCRATCH) && atom >= data->first &&
           atom < data->first + data->atoms;
}

/* The accesses to an atom that commute with this one, in program order; *count of them. */
static void find_members(const struct tic_plan_graph *graph, uint64_t number, uint32_t atom,
                         uint64_t *members, unsigned *count)
{
    bool inside = false;

    *count = 0;
    for (uint64_t other = 0; other < graph->access_count; other++) {
        if (!touches(graph, other, atom))
            continue;
        if (!commutes(&graph->accesses[other])) {
            if (inside)
                return;
            *count = 0;
            continue;
        }
        members[(*count)++] = other;
        inside |= other == number;
    }
}

static size_t task_of(const struct tic_plan_graph *graph, uint64_t number)
{
    size_t t = 0;

    while (number >= graph->tasks[t].first + graph->tasks[t].count)
        t++;
    return t;
}

/* In program order; what commutes adds up, in any order. */
static void run_program(const struct tic_plan_graph *graph, struct run *run)
{
    uint64_t members[TASKS * ACCESSES];
    unsigned count;

    memset(run, 0, sizeof(*run));
    for (uint32_t k = 0; k < ATOMS; k++)
        run->memory[k] = mix(77, k);
    for (size_t t = 0; t < graph->task_count; t++) {
        run->read[t] = reads(graph, t, run->memory);
        for (uint32_t i = 0; i < graph->tasks[t].count; i++) {
            uint64_t number = graph->tasks[t].first + i;
            memcpy(run->base[number], run->memory, sizeof(run->memory));
            write_access(graph, number, run->read[t], run->memory);
            memcpy(run->wrote[number], run->memory, sizeof(run->memory));
        }
    }
    for (uint64_t number = 0; number < graph->access_count; number++)
        for (uint32_t k = 0; k < graph->atom_count; k++) {
            if (!commutes(&graph->accesses[number]) || !touches(graph, number, k))
                continue;
            find_members(graph, number, k, members, &count);
            run->base[number][k] = run->base[members[0]][k];
            run->wrote[number][k] = run->wrote[members[count - 1]][k];
        }
}

/* Is all that commutes with this access skipped, and durable? */
static bool run_is_skipped(const struct tic_plan_graph *graph, uint32_t set, uint64_t number,
                           uint32_t atom)
{
    uint64_t members[TASKS * ACCESSES];
    unsigned count;
    bool skipped = true;

    find_members(graph, number, atom, members, &count);
    for (unsigned i = 0; i < count; i++)
        skipped &= !(set >> task_of(graph, members[i]) & 1) && graph->accesses[members[i]].durable;
    return skipped;
}

/* What a skipped task leaves: what it wrote if that is durable, else nobody knows what. What is
 * skipped of things that commute, but not all of it, leaves nothing: what was there when it ended
 * may hold what is executed again. */
static void skip_task(const struct tic_plan_graph *graph, uint32_t set, size_t t,
                      const struct run *run, uint64_t *memory)
{
    for (uint32_t i = 0; i < graph->tasks[t].count; i++) {
        uint64_t number = graph->tasks[t].first + i;
        const struct tic_plan_access *access = &graph->accesses[number];
        for (uint32_t k = 0; k < graph->atom_count; k++) {
            if (!touches(graph, number, k))
                continue;
            if (commutes(access) && run_is_skipped(graph, set, number, k))
                memory[k] = run->wrote[number][k];
            else if (!commutes(access) && access->mode & TIC_PLAN_W)
                memory[k] = access->durable ? run->wrote[number][k] : mix(number, 0xbad);
        }
    }
}

/* What a task finds of data that it commutes on: what was there before all that commutes, and what
 * those before it added that are executed, too. */
static bool finds_base(const struct tic_plan_graph *graph, uint32_t set, uint64_t number,
                       const struct run *run, const uint64_t *memory)
{
    uint64_t members[TASKS * ACCESSES];
    unsigned count;

    for (uint32_t k = 0; k < graph->atom_count; k++) {
        if (!touches(graph, number, k))
            continue;
        uint64_t expected = run->base[number][k];
        find_members(graph, number, k, members, &count);
        for (unsigned i = 0; members[i] != number; i++)
            if (set >> task_of(graph, members[i]) & 1)
                expected += mix(run->read[task_of(graph, members[i])], k);
        if (memory[k] != expected)
            return false;
    }
    return true;
}

/* False: it reads something else than without faults, which matters. */
static bool replay_task(const struct tic_plan_graph *graph, uint32_t set, size_t t,
                        const struct run *run, uint64_t *memory)
{
    uint64_t read = reads(graph, t, memory);

    for (uint32_t i = 0; i < graph->tasks[t].count; i++) {
        uint64_t number = graph->tasks[t].first + i;
        if (commutes(&graph->accesses[number]) && !finds_base(graph, set, number, run, memory))
            read = mix(read, 0xbad);
    }
    for (uint32_t i = 0; i < graph->tasks[t].count; i++)
        write_access(graph, graph->tasks[t].first + i, read, memory);
    return !graph->tasks[t].always || read == run->read[t];
}

/* Does a replay that executes this set give the right values? */
static bool is_right(const struct tic_plan_graph *graph, uint32_t set, const struct run *run)
{
    uint64_t memory[ATOMS];

    for (uint32_t k = 0; k < ATOMS; k++)
        memory[k] = mix(77, k);
    for (size_t t = 0; t < graph->task_count; t++) {
        if (!(set >> t & 1))
            skip_task(graph, set, t, run, memory);
        else if (!replay_task(graph, set, t, run, memory))
            return false;
    }
    for (size_t i = 0; i < graph->data_count; i++)
        for (uint32_t k = 0; graph->data[i].needed && k < graph->data[i].atoms; k++)
            if (memory[graph->data[i].first + k] != run->memory[graph->data[i].first + k])
                return false;
    return true;
}

/* The size of the smallest set that is right. */
static unsigned brute_force(const struct tic_plan_graph *graph, const struct run *run)
{
    unsigned smallest = TASKS + 1;
    uint32_t always = 0;

    for (size_t t = 0; t < graph->task_count; t++)
        always |= (uint32_t)graph->tasks[t].always << t;
    for (uint32_t set = 0; set < 1u << graph->task_count; set++)
        if ((set & always) == always && (unsigned)__builtin_popcount(set) < smallest &&
            is_right(graph, set, run))
            smallest = (unsigned)__builtin_popcount(set);
    return smallest;
}

static void test_is_the_smallest(void **unused)
{
    static struct random_graph random;
    static struct run run;
    uint64_t first = tic_random_seed(), executed = 0, skipped = 0;

    (void)unused;
    for (uint64_t seed = first; seed < first + GRAPHS; seed++) {
        bool executes[TASKS], restores[TASKS * ACCESSES];
        uint32_t set = 0;
        make(&random, seed);
        assert_int_equal(tic_plan(&random.graph, executes, restores), 0);
        for (size_t t = 0; t < random.graph.task_count; t++)
            set |= (uint32_t)executes[t] << t;
        run_program(&random.graph, &run);
        bool right = is_right(&random.graph, set, &run);
        unsigned size = (unsigned)__builtin_popcount(set);
        unsigned smallest = brute_force(&random.graph, &run);
        if (!right || smallest != size)
            fail_msg("seed %llu: the plan has %u tasks and is %s, the smallest set has %u",
                     (unsigned long long)seed, size, right ? "right" : "wrong", smallest);
        executed += size;
        skipped += random.graph.task_count - size;
    }
    assert_true(executed > GRAPHS / 2 && skipped > GRAPHS / 2); /* both happen */
}

/* ---- by hand -------------------------------------------------------------------------------- */

static void test_what_nobody_needs_is_not_read(void **unused)
{
    /* Three tasks write the same data, the last one without reading it. */
    const struct tic_plan_access accesses[] = {
        {0, TIC_PLAN_W, true}, {0, TIC_PLAN_RW, true}, {0, TIC_PLAN_W, true}};
    const struct tic_plan_task tasks[] = {{0, 1, false}, {1, 1, false}, {2, 1, false}};
    const struct tic_plan_data data[] = {{0, 1, true}};
    const struct tic_plan_graph graph = {tasks, 3, accesses, 3, data, 1, 1};
    bool executes[3], restores[3];

    (void)unused;
    assert_int_equal(tic_plan(&graph, executes, restores), 0);
    for (int i = 0; i < 3; i++) {
        assert_false(executes[i]);
        assert_int_equal(restores[i], i == 2);
    }
}

static void test_nonsense_is_refused(void **unused)
{
    const struct tic_plan_access accesses[] = {{1, TIC_PLAN_W, true}};
    const struct tic_plan_task tasks[] = {{0, 1, false}};
    const struct tic_plan_data data[] = {{0, 1, true}};
    struct tic_plan_graph graph = {tasks, 1, accesses, 1, data, 1, 1};
    bool executes[1], restores[1];

    (void)unused;
    assert_int_equal(tic_plan(&graph, executes, restores), -EINVAL); /* no such data */
    graph.access_count = 0;
    assert_int_equal(tic_plan(&graph, executes, restores), -EINVAL); /* no such access */
    graph.task_count = 0;
    graph.atom_count = 0;
    assert_int_equal(tic_plan(&graph, executes, restores), -EINVAL); /* no such atom */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_smallest),
        cmocka_unit_test(test_what_nobody_needs_is_not_read),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
