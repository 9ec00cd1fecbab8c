/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/parts.h"

/* Elements of a part, counted in rows. */
static unsigned size(void *part)
{
    return STARPU_MATRIX_GET_NX(part) * STARPU_MATRIX_GET_NY(part);
}

static uint64_t *element(void *part, unsigned i)
{
    unsigned width = STARPU_MATRIX_GET_NX(part);
    uint64_t *first = (uint64_t *)STARPU_MATRIX_GET_PTR(part);
    return first + i / width * STARPU_MATRIX_GET_LD(part) + i % width;
}

static void change(void *buffers[], void *arg)
{
    int number;
    starpu_codelet_unpack_args(arg, &number);
    for (unsigned i = 0; i < size(buffers[0]); i++)
        *element(buffers[0], i) = *element(buffers[0], i) * 31 + (uint64_t)number;
}

static void look(void *buffers[], void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < size(buffers[1]); i++)
        *variable(buffers[0]) = *variable(buffers[0]) * 31 + *element(buffers[1], i);
}

static struct starpu_codelet change_codelet = {
    .cpu_funcs = {change}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "change"};
static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "look"};

void submit_change(starpu_data_handle_t *parts, int many, int number)
{
    for (int i = 0; i < many; i++, number++)
        must(starpu_task_insert(&change_codelet, STARPU_RW, parts[i], STARPU_VALUE, &number,
                                sizeof(number), 0));
}

void submit_look(starpu_data_handle_t *parts, int many, int which)
{
    for (int i = 0; i < many; i++)
        must(starpu_task_insert(&look_codelet, STARPU_RW, handles[which], STARPU_R, parts[i], 0));
}
