/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heat in a plate, by Jacobi iteration on bands of rows: main() decides by the data. It reads with
 * starpu_data_acquire() how much the last step has changed, and stops when that is little. What it
 * has read is in the recovery line, so that a restart decides as before.
 *
 *   ./03_stencil [LIMIT]                                                 plain
 *   starpu-tic run -- ./03_stencil                                       protected
 *   STARPU_TIC_EVERY=50 STARPU_TIC_FAIL=task-end:300 \
 *       starpu-tic run -- ./03_stencil                                   killed after 300 tasks
 *   starpu-tic run -- ./03_stencil                                       resumed */
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { BANDS = 6, ROWS = 24, COLUMNS = 128, STEPS_BETWEEN_LOOKS = 10, STEPS_AT_MOST = 1000 };

typedef double row[COLUMNS];
typedef row band[ROWS];

/* Bands 0 and BANDS + 1 are the edges of the plate, which stay as they are. */
static band plates[2][BANDS + 2];
static double changes[BANDS + 2];

/* One step of a band: from above, itself and below, to the other plate. */
static void step(void *buffers[], void *arg)
{
    row *above = (row *)STARPU_MATRIX_GET_PTR(buffers[0]);
    row *old = (row *)STARPU_MATRIX_GET_PTR(buffers[1]);
    row *below = (row *)STARPU_MATRIX_GET_PTR(buffers[2]);
    row *new = (row *)STARPU_MATRIX_GET_PTR(buffers[3]);
    double *change = (double *)STARPU_VARIABLE_GET_PTR(buffers[4]);

    (void)arg;
    *change = 0;
    for (int i = 0; i < ROWS; i++) {
        double *up = i > 0 ? old[i - 1] : above[ROWS - 1];
        double *down = i < ROWS - 1 ? old[i + 1] : below[0];

        new[i][0] = old[i][0];
        new[i][COLUMNS - 1] = old[i][COLUMNS - 1];
        for (int j = 1; j < COLUMNS - 1; j++) {
            new[i][j] = (up[j] + down[j] + old[i][j - 1] + old[i][j + 1]) / 4;
            *change = fmax(*change, fabs(new[i][j] - old[i][j]));
        }
    }
}

static struct starpu_codelet codelet = {.cpu_funcs = {step},
                                        .nbuffers = 5,
                                        .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W, STARPU_W},
                                        .name = "step"};

static void do_step(starpu_data_handle_t *old, starpu_data_handle_t *new,
                    starpu_data_handle_t *change)
{
    for (int b = 1; b <= BANDS; b++) {
        int status = starpu_task_insert(&codelet, STARPU_R, old[b - 1], STARPU_R, old[b], STARPU_R,
                                        old[b + 1], STARPU_W, new[b], STARPU_W, change[b], 0);
        STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
    }
}

static double largest_change(starpu_data_handle_t *change)
{
    double largest = 0;

    for (int b = 1; b <= BANDS; b++) {
        int status = starpu_data_acquire(change[b], STARPU_R);
        STARPU_CHECK_RETURN_VALUE(status, "starpu_data_acquire");
        largest = fmax(largest, changes[b]);
        starpu_data_release(change[b]);
    }
    return largest;
}

static void register_all(starpu_data_handle_t plate[2][BANDS + 2], starpu_data_handle_t *change)
{
    for (int b = 0; b < BANDS + 2; b++) {
        for (int p = 0; p < 2; p++) {
            for (int i = 0; i < ROWS; i++)
                plates[p][b][i][0] = b == 0 ? 100 : b * 10; /* the left edge is warm */
            for (int j = 0; b == 0 && j < COLUMNS; j++)
                plates[p][b][ROWS - 1][j] = 100; /* the upper edge is hot */
            starpu_matrix_data_register(&plate[p][b], STARPU_MAIN_RAM, (uintptr_t)plates[p][b],
                                        COLUMNS, COLUMNS, ROWS, sizeof(double));
        }
        starpu_variable_data_register(&change[b], STARPU_MAIN_RAM, (uintptr_t)&changes[b],
                                      sizeof(changes[b]));
    }
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? atof(argv[1]) : 0.2, change = limit + 1, sum = 0;
    starpu_data_handle_t plate[2][BANDS + 2], change_handles[BANDS + 2];
    int steps = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    register_all(plate, change_handles);
    while (change > limit && steps < STEPS_AT_MOST) {
        for (int i = 0; i < STEPS_BETWEEN_LOOKS; i++, steps++)
            do_step(plate[steps % 2], plate[(steps + 1) % 2], change_handles);
        change = largest_change(change_handles);
    }
    for (int b = 0; b < BANDS + 2; b++) {
        starpu_data_unregister(plate[0][b]);
        starpu_data_unregister(plate[1][b]);
        starpu_data_unregister(change_handles[b]);
    }
    starpu_shutdown();

    for (int b = 1; b <= BANDS; b++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                sum += plates[steps % 2][b][i][j];
    printf("%d steps, the last one changed %.17g at most; sum %.17g\n", steps, change, sum);
    return EXIT_SUCCESS;
}
