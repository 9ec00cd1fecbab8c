/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs whose tasks and callbacks change what data there is, or reach memory that nobody
 * registered; the argument names one. What they do so comes late, after tasks of main() that are
 * protected. registers, callback-registers (data of their own, which tasks then use), partitions (a
 * planned partition), unregisters (data of main()), acquires (for a callback); tokens and
 * callback-tokens (tasks that have only data without content, and pointers), plain-tokens (the same
 * without pointers), content-pointers (tasks that have both content and pointers), nowhere
 * (callbacks of tasks without a kernel look at data), nowhere-child (a kernel submits these). */
#include <stdio.h>

#include "lib/steps.h"

enum { BEFORE = 10, ROUNDS = 4, PARTS = 2 };

/* Chain c: handles[c] is main()'s, handles[CHAINS + c] that of the tasks inside. */
static struct cell {
    uint64_t value;
    int number;
} cells[CHAINS];
static starpu_data_handle_t parts[CHAINS][PARTS];

static void submit_before(void)
{
    for (int number = 0; number < BEFORE; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, number);
            submit_step(CHAINS + chain, number);
        }
    starpu_task_wait_for_all();
}

static int chain_of(void *arg)
{
    int chain;

    starpu_codelet_unpack_args(arg, &chain);
    return chain;
}

static void submit_rounds(struct starpu_codelet *codelet)
{
    submit_before();
    for (int round = 0; round < ROUNDS; round++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, round);
            must(starpu_task_insert(codelet, STARPU_RW, handles[chain], STARPU_VALUE, &chain,
                                    sizeof(chain), 0));
        }
    starpu_task_wait_for_all();
}

static void copy(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[1]) * 31 + 7;
}

static struct starpu_codelet copy_codelet = {
    .cpu_funcs = {copy}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "copy"};

/* ---- registers ------------------------------------------------------------------------------- */

static void use_own_data(int chain)
{
    starpu_data_handle_t own, data = handles[CHAINS + chain];

    starpu_variable_data_register(&own, -1, 0, sizeof(uint64_t));
    must(starpu_task_insert(&copy_codelet, STARPU_W, own, STARPU_R, data, 0));
    must(starpu_task_insert(&copy_codelet, STARPU_W, data, STARPU_R, own, 0));
    starpu_data_unregister_submit(own);
}

static void registers(void *buffers[], void *arg)
{
    *variable(buffers[0]) += 5;
    use_own_data(chain_of(arg));
}

static struct starpu_codelet registers_codelet = {
    .cpu_funcs = {registers}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "registers"};

static void run_registers(void)
{
    submit_rounds(&registers_codelet);
}

static void register_called(void *arg)
{
    use_own_data((int)(intptr_t)arg);
}

static void run_callback_registers(void)
{
    submit_before();
    for (int round = 0; round < ROUNDS; round++) {
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, round);
            must(starpu_task_insert(&step_codelet, STARPU_RW, handles[chain], STARPU_VALUE, &round,
                                    sizeof(round), STARPU_CALLBACK_WITH_ARG_NFREE, register_called,
                                    (void *)(intptr_t)chain, 0));
        }
        starpu_task_wait_for_all();
    }
}

/* ---- partitions ------------------------------------------------------------------------------ */

static uint64_t vectors[CHAINS][PARTS];
static starpu_data_handle_t vector_handles[CHAINS];

static void add(void *buffers[], void *arg)
{
    (void)arg;
    *(uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]) += 3;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void partitions(void *buffers[], void *arg)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};
    int chain = chain_of(arg);

    *variable(buffers[0]) += 5;
    if (!parts[chain][0])
        starpu_data_partition_plan(vector_handles[chain], &filter, parts[chain]);
    starpu_data_partition_submit(vector_handles[chain], PARTS, parts[chain]);
    for (int part = 0; part < PARTS; part++)
        must(starpu_task_insert(&add_codelet, STARPU_RW, parts[chain][part], 0));
    starpu_data_unpartition_submit(vector_handles[chain], PARTS, parts[chain], -1);
}

static struct starpu_codelet partitions_codelet = {
    .cpu_funcs = {partitions}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "partitions"};

static void run_partitions(void)
{
    for (int chain = 0; chain < CHAINS; chain++)
        starpu_vector_data_register(&vector_handles[chain], STARPU_MAIN_RAM,
                                    (uintptr_t)vectors[chain], PARTS, sizeof(uint64_t));
    submit_rounds(&partitions_codelet);
    for (int chain = 0; chain < CHAINS; chain++) {
        starpu_data_partition_clean(vector_handles[chain], PARTS, parts[chain]);
        starpu_data_unregister(vector_handles[chain]);
        count(vectors[chain][0] + 7 * vectors[chain][1]);
    }
}

/* ---- unregisters ----------------------------------------------------------------------------- */

static uint64_t outputs[ROUNDS][CHAINS];
static starpu_data_handle_t output_handles[ROUNDS][CHAINS];

static void unregisters(void *buffers[], void *arg)
{
    int round, chain;

    starpu_codelet_unpack_args(arg, &round, &chain);
    *variable(buffers[0]) = *variable(buffers[0]) * 31 + 5;
    must(starpu_task_insert(&copy_codelet, STARPU_W, output_handles[round][chain], STARPU_R,
                            handles[CHAINS + chain], 0));
    starpu_data_unregister_submit(output_handles[round][chain]);
}

static struct starpu_codelet unregisters_codelet = {
    .cpu_funcs = {unregisters}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "unregisters"};

static void run_unregisters(void)
{
    for (int i = 0; i < ROUNDS * CHAINS; i++)
        starpu_variable_data_register(&output_handles[i / CHAINS][i % CHAINS], STARPU_MAIN_RAM,
                                      (uintptr_t)&outputs[i / CHAINS][i % CHAINS],
                                      sizeof(uint64_t));
    submit_before();
    for (int round = 0; round < ROUNDS; round++)
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_insert(&unregisters_codelet, STARPU_RW, handles[chain], STARPU_VALUE,
                                    &round, sizeof(round), STARPU_VALUE, &chain, sizeof(chain), 0));
    starpu_task_wait_for_all();
    for (int i = 0; i < ROUNDS * CHAINS; i++)
        count(outputs[i / CHAINS][i % CHAINS] * (uint64_t)(i + 1));
}

/* ---- acquires -------------------------------------------------------------------------------- */

static void look(void *arg)
{
    int chain = (int)(intptr_t)arg;

    count(values[CHAINS + chain]);
    starpu_data_release(handles[CHAINS + chain]);
}

static void acquires(void *buffers[], void *arg)
{
    int chain = chain_of(arg);

    *variable(buffers[0]) += 5;
    must(starpu_data_acquire_cb(handles[CHAINS + chain], STARPU_R, look, (void *)(intptr_t)chain));
}

static struct starpu_codelet acquires_codelet = {
    .cpu_funcs = {acquires}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "acquires"};

static void run_acquires(void)
{
    submit_rounds(&acquires_codelet);
}

/* ---- tokens: StarPU orders the tasks, and sees nothing of what they change ---------------------
 */

static void change_cell(struct cell *cell)
{
    cell->value = cell->value * 31 + (uint64_t)cell->number++;
}

static void factorize(void *buffers[], void *arg)
{
    struct cell *cell;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &cell);
    change_cell(cell);
}

static struct starpu_codelet factorize_codelet = {
    .cpu_funcs = {factorize}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "factorize"};

static void tick(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
}

static struct starpu_codelet tick_codelet = {
    .cpu_funcs = {tick}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "tick"};

static void submit_factorize(starpu_data_handle_t token, int chain)
{
    struct cell *cell = &cells[chain];

    must(starpu_task_insert(&factorize_codelet, STARPU_RW, token, STARPU_VALUE, &cell, sizeof(cell),
                            0));
}

static void change_called(void *arg)
{
    change_cell(arg);
}

/* Not ordered with the next task: the cell is written once. */
static void submit_called_tick(starpu_data_handle_t token, int chain)
{
    must(starpu_task_insert(&tick_codelet, STARPU_RW, token, STARPU_CALLBACK_WITH_ARG_NFREE,
                            change_called, &cells[chain], 0));
    starpu_task_wait_for_all();
}

static void submit_plain(starpu_data_handle_t token, int chain)
{
    must(starpu_task_insert(&tick_codelet, STARPU_RW, token, STARPU_VALUE, &chain, sizeof(chain),
                            0));
}

static void run_on_tokens(void (*submit)(starpu_data_handle_t token, int chain))
{
    starpu_data_handle_t tokens[CHAINS];

    for (int chain = 0; chain < CHAINS; chain++)
        starpu_void_data_register(&tokens[chain]);
    for (int round = 0; round < LENGTH / 3; round++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit(tokens[chain], chain);
            submit_step(chain, round);
        }
    for (int chain = 0; chain < CHAINS; chain++)
        starpu_data_unregister(tokens[chain]);
    for (int chain = 0; chain < CHAINS; chain++)
        count(cells[chain].value);
}

static void run_tokens(void)
{
    run_on_tokens(submit_factorize);
}

static void run_callback_tokens(void)
{
    run_on_tokens(submit_called_tick);
}

static void run_plain_tokens(void)
{
    run_on_tokens(submit_plain);
}

/* ---- content and pointers: what is reached through the pointer is only read ---------------------
 */

static void scale(void *buffers[], void *arg)
{
    const uint64_t *factor;

    starpu_codelet_unpack_args(arg, &factor);
    *variable(buffers[0]) = *variable(buffers[0]) * *factor + 1;
}

static struct starpu_codelet scale_codelet = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};

static void run_content_pointers(void)
{
    static uint64_t factor = 33;
    const uint64_t *place = &factor;

    for (int round = 0; round < LENGTH; round++)
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_insert(&scale_codelet, STARPU_RW, handles[chain], STARPU_VALUE, &place,
                                    sizeof(place), 0));
}

/* ---- nowhere: each chain is written, looked at, and main() waits for the looks ------------------
 */

static void look_at(void *arg)
{
    int chain = (int)(intptr_t)arg;

    count(values[chain] * 3 + values[CHAINS + chain]);
}

static struct starpu_codelet nowhere_codelet = {
    .where = STARPU_NOWHERE, .nbuffers = 2, .modes = {STARPU_R, STARPU_R}, .name = "nowhere"};

static void submit_look(int chain)
{
    must(starpu_task_insert(&nowhere_codelet, STARPU_R, handles[chain], STARPU_R,
                            handles[CHAINS + chain], STARPU_CALLBACK_WITH_ARG_NFREE, look_at,
                            (void *)(intptr_t)chain, 0));
}

static void run_nowhere(void)
{
    for (int round = 0; round < LENGTH / 3; round++) {
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, round);
            submit_look(chain);
            if (round % 2)
                submit_step(2 * CHAINS + chain, round);
        }
        starpu_task_wait_for_all();
        submit_step(CHAINS + round % CHAINS, round);
    }
}

static void looks(void *buffers[], void *arg)
{
    *variable(buffers[0]) += 5;
    submit_look(chain_of(arg));
}

static struct starpu_codelet looks_codelet = {
    .cpu_funcs = {looks}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "looks"};

/* Of data that nobody changes any more. */
static void run_nowhere_child(void)
{
    submit_before();
    for (int chain = 0; chain < CHAINS; chain++)
        must(starpu_task_insert(&looks_codelet, STARPU_RW, handles[2 * CHAINS], STARPU_VALUE,
                                &chain, sizeof(chain), 0));
    starpu_task_wait_for_all();
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"registers", run_registers},
                                        {"callback-registers", run_callback_registers},
                                        {"partitions", run_partitions},
                                        {"unregisters", run_unregisters},
                                        {"acquires", run_acquires},
                                        {"tokens", run_tokens},
                                        {"callback-tokens", run_callback_tokens},
                                        {"plain-tokens", run_plain_tokens},
                                        {"content-pointers", run_content_pointers},
                                        {"nowhere", run_nowhere},
                                        {"nowhere-child", run_nowhere_child},
                                        {NULL, NULL}};

    return steps_main(argc, argv, modes);
}
