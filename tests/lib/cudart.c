/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: what stubs that nvcc generates call of NVIDIA's runtime, and a
 * function for codelets with a counter of its own. */
int __cudaGetKernel(void **handle, const void *stub);
void counting_kernel(void *buffers[], void *argument);

static volatile long executions;

int __cudaGetKernel(void **handle, const void *stub)
{
    *handle = (char *)stub + 1;
    return 0;
}

void counting_kernel(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
    executions++;
}
