/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tiles of bodies that attract each other: for all pairs of tiles a task adds the forces to the
 * accelerations of one, as a reduction; then a task per tile moves its bodies. Nothing waits
 * between the steps. All numbers are integers modulo 2^64, so any order of sums is exact.
 * Usage: nbody [TILES [STEPS]]
 * Prints a checksum, and fails if it is not what main() computes itself. */
#include <starpu.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 64, MOST_TILES = 64 };

struct tile {
    uint64_t position[BODIES];
    uint64_t acceleration[BODIES];
};

static void must(int status)
{
    if (status != 0)
        abort();
}

static uint64_t attraction(uint64_t to, uint64_t from)
{
    uint64_t distance = (from - to) ^ ((from - to) >> 31);
    return distance * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void add_forces(const uint64_t *to, const uint64_t *from, uint64_t *acceleration)
{
    for (int i = 0; i < BODIES; i++)
        for (int j = 0; j < BODIES; j++)
            acceleration[i] += attraction(to[i], from[j]);
}

static void move(uint64_t *acceleration, uint64_t *position)
{
    for (int i = 0; i < BODIES; i++) {
        position[i] = position[i] * 3 + acceleration[i];
        acceleration[i] = 0;
    }
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static uint64_t *vector(void *buffer)
{
    return (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void force(void *buffers[], void *arg)
{
    (void)arg;
    add_forces(vector(buffers[0]), vector(buffers[1]), vector(buffers[2]));
}

static void integrate(void *buffers[], void *arg)
{
    (void)arg;
    move(vector(buffers[0]), vector(buffers[1]));
}

static void zero(void *buffers[], void *arg)
{
    (void)arg;
    memset(vector(buffers[0]), 0, BODIES * sizeof(uint64_t));
}

static void add(void *buffers[], void *arg)
{
    (void)arg;
    for (int i = 0; i < BODIES; i++)
        vector(buffers[0])[i] += vector(buffers[1])[i];
}

static struct starpu_codelet force_codelet = {.cpu_funcs = {force},
                                              .nbuffers = 3,
                                              .modes = {STARPU_R, STARPU_R, STARPU_REDUX},
                                              .name = "force"};
static struct starpu_codelet integrate_codelet = {
    .cpu_funcs = {integrate}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}, .name = "integrate"};
static struct starpu_codelet zero_codelet = {
    .cpu_funcs = {zero}, .nbuffers = 1, .modes = {STARPU_W}, .name = "zero"};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "add"};

static void submit_step(int tiles, starpu_data_handle_t *position, starpu_data_handle_t *pull)
{
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++)
            must(starpu_task_insert(&force_codelet, STARPU_R, position[i], STARPU_R, position[j],
                                    STARPU_REDUX, pull[i], 0));
    for (int i = 0; i < tiles; i++)
        must(starpu_task_insert(&integrate_codelet, STARPU_RW, pull[i], STARPU_RW, position[i], 0));
}

/* ---- the same without tasks ----------------------------------------------------------------- */

static void step_serially(int tiles, struct tile *space)
{
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++)
            add_forces(space[i].position, space[j].position, space[i].acceleration);
    for (int i = 0; i < tiles; i++)
        move(space[i].acceleration, space[i].position);
}

int main(int argc, char **argv)
{
    static struct tile space[MOST_TILES], copy[MOST_TILES];
    starpu_data_handle_t position[MOST_TILES], pull[MOST_TILES];
    int tiles = argc > 1 ? atoi(argv[1]) : 8, steps = argc > 2 ? atoi(argv[2]) : 20;
    uint64_t sum = 0;

    if (tiles > MOST_TILES || starpu_init(NULL) != 0)
        return 77;
    for (int i = 0; i < tiles; i++) {
        for (int k = 0; k < BODIES; k++)
            space[i].position[k] = copy[i].position[k] = attraction((uint64_t)(i * BODIES + k), 7);
        starpu_vector_data_register(&position[i], STARPU_MAIN_RAM, (uintptr_t)space[i].position,
                                    BODIES, sizeof(uint64_t));
        starpu_vector_data_register(&pull[i], STARPU_MAIN_RAM, (uintptr_t)space[i].acceleration,
                                    BODIES, sizeof(uint64_t));
        starpu_data_set_reduction_methods(pull[i], &add_codelet, &zero_codelet);
    }
    for (int step = 0; step < steps; step++)
        submit_step(tiles, position, pull);
    for (int i = 0; i < tiles; i++) {
        starpu_data_unregister(position[i]);
        starpu_data_unregister(pull[i]);
        for (int k = 0; k < BODIES; k++)
            sum = sum * 31 + space[i].position[k];
    }
    starpu_shutdown();
    printf("%" PRIu64 "\n", sum);
    for (int step = 0; step < steps; step++)
        step_serially(tiles, copy);
    return memcmp(space, copy, sizeof(space)) == 0 ? 0 : 1;
}
