/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose main() reads and writes data between tasks, and decides by what it reads;
 * for crash tests. Prints what main() saw: a resumed run must print the same. What must be refused:
 * M_MODE=r, w or rw in the environment, another mode for one access, and M_VECTOR=1, another
 * vector. */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTORS = 5, LENGTH = 64, ROUNDS = 60 };

static void mix(void *buffers[], void *arg)
{
    long *to = (long *)STARPU_VECTOR_GET_PTR(buffers[0]);
    long *from = (long *)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (int i = 0; i < LENGTH; i++)
        to[i] = (to[i] * 31 + from[(i * 7) % LENGTH] + 1) % 1000003;
}

static struct starpu_codelet mix_codelet = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};

static void submit(starpu_data_handle_t to, starpu_data_handle_t from)
{
    if (starpu_task_insert(&mix_codelet, STARPU_RW, to, STARPU_R, from, 0) != 0)
        abort();
}

/* ---- a task of more buffers than a task structure holds, with a callback ------------------- */

enum { WIDE = 12 };

static void sum_up(void *buffers[], void *arg)
{
    long *sum = (long *)STARPU_VARIABLE_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 1; i < WIDE; i++)
        *sum = (*sum * 7 + *(long *)STARPU_VARIABLE_GET_PTR(buffers[i])) % 1000003;
}

static struct starpu_codelet wide_codelet = {
    .cpu_funcs = {sum_up}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "wide"};

static int callbacks;

static void count_callback(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&callbacks, 1, __ATOMIC_RELAXED);
}

static void submit_wide(starpu_data_handle_t handles[WIDE])
{
    struct starpu_data_descr buffers[WIDE];

    for (int i = 0; i < WIDE; i++)
        buffers[i] = (struct starpu_data_descr){handles[i], i == 0 ? STARPU_RW : STARPU_R};
    if (starpu_task_insert(&wide_codelet, STARPU_DATA_MODE_ARRAY, buffers, WIDE, STARPU_CALLBACK,
                           count_callback, 0) != 0)
        abort();
}

enum { OTHER_ROUND = 3 };

static enum starpu_data_access_mode mode_of(int round)
{
    const char *other = round == OTHER_ROUND ? getenv("M_MODE") : NULL;

    if (other)
        return strcmp(other, "rw") == 0 ? STARPU_RW : strcmp(other, "w") == 0 ? STARPU_W : STARPU_R;
    return round % 5 == 4 ? STARPU_RW : round % 7 == 6 ? STARPU_W : STARPU_R;
}

/* Reads, and sometimes changes, a vector; what it saw. */
static long access_vector(starpu_data_handle_t handle, int round)
{
    enum starpu_data_access_mode mode = mode_of(round);
    long seen = 0;

    starpu_data_acquire(handle, mode);
    long *values = starpu_data_get_local_ptr(handle);
    for (int i = 0; mode != STARPU_W && i < LENGTH; i++)
        seen += values[i];
    for (int i = 0; mode != STARPU_R && i < LENGTH; i++)
        values[i] = mode == STARPU_W ? round + i : values[i] / 2 + round;
    starpu_data_release(handle);
    return seen;
}

int main(void)
{
    static long vectors[VECTORS][LENGTH];
    starpu_data_handle_t handles[VECTORS];
    static long variables[WIDE];
    starpu_data_handle_t wide[WIDE];
    unsigned long next = 1;

    if (starpu_init(NULL) != 0)
        return 77;
    for (int v = 0; v < VECTORS; v++) {
        for (int i = 0; i < LENGTH; i++)
            vectors[v][i] = v * 1000 + i;
        /* the last one has no home node */
        starpu_vector_data_register(&handles[v], v == VECTORS - 1 ? -1 : STARPU_MAIN_RAM,
                                    v == VECTORS - 1 ? 0 : (uintptr_t)vectors[v], LENGTH,
                                    sizeof(long));
    }
    for (int i = 0; i < WIDE; i++) {
        variables[i] = i;
        starpu_variable_data_register(&wide[i], STARPU_MAIN_RAM, (uintptr_t)&variables[i],
                                      sizeof(long));
    }
    if (starpu_data_cpy(handles[VECTORS - 1], handles[0], 1, NULL, NULL) != 0)
        abort();
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned v = 0; v < VECTORS; v++) {
            unsigned from = (unsigned)((v + next) % VECTORS);
            submit(handles[v], handles[from == v ? (v + 1) % VECTORS : from]);
        }
        submit_wide(wide);
        unsigned long vector = next + (round == OTHER_ROUND && getenv("M_VECTOR") ? 1 : 0);
        next = next * 17 + (unsigned long)access_vector(handles[vector % VECTORS], round);
        printf("%d %lu\n", round, next);
        if (round % 20 == 19 && starpu_data_cpy(handles[next % (VECTORS - 1)], handles[VECTORS - 1],
                                                0, NULL, NULL) != 0)
            abort();
    }
    starpu_task_wait_for_all();
    for (int v = 0; v < VECTORS; v++)
        starpu_data_unregister(handles[v]);
    for (int i = 0; i < WIDE; i++)
        starpu_data_unregister(wide[i]);
    printf("%ld %d\n", variables[0], callbacks);
    for (int v = 0; v < VECTORS - 1; v++)
        printf("%ld\n", vectors[v][LENGTH / 2]);
    starpu_shutdown();
    return 0;
}
