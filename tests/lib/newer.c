/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that use what only StarPU 1.4 has; the argument names one. Protected: tensor,
 * homeless, tensor-reads, tensor-parts, ndim, ndim-homeless, ndim-parts (newer_grids.c), peek, cpy,
 * deinitialize, redux, sync, downgrade. Not protected yet, each ends protection: see
 * newer_refused.c. With an older StarPU each exits with status 77. */
#include "lib/newer.h"

#if TIC_STARPU_1_4

/* ---- peek: main() fills data from bytes of its own, and moves packed bytes --------------------
 */

static void move(starpu_data_handle_t to, starpu_data_handle_t from)
{
    starpu_ssize_t count;
    void *bytes;

    must(starpu_data_acquire(from, STARPU_R));
    must(starpu_data_pack_node(from, STARPU_MAIN_RAM, &bytes, &count));
    starpu_data_release(from);
    must(starpu_data_acquire(to, STARPU_W));
    must(starpu_data_unpack_node(to, STARPU_MAIN_RAM, bytes, (size_t)count));
    starpu_data_release(to);
}

static void run_peek(void)
{
    for (int number = 0; number < LENGTH; number++) {
        int chain = number % CHAINS;
        uint64_t bytes = (uint64_t)number * 17;

        for (int other = 0; other < CHAINS; other++)
            submit_step(other, number);
        must(starpu_data_acquire(handles[chain], STARPU_RW));
        bytes += values[chain];
        must(number % 2
                 ? starpu_data_peek(handles[chain], &bytes, sizeof(bytes))
                 : starpu_data_peek_node(handles[chain], STARPU_MAIN_RAM, &bytes, sizeof(bytes)));
        starpu_data_release(handles[chain]);
        move(handles[CHAINS + chain], handles[chain]);
    }
}

/* ---- cpy ------------------------------------------------------------------------------------ */

static void run_cpy(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, number);
            must(starpu_data_cpy_priority(handles[CHAINS + chain], handles[chain], 1, NULL, NULL,
                                          number % 3));
            submit_step(CHAINS + chain, number);
        }
}

/* ---- deinitialize: data of StarPU's is filled, read and dropped, again and again --------------
 */

static void fill(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) = (uint64_t)number * 5 + 1;
}

static void take(void *buffers[], void *arg)
{
    (void)arg;
    *variable(buffers[0]) = *variable(buffers[0]) * 7 + *variable(buffers[1]);
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet take_codelet = {
    .cpu_funcs = {take}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "take"};

static void run_deinitialize(void)
{
    starpu_data_handle_t scrap;

    starpu_variable_data_register(&scrap, -1, 0, sizeof(uint64_t));
    for (int number = 0; number < LENGTH; number++) {
        must(starpu_task_insert(&fill_codelet, STARPU_W, scrap, STARPU_VALUE, &number,
                                sizeof(number), 0));
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_insert(&take_codelet, STARPU_RW, handles[chain], STARPU_R, scrap, 0));
        if (number % 2)
            starpu_data_deinitialize(scrap);
        else
            starpu_data_deinitialize_submit(scrap);
    }
    starpu_data_unregister(scrap);
}

/* ---- redux: the kernels of the methods get arguments ------------------------------------------
 */

static uint64_t modulus = 1000003, neutral;

static void fold(void *buffers[], void *arg)
{
    *variable(buffers[0]) = (*variable(buffers[0]) + *variable(buffers[1])) % *(uint64_t *)arg;
}

/* StarPU itself calls it without its argument. */
static void begin(void *buffers[], void *arg)
{
    *variable(buffers[0]) = arg ? *(uint64_t *)arg : 0;
}

static void contribute(void *buffers[], void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *variable(buffers[0]) = (*variable(buffers[0]) + (uint64_t)number * 7919) % modulus;
}

static struct starpu_codelet fold_codelet = {.cpu_funcs = {fold},
                                             .nbuffers = 2,
                                             .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_R},
                                             .name = "fold"};
static struct starpu_codelet begin_codelet = {
    .cpu_funcs = {begin}, .nbuffers = 1, .modes = {STARPU_W}, .name = "begin"};
static struct starpu_codelet contribute_codelet = {
    .cpu_funcs = {contribute}, .nbuffers = 1, .modes = {STARPU_REDUX}, .name = "contribute"};

static void run_redux(void)
{
    for (int chain = 0; chain < CHAINS; chain++)
        starpu_data_set_reduction_methods_with_args(handles[chain], &fold_codelet, &modulus,
                                                    &begin_codelet, &neutral);
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            must(starpu_task_insert(&contribute_codelet, STARPU_REDUX, handles[chain], STARPU_VALUE,
                                    &number, sizeof(number), 0));
            if (number % 16 == 15)
                submit_step(chain, number);
        }
}

/* ---- sync: tasks that only order others, and structures that are given away after submission --
 */

static void count_one(void *arg)
{
    (void)arg;
    count(1);
}

static void run_sync(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            struct starpu_task *sync = starpu_task_create_sync(handles[chain], STARPU_RW);
            struct starpu_task *task =
                starpu_task_build(&step_codelet, STARPU_RW, handles[CHAINS + chain], STARPU_VALUE,
                                  &number, sizeof(number), 0);

            sync->callback_func = count_one;
            task->destroy = 0;
            starpu_task_declare_deps(task, 1, sync);
            submit_step(chain, number);
            must(starpu_task_submit(sync));
            must(starpu_task_submit(task));
            starpu_task_set_destroy(task);
        }
}

/* ---- downgrade: parts of a plan are written, then read beside the whole -----------------------
 */

enum { PARTS = 4, PART = 32 };

static void scale(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        at[i] = at[i] * 3 + i + (uint64_t)number;
}

static void sum(void *buffers[], void *arg)
{
    const uint64_t *at = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[1]); i++)
        *variable(buffers[0]) = *variable(buffers[0]) * 31 + at[i];
}

static struct starpu_codelet scale_codelet = {
    .cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "scale"};
static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {sum}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "sum"};

static void downgrade_round(starpu_data_handle_t whole, starpu_data_handle_t *parts, int number)
{
    starpu_data_partition_submit(whole, PARTS, parts);
    for (int i = 0; i < PARTS; i++)
        must(starpu_task_insert(&scale_codelet, STARPU_RW, parts[i], STARPU_VALUE, &number,
                                sizeof(number), 0));
    starpu_data_partition_readonly_downgrade_submit(whole, PARTS, parts);
    for (int i = 0; i < PARTS; i++)
        must(starpu_task_insert(&sum_codelet, STARPU_RW, handles[i], STARPU_R, parts[i], 0));
    must(starpu_task_insert(&sum_codelet, STARPU_RW, handles[PARTS], STARPU_R, whole, 0));
    starpu_data_unpartition_submit(whole, PARTS, parts, -1);
    starpu_data_partition_readonly_submit_sequential_consistency(whole, PARTS, parts, 1);
    must(starpu_task_insert(&sum_codelet, STARPU_RW, handles[number % 4], STARPU_R,
                            parts[number % PARTS], 0));
    /* StarPU leaves the plan by itself. */
    must(starpu_task_insert(&scale_codelet, STARPU_RW, whole, STARPU_VALUE, &number, sizeof(number),
                            0));
}

static void run_downgrade(void)
{
    struct starpu_data_filter blocks = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};
    static uint64_t cells[PARTS * PART];
    starpu_data_handle_t whole, parts[PARTS];

    starpu_vector_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)cells, PARTS * PART,
                                sizeof(cells[0]));
    starpu_data_partition_plan(whole, &blocks, parts);
    for (int number = 0; number < LENGTH; number++)
        downgrade_round(whole, parts, number);
    starpu_data_partition_clean_node(whole, PARTS, parts, STARPU_MAIN_RAM);
    starpu_data_unregister(whole);
    for (unsigned i = 0; i < PARTS * PART; i++)
        count(cells[i]);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"tensor", run_tensor},
        {"homeless", run_homeless},
        {"tensor-reads", run_tensor_reads},
        {"tensor-parts", run_tensor_parts},
        {"ndim", run_ndim},
        {"ndim-homeless", run_ndim_homeless},
        {"ndim-parts", run_ndim_parts},
        {"peek", run_peek},
        {"cpy", run_cpy},
        {"deinitialize", run_deinitialize},
        {"redux", run_redux},
        {"sync", run_sync},
        {"downgrade", run_downgrade},
        {"dup-ro", run_dup_ro},
        {"retry", run_retry},
        {"epilogue", run_epilogue},
        {"transaction", run_transaction},
        {"returns", run_returns},
        {"returns-late", run_returns_late},
        {"release-to", run_release_to},
        {"bubble", run_bubble},
        {NULL, NULL},
    };

    return steps_main(argc, argv, modes);
}

#else

int main(void)
{
    return 77;
}

#endif
