/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Communicators that the program makes. MPI's types are not needed: to Open MPI a handle is a
 * pointer, to MPICH an int. */
#include "mpi/comms.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "mpi/core.h"

#define WRAPPER __attribute__((visibility("default")))

struct comm {
    struct comm *next;
    void *handle;
    uint64_t name, made; /* made: of this one, so far */
    int count, ranks[];
};

static struct {
    pthread_mutex_t mutex;     /* MPI is not called under it */
    struct comm *first, world; /* guarded by mutex */
    int attribute;             /* its end is that of the communicator; immutable once made */
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *predefined(const char *open_mpi, uintptr_t mpich)
{
    void *found = dlsym(RTLD_DEFAULT, open_mpi); /* the program may have a copy */

    return found ? found : (void *)mpich;
}

static bool is_pointer(void)
{
    return (uintptr_t)tic_comms_world() > UINT32_MAX;
}

void *tic_comms_world(void)
{
    static _Atomic(void *) world;

    if (!world)
        world = predefined("ompi_mpi_comm_world", 0x44000000);
    return world;
}

static struct comm *find_locked(void *comm)
{
    void *handle = is_pointer() ? comm : (void *)(uintptr_t)(uint32_t)(uintptr_t)comm;
    struct comm *found = all.first;

    if (handle == tic_comms_world())
        return &all.world;
    while (found && found->handle != handle)
        found = found->next;
    return found;
}

bool tic_comms_find(void *comm, int *rank, uint64_t *name)
{
    pthread_mutex_lock(&all.mutex);
    const struct comm *found = find_locked(comm);
    if (found && found != &all.world)
        *rank = *rank >= 0 && *rank < found->count ? found->ranks[*rank] : -1;
    *name = found ? found->name : 0;
    pthread_mutex_unlock(&all.mutex);
    return found && *rank >= 0;
}

/* ---- what MPI knows -------------------------------------------------------------------------- */

static int forget(void *handle, int attribute, void *value, void *extra)
{
    struct comm **at = &all.first;

    (void)handle, (void)attribute, (void)extra;
    pthread_mutex_lock(&all.mutex);
    while (*at != value)
        at = &(*at)->next;
    *at = (*at)->next;
    pthread_mutex_unlock(&all.mutex);
    free(value);
    return 0;
}

/* A copy has a name of its own. */
static int copy_none(void *handle, int attribute, void *extra, void *value, void *copy, int *made)
{
    (void)handle, (void)attribute, (void)extra, (void)value, (void)copy;
    *made = 0;
    return 0;
}

int MPI_Comm_group(void *comm, void **group);
int MPI_Group_size(void *group, int *size);
int MPI_Group_free(void **group);
int MPI_Group_translate_ranks(void *group, int count, const int *ranks, void *to, int *found);
int MPI_Comm_create_keyval(__typeof__(copy_none) *copy, __typeof__(forget) *end, int *attribute,
                           void *extra);
int MPI_Comm_set_attr(void *comm, int attribute, void *value);

static void make_attribute(void)
{
    if (TIC_MPI(MPI_Comm_create_keyval, copy_none, forget, &all.attribute, NULL) != 0)
        tic_mpi_core->give_up("MPI has no attribute for communicators");
}

static struct comm *translate(void *group, void *world)
{
    int count = 0;

    TIC_MPI(MPI_Group_size, group, &count);
    struct comm *comm = calloc(1, sizeof(*comm) + (size_t)count * sizeof(*comm->ranks));
    int *own = malloc((size_t)count * sizeof(*own));
    for (int i = 0; own && i < count; i++)
        own[i] = i;
    if (comm && own &&
        TIC_MPI(MPI_Group_translate_ranks, group, count, own, world, comm->ranks) == 0)
        comm->count = count;
    free(own);
    return comm;
}

static struct comm *describe(void *handle)
{
    void *group = NULL, *world = NULL;
    struct comm *comm = NULL;

    if (TIC_MPI(MPI_Comm_group, handle, &group) == 0 &&
        TIC_MPI(MPI_Comm_group, tic_comms_world(), &world) == 0)
        comm = translate(group, world);
    TIC_MPI(MPI_Group_free, &group);
    TIC_MPI(MPI_Group_free, &world);
    return comm;
}

/* The name of the next one that is made of this one; false: it has no name itself. */
static bool make_name(void *parent, uint64_t *name)
{
    pthread_mutex_lock(&all.mutex);
    struct comm *from = find_locked(parent);
    if (from)
        *name = tic_words_hash((uint64_t[]){from->name, ++from->made}, 2, 0);
    pthread_mutex_unlock(&all.mutex);
    return from;
}

/* What cannot be described is not found. */
static void note(void *parent, const void *made)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *handle = NULL;
    uint64_t name;

    memcpy(&handle, made, is_pointer() ? sizeof(handle) : sizeof(int));
    if (!make_name(parent, &name) || handle == predefined("ompi_mpi_comm_null", 0x04000000))
        return;
    struct comm *comm = describe(handle);
    if (!comm)
        return;
    comm->handle = handle;
    comm->name = name;
    pthread_once(&once, make_attribute);
    pthread_mutex_lock(&all.mutex);
    comm->next = all.first;
    all.first = comm;
    pthread_mutex_unlock(&all.mutex);
    if (TIC_MPI(MPI_Comm_set_attr, handle, all.attribute, comm) != 0)
        forget(handle, all.attribute, comm, NULL);
}

/* All ranks of a communicator call these in the same order. */
#define MAKES(name, parameters, arguments)                                                         \
    int name parameters;                                                                           \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
        int result = real arguments;                                                               \
        if (tic_mpi_core && result == 0)                                                           \
            note(comm, made);                                                                      \
        return result;                                                                             \
    }

MAKES(MPI_Comm_dup, (void *comm, void *made), (comm, made))
MAKES(MPI_Comm_split, (void *comm, int color, int key, void *made), (comm, color, key, made))
MAKES(MPI_Comm_create, (void *comm, void *group, void *made), (comm, group, made))
