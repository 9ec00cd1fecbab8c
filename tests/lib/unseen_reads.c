/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: tasks that write no data read what they declare, but not through the
 * pointers of their buffers; kernels change their arguments, or the size of their data. */
#include "lib/unseen.h"

enum { TILES = 6 };

static uint64_t sum; /* addition commutes */
static struct tiles x;

static void add(uint64_t value)
{
    __atomic_add_fetch(&sum, value, __ATOMIC_RELAXED);
}

/* After each task on a tile one that reads; `middle` has a neighbour on both sides. */
static void alternate(size_t length, void (*submit_read)(unsigned which))
{
    tiles_make(&x, TILES, length, 60);
    for (unsigned turn = 0; turn < phases(60); turn++) {
        unsigned middle = 1 + turn % (TILES - 2);
        submit_update(x.handles[middle + turn % 3 - 1], turn);
        submit_read(middle);
    }
    starpu_task_wait_for_all();
    note(sum);
    tiles_drop(&x);
}

/* ---- readglobal: by a pointer of the program's own ------------------------------------------- */

static void add_global(void *buffers[], void *arg)
{
    unsigned which;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &which);
    add(digest(tile(&x, which), x.length));
}

static struct starpu_codelet add_global_codelet = {
    .cpu_funcs = {add_global}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_global"};

static void submit_global(unsigned which)
{
    must(starpu_task_insert(&add_global_codelet, STARPU_R, x.handles[which], STARPU_VALUE, &which,
                            sizeof(which), 0));
}

void run_readglobal(void)
{
    alternate(LENGTH, submit_global);
}

void run_readglobal_large(void)
{
    alternate(4 * LENGTH, submit_global);
}

/* ---- readhalo: the ends of its neighbours, by the pointer of the tile between them ----------- */

static void add_halo(void *buffers[], void *arg)
{
    const uint64_t *at = elements(buffers[1]);

    (void)arg;
    add(mix(at[-1], at[STARPU_VECTOR_GET_NX(buffers[1])]) + at[0]);
}

static struct starpu_codelet add_halo_codelet = {.cpu_funcs = {add_halo},
                                                 .nbuffers = 3,
                                                 .modes = {STARPU_R, STARPU_R, STARPU_R},
                                                 .name = "add_halo"};

static void submit_halo(unsigned which)
{
    must(starpu_task_insert(&add_halo_codelet, STARPU_R, x.handles[which - 1], STARPU_R,
                            x.handles[which], STARPU_R, x.handles[which + 1], 0));
}

void run_readhalo(void)
{
    alternate(LENGTH, submit_halo);
}

/* ---- readrows: a matrix whose rows lie apart, which the kernel knows --------------------------
 */

enum { SIDE = 16, APART = 64 };

static void update_rows(void *buffers[], void *arg)
{
    uint64_t *at = (uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    for (unsigned row = 0; row < SIDE; row++)
        work(at + row * APART, at + row * APART, SIDE, number + row);
}

static void add_rows(void *buffers[], void *arg)
{
    const uint64_t *at = (const uint64_t *)STARPU_MATRIX_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned row = 0; row < SIDE; row++)
        add(digest(at + row * APART, SIDE));
}

static struct starpu_codelet update_rows_codelet = {
    .cpu_funcs = {update_rows}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "update_rows"};
static struct starpu_codelet add_rows_codelet = {
    .cpu_funcs = {add_rows}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_rows"};

void run_readrows(void)
{
    starpu_data_handle_t handles[APART / SIDE];

    tiles_allocate(&x, SIDE, APART, 61);
    for (unsigned i = 0; i < APART / SIDE; i++)
        starpu_matrix_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)(x.at + i * SIDE),
                                    APART, SIDE, SIDE, sizeof(*x.at));
    for (unsigned turn = 0; turn < phases(30); turn++) {
        must(starpu_task_insert(&update_rows_codelet, STARPU_RW, handles[turn % (APART / SIDE)],
                                STARPU_VALUE, &turn, sizeof(turn), 0));
        must(starpu_task_insert(&add_rows_codelet, STARPU_R, handles[turn % (APART / SIDE)], 0));
    }
    for (unsigned i = 0; i < APART / SIDE; i++)
        starpu_data_unregister(handles[i]);
    note(tiles_digest(&x));
    note(sum);
    free(x.at);
}

/* ---- argresult, argstate: kernels change their arguments, which are main()'s ------------------
 */

struct arguments {
    unsigned number;
    uint64_t state, result;
};

static void return_result(void *buffers[], void *arg)
{
    struct arguments *arguments = arg;
    uint64_t *at = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);

    arguments->state = mix(arguments->state, arguments->number);
    at[0] ^= arguments->state;
    work(at, at, n, arguments->number);
    arguments->result = digest(at, n);
}

static struct starpu_codelet result_codelet = {
    .cpu_funcs = {return_result}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "return_result"};

static void submit_with_arguments(unsigned which, struct arguments *arguments)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &result_codelet;
    task->handles[0] = x.handles[which];
    task->cl_arg = arguments;
    task->cl_arg_size = sizeof(*arguments);
    must(starpu_task_submit(task));
}

void run_argresult(void)
{
    unsigned count = phases(120);
    struct arguments *all = calloc(count, sizeof(*all));

    tiles_make(&x, TILES, LENGTH, 62);
    for (unsigned turn = 0; turn < count; turn++) {
        all[turn].number = turn;
        submit_with_arguments(turn % TILES, &all[turn]);
    }
    starpu_task_wait_for_all();
    for (unsigned turn = 0; turn < count; turn++)
        note(all[turn].result);
    tiles_drop(&x);
    free(all);
}

void run_argstate(void)
{
    static struct arguments states[TILES]; /* tasks on a tile come one after the other */

    tiles_make(&x, TILES, LENGTH, 63);
    for (unsigned turn = 0; turn < phases(120); turn++)
        submit_with_arguments(turn % TILES, &states[turn % TILES]);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < TILES; i++)
        note(states[i].result);
    tiles_drop(&x);
}

/* ---- argshared: tasks add to one structure, in an order that StarPU chooses -------------------
 */

static struct {
    uint64_t count, sum;
} shared;

static void add_to_shared(void *buffers[], void *arg)
{
    uint64_t *at = elements(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]);

    (void)arg;
    work(at, at, n, 7);
    shared.count++;
    shared.sum += digest(at, n);
}

static struct starpu_codelet shared_codelet = {.cpu_funcs = {add_to_shared},
                                               .nbuffers = 2,
                                               .modes = {STARPU_RW, STARPU_RW | STARPU_COMMUTE},
                                               .name = "add_to_shared"};

void run_argshared(void)
{
    static uint64_t token;
    starpu_data_handle_t order;

    tiles_make(&x, TILES, LENGTH, 67);
    starpu_variable_data_register(&order, STARPU_MAIN_RAM, (uintptr_t)&token, sizeof(token));
    for (unsigned turn = 0; turn < phases(120); turn++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &shared_codelet;
        task->handles[0] = x.handles[turn % TILES];
        task->handles[1] = order;
        task->cl_arg = &shared;
        task->cl_arg_size = sizeof(shared);
        must(starpu_task_submit(task));
    }
    starpu_task_wait_for_all();
    note(shared.count);
    note(shared.sum);
    starpu_data_unregister(order);
    tiles_drop(&x);
}

/* ---- argcallback: StarPU frees the arguments, but for the callback, which reads the result ----
 */

static void add_result(void *arg)
{
    add(((const struct arguments *)arg)->result);
}

void run_argcallback(void)
{
    tiles_make(&x, TILES, LENGTH, 68);
    for (unsigned turn = 0; turn < phases(120); turn++) {
        struct starpu_task *task = starpu_task_create();
        struct arguments *arguments = malloc(sizeof(*arguments)); /* result: what was there */
        arguments->number = turn;
        arguments->state = 0;
        task->cl = &result_codelet;
        task->handles[0] = x.handles[turn % TILES];
        task->cl_arg = task->callback_arg = arguments;
        task->cl_arg_size = sizeof(*arguments);
        task->cl_arg_free = 1;
        task->callback_func = add_result;
        must(starpu_task_submit(task));
    }
    starpu_task_wait_for_all();
    note(sum);
    tiles_drop(&x);
}

/* ---- resize: a kernel tells by the length of its vector how much of it counts -----------------
 */

static void shorten(void *buffers[], void *arg)
{
    struct starpu_vector_interface *vector = buffers[0];
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    vector->nx = LENGTH - number % 7;
    work(elements(vector), elements(vector), vector->nx, number);
}

static struct starpu_codelet shorten_codelet = {
    .cpu_funcs = {shorten}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "shorten"};

void run_resize(void)
{
    tiles_make(&x, TILES, LENGTH, 64);
    for (unsigned turn = 0; turn < phases(60); turn++) {
        starpu_data_handle_t handle = x.handles[turn % TILES];
        submit_update(handle, turn);
        must(starpu_task_insert(&shorten_codelet, STARPU_RW, handle, STARPU_VALUE, &turn,
                                sizeof(turn), 0));
        if (turn % 5 != 4)
            continue;
        must(starpu_data_acquire(handle, STARPU_R));
        note(starpu_vector_get_nx(handle));
        starpu_data_release(handle);
    }
    tiles_drop(&x);
}
