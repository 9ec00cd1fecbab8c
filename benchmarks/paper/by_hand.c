/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heat in a plate, by Jacobi iteration on bands of rows, with a checkpoint written by hand: what a
 * user could do in place of starpu-tic. Every EVERY steps all tasks are waited for, and the plate
 * goes to an HDF5 file, which a restart reads. What is between the marks "by hand" is there for
 * that alone, and is counted by alternatives.py; without a FILE nothing of it is done.
 *
 *   by_hand STEPS [EVERY FILE]
 *
 * Prints the sum of the plate. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
/* by hand: begin */
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>
/* by hand: end */

enum { BANDS = 16, ROWS = 128, COLUMNS = 2048 };

typedef double row[COLUMNS];
typedef row band[ROWS];

/* Bands 0 and BANDS + 1 are the edges of the plate, which stay as they are. */
static band plates[2][BANDS + 2];
static starpu_data_handle_t handles[2][BANDS + 2];

/* One step of a band: from above, itself and below, to the other plate. */
static void step(void *buffers[], void *arg)
{
    row *above = (row *)STARPU_MATRIX_GET_PTR(buffers[0]);
    row *old = (row *)STARPU_MATRIX_GET_PTR(buffers[1]);
    row *below = (row *)STARPU_MATRIX_GET_PTR(buffers[2]);
    row *new = (row *)STARPU_MATRIX_GET_PTR(buffers[3]);

    (void)arg;
    for (int i = 0; i < ROWS; i++) {
        double *up = i > 0 ? old[i - 1] : above[ROWS - 1];
        double *down = i < ROWS - 1 ? old[i + 1] : below[0];

        new[i][0] = old[i][0];
        new[i][COLUMNS - 1] = old[i][COLUMNS - 1];
        for (int j = 1; j < COLUMNS - 1; j++)
            new[i][j] = (up[j] + down[j] + old[i][j - 1] + old[i][j + 1]) / 4;
    }
}

static struct starpu_codelet codelet = {.cpu_funcs = {step},
                                        .nbuffers = 4,
                                        .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W},
                                        .name = "step"};

static void do_step(starpu_data_handle_t *old, starpu_data_handle_t *new)
{
    for (int b = 1; b <= BANDS; b++) {
        int status = starpu_task_insert(&codelet, STARPU_R, old[b - 1], STARPU_R, old[b], STARPU_R,
                                        old[b + 1], STARPU_W, new[b], 0);
        STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
    }
}

static void fill(void)
{
    for (int p = 0; p < 2; p++)
        for (int b = 0; b < BANDS + 2; b++)
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLUMNS; j++)
                    plates[p][b][i][j] = b == 0 ? 100 : j == 0 ? b * 10 : 0;
}

static void register_all(void)
{
    for (int p = 0; p < 2; p++)
        for (int b = 0; b < BANDS + 2; b++)
            starpu_matrix_data_register(&handles[p][b], STARPU_MAIN_RAM, (uintptr_t)plates[p][b],
                                        COLUMNS, COLUMNS, ROWS, sizeof(double));
}
/* by hand: begin */

static const hsize_t shape[] = {BANDS * ROWS, COLUMNS};

static void must(bool right)
{
    if (!right) {
        fprintf(stderr, "the checkpoint cannot be written or read\n");
        exit(EXIT_FAILURE);
    }
}

static void force(const char *path) /* to the disk */
{
    int file = open(path, O_RDONLY);

    must(file >= 0 && fsync(file) == 0 && close(file) == 0);
}

static void save(const char *path, int steps)
{
    char fresh[4096];

    starpu_task_wait_for_all();
    for (int b = 1; b <= BANDS; b++)
        must(starpu_data_acquire(handles[steps % 2][b], STARPU_R) == 0);
    must(snprintf(fresh, sizeof(fresh), "%s.new", path) < (int)sizeof(fresh));
    hid_t file = H5Fcreate(fresh, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), one = H5Screate(H5S_SCALAR);
    hid_t plate =
        H5Dcreate2(file, "plate", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t count =
        H5Dcreate2(file, "steps", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    must(H5Dwrite(plate, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, plates[steps % 2][1]) >=
         0);
    must(H5Dwrite(count, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &steps) >= 0);
    must(H5Dclose(plate) >= 0 && H5Dclose(count) >= 0 && H5Sclose(space) >= 0 &&
         H5Sclose(one) >= 0 && H5Fclose(file) >= 0);
    for (int b = 1; b <= BANDS; b++)
        starpu_data_release(handles[steps % 2][b]);
    force(fresh);
    must(rename(fresh, path) == 0);
}

static int load(const char *path) /* steps done; 0 without a file */
{
    int steps = 0;

    if (access(path, F_OK) != 0)
        return 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t plate = H5Dopen2(file, "plate", H5P_DEFAULT),
          count = H5Dopen2(file, "steps", H5P_DEFAULT);
    must(H5Dread(count, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &steps) >= 0);
    must(H5Dread(plate, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, plates[steps % 2][1]) >=
         0);
    must(H5Dclose(plate) >= 0 && H5Dclose(count) >= 0 && H5Fclose(file) >= 0);
    return steps;
}
/* by hand: end */

int main(int argc, char **argv)
{
    int last = argc > 1 ? atoi(argv[1]) : 100, steps = 0;
    double sum = 0;
    /* by hand: begin */
    int every = argc > 3 ? atoi(argv[2]) : 0;
    const char *path = argc > 3 ? argv[3] : NULL;
    /* by hand: end */

    if (starpu_init(NULL) != 0)
        return 77;
    fill();
    /* by hand: begin */
    if (path)
        steps = load(path);
    /* by hand: end */
    register_all();
    while (steps < last) {
        do_step(handles[steps % 2], handles[(steps + 1) % 2]);
        steps++;
        /* by hand: begin */
        if (path && steps % every == 0 && steps < last)
            save(path, steps);
        /* by hand: end */
    }
    for (int b = 0; b < BANDS + 2; b++) {
        starpu_data_unregister(handles[0][b]);
        starpu_data_unregister(handles[1][b]);
    }
    /* by hand: begin */
    if (path)
        unlink(path);
    /* by hand: end */
    starpu_shutdown();
    for (int b = 1; b <= BANDS; b++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                sum += plates[last % 2][b][i][j];
    printf("sum %.17g\n", sum);
    return EXIT_SUCCESS;
}
