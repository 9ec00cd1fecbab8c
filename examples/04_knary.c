/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree of tasks that grows from its root: main() submits one task, and the kernel of each inner
 * node submits the children. If a node is done when the program is killed, but a child is not, the
 * recovery line holds the child, as nobody would submit it again. Every node adds its worth to one
 * sum, by writes that commute.
 *
 *   ./04_knary [DEPTH [WIDTH [WORK]]]                                plain
 *   starpu-tic run -- ./04_knary 6                                   protected
 *   STARPU_TIC_EVERY=50 STARPU_TIC_FAIL=line-renamed:1 \
 *       starpu-tic run -- ./04_knary 6                               killed with a recovery line
 *   starpu-tic run -- ./04_knary 6                                   resumed
 *
 * Three rules for kernels that submit tasks: arguments are values (STARPU_VALUE), not pointers;
 * codelets are variables of the program; data is registered by main(). */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    int depth;    /* levels below it */
    int width;    /* children of an inner node */
    int work;     /* serial work of each node, in rounds of a generator */
    uint64_t key; /* what its worth comes from */
};

static starpu_data_handle_t sum_handle;

static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return key ^ (key >> 32);
}

static uint64_t worth(const struct node *node)
{
    uint64_t value = node->key;

    for (int i = 0; i < node->work; i++)
        value = mix(value + 1);
    return value;
}

static struct node child_of(const struct node *node, int number)
{
    return (struct node){node->depth - 1, node->width, node->work,
                         mix(node->key + (uint64_t)number + 1)};
}

static void visit(void *buffers[], void *arg);

static struct starpu_codelet codelet = {
    .cpu_funcs = {visit}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "visit"};

static void submit(struct node node)
{
    int status = starpu_task_insert(&codelet, STARPU_RW | STARPU_COMMUTE, sum_handle, STARPU_VALUE,
                                    &node, sizeof(node), 0);
    STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
}

static void visit(void *buffers[], void *arg)
{
    uint64_t *sum = (uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    struct node node;

    starpu_codelet_unpack_args(arg, &node);
    for (int i = 0; node.depth > 0 && i < node.width; i++)
        submit(child_of(&node, i));
    *sum += worth(&node);
}

static uint64_t expected(struct node node)
{
    uint64_t sum = worth(&node);

    for (int i = 0; node.depth > 0 && i < node.width; i++)
        sum += expected(child_of(&node, i));
    return sum;
}

int main(int argc, char **argv)
{
    struct node root = {.depth = argc > 1 ? atoi(argv[1]) : 4,
                        .width = argc > 2 ? atoi(argv[2]) : 4,
                        .work = argc > 3 ? atoi(argv[3]) : 1000,
                        .key = 1};
    static uint64_t sum;

    if (starpu_init(NULL) != 0)
        return 77;
    starpu_variable_data_register(&sum_handle, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
    submit(root);
    starpu_task_wait_for_all();
    starpu_data_unregister(sum_handle);
    starpu_shutdown();
    printf("%" PRIu64 "\n", sum);
    return sum == expected(root) ? EXIT_SUCCESS : EXIT_FAILURE;
}
