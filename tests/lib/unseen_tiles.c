/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tiles of the modes of tests/lib/unseen.c, what tasks and main() compute in them. */
#include "lib/unseen.h"

void must(int status)
{
    if (status != 0)
        abort();
}

/* ---- values ---------------------------------------------------------------------------------- */

uint64_t mix(uint64_t one, uint64_t other)
{
    uint64_t mixed = (one ^ (other + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return mixed ^ mixed >> 32;
}

uint64_t digest(const uint64_t *at, size_t n)
{
    uint64_t sum = n;

    for (size_t i = 0; i < n; i++)
        sum = mix(sum, at[i]);
    return sum;
}

uint64_t churn(uint64_t from)
{
    enum { TURNS = 1500000 };

    for (int i = 0; i < TURNS; i++)
        from = from * 6364136223846793005u + 1442695040888963407u;
    return from;
}

void work(uint64_t *to, const uint64_t *from, size_t n, unsigned number)
{
    uint64_t busy = churn(to[0] ^ number);

    for (size_t i = 0; i < n; i++)
        to[i] = mix(to[i] + number, from[(i * 7 + 3) % n] ^ busy);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

uint64_t *tile(const struct tiles *tiles, unsigned which)
{
    return tiles->at + which * tiles->length;
}

uint64_t tiles_digest(const struct tiles *tiles)
{
    return digest(tiles->at, tiles->count * tiles->length);
}

void tiles_rescale(struct tiles *tiles, unsigned number)
{
    for (size_t i = 0; i < tiles->count * tiles->length; i++)
        tiles->at[i] = tiles->at[i] / 3 + number + i;
}

void tiles_allocate(struct tiles *tiles, unsigned count, size_t length, uint64_t seed)
{
    must(count > MOST_TILES);
    tiles->count = count;
    tiles->length = length;
    tiles->at = malloc(count * length * sizeof(*tiles->at));
    must(!tiles->at);
    for (size_t i = 0; i < count * length; i++)
        tiles->at[i] = mix(seed, i);
}

void tiles_register(struct tiles *tiles)
{
    for (unsigned i = 0; i < tiles->count; i++)
        starpu_vector_data_register(&tiles->handles[i], STARPU_MAIN_RAM, (uintptr_t)tile(tiles, i),
                                    (uint32_t)tiles->length, sizeof(*tiles->at));
}

void tiles_unregister(struct tiles *tiles)
{
    for (unsigned i = 0; i < tiles->count; i++)
        starpu_data_unregister(tiles->handles[i]);
}

void tiles_make(struct tiles *tiles, unsigned count, size_t length, uint64_t seed)
{
    tiles_allocate(tiles, count, length, seed);
    tiles_register(tiles);
}

void tiles_drop(struct tiles *tiles)
{
    tiles_unregister(tiles);
    note(tiles_digest(tiles));
    free(tiles->at);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

uint64_t *elements(void *buffer)
{
    return (uint64_t *)STARPU_VECTOR_GET_PTR(buffer);
}

static void update(void *buffers[], void *arg)
{
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    work(elements(buffers[0]), elements(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]), number);
}

static void combine(void *buffers[], void *arg)
{
    unsigned number;

    starpu_codelet_unpack_args(arg, &number);
    work(elements(buffers[0]), elements(buffers[1]), STARPU_VECTOR_GET_NX(buffers[0]), number);
}

struct starpu_codelet update_codelet = {
    .cpu_funcs = {update}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "update"};
struct starpu_codelet combine_codelet = {
    .cpu_funcs = {combine}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "combine"};

void submit_update(starpu_data_handle_t handle, unsigned number)
{
    must(starpu_task_insert(&update_codelet, STARPU_RW, handle, STARPU_VALUE, &number,
                            sizeof(number), 0));
}

void submit_updates(const struct tiles *tiles, unsigned number)
{
    for (unsigned i = 0; i < tiles->count; i++)
        submit_update(tiles->handles[i], number);
}

void submit_combine(starpu_data_handle_t to, starpu_data_handle_t from, unsigned number)
{
    must(starpu_task_insert(&combine_codelet, STARPU_RW, to, STARPU_R, from, STARPU_VALUE, &number,
                            sizeof(number), 0));
}
