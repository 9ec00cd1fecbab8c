/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Branch and bound for the quadratic assignment problem, the application of the papers: facilities
 * get places on a grid so that the sum of flow times distance is least. The instances are NUG12 and
 * NUG14 of Nugent, Vollmann and Ruml (QAPLIB); their optima, 578 and 1014, are checked. So is that
 * of the first eight facilities of NUG12, 214, as trying all orders gives it.
 *
 * main() enumerates the tree down to a threshold; a task explores each subtree below it, pruned by
 * the bound of Gilmore and Lawler, and a second one takes what it has found into the incumbent, by
 * an access that commutes. Subtrees come in waves: a wave knows what the last but one has found, so
 * that tasks of one wave overlap with those of the next, and each run prunes the same.
 *
 *   ./06_qap [8 | 12 | 14 [THRESHOLD]]                                       plain
 *   starpu-tic run -- ./06_qap                                           protected
 *   STARPU_TIC_EVERY=100 STARPU_TIC_FAIL=task-end:700 \
 *       starpu-tic run -- ./06_qap                                       killed after 700 tasks
 *   starpu-tic run -- ./06_qap                                           resumed */
#include <limits.h>
#include <stdbool.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 14, WAVE = 24 };

struct instance {
    int size, columns, optimum; /* places are cells of the grid, row by row */
    int flow[MOST][MOST];
};

static const struct instance nug12 = {12,
                                      4,
                                      578,
                                      {{0, 5, 2, 4, 1, 0, 0, 6, 2, 1, 1, 1},
                                       {5, 0, 3, 0, 2, 2, 2, 0, 4, 5, 0, 0},
                                       {2, 3, 0, 0, 0, 0, 0, 5, 5, 2, 2, 2},
                                       {4, 0, 0, 0, 5, 2, 2, 10, 0, 0, 5, 5},
                                       {1, 2, 0, 5, 0, 10, 0, 0, 0, 5, 1, 1},
                                       {0, 2, 0, 2, 10, 0, 5, 1, 1, 5, 4, 0},
                                       {0, 2, 0, 2, 0, 5, 0, 10, 5, 2, 3, 3},
                                       {6, 0, 5, 10, 0, 1, 10, 0, 0, 0, 5, 0},
                                       {2, 4, 5, 0, 0, 1, 5, 0, 0, 0, 10, 10},
                                       {1, 5, 2, 0, 5, 5, 2, 0, 0, 0, 5, 0},
                                       {1, 0, 2, 5, 1, 4, 3, 5, 10, 5, 0, 2},
                                       {1, 0, 2, 5, 1, 0, 3, 0, 10, 0, 2, 0}}};
static const struct instance nug14 = {14,
                                      5,
                                      1014,
                                      {{0, 10, 0, 5, 1, 0, 1, 2, 2, 2, 2, 0, 4, 0},
                                       {10, 0, 1, 3, 2, 2, 2, 3, 2, 0, 2, 0, 10, 5},
                                       {0, 1, 0, 10, 2, 0, 2, 5, 4, 5, 2, 2, 5, 5},
                                       {5, 3, 10, 0, 1, 1, 5, 0, 0, 2, 1, 0, 2, 5},
                                       {1, 2, 2, 1, 0, 3, 5, 5, 5, 1, 0, 3, 0, 5},
                                       {0, 2, 0, 1, 3, 0, 2, 2, 1, 5, 0, 0, 2, 5},
                                       {1, 2, 2, 5, 5, 2, 0, 6, 0, 1, 5, 5, 5, 1},
                                       {2, 3, 5, 0, 5, 2, 6, 0, 5, 2, 10, 0, 5, 0},
                                       {2, 2, 4, 0, 5, 1, 0, 5, 0, 0, 10, 5, 10, 0},
                                       {2, 0, 5, 2, 1, 5, 1, 2, 0, 0, 0, 4, 0, 0},
                                       {2, 2, 2, 1, 0, 0, 5, 10, 10, 0, 0, 5, 0, 5},
                                       {0, 0, 2, 0, 3, 0, 5, 0, 5, 4, 5, 0, 3, 3},
                                       {4, 10, 5, 2, 0, 2, 5, 5, 10, 0, 0, 3, 0, 10},
                                       {0, 5, 5, 5, 5, 5, 1, 0, 0, 0, 5, 3, 10, 0}}};

static const struct instance *problem = &nug12; /* main() chooses before the first task */

/* Places 0 to depth - 1 have a facility; below the root they are all of it that matters. */
struct node {
    int depth, cost; /* cost of what is placed */
    signed char facility[MOST];
};

struct solution {
    int cost;
    signed char facility[MOST];
};

static int distance(int a, int b)
{
    int columns = problem->columns;
    return abs(a / columns - b / columns) + abs(a % columns - b % columns);
}

/* ---- the bound of Gilmore and Lawler --------------------------------------------------------- */

/* The least sum of one entry of each row and column, by shortest augmenting paths (Hungarian
 * method with potentials). Row and column 0 are sentinels. */
static int assign(int size, int cost[MOST][MOST])
{
    int row_potential[MOST + 1] = {0}, column_potential[MOST + 1] = {0};
    int row_of[MOST + 1] = {0}, before[MOST + 1] = {0}, sum = 0;

    for (int row = 1; row <= size; row++) {
        int slack[MOST + 1], column = 0;
        bool used[MOST + 1] = {false};

        for (int c = 0; c <= size; c++)
            slack[c] = INT_MAX;
        row_of[0] = row;
        do {
            int least = INT_MAX, next = 0, from = row_of[column];

            used[column] = true;
            for (int c = 1; c <= size; c++) {
                if (used[c])
                    continue;
                int reduced = cost[from - 1][c - 1] - row_potential[from] - column_potential[c];
                if (reduced < slack[c]) {
                    slack[c] = reduced;
                    before[c] = column;
                }
                if (slack[c] < least) {
                    least = slack[c];
                    next = c;
                }
            }
            for (int c = 0; c <= size; c++) {
                if (used[c]) {
                    row_potential[row_of[c]] += least;
                    column_potential[c] -= least;
                } else if (slack[c] != INT_MAX) {
                    slack[c] -= least;
                }
            }
            column = next;
        } while (row_of[column] != 0);
        for (; column != 0; column = before[column])
            row_of[column] = row_of[before[column]];
    }
    for (int c = 1; c <= size; c++)
        sum += cost[row_of[c] - 1][c - 1];
    return sum;
}

static void insert_sorted(int *list, int length, int value) /* the least one first */
{
    for (; length > 0 && list[length - 1] > value; length--)
        list[length] = list[length - 1];
    list[length] = value;
}

/* The free facilities, and for each its flows to the others, sorted; likewise for free places. */
static int sort_free(const struct node *node, int free[MOST], int flows[MOST][MOST],
                     int distances[MOST][MOST])
{
    int count = 0, size = problem->size;
    bool placed[MOST] = {false};

    for (int p = 0; p < node->depth; p++)
        placed[node->facility[p]] = true;
    for (int f = 0; f < size; f++)
        if (!placed[f])
            free[count++] = f;
    for (int i = 0; i < count; i++)
        for (int j = 0, length = 0; j < count; j++)
            if (j != i) {
                insert_sorted(flows[i], length, problem->flow[free[i]][free[j]]);
                insert_sorted(distances[i], length++, distance(node->depth + i, node->depth + j));
            }
    return count;
}

/* No solution below the node costs less. */
static int bound(const struct node *node)
{
    int free[MOST], flows[MOST][MOST], distances[MOST][MOST], cost[MOST][MOST];
    int count = sort_free(node, free, flows, distances);

    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int sum = 0;
            for (int p = 0; p < node->depth; p++)
                sum += 2 * problem->flow[free[i]][node->facility[p]] * distance(p, node->depth + j);
            for (int k = 0; k < count - 1; k++) /* large flows go over short distances */
                sum += flows[i][k] * distances[j][count - 2 - k];
            cost[i][j] = sum;
        }
    return node->cost + assign(count, cost);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool has_placed(const struct node *node, int facility)
{
    return memchr(node->facility, facility, (size_t)node->depth) != NULL;
}

static struct node child_of(const struct node *node, int facility)
{
    struct node child = *node;

    for (int p = 0; p < node->depth; p++)
        child.cost += 2 * problem->flow[facility][node->facility[p]] * distance(p, node->depth);
    child.facility[child.depth++] = (signed char)facility;
    return child;
}

/* Searches below a node for what costs less than the best so far. */
static void search(const struct node *node, struct solution *best)
{
    if (node->depth == problem->size) {
        best->cost = node->cost;
        memcpy(best->facility, node->facility, sizeof(best->facility));
        return;
    }
    for (int f = 0; f < problem->size; f++) {
        if (has_placed(node, f))
            continue;
        struct node child = child_of(node, f);
        if (bound(&child) < best->cost)
            search(&child, best);
    }
}

static void explore(void *buffers[], void *arg)
{
    const struct solution *known = (struct solution *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    struct solution *found = (struct solution *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    struct node node;

    starpu_codelet_unpack_args(arg, &node);
    *found = *known;
    if (bound(&node) < found->cost)
        search(&node, found);
}

/* Solutions have an order, so that the best one does not depend on which comes first. */
static bool is_better(const struct solution *one, const struct solution *other)
{
    if (one->cost != other->cost)
        return one->cost < other->cost;
    return memcmp(one->facility, other->facility, sizeof(one->facility)) < 0;
}

static void merge(void *buffers[], void *arg)
{
    const struct solution *found = (struct solution *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    struct solution *incumbent = (struct solution *)STARPU_VARIABLE_GET_PTR(buffers[1]);

    (void)arg;
    if (is_better(found, incumbent))
        *incumbent = *found;
}

static void publish(void *buffers[], void *arg)
{
    (void)arg;
    *(struct solution *)STARPU_VARIABLE_GET_PTR(buffers[1]) =
        *(struct solution *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}

static struct starpu_codelet explore_codelet = {
    .cpu_funcs = {explore}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "explore"};
static struct starpu_codelet merge_codelet = {.cpu_funcs = {merge},
                                              .nbuffers = 2,
                                              .modes = {STARPU_R, STARPU_RW | STARPU_COMMUTE},
                                              .name = "merge"};
static struct starpu_codelet publish_codelet = {
    .cpu_funcs = {publish}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "publish"};

/* ---- what main() submits --------------------------------------------------------------------- */

struct plan {
    starpu_data_handle_t incumbent, known[2];
    int threshold, in_wave, waves;
};

static void check(int status)
{
    STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
}

static void submit_subtree(struct plan *plan, const struct node *node)
{
    starpu_data_handle_t found, known = plan->known[plan->waves % 2];

    starpu_variable_data_register(&found, -1, 0, sizeof(struct solution));
    check(starpu_task_insert(&explore_codelet, STARPU_R, known, STARPU_W, found, STARPU_VALUE, node,
                             sizeof(*node), 0));
    check(starpu_task_insert(&merge_codelet, STARPU_R, found, STARPU_RW | STARPU_COMMUTE,
                             plan->incumbent, 0));
    starpu_data_unregister_submit(found);
    if (++plan->in_wave == WAVE) {
        check(starpu_task_insert(&publish_codelet, STARPU_R, plan->incumbent, STARPU_W, known, 0));
        plan->in_wave = 0;
        plan->waves++;
    }
}

static void enumerate(struct plan *plan, const struct node *node)
{
    if (node->depth == plan->threshold) {
        submit_subtree(plan, node);
        return;
    }
    for (int f = 0; f < problem->size; f++)
        if (!has_placed(node, f)) {
            struct node child = child_of(node, f);
            enumerate(plan, &child);
        }
}

/* A first solution: each place gets the facility with the least bound. */
static struct solution first_solution(void)
{
    struct node node = {0};
    struct solution solution = {0};

    while (node.depth < problem->size) {
        struct node best = {0};
        int least = INT_MAX;

        for (int f = 0; f < problem->size; f++) {
            if (has_placed(&node, f))
                continue;
            struct node child = child_of(&node, f);
            int value = bound(&child);
            if (value < least) {
                least = value;
                best = child;
            }
        }
        node = best;
    }
    solution.cost = node.cost;
    memcpy(solution.facility, node.facility, sizeof(solution.facility));
    return solution;
}

static void choose_problem(int size)
{
    static struct instance eight;

    eight = nug12;
    eight.size = 8;
    eight.optimum = 214;
    problem = size == eight.size ? &eight : size == nug14.size ? &nug14 : &nug12;
}

int main(int argc, char **argv)
{
    static struct solution best, known[2];
    struct plan plan = {.threshold = argc > 2 ? atoi(argv[2]) : 3};
    struct node root = {0};

    choose_problem(argc > 1 ? atoi(argv[1]) : nug12.size);
    if (plan.threshold < 1 || plan.threshold >= problem->size) {
        fprintf(stderr, "THRESHOLD is 1 to %d\n", problem->size - 1);
        return EXIT_FAILURE;
    }
    if (starpu_init(NULL) != 0)
        return 77;
    best = known[0] = known[1] = first_solution();
    starpu_variable_data_register(&plan.incumbent, STARPU_MAIN_RAM, (uintptr_t)&best, sizeof(best));
    for (int i = 0; i < 2; i++)
        starpu_variable_data_register(&plan.known[i], STARPU_MAIN_RAM, (uintptr_t)&known[i],
                                      sizeof(known[i]));
    enumerate(&plan, &root);
    starpu_data_unregister(plan.incumbent);
    for (int i = 0; i < 2; i++)
        starpu_data_unregister(plan.known[i]);
    starpu_shutdown();

    printf("%d:", best.cost);
    for (int p = 0; p < problem->size; p++)
        printf(" %d", best.facility[p] + 1);
    printf("\n");
    return best.cost == problem->optimum ? EXIT_SUCCESS : EXIT_FAILURE;
}
