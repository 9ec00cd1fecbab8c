/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose data never has the size that it had before: sizes STEPS. Each step adds to
 * a vector what the one before holds, then lets go of that; every 40th stays to the end, and one in
 * ten of 400 large ones, which StarPU allocates. Prints a sum of all that main() gets back. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 400, LARGE_LENGTH = 2048, KEPT = 40, TOUCHED = 5 };

static void mix(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]), m = STARPU_VECTOR_GET_NX(buffers[1]);

    (void)arg;
    for (size_t i = 0; i < n; i++)
        to[i] = to[i] * 6364136223846793005u + from[i % m] + i;
}

static struct starpu_codelet mix_codelet = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};

static void fill(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    size_t first;

    starpu_codelet_unpack_args(arg, &first);
    for (size_t i = 0; i < LARGE_LENGTH; i++) /* none is like another: those share a row */
        to[i] = first + i;
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};

struct vector {
    starpu_data_handle_t data;
    uint64_t *words;
    size_t length;
};

static struct vector make(size_t length)
{
    struct vector vector = {.words = calloc(length, sizeof(uint64_t)), .length = length};

    if (!vector.words)
        abort();
    starpu_vector_data_register(&vector.data, STARPU_MAIN_RAM, (uintptr_t)vector.words,
                                (uint32_t)length, sizeof(uint64_t));
    return vector;
}

static struct vector make_large(void)
{
    struct vector vector = {.length = LARGE_LENGTH};

    starpu_vector_data_register(&vector.data, -1, 0, LARGE_LENGTH, sizeof(uint64_t));
    return vector;
}

static uint64_t end(struct vector *vector)
{
    uint64_t sum = 0;

    starpu_data_unregister(vector->data);
    for (size_t i = 0; i < vector->length; i++)
        sum = sum * 31 + vector->words[i];
    free(vector->words);
    return sum;
}

static void submit(const struct vector *to, const struct vector *from)
{
    if (starpu_task_insert(&mix_codelet, STARPU_RW, to->data, STARPU_R, from->data, 0) != 0)
        abort();
}

int main(int argc, char **argv)
{
    static struct vector large[LARGE];
    size_t steps = argc > 1 ? (size_t)atol(argv[1]) : 200;
    struct vector *all = calloc(steps + 1, sizeof(*all));
    uint64_t sum = 0;

    if (!all || starpu_init(NULL) != 0)
        return 77;
    for (size_t i = 0; i < LARGE; i++)
        large[i] = make_large();
    for (size_t i = 0; i < LARGE; i++)
        if (starpu_task_insert(&fill_codelet, STARPU_W, large[i].data, STARPU_VALUE, &i, sizeof(i),
                               0) != 0)
            abort();
    starpu_task_wait_for_all();
    for (size_t i = 0; i < LARGE; i++)
        if (i % 10 != 0)
            starpu_data_unregister_submit(large[i].data);
    all[0] = make(1);
    for (size_t i = 1; i <= steps; i++) {
        all[i] = make(i + 1);
        submit(&all[i], &all[i - 1]);
        submit(&all[i], &large[i % TOUCHED * 10]);
        if ((i - 1) % KEPT != 0)
            sum = sum * 31 + end(&all[i - 1]);
    }
    for (size_t i = 0; i < LARGE; i += 10) {
        submit(&all[steps], &large[i]);
        starpu_data_unregister_submit(large[i].data);
    }
    for (size_t i = 0; i <= steps; i++)
        if (i % KEPT == 0 || i == steps)
            sum = sum * 31 + end(&all[i]);
    printf("%llu\n", (unsigned long long)sum);
    free(all);
    starpu_shutdown();
    return 0;
}
