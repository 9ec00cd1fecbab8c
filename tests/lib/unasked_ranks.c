/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU-MPI program in which rank 1 asks for a message only when a file holds a text.
 *
 * unasked_ranks FILE TEXT: on two ranks; compiled by mpicc where it is wanted.
 */
#define _GNU_SOURCE
#include <starpu_mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 1 };

static bool holds(const char *path, const char *text)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen(path, "r");

    while (file && !found && fgets(line, sizeof(line), file))
        found = strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    long value;
    int rank;
    starpu_data_handle_t data;

    if (starpu_init(NULL) != 0 || starpu_mpi_init(&argc, &argv, 1) != 0 || argc < 3)
        return 77;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    value = 7 * (1 - rank);
    starpu_variable_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof(value));
    if (rank == 0)
        starpu_mpi_send(data, 1, TAG, MPI_COMM_WORLD);
    while (rank == 1 && !holds(argv[1], argv[2]))
        starpu_sleep(0.01F);
    if (rank == 1)
        starpu_mpi_recv(data, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    starpu_data_unregister(data);
    printf("rank %d has %ld\n", rank, value);
    starpu_mpi_shutdown();
    starpu_shutdown();
    return 0;
}
