/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree of tasks that grows from its root: main() submits one task, and the kernel of each inner
 * node submits the children. Every node adds a number to a sum, by a commuting write.
 * Usage: knary [commute | tree] [DEPTH [ARITY [COST_US]]]
 * commute: one sum; tree: node k adds to sum k mod 16; a kernel spins for COST_US microseconds.
 * Prints the sum and the count of nodes, and fails if they are not what main() computes itself. */
#include <starpu.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUMS = 16 };

struct node {
    int depth;
    int number; /* the root is 0, the children of k are k * arity + 1 and what follows */
};

struct sum {
    uint64_t value;
    uint64_t count;
};

static struct sum sums[SUMS];
static starpu_data_handle_t handles[SUMS];
static int used_sums, tree_depth = 6, arity = 7;
static double cost;

static void must(int status)
{
    if (status != 0)
        abort();
}

static uint64_t worth(uint64_t number)
{
    uint64_t mixed = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return mixed ^ (mixed >> 32);
}

static void visit(void *buffers[], void *arg);

static struct starpu_codelet visit_codelet = {
    .cpu_funcs = {visit}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "visit"};

static void submit(struct node node)
{
    must(starpu_task_insert(&visit_codelet, STARPU_RW | STARPU_COMMUTE,
                            handles[node.number % used_sums], STARPU_VALUE, &node, sizeof(node),
                            0));
}

static void spin(double microseconds)
{
    double end = starpu_timing_now() + microseconds;
    while (starpu_timing_now() < end)
        ;
}

static void visit(void *buffers[], void *arg)
{
    struct sum *sum = (struct sum *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    struct node node;

    starpu_codelet_unpack_args(arg, &node);
    if (node.depth < tree_depth)
        for (int child = 1; child <= arity; child++)
            submit((struct node){node.depth + 1, node.number * arity + child});
    if (cost > 0)
        spin(cost);
    sum->value += worth((uint64_t)node.number);
    sum->count++;
}

static struct sum expected(void)
{
    struct sum all = {0, 1};

    for (uint64_t level = 0, width = 1; level < (uint64_t)tree_depth; level++)
        all.count += width *= (uint64_t)arity;
    for (uint64_t number = 0; number < all.count; number++)
        all.value += worth(number);
    return all;
}

static void parse(int argc, char **argv)
{
    bool tree = argc > 1 && strcmp(argv[1], "tree") == 0;
    int next = tree || (argc > 1 && strcmp(argv[1], "commute") == 0) ? 2 : 1;

    used_sums = tree ? SUMS : 1;
    if (next < argc)
        tree_depth = atoi(argv[next++]);
    if (next < argc)
        arity = atoi(argv[next++]);
    if (next < argc)
        cost = atof(argv[next++]);
}

int main(int argc, char **argv)
{
    struct sum all = {0, 0}, right;

    parse(argc, argv);
    right = expected();
    if (starpu_init(NULL) != 0)
        return 77;
    for (int i = 0; i < used_sums; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&sums[i],
                                      sizeof(sums[i]));
    submit((struct node){0, 0});
    starpu_task_wait_for_all();
    for (int i = 0; i < used_sums; i++) {
        starpu_data_unregister(handles[i]);
        all.value += sums[i].value;
        all.count += sums[i].count;
    }
    starpu_shutdown();
    printf("%" PRIu64 " %" PRIu64 "\n", all.value, all.count);
    return all.value == right.value && all.count == right.count ? 0 : 1;
}
