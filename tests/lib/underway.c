/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: StarPU tells that accesses by callback are granted when UNDERWAY
 * of them are, all then, and of those that follow at once. So many tasks on devices have not ended
 * by then, as nobody has seen their values in main memory. */
#include <dlfcn.h>
#include <pthread.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct access {
    void (*granted)(void *);
    void *argument;
    struct access *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* guarded by mutex */
static struct access *held;
static unsigned count; /* of those that were ever held */
static bool let_go;

/* Those that are to be told of now. */
static struct access *arrive(struct access *access)
{
    const char *most = getenv("UNDERWAY");
    struct access *told = access;

    pthread_mutex_lock(&mutex);
    if (!let_go) {
        access->next = held;
        held = access;
        let_go = ++count >= (unsigned)(most ? atoi(most) : 1);
        if (let_go)
            fprintf(stderr, "%u values under way\n", count);
        told = let_go ? held : NULL;
    }
    pthread_mutex_unlock(&mutex);
    return told;
}

static void hold(void *argument)
{
    for (struct access *next, *access = arrive(argument); access; access = next) {
        next = access->next;
        access->granted(access->argument);
        free(access);
    }
}

int starpu_data_acquire_on_node_cb_sequential_consistency(starpu_data_handle_t handle, int node,
                                                          enum starpu_data_access_mode mode,
                                                          void (*callback)(void *), void *arg,
                                                          int sequential_consistency)
{
    typeof(&starpu_data_acquire_on_node_cb_sequential_consistency) real =
        dlsym(RTLD_NEXT, "starpu_data_acquire_on_node_cb_sequential_consistency");
    struct access *access = malloc(sizeof(*access));

    *access = (struct access){callback, arg, NULL};
    return real(handle, node, mode, hold, access, sequential_consistency);
}
