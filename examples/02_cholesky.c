/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cholesky factorization of a matrix in tiles, A = L L^T: a graph whose tasks depend on each other
 * through data, and a result that proves itself. Nothing here knows of protection: a restart
 * submits the whole graph again, and what is done is skipped. Prints the residual
 * max |A - L L^T| / (n max |A|), and fails if it is more than rounding explains.
 *
 *   ./02_cholesky [TILES [TILE-SIZE]]                                    plain
 *   starpu-tic run -- ./02_cholesky                                      protected
 *   STARPU_TIC_EVERY=40 STARPU_TIC_FAIL=task-end:250 \
 *       starpu-tic run -- ./02_cholesky                                  killed after 250 tasks
 *   starpu-tic run -- ./02_cholesky                                      resumed */
#include <float.h>
#include <math.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static int tiles = 12, size = 32; /* the matrix has tiles * size rows; tile (i, j) is row by row */

/* ---- the matrix: entries by formula, so that the result can be compared with them ---------------
 */

static double entry(int i, int j)
{
    return i == j ? tiles * size : 1 / (1.0 + abs(i - j)) + (i * j) % 7 / 7.0;
}

static double *new_tile(int row, int column)
{
    double *tile = malloc((size_t)size * size * sizeof(*tile));

    STARPU_ASSERT(tile);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            tile[i * size + j] = entry(row * size + i, column * size + j);
    return tile;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static double *tile_of(void *buffer)
{
    return (double *)STARPU_MATRIX_GET_PTR(buffer);
}

static double dot(const double *a, const double *b, int length)
{
    double sum = 0;
    for (int i = 0; i < length; i++)
        sum += a[i] * b[i];
    return sum;
}

static void potrf(void *buffers[], void *arg) /* a = its own Cholesky factor */
{
    double *a = tile_of(buffers[0]);

    (void)arg;
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < i; j++)
            a[i * size + j] =
                (a[i * size + j] - dot(&a[i * size], &a[j * size], j)) / a[j * size + j];
        a[i * size + i] = sqrt(a[i * size + i] - dot(&a[i * size], &a[i * size], i));
        for (int j = i + 1; j < size; j++)
            a[i * size + j] = 0;
    }
}

static void trsm(void *buffers[], void *arg) /* b = b l^-T */
{
    double *l = tile_of(buffers[0]), *b = tile_of(buffers[1]);

    (void)arg;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            b[i * size + j] =
                (b[i * size + j] - dot(&b[i * size], &l[j * size], j)) / l[j * size + j];
}

static void update(double *c, const double *a, const double *b)
{
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            c[i * size + j] -= dot(&a[i * size], &b[j * size], size);
}

static void syrk(void *buffers[], void *arg) /* c = c - a a^T */
{
    (void)arg;
    update(tile_of(buffers[1]), tile_of(buffers[0]), tile_of(buffers[0]));
}

static void gemm(void *buffers[], void *arg) /* c = c - a b^T */
{
    (void)arg;
    update(tile_of(buffers[2]), tile_of(buffers[0]), tile_of(buffers[1]));
}

static struct starpu_codelet potrf_codelet = {
    .cpu_funcs = {potrf}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "potrf"};
static struct starpu_codelet trsm_codelet = {
    .cpu_funcs = {trsm}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "trsm"};
static struct starpu_codelet syrk_codelet = {
    .cpu_funcs = {syrk}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "syrk"};
static struct starpu_codelet gemm_codelet = {
    .cpu_funcs = {gemm}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}, .name = "gemm"};

/* ---- the graph ------------------------------------------------------------------------------- */

static void check(int status)
{
    STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
}

static void factorize(starpu_data_handle_t *a) /* a[i * tiles + j] for j <= i */
{
    for (int k = 0; k < tiles; k++) {
        starpu_data_handle_t diagonal = a[k * tiles + k];

        check(starpu_task_insert(&potrf_codelet, STARPU_RW, diagonal, 0));
        for (int i = k + 1; i < tiles; i++)
            check(starpu_task_insert(&trsm_codelet, STARPU_R, diagonal, STARPU_RW, a[i * tiles + k],
                                     0));
        for (int i = k + 1; i < tiles; i++) {
            for (int j = k + 1; j < i; j++)
                check(starpu_task_insert(&gemm_codelet, STARPU_R, a[i * tiles + k], STARPU_R,
                                         a[j * tiles + k], STARPU_RW, a[i * tiles + j], 0));
            check(starpu_task_insert(&syrk_codelet, STARPU_R, a[i * tiles + k], STARPU_RW,
                                     a[i * tiles + i], 0));
        }
    }
}

/* ---- the check: of the lower half, by the definition ----------------------------------------- */

static double residual(double **l)
{
    double worst = 0, largest = 0;

    for (int i = 0; i < tiles * size; i++)
        for (int j = 0; j <= i; j++) {
            double product = 0;
            for (int k = 0; k <= j / size; k++)
                product += dot(&l[i / size * tiles + k][i % size * size],
                               &l[j / size * tiles + k][j % size * size], size);
            worst = fmax(worst, fabs(entry(i, j) - product));
            largest = fmax(largest, fabs(entry(i, j)));
        }
    return worst / (tiles * size * largest);
}

int main(int argc, char **argv)
{
    starpu_data_handle_t *handles;
    double **matrix, wrong;

    if (argc > 1)
        tiles = atoi(argv[1]);
    if (argc > 2)
        size = atoi(argv[2]);
    matrix = calloc((size_t)tiles * tiles, sizeof(double *));
    handles = calloc((size_t)tiles * tiles, sizeof(*handles));
    STARPU_ASSERT(matrix && handles);
    if (starpu_init(NULL) != 0)
        return 77;
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j <= i; j++) {
            double *tile = matrix[i * tiles + j] = new_tile(i, j);
            starpu_matrix_data_register(&handles[i * tiles + j], STARPU_MAIN_RAM, (uintptr_t)tile,
                                        size, size, size, sizeof(*tile));
        }
    factorize(handles);
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j <= i; j++)
            starpu_data_unregister(handles[i * tiles + j]);
    starpu_shutdown();

    wrong = residual(matrix);
    printf("residual %.17g\n", wrong);
    for (int i = 0; i < tiles * tiles; i++)
        free(matrix[i]);
    free(matrix);
    free(handles);
    return wrong < 10 * DBL_EPSILON ? EXIT_SUCCESS : EXIT_FAILURE;
}
