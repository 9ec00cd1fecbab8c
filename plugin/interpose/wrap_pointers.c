/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of functions that give main() a pointer to data. What main() reads by its own
 * pointers is known where the memory is its own; memory that StarPU has allocated is in no image.
 */
#include "session/context.h"
#include "interpose/ending.h"
#include "session/lookup.h"
#include "report/told.h"
#include "real/real.h"

/* Between an acquire and its release all is known. Kernels ask for what their task declares, and
 * StarPU for itself. */
static void refuse(starpu_data_handle_t data, const char *call, const void *caller)
{
    if (tic_guard > 0 || !tic_session_is_watching() || tic_session_context() == TIC_CONTEXT_TASK ||
        tic_session_context() == TIC_CONTEXT_STARPU || tic_answers_are_starpu(caller))
        return;
    struct tic_handle *handle = tic_handle_of(data);
    if (!handle || handle->home_node >= 0)
        return;
    if (tic_session_is_owner())
        handle->use.exposed = true;
    if (atomic_load(&handle->use.holds) == 0)
        tic_session_unprotect(tic_session_place(call),
                              "pointers to data without a home node are protected between "
                              "starpu_data_acquire and starpu_data_release only");
}

#define POINTER(type, name)                                                                        \
    WRAPPER type name(starpu_data_handle_t data)                                                   \
    {                                                                                              \
        refuse(data, #name, __builtin_return_address(0));                                          \
        return RESOLVED(name)(data);                                                               \
    }

POINTER(void *, starpu_data_get_local_ptr)
POINTER(uintptr_t, starpu_variable_get_local_ptr)
POINTER(uintptr_t, starpu_vector_get_local_ptr)
POINTER(uintptr_t, starpu_matrix_get_local_ptr)
POINTER(uintptr_t, starpu_block_get_local_ptr)
POINTER(uintptr_t, starpu_csr_get_local_nzval)
POINTER(uint32_t *, starpu_csr_get_local_colind)
POINTER(uint32_t *, starpu_csr_get_local_rowptr)
POINTER(uintptr_t, starpu_bcsr_get_local_nzval)
POINTER(uint32_t *, starpu_bcsr_get_local_colind)
POINTER(uint32_t *, starpu_bcsr_get_local_rowptr)
#if TIC_STARPU_1_4
POINTER(uintptr_t, starpu_tensor_get_local_ptr)
POINTER(uintptr_t, starpu_ndim_get_local_ptr)
#endif

WRAPPER void *starpu_data_handle_to_pointer(starpu_data_handle_t data, unsigned node)
{
    refuse(data, "starpu_data_handle_to_pointer", __builtin_return_address(0));
    return RESOLVED(starpu_data_handle_to_pointer)(data, node);
}

/* The bytes are those at the pointer. */
WRAPPER int starpu_data_pack(starpu_data_handle_t data, void **bytes, starpu_ssize_t *count)
{
    refuse(data, "starpu_data_pack", __builtin_return_address(0));
    return RESOLVED(starpu_data_pack)(data, bytes, count);
}

#if TIC_STARPU_1_4
WRAPPER int starpu_data_pack_node(starpu_data_handle_t data, unsigned node, void **bytes,
                                  starpu_ssize_t *count)
{
    refuse(data, "starpu_data_pack_node", __builtin_return_address(0));
    return RESOLVED(starpu_data_pack_node)(data, node, bytes, count);
}
#endif
