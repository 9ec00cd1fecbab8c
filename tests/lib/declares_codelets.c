/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codelets that can be skipped, or have effects. */
#include "lib/declares.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

static _Atomic unsigned counted; /* of the program; nobody needs it */
static unsigned needed;          /* somebody does */

/* ---- kernels --------------------------------------------------------------------------------- */

static void count(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    counted++;
}

static void step_and_count(void *buffers[], void *arg)
{
    step(buffers, arg);
    counted++;
}

static void step_by_chance(void *buffers[], void *arg)
{
    step(buffers, arg);
    counted += (unsigned)rand() % 2;
}

static void step_by_needed(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    step(buffers, arg);
    to[0] += needed++;
}

static void count_at(void *buffers[], void *arg)
{
    unsigned *at;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &at);
    __atomic_add_fetch(at, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet counter = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_R}, .name = "count"};
static struct starpu_codelet stepper_and_counter = {
    .cpu_funcs = {step_and_count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_and_count"};
static struct starpu_codelet chance = {
    .cpu_funcs = {step_by_chance}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_by_chance"};
static struct starpu_codelet sneak = {
    .cpu_funcs = {step_by_needed}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_by_needed"};
static struct starpu_codelet counter_at = {
    .cpu_funcs = {count_at}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count_at"};

/* ---- modes ----------------------------------------------------------------------------------- */

static void mark(struct starpu_codelet *codelet)
{
    if (getenv("D_SKIP") && getenv("D_SKIP")[0] && starpu_tic_codelet_can_skip(codelet) != 0)
        exit(1);
}

/* Tasks without output, between others. */
void skip_readers(unsigned rounds)
{
    mark(&counter);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < DATA; i++) {
            insert(&stepper, handles[i]);
            insert(&counter, handles[i]);
        }
}

/* So many tasks that some end when main() waits. */
static void rounds_of(struct starpu_codelet *codelet, struct starpu_codelet *last, unsigned rounds)
{
    enum { TIMES = 20 };

    mark(codelet);
    for (unsigned round = 0; round < rounds / 10; round++) {
        for (unsigned i = 0; i < TIMES * DATA; i++)
            insert(i % DATA + 1 < DATA ? codelet : last, handles[i % DATA]);
        starpu_task_wait_for_all();
    }
}

void skip_statistics(unsigned rounds)
{
    rounds_of(&stepper_and_counter, &stepper_and_counter, rounds);
}

/* In the same waits a task writes what it needs. */
void skip_mixture(unsigned rounds)
{
    rounds_of(&stepper_and_counter, &sneak, rounds);
}

void skip_chance(unsigned rounds)
{
    rounds_of(&chance, &chance, rounds);
}

/* Data without content, and pointers. */
void skip_tokens(unsigned rounds)
{
    static unsigned number;
    unsigned *at = &number;
    starpu_data_handle_t token;

    mark(&counter_at);
    starpu_void_data_register(&token);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < DATA; i++) {
            insert(&stepper, handles[i]);
            if (starpu_task_insert(&counter_at, STARPU_RW, token, STARPU_VALUE, &at, sizeof(at), 0))
                exit(1);
        }
    starpu_data_unregister(token);
}

/* ---- tasks of kernels ------------------------------------------------------------------------ */

static void submit_steps(void *buffers[], void *arg)
{
    int i;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &i);
    insert(&stepper, handles[i]);
    insert(&counter, handles[i]);
}

static struct starpu_codelet submitter = {.cpu_funcs = {submit_steps}, .name = "submit_steps"};

void skip_parents(unsigned rounds)
{
    mark(&submitter);
    mark(&counter);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < DATA; i++)
            if (starpu_task_insert(&submitter, STARPU_VALUE, &i, sizeof(i), 0) != 0)
                exit(1);
        starpu_task_wait_for_all();
    }
}

/* ---- effects --------------------------------------------------------------------------------- */

static void append(const uint32_t *values)
{
    FILE *file = fopen("effects", "a");

    if (!file || fprintf(file, "%u\n", values[0]) < 0 || fclose(file) != 0)
        exit(1);
}

static void tell(void *buffers[], void *arg)
{
    (void)arg;
    append((const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]));
}

static void step_and_tell(void *buffers[], void *arg)
{
    step(buffers, arg);
    append((const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]));
}

static struct starpu_codelet teller = {
    .cpu_funcs = {tell}, .nbuffers = 1, .modes = {STARPU_R}, .name = "tell"};
static struct starpu_codelet stepper_and_teller = {
    .cpu_funcs = {step_and_tell}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step_and_tell"};

static void declare_effects(struct starpu_codelet *codelet)
{
    if (starpu_tic_codelet_has_effects(codelet) != 0 || starpu_tic_codelet_can_skip(codelet) == 0)
        exit(1);
}

/* main() begins the file anew. */
void effects(unsigned rounds)
{
    remove("effects");
    declare_effects(&teller);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < DATA; i++) {
            insert(&stepper, handles[i]);
            if (i == 0)
                insert(&teller, handles[i]);
        }
}

void effects_and_data(unsigned rounds)
{
    remove("effects");
    declare_effects(&stepper_and_teller);
    for (unsigned round = 0; round < rounds; round++)
        insert(&stepper_and_teller, handles[0]);
}

/* ---- tokens, and packed data ----------------------------------------------------------------- */

enum { SPARSE = 16 };
static uint32_t nonzeros[SPARSE], columns[SPARSE], row_ends[SPARSE + 1];

static void tell_sparse(void *buffers[], void *arg)
{
    FILE *file = fopen("effects", "a");

    (void)arg;
    if (!file)
        exit(1);
    fprintf(file, "%u\n", ((const uint32_t *)STARPU_CSR_GET_NZVAL(buffers[1]))[SPARSE / 2]);
    fclose(file);
}

static void scale_sparse(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_CSR_GET_NZVAL(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_CSR_GET_NNZ(buffers[0]); i++)
        to[i] = to[i] * 31 + i;
}

static int telling, submitted; /* atomic */

/* With D_LATE it ends when main() has submitted all. */
static void hold(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    while (getenv("D_LATE") && !__atomic_load_n(&submitted, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void tell_sparse_soon(void *buffers[], void *arg)
{
    __atomic_store_n(&telling, 1, __ATOMIC_RELEASE);
    tell_sparse(buffers, arg);
}

static void register_sparse(starpu_data_handle_t *sparse)
{
    for (unsigned i = 0; i < SPARSE; i++) {
        nonzeros[i] = 1000 + i;
        columns[i] = i;
        row_ends[i + 1] = i + 1;
    }
    starpu_csr_data_register(sparse, STARPU_MAIN_RAM, SPARSE, SPARSE, (uintptr_t)nonzeros, columns,
                             row_ends, 0, sizeof(uint32_t));
}

static struct starpu_codelet scaler = {
    .cpu_funcs = {scale_sparse}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};

static void scale_and_step(starpu_data_handle_t sparse, unsigned rounds)
{
    if (starpu_task_insert(&scaler, STARPU_RW, sparse, 0) != 0)
        exit(1);
    for (unsigned i = 0; i < rounds * DATA; i++)
        insert(&stepper, handles[i % DATA]);
}

/* A task with a token reads packed data that main() has made, and that changes later. */
void effects_packed(unsigned rounds)
{
    static struct starpu_codelet sparse_teller = {.cpu_funcs = {tell_sparse},
                                                  .nbuffers = 2,
                                                  .modes = {STARPU_RW, STARPU_R},
                                                  .name = "tell_sparse"};
    starpu_data_handle_t token, sparse;

    remove("effects");
    register_sparse(&sparse);
    starpu_void_data_register(&token);
    for (int i = 0; i < 2; i++)
        if (starpu_task_insert(&sparse_teller, STARPU_RW, token, STARPU_R, sparse, 0) != 0)
            exit(1);
    starpu_task_wait_for_all();
    scale_and_step(sparse, rounds);
    starpu_data_unregister(token);
    starpu_data_unregister(sparse);
}

/* The same without a wait: in a restart with D_LATE the task begins when what comes after it is
 * submitted. */
void effects_packed_late(unsigned rounds)
{
    static struct starpu_codelet holder = {
        .cpu_funcs = {hold}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "hold"};
    static struct starpu_codelet sparse_teller = {.cpu_funcs = {tell_sparse_soon},
                                                  .nbuffers = 2,
                                                  .modes = {STARPU_RW, STARPU_R},
                                                  .name = "tell_sparse_soon"};
    starpu_data_handle_t token, sparse;

    remove("effects");
    register_sparse(&sparse);
    starpu_void_data_register(&token);
    if (starpu_task_insert(&holder, STARPU_RW, token, 0) != 0 ||
        starpu_task_insert(&sparse_teller, STARPU_RW, token, STARPU_R, sparse, 0) != 0)
        exit(1);
    while (!getenv("D_LATE") && !__atomic_load_n(&telling, __ATOMIC_ACQUIRE))
        sched_yield();
    scale_and_step(sparse, rounds);
    __atomic_store_n(&submitted, 1, __ATOMIC_RELEASE);
    starpu_data_unregister(token);
    starpu_data_unregister(sparse);
}
