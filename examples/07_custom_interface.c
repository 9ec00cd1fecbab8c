/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that no interface of StarPU describes: a sparse vector, indices and values in two arrays.
 * Protection needs two functions of an interface: pack_data, which makes one piece of memory of all
 * that is to be saved, and unpack_data, the other way. They are the ones that StarPU-MPI needs.
 * Data without them is not protected once tasks write it, as a message says.
 *
 *   ./07_custom_interface [ROUNDS]                                       plain
 *   starpu-tic run -- ./07_custom_interface                              protected
 *   STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=task-end:120 \
 *       starpu-tic run -- ./07_custom_interface                          killed after 120 tasks
 *   starpu-tic run -- ./07_custom_interface                              resumed */
#include <errno.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 512, VECTORS = 4 };

struct sparse { /* the interface: what a kernel finds in buffers[] */
    uint32_t *indices;
    double *values;
    uint32_t entries;
};

static struct sparse *sparse_on(starpu_data_handle_t handle, unsigned node)
{
    return (struct sparse *)starpu_data_get_interface_on_node(handle, node);
}

static size_t indices_size(const struct sparse *sparse)
{
    return sparse->entries * sizeof(*sparse->indices);
}

static size_t values_size(const struct sparse *sparse)
{
    return sparse->entries * sizeof(*sparse->values);
}

/* ---- what protection needs ------------------------------------------------------------------- */

/* Without `to` only the size is asked for. The memory is given back by who asked for it. */
static int pack(starpu_data_handle_t handle, unsigned node, void **to, starpu_ssize_t *size)
{
    struct sparse *sparse = sparse_on(handle, node);

    *size = (starpu_ssize_t)(indices_size(sparse) + values_size(sparse));
    if (to) {
        *to = (void *)starpu_malloc_on_node_flags(node, (size_t)*size, 0);
        memcpy(*to, sparse->indices, indices_size(sparse));
        memcpy((char *)*to + indices_size(sparse), sparse->values, values_size(sparse));
    }
    return 0;
}

static int unpack(starpu_data_handle_t handle, unsigned node, void *from, size_t size)
{
    struct sparse *sparse = sparse_on(handle, node);

    memcpy(sparse->indices, from, indices_size(sparse));
    memcpy(sparse->values, (char *)from + indices_size(sparse), values_size(sparse));
    starpu_free_on_node_flags(node, (uintptr_t)from, size, 0);
    return 0;
}

/* ---- what StarPU needs ----------------------------------------------------------------------- */

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION < 4
typedef unsigned home_node_t;
#else
typedef int home_node_t;
#endif

static void register_sparse(starpu_data_handle_t handle, home_node_t home_node, void *interface)
{
    struct sparse *given = interface;

    for (home_node_t node = 0; node < STARPU_MAXNODES; node++) {
        struct sparse *here = sparse_on(handle, (unsigned)node);
        *here = (struct sparse){.entries = given->entries};
        if (node == home_node)
            *here = *given;
    }
}

static starpu_ssize_t allocate(void *interface, unsigned node)
{
    struct sparse *sparse = interface;
    uintptr_t indices = starpu_malloc_on_node(node, indices_size(sparse));
    uintptr_t values = indices ? starpu_malloc_on_node(node, values_size(sparse)) : 0;

    if (indices && !values)
        starpu_free_on_node(node, indices, indices_size(sparse));
    if (!values)
        return -ENOMEM;
    sparse->indices = (uint32_t *)indices;
    sparse->values = (double *)values;
    return (starpu_ssize_t)(indices_size(sparse) + values_size(sparse));
}

static void release(void *interface, unsigned node)
{
    struct sparse *sparse = interface;
    starpu_free_on_node(node, (uintptr_t)sparse->indices, indices_size(sparse));
    starpu_free_on_node(node, (uintptr_t)sparse->values, values_size(sparse));
}

static size_t get_size(starpu_data_handle_t handle)
{
    struct sparse *sparse = sparse_on(handle, STARPU_MAIN_RAM);
    return indices_size(sparse) + values_size(sparse);
}

static uint32_t footprint(starpu_data_handle_t handle)
{
    return starpu_hash_crc32c_be(sparse_on(handle, STARPU_MAIN_RAM)->entries, 0);
}

static int compare(void *one, void *other)
{
    return ((struct sparse *)one)->entries == ((struct sparse *)other)->entries;
}

static const struct starpu_data_copy_methods no_copies; /* one memory node: nothing is copied */

static struct starpu_data_interface_ops sparse_ops = {.register_data_handle = register_sparse,
                                                      .allocate_data_on_node = allocate,
                                                      .free_data_on_node = release,
                                                      .copy_methods = &no_copies,
                                                      .get_size = get_size,
                                                      .footprint = footprint,
                                                      .compare = compare,
                                                      .pack_data = pack,
                                                      .unpack_data = unpack,
                                                      .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
                                                      .interface_size = sizeof(struct sparse)};

/* ---- the program ----------------------------------------------------------------------------- */

/* y = y / 2 + x, where both have an entry; the indices of y move on, and stay in order. */
static void blend(void *buffers[], void *arg)
{
    struct sparse *x = buffers[0], *y = buffers[1];

    (void)arg;
    for (uint32_t i = 0, j = 0; i < y->entries; i++) {
        while (j < x->entries - 1 && x->indices[j] < y->indices[i])
            j++;
        y->values[i] = y->values[i] / 2 + (x->indices[j] == y->indices[i] ? x->values[j] : 1);
    }
    for (uint32_t i = 0; i < y->entries; i++)
        y->indices[i] += i / 2 + 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {blend}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "blend"};

static void fill(struct sparse *sparse, int number)
{
    sparse->entries = ENTRIES;
    sparse->indices = malloc(indices_size(sparse));
    sparse->values = malloc(values_size(sparse));
    STARPU_ASSERT(sparse->indices && sparse->values);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        sparse->indices[i] = i * 3 + (uint32_t)number;
        sparse->values[i] = 1.0 / (i + 1 + (uint32_t)number);
    }
}

int main(int argc, char **argv)
{
    static struct sparse vectors[VECTORS];
    starpu_data_handle_t handles[VECTORS];
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    double sum = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    sparse_ops.interfaceid = starpu_data_interface_get_next_id();
    for (int v = 0; v < VECTORS; v++) {
        fill(&vectors[v], v);
        starpu_data_register(&handles[v], STARPU_MAIN_RAM, &vectors[v], &sparse_ops);
    }
    for (int round = 0; round < rounds; round++)
        for (int v = 0; v < VECTORS; v++) {
            int status = starpu_task_insert(&codelet, STARPU_R, handles[v], STARPU_RW,
                                            handles[(v + 1) % VECTORS], 0);
            STARPU_CHECK_RETURN_VALUE(status, "starpu_task_insert");
        }
    for (int v = 0; v < VECTORS; v++)
        starpu_data_unregister(handles[v]);
    starpu_shutdown();

    for (int v = 0; v < VECTORS; v++) {
        for (uint32_t i = 0; i < ENTRIES; i++)
            sum = sum / 3 + vectors[v].values[i] * vectors[v].indices[i];
        free(vectors[v].indices);
        free(vectors[v].values);
    }
    printf("%.17g\n", sum);
    return EXIT_SUCCESS;
}
