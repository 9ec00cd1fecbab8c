/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data of the fake StarPU: registration, order of accesses, accesses of the program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_int.h"
#include "real/versions.h"
#include "turns.h"

/* ---- interfaces ------------------------------------------------------------------------------ */

/* Of data with content. */
static uintptr_t *pointer_in(struct _starpu_data_state *data)
{
    return data->ops->interfaceid == STARPU_VARIABLE_INTERFACE_ID
               ? &((struct starpu_variable_interface *)data->interface)->ptr
               : &((struct starpu_vector_interface *)data->interface)->ptr;
}

static size_t size_of(const struct _starpu_data_state *data)
{
    const struct starpu_vector_interface *vector = data->interface;

    return data->ops->interfaceid == STARPU_VARIABLE_INTERFACE_ID
               ? ((struct starpu_variable_interface *)data->interface)->elemsize
               : vector->nx * vector->elemsize;
}

static struct starpu_data_interface_ops variable_ops = {
    .interfaceid = STARPU_VARIABLE_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_variable_interface),
};
static struct starpu_data_interface_ops vector_ops = {
    .interfaceid = STARPU_VECTOR_INTERFACE_ID,
    .interface_size = sizeof(struct starpu_vector_interface),
};

void starpu_variable_data_register(starpu_data_handle_t *data, int home_node, uintptr_t pointer,
                                   size_t size)
{
    struct starpu_variable_interface interface = {.id = STARPU_VARIABLE_INTERFACE_ID,
                                                  .ptr = pointer,
                                                  .dev_handle = pointer,
                                                  .elemsize = size};

    starpu_data_register(data, home_node, &interface, &variable_ops);
}

void starpu_vector_data_register(starpu_data_handle_t *data, int home_node, uintptr_t pointer,
                                 uint32_t count, size_t size)
{
    struct starpu_vector_interface interface = {.id = STARPU_VECTOR_INTERFACE_ID,
                                                .ptr = pointer,
                                                .dev_handle = pointer,
                                                .nx = count,
                                                .elemsize = size};

    starpu_data_register(data, home_node, &interface, &vector_ops);
}

static struct starpu_data_interface_ops void_ops = {.interfaceid = STARPU_VOID_INTERFACE_ID};

void starpu_void_data_register(starpu_data_handle_t *data)
{
    starpu_data_register(data, STARPU_MAIN_RAM, &void_ops, &void_ops);
}

/* Of the same shape, without a home node. */
void starpu_data_register_same(starpu_data_handle_t *data, starpu_data_handle_t like)
{
    starpu_data_register(data, -1, like->interface, like->ops);
    *pointer_in(*data) = 0;
}

void starpu_data_register(starpu_data_handle_t *data, int home_node, void *interface,
                          struct starpu_data_interface_ops *ops)
{
    struct _starpu_data_state *fresh = calloc(1, sizeof(*fresh));

    if (!fresh || !(fresh->interface = calloc(1, ops->interface_size + 1)))
        fake_stop("out of memory");
    memcpy(fresh->interface, interface, ops->interface_size);
    fresh->ops = ops;
    fresh->home_node = home_node;
    fresh->valid = home_node >= 0;
    fresh->sequential = 1;
    *data = fresh;
}

uintptr_t starpu_variable_get_local_ptr(starpu_data_handle_t data)
{
    return *pointer_in(data);
}

void fake_data_fetch(const struct fake_use *use)
{
    struct _starpu_data_state *data = use->data;

    if (use->mode & STARPU_R && !data->valid)
        fake_stop("data is read that holds nothing");
    if (use->mode & STARPU_W)
        data->valid = true;
    if (data->ops != &void_ops && *pointer_in(data) == 0) {
        *pointer_in(data) = (uintptr_t)malloc(size_of(data));
        data->own_memory = true;
        memset((void *)*pointer_in(data), 0x77, size_of(data));
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static void order_use(struct fake_job *job, const struct fake_use *use)
{
    struct _starpu_data_state *data = use->data;

    fake_job_add_predecessor(job, data->last_writer);
    if (!(use->mode & STARPU_W)) {
        fake_list_add(&data->last_readers, job);
        return;
    }
    while (data->last_readers.count > 0)
        fake_job_add_predecessor(job, fake_list_take(&data->last_readers, 0));
    data->last_writer = job;
}

void fake_data_order(struct fake_job *job, bool sequential)
{
    for (unsigned i = 0; i < job->use_count; i++)
        if (sequential && job->uses[i].data->sequential)
            order_use(job, &job->uses[i]);
}

static bool is_free_for(const struct _starpu_data_state *data, enum starpu_data_access_mode mode)
{
    return data->writers == 0 && (!(mode & STARPU_W) || data->readers == 0);
}

static void grant(struct fake_job *job)
{
    struct fake_use *use = &job->uses[job->granted++];

    *(use->mode & STARPU_W ? &use->data->writers : &use->data->readers) += 1;
}

bool fake_data_ask(struct fake_job *job)
{
    const struct fake_use *use = &job->uses[job->granted];

    if (use->data->queue.count > 0 || !is_free_for(use->data, use->mode)) {
        fake_list_add(&use->data->queue, job);
        return false;
    }
    grant(job);
    return true;
}

/* Those that wait go on, in order. */
static void serve(struct _starpu_data_state *data)
{
    while (data->queue.count > 0) {
        struct fake_job *job = data->queue.items[0];
        if (!is_free_for(data, job->uses[job->granted].mode))
            return;
        fake_list_take(&data->queue, 0);
        grant(job);
        fake_job_advance(job);
    }
}

void fake_data_release(struct fake_job *job)
{
    for (unsigned i = 0; i < job->use_count; i++) {
        const struct fake_use *use = &job->uses[i];
        *(use->mode & STARPU_W ? &use->data->writers : &use->data->readers) -= 1;
    }
    for (unsigned i = 0; i < job->use_count; i++)
        serve(job->uses[i].data);
}

/* ---- accesses of the program ----------------------------------------------------------------- */

static struct fake_job *ask(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                            bool sequential, void (*callback)(void *), void *arg)
{
    struct fake_job *job = fake_job_create(NULL);

    job->uses[0] = (struct fake_use){data, mode & STARPU_RW};
    job->use_count = 1;
    job->callback = callback;
    job->arg = arg;
    fake_data_order(job, sequential);
    fake_job_submit(job);
    return job;
}

static bool is_granted(void *job)
{
    return ((struct fake_job *)job)->is_granted;
}

int starpu_data_acquire_on_node(starpu_data_handle_t data, int node,
                                enum starpu_data_access_mode mode)
{
    (void)node;
    tic_turns_await(is_granted, ask(data, mode, true, NULL, NULL), false);
    return 0;
}

int starpu_data_acquire(starpu_data_handle_t data, enum starpu_data_access_mode mode)
{
    return starpu_data_acquire_on_node(data, STARPU_MAIN_RAM, mode);
}

int starpu_data_acquire_on_node_try(starpu_data_handle_t data, int node,
                                    enum starpu_data_access_mode mode)
{
    (void)node;
    tic_turns_yield();
    if (data->queue.count > 0 || !is_free_for(data, mode) ||
        (data->last_writer && !data->last_writer->passed))
        return -EAGAIN;
    ask(data, mode, false, NULL, NULL);
    return 0;
}

int starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids TIC_ACQUIRE_JOBIDS_PARAMETERS
{
    (void)node;
    (void)quick;
    (void)before;
    (void)after;
#if TIC_STARPU_1_4
    (void)acquired;
    (void)priority;
#endif
    tic_turns_yield();
    ask(data, mode, sequential, callback, arg);
    return 0;
}

/* As StarPU's, by the function that the plug-in replaces. */
int starpu_data_acquire_cb(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                           void (*callback)(void *), void *arg)
{
#if TIC_STARPU_1_4
    return starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids(
        data, STARPU_MAIN_RAM, mode, NULL, callback, arg, 1, 0, NULL, NULL, STARPU_DEFAULT_PRIO);
#else
    return starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids(
        data, STARPU_MAIN_RAM, mode, callback, arg, 1, 0, NULL, NULL);
#endif
}

int starpu_data_acquire_on_node_cb(starpu_data_handle_t data, int node,
                                   enum starpu_data_access_mode mode, void (*callback)(void *),
                                   void *arg)
{
    (void)node;
    tic_turns_yield();
    ask(data, mode, true, callback, arg);
    return 0;
}

void starpu_data_release_on_node(starpu_data_handle_t data, int node)
{
    (void)node;
    if (data->open.count == 0)
        fake_stop("data is released that nobody has acquired");
    struct fake_job *job = fake_list_take(&data->open, 0);
    fake_data_release(job);
    fake_job_pass(job);
    job->ended = true;
    tic_turns_yield();
}

void starpu_data_release(starpu_data_handle_t data)
{
    starpu_data_release_on_node(data, STARPU_MAIN_RAM);
}

/* ---- the end of values and data -------------------------------------------------------------- */

static void drop_memory(struct _starpu_data_state *data)
{
    if (!data->own_memory)
        return;
    memset((void *)*pointer_in(data), 0x66, size_of(data)); /* uses after this are seen */
    free((void *)*pointer_in(data));
    *pointer_in(data) = 0;
    data->own_memory = false;
}

static void invalidate(void *arg)
{
    struct _starpu_data_state *data = arg;

    drop_memory(data);
    data->valid = false;
    starpu_data_release_on_node(data, STARPU_MAIN_RAM);
}

void starpu_data_invalidate_submit(starpu_data_handle_t data)
{
    starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, STARPU_W, invalidate, data);
}

void starpu_data_invalidate(starpu_data_handle_t data)
{
    starpu_data_acquire_on_node(data, STARPU_MAIN_RAM, STARPU_W);
    invalidate(data);
}

void starpu_data_unregister(starpu_data_handle_t data)
{
    starpu_data_acquire_on_node(data, STARPU_MAIN_RAM, STARPU_W);
    starpu_data_release_on_node(data, STARPU_MAIN_RAM);
    drop_memory(data);
    free(data->interface);
    memset(data, 0x5a, sizeof(*data)); /* uses after this are seen */
    free(data);
}

/* The structure stays, as others may still name it. */
static void leave(void *arg)
{
    struct _starpu_data_state *data = arg;

    starpu_data_release_on_node(data, STARPU_MAIN_RAM);
    drop_memory(data);
}

void starpu_data_unregister_submit(starpu_data_handle_t data)
{
    starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, STARPU_W, leave, data);
}

void starpu_data_unregister_no_coherency(starpu_data_handle_t data)
{
    starpu_data_unregister(data);
}

/* ---- questions ------------------------------------------------------------------------------- */

void starpu_data_query_status(starpu_data_handle_t data, int node, int *allocated, int *valid,
                              int *requested)
{
    (void)node;
    *allocated = data->ops != &void_ops && *pointer_in(data) != 0;
    *valid = data->valid;
    *requested = 0;
}

void starpu_data_set_user_data(starpu_data_handle_t data, void *user_data)
{
    data->user_data = user_data;
}

void *starpu_data_get_user_data(starpu_data_handle_t data)
{
    return data->user_data;
}

enum starpu_data_interface_id starpu_data_get_interface_id(starpu_data_handle_t data)
{
    return data->ops->interfaceid;
}

struct starpu_data_interface_ops *starpu_data_get_interface_ops(starpu_data_handle_t data)
{
    return data->ops;
}

void *starpu_data_get_interface_on_node(starpu_data_handle_t data, unsigned node)
{
    (void)node;
    return data->interface;
}

unsigned starpu_data_get_sequential_consistency_flag(starpu_data_handle_t data)
{
    return data->sequential;
}

void starpu_data_set_sequential_consistency_flag(starpu_data_handle_t data, unsigned flag)
{
    data->sequential = flag;
}

int starpu_data_get_nb_children(starpu_data_handle_t data)
{
    (void)data;
    return 0;
}
