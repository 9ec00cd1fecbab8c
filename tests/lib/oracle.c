/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: what main() gets back from StarPU, as hashes. After each
 * starpu_data_unregister of a variable, vector, matrix or block that has a home buffer, appends the
 * XXH3-64 of its content to the file that TIC_ORACLE names; the list of a resumed run must equal
 * that of a run without faults. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <starpu.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_HANDLES = 1 << 16 };
static starpu_data_handle_t with_home[MAX_HANDLES]; /* main thread only */
static unsigned home_count;

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

static FILE *output(void)
{
    static FILE *file;
    const char *path = getenv("TIC_ORACLE");
    if (!file && path)
        file = fopen(path, "we");
    return file;
}

void starpu_data_register(starpu_data_handle_t *data, int home, void *interface,
                          struct starpu_data_interface_ops *ops)
{
    void (*next)(starpu_data_handle_t *, int, void *, struct starpu_data_interface_ops *) =
        real("starpu_data_register");
    next(data, home, interface, ops);
    if (home >= 0 && home_count < MAX_HANDLES)
        with_home[home_count++] = *data;
}

static int forget(starpu_data_handle_t data)
{
    for (unsigned i = home_count; i-- > 0;) {
        if (with_home[i] == data) {
            with_home[i] = with_home[--home_count];
            return 1;
        }
    }
    return 0;
}

/* Lines of `bytes` each, `lines` per plane, at the given distances. */
static XXH64_hash_t hash_lines(const char *base, size_t bytes, size_t lines, size_t line_step,
                               size_t planes, size_t plane_step)
{
    XXH64_hash_t hash = 0;
    for (size_t k = 0; k < planes; k++)
        for (size_t j = 0; j < lines; j++)
            hash = XXH3_64bits_withSeed(base + k * plane_step + j * line_step, bytes, hash);
    return hash;
}

static XXH64_hash_t hash_interface(enum starpu_data_interface_id id, const void *interface)
{
    const struct starpu_variable_interface *variable = interface;
    const struct starpu_vector_interface *vector = interface;
    const struct starpu_matrix_interface *matrix = interface;
    const struct starpu_block_interface *block = interface;

    switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID:
        return hash_lines((char *)variable->ptr, variable->elemsize, 1, 0, 1, 0);
    case STARPU_VECTOR_INTERFACE_ID:
        return hash_lines((char *)vector->ptr, vector->nx * vector->elemsize, 1, 0, 1, 0);
    case STARPU_MATRIX_INTERFACE_ID:
        return hash_lines((char *)matrix->ptr, matrix->nx * matrix->elemsize, matrix->ny,
                          matrix->ld * matrix->elemsize, 1, 0);
    case STARPU_BLOCK_INTERFACE_ID:
        return hash_lines((char *)block->ptr, block->nx * block->elemsize, block->ny,
                          block->ldy * block->elemsize, block->nz, block->ldz * block->elemsize);
    default:
        return 0;
    }
}

static union {
    struct starpu_variable_interface variable;
    struct starpu_vector_interface vector;
    struct starpu_matrix_interface matrix;
    struct starpu_block_interface block;
    char bytes[512];
} seen; /* main thread only: the interface, which is gone after the call */

void starpu_data_unregister(starpu_data_handle_t data)
{
    void (*next)(starpu_data_handle_t) = real("starpu_data_unregister");
    enum starpu_data_interface_id id = starpu_data_get_interface_id(data);
    int has_home = forget(data);

    memset(&seen, 0, sizeof(seen));
    if (id == STARPU_VARIABLE_INTERFACE_ID)
        seen.variable = *(struct starpu_variable_interface *)starpu_data_get_interface_on_node(
            data, STARPU_MAIN_RAM);
    else if (id == STARPU_VECTOR_INTERFACE_ID)
        seen.vector = *(struct starpu_vector_interface *)starpu_data_get_interface_on_node(
            data, STARPU_MAIN_RAM);
    else if (id == STARPU_MATRIX_INTERFACE_ID)
        seen.matrix = *(struct starpu_matrix_interface *)starpu_data_get_interface_on_node(
            data, STARPU_MAIN_RAM);
    else if (id == STARPU_BLOCK_INTERFACE_ID)
        seen.block = *(struct starpu_block_interface *)starpu_data_get_interface_on_node(
            data, STARPU_MAIN_RAM);
    next(data);
    if (has_home && output()) {
        fprintf(output(), "%016llx\n", (unsigned long long)hash_interface(id, &seen));
        fflush(output());
    }
}
