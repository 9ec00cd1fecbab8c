/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Excluded data, under a random mixture of what tasks and main() may do with it. D_SEED draws
 * another mixture, D_INCLUDED=1 excludes nothing, D_FEWER=1 one datum less; with D_CONTENT=1 main()
 * begins with other content, with D_WRONG=1 a kernel computes something else, with D_CHANCE=1
 * something else in each run. */
#include "lib/declares_excluded.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "starpu_tic.h"

enum { SPARSE = 16 };

uint32_t table_memory[TABLES / 2][ENTRIES]; /* of the first ones; the others have no home */
starpu_data_handle_t tables[TABLES];
static starpu_data_handle_t sparse;
static uint32_t nonzeros[SPARSE], columns[SPARSE], row_ends[SPARSE + 1];
static uint32_t random_state, seen;

static uint32_t next_random(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t *entries(void *buffer)
{
    return (uint32_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void generate(void *buffers[], void *arg)
{
    uint32_t *to = entries(buffers[0]), by;

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < ENTRIES; i++)
        to[i] = by = by * 1664525u + 1013904223u;
    to[7] += getenv("D_WRONG") != NULL;
    if (getenv("D_CHANCE"))
        to[7] += (uint32_t)getpid();
}

void change(void *buffers[], void *arg)
{
    uint32_t *to = entries(buffers[0]), by;

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < ENTRIES; i++)
        to[i] = to[i] * 31 + by;
}

/* What the second holds, which may be shorter, goes into the first. */
void mix(void *buffers[], void *arg)
{
    uint32_t *to = entries(buffers[0]), by;
    const uint32_t *from = entries(buffers[1]);
    unsigned length = STARPU_VECTOR_GET_NX(buffers[1]);

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] = to[i] * 17 + from[i % length] + by;
}

static void derive(void *buffers[], void *arg)
{
    memset(entries(buffers[0]), 0, STARPU_VECTOR_GET_NX(buffers[0]) * sizeof(uint32_t));
    mix(buffers, arg);
}

/* Data that its interface packs. */
static void scale(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_CSR_GET_NZVAL(buffers[0]), by;

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < STARPU_CSR_GET_NNZ(buffers[0]); i++)
        to[i] = to[i] * 31 + by;
}

static void spread(void *buffers[], void *arg)
{
    uint32_t *to = entries(buffers[0]), by;
    const uint32_t *from = (const uint32_t *)STARPU_CSR_GET_NZVAL(buffers[1]);

    starpu_codelet_unpack_args(arg, &by);
    for (unsigned i = 0; i < ENTRIES; i++)
        to[i] = from[i % STARPU_CSR_GET_NNZ(buffers[1])] * i + by;
}

static void look(void *buffers[], void *arg)
{
    uint32_t by;

    starpu_codelet_unpack_args(arg, &by);
    if (entries(buffers[0])[0] == by) /* never, as far as one knows */
        abort();
}

static struct starpu_codelet generator = {
    .cpu_funcs = {generate}, .nbuffers = 1, .modes = {STARPU_W}, .name = "generate"};
struct starpu_codelet changer = {
    .cpu_funcs = {change}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};
struct starpu_codelet mixer = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};
struct starpu_codelet deriver = {
    .cpu_funcs = {derive}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "derive"};
static struct starpu_codelet scaler = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};
static struct starpu_codelet spreader = {
    .cpu_funcs = {spread}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "spread"};
struct starpu_codelet looker = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};
void insert_one(struct starpu_codelet *codelet, starpu_data_handle_t data)
{
    uint32_t by = next_random(1000);

    if (starpu_task_insert(codelet, codelet->modes[0], data, STARPU_VALUE, &by, sizeof(by), 0) != 0)
        exit(1);
}

void insert_two(struct starpu_codelet *codelet, starpu_data_handle_t to, starpu_data_handle_t from)
{
    uint32_t by = next_random(1000);

    if (starpu_task_insert(codelet, codelet->modes[0], to, codelet->modes[1], from, STARPU_VALUE,
                           &by, sizeof(by), 0) != 0)
        exit(1);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void exclude(starpu_data_handle_t data)
{
    int status = starpu_tic_data_exclude(data);

    if (status != 0 && status != -ENOTCONN)
        exit(1);
}

static void register_table(unsigned i)
{
    bool home = i < TABLES / 2;

    if (home)
        for (unsigned k = 0; k < ENTRIES; k++)
            table_memory[i][k] = i + k + (getenv("D_CONTENT") != NULL);
    starpu_vector_data_register(&tables[i], home ? STARPU_MAIN_RAM : -1,
                                home ? (uintptr_t)table_memory[i] : 0, ENTRIES, sizeof(uint32_t));
    if (getenv("D_INCLUDED") || (i == 0 && getenv("D_FEWER")))
        return;
    exclude(tables[i]);
}

static void register_sparse(void)
{
    for (unsigned i = 0; i < SPARSE; i++) {
        nonzeros[i] = 1000 + i;
        columns[i] = i;
        row_ends[i + 1] = i + 1;
    }
    starpu_csr_data_register(&sparse, STARPU_MAIN_RAM, SPARSE, SPARSE, (uintptr_t)nonzeros, columns,
                             row_ends, 0, sizeof(uint32_t));
}

void register_tables(void)
{
    random_state = getenv("D_SEED") ? (uint32_t)atoi(getenv("D_SEED")) : 1;
    for (unsigned i = 0; i < TABLES; i++)
        register_table(i);
    register_sparse();
    for (unsigned i = 0; i < TABLES - 1; i++)
        insert_one(i < TABLES / 2 ? &changer : &generator, tables[i]);
    insert_two(&spreader, tables[TABLES - 1], sparse); /* of what main() has made */
}

void unregister_tables(void)
{
    starpu_data_unregister(sparse);
    for (unsigned i = 0; i < TABLES; i++)
        starpu_data_unregister(tables[i]);
    for (unsigned i = 0; i < TABLES / 2; i++)
        for (unsigned k = 0; k < ENTRIES; k++)
            seen = seen * 7 + table_memory[i][k];
    printf("%u ", seen);
}

/* ---- what may be done ------------------------------------------------------------------------ */

starpu_data_handle_t any_table(void)
{
    return tables[next_random(TABLES)];
}

starpu_data_handle_t any_vector(void)
{
    return handles[next_random(DATA)];
}

static void read_by_main(void)
{
    starpu_data_handle_t data = any_table();

    if (starpu_data_acquire(data, STARPU_R) != 0)
        exit(1);
    seen = seen * 5 + ((const uint32_t *)starpu_data_get_local_ptr(data))[ENTRIES / 2];
    starpu_data_release(data);
    random_state += seen % 3; /* main() goes on by it */
}

static void write_by_main(enum starpu_data_access_mode mode)
{
    starpu_data_handle_t data = any_table();

    if (starpu_data_acquire(data, mode) != 0)
        exit(1);
    uint32_t *to = starpu_data_get_local_ptr(data);
    for (unsigned i = 0; i < ENTRIES; i++)
        to[i] = mode == STARPU_W ? i : to[i] + i;
    starpu_data_release(data);
}

/* The memory has another handle then. */
static void begin_anew(void)
{
    unsigned i = next_random(TABLES);

    if (i >= TABLES / 2 && next_random(2))
        starpu_data_unregister_submit(tables[i]);
    else
        starpu_data_unregister(tables[i]);
    register_table(i);
    insert_one(i < TABLES / 2 ? &changer : &generator, tables[i]);
}

/* Tasks on parts, also of parts. */
static void partition(void)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = 2 + next_random(3)};
    starpu_data_handle_t whole = any_table(), inner = NULL;

    starpu_data_partition(whole, &filter);
    if (next_random(2)) {
        inner = starpu_data_get_child(whole, 0);
        starpu_data_partition(inner, &filter);
    }
    for (unsigned i = 0; i < 6; i++) {
        starpu_data_handle_t part = starpu_data_get_child(whole, inner != NULL);
        if (inner && next_random(2))
            part = starpu_data_get_child(inner, next_random(filter.nchildren));
        if (next_random(2))
            insert_two(&mixer, part, any_vector());
        else
            insert_two(&mixer, any_vector(), part);
    }
    if (inner)
        starpu_data_unpartition(inner, STARPU_MAIN_RAM);
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
}

static void invalidate(void)
{
    unsigned i = TABLES / 2 + next_random(TABLES / 2);

    starpu_data_invalidate_submit(tables[i]);
    insert_one(&generator, tables[i]);
}

static void change_vector(void)
{
    unsigned i = next_random(DATA);
    enum starpu_data_access_mode mode = next_random(2) ? STARPU_W : STARPU_RW;

    if (starpu_data_acquire(handles[i], mode) != 0)
        exit(1);
    uint32_t *to = starpu_data_get_local_ptr(handles[i]);
    for (unsigned k = 0; k < LENGTH; k++)
        to[k] = mode == STARPU_W ? i + k : to[k] + k;
    starpu_data_release(handles[i]);
}

static void do_something(void)
{
    starpu_data_handle_t to = any_table(), from = any_table();

    switch (next_random(40)) {
    case 0:
    case 1:
        insert_one(&generator, to);
        break;
    case 2:
    case 3:
        insert_one(&changer, to);
        break;
    case 4:
    case 5:
        insert_two(&deriver, to, any_vector());
        break;
    case 6:
        insert_two(&mixer, to, any_vector());
        break;
    case 7:
        if (to != from)
            insert_two(&mixer, to, from);
        break;
    case 8:
        insert_one(&looker, to);
        break;
    case 9:
        insert_one(&looker, any_vector());
        break;
    case 10:
        read_by_main();
        break;
    case 11:
        write_by_main(next_random(2) ? STARPU_W : STARPU_RW);
        break;
    case 12:
        begin_anew();
        break;
    case 13:
        starpu_task_wait_for_all();
        break;
    case 14:
        invalidate();
        break;
    case 15:
        change_vector();
        break;
    case 17:
        partition();
        break;
    case 18:
        insert_one(&scaler, sparse);
        break;
    case 19:
        insert_two(&spreader, to, sparse);
        break;
    case 16:
        if (to != from && starpu_data_cpy(to, from, 1, NULL, NULL) != 0)
            exit(1);
        break;
    default:
        if (next_random(2))
            insert_two(&mixer, any_vector(), to);
        else
            insert(&stepper, any_vector());
    }
}

void excluded(unsigned rounds)
{
    register_tables();
    for (unsigned i = 0; i < rounds * DATA; i++)
        do_something();
    unregister_tables();
}

/* Tables are made of what main() has put into other data, which then changes; they are read after
 * that. */
void excluded_early(unsigned rounds)
{
    register_tables();
    insert_two(&deriver, tables[0], handles[0]);
    insert_two(&mixer, tables[TABLES - 2], handles[1]);
    starpu_task_wait_for_all(); /* nobody knows yet who will write these */
    for (unsigned i = 0; i < 2; i++) {
        insert(&stepper, handles[i]);
        insert_one(&scaler, sparse);
    }
    for (unsigned i = 0; i < rounds * DATA; i++)
        insert_two(&mixer, handles[2 + i % (DATA - 2)], any_table());
    unregister_tables();
}

/* The library does not know at a commit point how to make the content anew. */
void excluded_points(unsigned rounds)
{
    register_tables();
    for (unsigned i = 0; i < rounds; i++) {
        starpu_tic_commit_point();
        for (unsigned k = 0; k < DATA; k++)
            insert_two(&mixer, any_vector(), any_table());
    }
    unregister_tables();
}

/* Each table is made once, and read for long. */
void excluded_once(unsigned rounds)
{
    register_tables();
    for (unsigned i = 0; i < rounds * DATA; i++)
        insert_two(&mixer, any_vector(), any_table());
    unregister_tables();
}

/* Tables are excluded when a line may hold what main() has put there. */
void excluded_late(unsigned rounds)
{
    starpu_data_handle_t table;

    starpu_vector_data_register(&table, STARPU_MAIN_RAM, (uintptr_t)table_memory[0], ENTRIES,
                                sizeof(uint32_t));
    for (unsigned i = 0; i < 3 * rounds; i++) {
        insert(&stepper, handles[i % DATA]);
        starpu_task_wait_for_all();
    }
    exclude(table);
    for (unsigned i = 0; i < rounds * DATA; i++) {
        if (i % 50 == 0)
            insert_one(&changer, table);
        insert_two(&mixer, handles[i % DATA], table);
    }
    starpu_data_unregister(table);
    printf("%u ", table_memory[0][5]);
}

/* Another thread than main()'s does so: that ends protection. */
static void *start_again(void *unused)
{
    if (starpu_init(NULL) == 0)
        starpu_shutdown();
    return unused;
}

/* The same memory, in turn excluded and not. */
void excluded_in_turn(unsigned rounds)
{
    starpu_data_handle_t table;
    pthread_t other;

    if (getenv("D_END") && pthread_create(&other, NULL, start_again, NULL) == 0)
        pthread_join(other, NULL);
    for (unsigned round = 0; round < rounds; round++) {
        starpu_vector_data_register(&table, STARPU_MAIN_RAM, (uintptr_t)table_memory[0], ENTRIES,
                                    sizeof(uint32_t));
        if (round % 3 != 2)
            exclude(table);
        insert_one(&changer, table);
        for (unsigned i = 0; i < DATA; i++)
            insert_two(&mixer, handles[i], table);
        insert_one(&changer, table);
        if (round % 2)
            starpu_task_wait_for_all();
        starpu_data_unregister(table);
        table_memory[0][round] += table_memory[0][round + 1];
    }
    printf("%u ", table_memory[0][5]);
}

/* Data that its interface packs is excluded, and written again and again. */
void excluded_packed(unsigned rounds)
{
    register_sparse();
    exclude(sparse);
    starpu_vector_data_register(&tables[0], STARPU_MAIN_RAM, (uintptr_t)table_memory[0], ENTRIES,
                                sizeof(uint32_t));
    for (unsigned round = 0; round < rounds; round++) {
        insert_one(&scaler, sparse);
        insert_two(&spreader, tables[0], sparse);
        for (unsigned i = 0; i < DATA; i++)
            insert_two(&mixer, handles[i], tables[0]);
    }
    starpu_data_unregister(tables[0]);
    starpu_data_unregister(sparse);
    printf("%u ", nonzeros[5]);
}

/* ---- a kernel that fails --------------------------------------------------------------------- */

/* The third try is right. No two tasks change a table at once. */
static void change_at_last(void *buffers[], void *arg)
{
    static unsigned tries[TABLES];
    unsigned table = 0;

    while (tables[table] != STARPU_TASK_GET_HANDLE(starpu_task_get_current(), 0))
        table++;
    change(buffers, arg);
    if (tries[table]++ % 3 < 2)
        starpu_tic_task_failed();
}

/* What it changes is put back, also if nothing else would save it. */
void excluded_fails(unsigned rounds)
{
    static struct starpu_codelet flaky = {
        .cpu_funcs = {change_at_last}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "flaky"};

    starpu_tic_codelet_can_fail(&flaky);
    register_tables();
    for (unsigned i = 0; i < rounds * DATA; i++) {
        if (i % 10 == 0)
            insert_one(&flaky, any_table());
        insert_two(&mixer, any_vector(), any_table());
    }
    unregister_tables();
}
