/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/newer.c about tensors and arrays of n dimensions, with gaps between their
 * rows: tensor, homeless (StarPU has the memory), tensor-reads (tasks that write no data read it),
 * tensor-parts, ndim (0 to 5 dimensions), ndim-homeless, ndim-parts. */
#include "lib/newer.h"

#if TIC_STARPU_1_4

enum { MOST = 5, GRIDS = 6 };

struct grid {
    uint32_t dims[MOST], stride[MOST];
    unsigned ndim;
    uint64_t *at;
};

/* Calls back with each element and its number. */
static void each(const struct grid *grid, void (*visit)(uint64_t *element, uint64_t number))
{
    uint32_t place[MOST] = {0};
    uint64_t number = 0;

    for (;;) {
        uint64_t offset = 0;
        unsigned i = 0;
        for (unsigned k = 0; k < grid->ndim; k++)
            offset += (uint64_t)place[k] * grid->stride[k];
        visit(&grid->at[offset], number++);
        while (i < grid->ndim && ++place[i] == grid->dims[i])
            place[i++] = 0;
        if (i == grid->ndim)
            return;
    }
}

/* Of a buffer. */
static struct grid grid_of(void *interface)
{
    const struct starpu_tensor_interface *tensor = interface;
    const struct starpu_ndim_interface *array = interface;
    struct grid grid = {.ndim = 4};

    if (tensor->id == STARPU_TENSOR_INTERFACE_ID)
        return (struct grid){.dims = {tensor->nx, tensor->ny, tensor->nz, tensor->nt},
                             .stride = {1, tensor->ldy, tensor->ldz, tensor->ldt},
                             .ndim = 4,
                             .at = (uint64_t *)tensor->ptr};
    grid.ndim = (unsigned)array->ndim;
    grid.at = (uint64_t *)array->ptr;
    for (unsigned i = 0; i < grid.ndim; i++) {
        grid.dims[i] = array->nn[i];
        grid.stride[i] = array->ldn[i];
    }
    return grid;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static __thread uint64_t salt, digest;

static void change_element(uint64_t *element, uint64_t number)
{
    *element = *element * 31 + salt + number;
}

static void fill_element(uint64_t *element, uint64_t number)
{
    *element = salt * 101 + number;
}

static void digest_element(uint64_t *element, uint64_t number)
{
    digest = digest * 31 + *element + number;
}

static uint64_t digest_of(const struct grid *grid)
{
    digest = 0;
    each(grid, digest_element);
    return digest;
}

static void take_salt(void *arg)
{
    int number;

    starpu_codelet_unpack_args(arg, &number);
    salt = (uint64_t)number;
}

static void change(void *buffers[], void *arg)
{
    const struct grid grid = grid_of(buffers[0]);

    take_salt(arg);
    each(&grid, change_element);
}

static void fill(void *buffers[], void *arg)
{
    const struct grid grid = grid_of(buffers[0]);

    take_salt(arg);
    each(&grid, fill_element);
}

static void look(void *buffers[], void *arg)
{
    const struct grid grid = grid_of(buffers[0]);

    (void)arg;
    count(digest_of(&grid) >> 4);
}

static struct starpu_codelet change_codelet = {
    .cpu_funcs = {change}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};
static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t data, int number)
{
    must(starpu_task_insert(codelet, codelet->modes[0], data, STARPU_VALUE, &number, sizeof(number),
                            0));
}

/* ---- data ----------------------------------------------------------------------------------- */

enum { NX = 3, NY = 4, NZ = 2, NT = 4, LDY = 5, LDZ = 5 * LDY, LDT = 3 * LDZ };

static const struct grid tensor = {
    .dims = {NX, NY, NZ, NT}, .stride = {1, LDY, LDZ, LDT}, .ndim = 4};

static uint64_t cells[GRIDS][LDT * NT];
static starpu_data_handle_t data[GRIDS];

static void open_tensors(int home_node)
{
    for (int i = 0; i < GRIDS; i++)
        starpu_tensor_data_register(&data[i], home_node, home_node < 0 ? 0 : (uintptr_t)cells[i],
                                    LDY, LDZ, LDT, NX, NY, NZ, NT, sizeof(cells[0][0]));
}

static void close_all(void)
{
    for (int i = 0; i < GRIDS; i++)
        starpu_data_unregister(data[i]);
    for (int i = 0; i < GRIDS; i++)
        for (int k = 0; k < LDT * NT; k++)
            count(cells[i][k] * (uint64_t)(k + 1));
}

void run_tensor(void)
{
    open_tensors(STARPU_MAIN_RAM);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < GRIDS; i++)
            submit(&change_codelet, data[i], number);
    close_all();
}

void run_homeless(void)
{
    open_tensors(-1);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < GRIDS; i++)
            submit(number % 20 ? &change_codelet : &fill_codelet, data[i], number + i);
    for (int i = 0; i < GRIDS; i++) {
        struct grid grid = tensor;
        must(starpu_data_acquire(data[i], STARPU_R));
        grid.at = (uint64_t *)starpu_tensor_get_local_ptr(data[i]);
        grid.stride[1] = starpu_tensor_get_local_ldy(data[i]);
        grid.stride[2] = starpu_tensor_get_local_ldz(data[i]);
        grid.stride[3] = starpu_tensor_get_local_ldt(data[i]);
        count(digest_of(&grid));
        starpu_data_release(data[i]);
    }
    close_all();
}

void run_tensor_reads(void)
{
    open_tensors(STARPU_MAIN_RAM);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < GRIDS; i++) {
            submit(&change_codelet, data[i], number);
            submit(&look_codelet, data[i], number);
        }
    close_all();
}

static void change_parts(starpu_data_handle_t whole, struct starpu_data_filter *filter, int number)
{
    starpu_data_partition(whole, filter);
    for (unsigned part = 0; part < filter->nchildren; part++)
        submit(&change_codelet, starpu_data_get_sub_data(whole, 1, part), number);
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    submit(&change_codelet, whole, number);
}

void run_tensor_parts(void)
{
    struct starpu_data_filter filters[] = {
        {.filter_func = starpu_tensor_filter_time_block, .nchildren = NT},
        {.filter_func = starpu_tensor_filter_vertical_block, .nchildren = 2},
        {.filter_func = starpu_tensor_filter_block, .nchildren = NX},
    };

    open_tensors(STARPU_MAIN_RAM);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < 3; i++)
            change_parts(data[i], &filters[(number + i) % 3], number);
    close_all();
}

/* ---- arrays of n dimensions ------------------------------------------------------------------ */

static void open_arrays(int home_node)
{
    static uint32_t dims[MOST] = {2, 3, 2, 2, 2}, stride[MOST] = {1, 3, 12, 25, 60};

    for (unsigned i = 0; i < GRIDS; i++)
        starpu_ndim_data_register(&data[i], home_node, home_node < 0 ? 0 : (uintptr_t)cells[i],
                                  stride, dims, i, sizeof(cells[0][0]));
}

void run_ndim_homeless(void)
{
    open_arrays(-1);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < GRIDS; i++) {
            submit(number % 20 ? &change_codelet : &fill_codelet, data[i], number + i);
            if (number % 7 == 6)
                submit(&look_codelet, data[i], number);
        }
    close_all();
}

void run_ndim(void)
{
    open_arrays(STARPU_MAIN_RAM);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 0; i < GRIDS; i++) {
            submit(&change_codelet, data[i], number);
            if (number % 4 == 0)
                submit(&look_codelet, data[i], number);
        }
    close_all();
}

void run_ndim_parts(void)
{
    struct starpu_data_filter filter = {
        .filter_func = starpu_ndim_filter_block, .filter_arg = 1, .nchildren = 3};

    open_arrays(STARPU_MAIN_RAM);
    for (int number = 0; number < LENGTH; number++)
        for (int i = 2; i <= 4; i++)
            change_parts(data[i], &filter, number);
    close_all();
}

#endif
