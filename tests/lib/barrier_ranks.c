/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU-MPI program that sends a value to and fro beside barriers until a send of rank 0 was
 * held. That send is stopped where StarPU-MPI counts it as asked for no more, and as ready not yet.
 * It goes on when main(), in the barrier, waits for something. If that is MPI's barrier, the thread
 * of StarPU-MPI never comes to the send, and rank 1 never to its barrier.
 *
 * barrier_ranks: on two ranks; compiled by mpicc where it is wanted.
 */
#define _GNU_SOURCE
#include <starpu_mpi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TO_TAG = 1, FRO_TAG = 2, ROUNDS = 20000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool stands, goes_on; /* with mutex: the send that was held */
static int rank;
static __thread bool submitted;  /* this thread has, a message */
static __thread int locks;       /* of StarPU-MPI, until the window */
static __thread bool in_barrier; /* beside the send that stands */

static void *find(const char *name, const char *version)
{
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

    return found ? found : dlsym(RTLD_NEXT, name);
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *held)
{
    static int (*_Atomic real)(pthread_cond_t *, pthread_mutex_t *);

    if (!real)
        real =
            (int (*)(pthread_cond_t *, pthread_mutex_t *))find("pthread_cond_wait", "GLIBC_2.3.2");
    return real(condition, held);
}

static void stand(void)
{
    pthread_mutex_lock(&mutex);
    stands = true;
    pthread_cond_broadcast(&changed);
    while (!goes_on)
        wait_for(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void await_stands(void)
{
    pthread_mutex_lock(&mutex);
    while (!stands)
        wait_for(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void let_go(void)
{
    pthread_mutex_lock(&mutex);
    goes_on = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* StarPU-MPI's, when the data of a message is granted: it counts under one lock, and then again
 * under another one. */
void _starpu_mpi_submit_ready_request(void *request)
{
    static void (*_Atomic real)(void *);
    char name[16] = "";

    if (!real)
        real = (void (*)(void *))find("_starpu_mpi_submit_ready_request", NULL);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    locks = rank == 0 && strcmp(name, "tic-agree") == 0 ? 2 : 0;
    submitted = true;
    real(request);
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
    static int (*_Atomic real)(pthread_mutex_t *);

    if (!real)
        real = (int (*)(pthread_mutex_t *))find("pthread_mutex_lock", NULL);
    if (locks > 0 && --locks == 0)
        stand();
    return real(lock);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *held)
{
    if (in_barrier)
        let_go();
    in_barrier = false;
    return wait_for(condition, held);
}

/* ---- the program ----------------------------------------------------------------------------- */

static long own[2], back[2]; /* a number; is it the last one? */
static starpu_data_handle_t own_data, back_data;

static bool start(long number, bool last)
{
    starpu_data_acquire(own_data, STARPU_W);
    own[0] = number;
    own[1] = last;
    starpu_data_release(own_data);
    starpu_mpi_irecv_detached(back_data, 1, FRO_TAG, MPI_COMM_WORLD, NULL, NULL);
    submitted = false;
    starpu_mpi_isend_detached(own_data, 1, TO_TAG, MPI_COMM_WORLD, NULL, NULL);
    if (!submitted)
        await_stands();
    return !submitted;
}

static void answer(void)
{
    starpu_mpi_irecv_detached(back_data, 0, TO_TAG, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_isend_detached(back_data, 0, FRO_TAG, MPI_COMM_WORLD, NULL, NULL);
}

int main(int argc, char **argv)
{
    bool held = false, last = false;
    long number = 0;

    if (starpu_init(NULL) != 0 || starpu_mpi_init(&argc, &argv, 1) != 0)
        return 77;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    starpu_vector_data_register(&own_data, STARPU_MAIN_RAM, (uintptr_t)own, 2, sizeof(long));
    starpu_vector_data_register(&back_data, STARPU_MAIN_RAM, (uintptr_t)back, 2, sizeof(long));
    while (!last) {
        bool stays = held || number == ROUNDS;
        number++;
        if (rank == 0)
            held = in_barrier = start(number, stays);
        else
            answer();
        starpu_mpi_barrier(MPI_COMM_WORLD);
        starpu_data_acquire(back_data, STARPU_R);
        last = back[1];
        if (back[0] != number)
            return 1;
        starpu_data_release(back_data);
    }
    if (rank == 0)
        printf("%s in %ld rounds\n", goes_on ? "held" : "none was held", number);
    starpu_data_unregister(own_data);
    starpu_data_unregister(back_data);
    starpu_mpi_shutdown();
    starpu_shutdown();
    return 0;
}
