/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU-MPI program whose result depends on the order of all that it does: tiles of numbers, which
 * tasks mix with tiles of other ranks; messages that main() sends and waits for; migration. Each rank
 * enters all insertions, or only those that concern it. It prints a hash of all tiles, and of what
 * main() has received.
 *
 * mixed_ranks STEPS TILES [pruned]: compiled by mpicc where it is wanted. */
#include <starpu_mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4096, ROUND = 8, FIRST_TAG = 10000 };

static int rank, ranks, steps, tiles;
static uint64_t **memory;
static starpu_data_handle_t *handles;

static void mix(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < WORDS; i++)
            to[i] = ((to[i] ^ from[(i + turn) % WORDS]) * UINT64_C(0x9e3779b97f4a7c15)) ^
                    (to[i] >> 29);
}

static struct starpu_codelet codelet = {.cpu_funcs = {mix},
                                        .nbuffers = 2,
                                        .modes = {STARPU_RW, STARPU_R},
                                        .name = "mix"};

static uint64_t hash(const uint64_t *words)
{
    uint64_t sum = 0;

    for (int i = 0; i < WORDS; i++)
        sum = (sum ^ words[i]) * UINT64_C(1099511628211);
    return sum;
}

static void register_tiles(void)
{
    for (int i = 0; i < tiles; i++) {
        bool mine = i % ranks == rank;
        memory[i] = calloc(WORDS, sizeof(**memory));
        for (int k = 0; k < WORDS && mine; k++)
            memory[i][k] = (uint64_t)i * WORDS + (uint64_t)k;
        starpu_vector_data_register(&handles[i], mine ? STARPU_MAIN_RAM : -1,
                                    mine ? (uintptr_t)memory[i] : 0, WORDS, sizeof(**memory));
        starpu_mpi_data_register(handles[i], i, i % ranks);
    }
}

static void insert(int step, bool pruned)
{
    int to = step % tiles, from = (step * 7 + step / tiles + 1) % tiles;

    if (to == from || (pruned && starpu_mpi_data_get_rank(handles[to]) != rank &&
                       starpu_mpi_data_get_rank(handles[from]) != rank))
        return;
    starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_RW, handles[to], STARPU_R,
                           handles[from], 0);
    if (pruned) /* who does not enter what writes it keeps no copy */
        starpu_mpi_cache_flush(MPI_COMM_WORLD, handles[from]);
}

/* A tile goes around the ranks, and main() looks at it. */
static uint64_t pass_on(starpu_data_handle_t own, starpu_data_handle_t got)
{
    starpu_mpi_req request;
    uint64_t sum;

    starpu_mpi_isend(own, &request, (rank + 1) % ranks, FIRST_TAG + rank, MPI_COMM_WORLD);
    starpu_mpi_recv(got, (rank + ranks - 1) % ranks, FIRST_TAG + (rank + ranks - 1) % ranks,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_mpi_wait(&request, MPI_STATUS_IGNORE);
    starpu_data_acquire(got, STARPU_R);
    sum = hash((const uint64_t *)starpu_vector_get_local_ptr(got));
    starpu_data_release(got);
    return sum;
}

int main(int argc, char **argv)
{
    bool pruned = argc > 3 && strcmp(argv[3], "pruned") == 0;
    uint64_t all = 0, seen = 0, *got = calloc(WORDS, sizeof(*got));
    starpu_data_handle_t arrived;

    steps = argc > 1 ? atoi(argv[1]) : 100;
    tiles = argc > 2 ? atoi(argv[2]) : 6;
    if (starpu_init(NULL) != 0 || starpu_mpi_init(&argc, &argv, 1) != 0)
        return 77;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
    memory = calloc((size_t)tiles, sizeof(*memory));
    handles = calloc((size_t)tiles, sizeof(*handles));
    starpu_vector_data_register(&arrived, STARPU_MAIN_RAM, (uintptr_t)got, WORDS, sizeof(*got));
    register_tiles();
    for (int step = 0; step < steps; step++) {
        insert(step, pruned);
        if (step % (ROUND * tiles) == ROUND * tiles - 1)
            seen = seen * 31 + pass_on(handles[rank], arrived);
        if (step == steps / 2)
            starpu_mpi_data_migrate(MPI_COMM_WORLD, handles[tiles - 1], 0);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    for (int i = 0; i < tiles; i++)
        if (starpu_mpi_data_get_rank(handles[i]) == rank) {
            starpu_data_acquire(handles[i], STARPU_R);
            all = all * 31 + hash((const uint64_t *)starpu_vector_get_local_ptr(handles[i]));
            starpu_data_release(handles[i]);
        }
    for (int i = 0; i < tiles; i++)
        starpu_data_unregister(handles[i]);
    starpu_data_unregister(arrived);
    printf("rank %d: %016llx %016llx\n", rank, (unsigned long long)all, (unsigned long long)seen);
    starpu_mpi_shutdown();
    starpu_shutdown();
    return 0;
}
