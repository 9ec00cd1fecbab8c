/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library of tests/lib/libraries.c, which is built several times, with other numbers: the kernel
 * of its tasks, or (DRIVER) what submits them. */
#include <starpu.h>

/* The linker puts it among the data that can be changed. */
double library_number = NUMBER;

#ifdef DRIVER
void drive(struct starpu_codelet *codelet, starpu_data_handle_t handle, int count);

void drive(struct starpu_codelet *codelet, starpu_data_handle_t handle, int count)
{
    for (int i = 0; i < count; i++)
        starpu_task_insert(codelet, STARPU_RW, handle, STARPU_VALUE, &library_number,
                           sizeof(library_number), 0);
}
#else
void kernel(void *buffers[], void *arg);

void kernel(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        values[i] = values[i] / 2 + library_number;
}
#endif
