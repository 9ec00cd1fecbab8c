/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* checks that functions of ours stand for those of codelets, call them whoever calls ours, and are
 * shared by codelets with the same function; and what happens when there are no more of them. */
#include "lib/testing.h"

#include <errno.h>

#include "real/real.h"
#include "session/kernels.h"

struct tic_real tic_real;

static struct tic_kernel *called;

static void run(struct tic_kernel *kernel, void *buffers[], void *argument)
{
    called = kernel;
    kernel->function(buffers, argument);
}

static int sum;
static void add(void *buffers[], void *argument)
{
    (void)buffers;
    sum += *(int *)argument;
}
static void subtract(void *buffers[], void *argument)
{
    (void)buffers;
    sum -= *(int *)argument;
}

static int start(void **state)
{
    (void)state;
    tic_kernels_run = run;
    return 0;
}

static void test_replaced(void **state)
{
    struct starpu_codelet one = {.cpu_funcs = {add, subtract}}, other = {.cpu_funcs = {subtract}};
    int number = 5;

    (void)state;
    assert_int_equal(tic_kernels_replace(&one, false), 0);
    assert_ptr_not_equal(one.cpu_funcs[0], add);
    assert_ptr_equal(tic_kernels_original(one.cpu_funcs[0]), add);
    assert_ptr_equal(tic_kernels_original(add), add);
    assert_null(one.cpu_funcs[2]);
    one.cpu_funcs[0](NULL, &number);
    assert_int_equal(sum, 5);
    assert_true(tic_kernels_is_of(called, &one));
    assert_false(tic_kernels_is_of(called, &other));
    assert_false(called->can_fail);
    /* Again, and of another codelet with one of the functions. */
    struct starpu_codelet before = one;
    assert_int_equal(tic_kernels_replace(&one, false), 0);
    assert_memory_equal(&before, &one, sizeof(one));
    assert_int_equal(tic_kernels_replace(&other, true), 0);
    assert_ptr_equal(other.cpu_funcs[0], one.cpu_funcs[1]);
    other.cpu_funcs[0](NULL, &number);
    assert_int_equal(sum, 0);
    assert_true(called->can_fail);
}

static void test_refused(void **state)
{
    struct starpu_codelet none = {.where = STARPU_CUDA};
    struct starpu_codelet parallel = {.cpu_funcs = {add}, .type = STARPU_SPMD};

    (void)state;
    assert_int_equal(tic_kernels_replace(&none, true), -EINVAL);
    assert_int_equal(tic_kernels_replace(&parallel, true), -EINVAL);
    assert_ptr_equal(parallel.cpu_funcs[0], add);
}

static void test_many(void **state)
{
    struct starpu_codelet codelet;
    unsigned replaced = 0, refused = 0;

    (void)state;
    for (uintptr_t i = 0; i < TIC_KERNELS; i++) {
        codelet = (struct starpu_codelet){.cpu_funcs = {(tic_kernel_function)(65536 + i * 16)}};
        int status = tic_kernels_replace(&codelet, false);
        assert_true(status == 0 || status == -ENOSPC);
        replaced += status == 0;
        refused += status != 0;
        if (status == 0)
            assert_ptr_equal(tic_kernels_original(codelet.cpu_funcs[0]), 65536 + i * 16);
        else
            assert_ptr_equal(codelet.cpu_funcs[0], 65536 + i * 16);
    }
    assert_int_equal(replaced, TIC_KERNELS - 2); /* two are of the test above */
    assert_int_equal(refused, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
