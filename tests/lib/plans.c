/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that plan partitions of a matrix, by rows and by columns at once, and switch
 * between them while tasks run; the argument names one: explicit (asks for each switch), implicit
 * (StarPU switches by itself), readonly (tasks read the matrix and both partitions at the same
 * time), nested (the rows are partitioned, too), nested-implicit, acquire (main() reads one part
 * while tasks of another one are late), mode (what tasks brought into force becomes writable, or
 * read-only). A task changes each element so that a lost, doubled or
 * misplaced one shows. Prints a hash of what they read, and one of the matrix. */
#include <stdbool.h>

#include "lib/parts.h"
#include "real/since.h"

enum { SIDE = 24, PARTS = 4, ROUNDS = 12 };

static starpu_data_handle_t matrix, rows[PARTS], columns[PARTS], cells[PARTS][PARTS];
static bool automatic; /* StarPU switches by itself */

static void split(starpu_data_handle_t parent, starpu_data_handle_t *parts)
{
    if (!automatic)
        starpu_data_partition_submit(parent, PARTS, parts);
}

static void gather(starpu_data_handle_t parent, starpu_data_handle_t *parts)
{
    if (!automatic)
        starpu_data_unpartition_submit(parent, PARTS, parts, STARPU_MAIN_RAM);
}

static void flat_round(int round)
{
    split(matrix, rows);
    submit_change(rows, PARTS, round);
    submit_change(rows, PARTS, round + 7);
    gather(matrix, rows);
    if (round % 3 == 0)
        submit_change(&matrix, 1, round);
    split(matrix, columns);
    submit_change(columns, PARTS, round);
    submit_look(columns, PARTS, 0);
    gather(matrix, columns);
}

static void nested_round(int round)
{
    flat_round(round);
    split(matrix, rows);
    submit_change(&rows[round % PARTS], 1, round);
    for (int row = 0; row < PARTS; row++) {
        split(rows[row], cells[row]);
        submit_change(cells[row], PARTS, round + row);
        gather(rows[row], cells[row]);
    }
    submit_change(rows, PARTS, round);
    gather(matrix, rows);
}

static void readonly_round(int round)
{
    submit_change(&matrix, 1, round);
    starpu_data_partition_readonly_submit(matrix, PARTS, rows);
    starpu_data_partition_readonly_submit(matrix, PARTS, columns);
    submit_look(rows, PARTS, 0);
    submit_look(columns, PARTS, 1);
    submit_look(&matrix, 1, 2);
    starpu_data_unpartition_submit(matrix, PARTS, columns, STARPU_MAIN_RAM);
    if (round % 2) {
        starpu_data_partition_readwrite_upgrade_submit(matrix, PARTS, rows);
        submit_change(rows, PARTS, round);
    }
    starpu_data_unpartition_submit(matrix, PARTS, rows, STARPU_MAIN_RAM);
}

static void acquire_round(int round)
{
    split(matrix, rows);
    for (int i = 0; i < 8; i++)
        submit_change(rows, 1, round + i);
    for (int i = 0; i < 3; i++) {
        submit_change(&rows[1], 1, round + i);
        starpu_data_acquire(rows[1], STARPU_R);
        count(*(uint64_t *)starpu_data_get_local_ptr(rows[1]));
        starpu_data_release(rows[1]);
    }
    gather(matrix, rows);
}

/* Tasks bring a partition into force, the program changes its mode. */
static void mode_round(int round)
{
    submit_look(rows, PARTS, 0);
    starpu_data_partition_readwrite_upgrade_submit(matrix, PARTS, rows);
    submit_change(rows, PARTS, round);
    starpu_data_unpartition_submit(matrix, PARTS, rows, STARPU_MAIN_RAM);
    submit_change(columns, PARTS, round);
#if TIC_STARPU_1_4
    starpu_data_partition_readonly_downgrade_submit(matrix, PARTS, columns);
    submit_look(columns, PARTS, 1);
#endif
    submit_change(&matrix, 1, round);
    submit_change(&matrix, 1, round + 1);
}

static void plan(void)
{
    struct starpu_data_filter by_rows = {.filter_func = starpu_matrix_filter_vertical_block,
                                         .nchildren = PARTS};
    struct starpu_data_filter by_columns = {.filter_func = starpu_matrix_filter_block,
                                            .nchildren = PARTS};

    starpu_data_partition_plan(matrix, &by_rows, rows);
    starpu_data_partition_plan(matrix, &by_columns, columns);
    for (int row = 0; row < PARTS; row++)
        starpu_data_partition_plan(rows[row], &by_columns, cells[row]);
}

static void clean(void)
{
    for (int row = 0; row < PARTS; row++)
        starpu_data_partition_clean(rows[row], PARTS, cells[row]);
    starpu_data_partition_clean(matrix, PARTS, rows);
    starpu_data_partition_clean(matrix, PARTS, columns);
}

static void (*one_round)(int number);

static void run(void)
{
    static uint64_t elements[SIDE * SIDE];
    uint64_t hash = 0;

    for (int i = 0; i < SIDE * SIDE; i++)
        elements[i] = (uint64_t)i;
    starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)elements, SIDE, SIDE, SIDE,
                                sizeof(elements[0]));
    plan();
    for (int number = 0; number < ROUNDS; number++)
        one_round(number);
    clean();
    starpu_data_unregister(matrix);
    for (int i = 0; i < SIDE * SIDE; i++)
        hash = hash * 31 + elements[i];
    count(hash);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"explicit", run},        {"implicit", run}, {"readonly", run}, {"nested", run},
        {"nested-implicit", run}, {"acquire", run},  {"mode", run},     {NULL, NULL}};
    const char *name = argc > 1 ? argv[1] : "";

    automatic = strstr(name, "implicit") != NULL;
    one_round = strncmp(name, "nested", 6) == 0 ? nested_round
                : strcmp(name, "readonly") == 0 ? readonly_round
                : strcmp(name, "acquire") == 0  ? acquire_round
                : strcmp(name, "mode") == 0     ? mode_round
                                                : flat_round;
    return steps_main(argc, argv, modes);
}
