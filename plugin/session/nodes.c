/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/nodes.h"

#include <dlfcn.h>

#include "base/error.h"
#include "real/real.h"
#include "real/since.h"
#include "snapshot/cut.h"

enum { MOST_TABLES = 8 }; /* one for each maker of devices */

bool tic_nodes_several;

/* Immutable after tic_nodes_start. */
static struct {
    unsigned count;
    bool disk, device, slaves, gpu, processor;
    bool away[TIC_MAX_WORKERS];      /* workers */
    const void *tables[MOST_TABLES]; /* of devices */
    unsigned table_count;
} nodes;

static bool is_hip(enum starpu_node_kind kind)
{
#if TIC_STARPU_1_4
    return kind == STARPU_HIP_RAM;
#else
    (void)kind;
    return false;
#endif
}

static bool is_fpga(enum starpu_node_kind kind)
{
#if TIC_STARPU_1_4
    return kind == STARPU_MAX_FPGA_RAM;
#else
    (void)kind;
    return false;
#endif
}

static const char *why_not(enum starpu_node_kind kind, bool untried)
{
    switch (kind) {
    case STARPU_CPU_RAM:
    case STARPU_CUDA_RAM:
    case STARPU_OPENCL_RAM:
    case STARPU_DISK_RAM:
#if TIC_STARPU_1_4
    case STARPU_HIP_RAM:
    case STARPU_TCPIP_MS_RAM:
#endif
        return NULL;
    default:
        if (!is_fpga(kind))
            return "StarPU uses a kind of device (MIC, slaves by MPI) with which nothing was tried "
                   "yet";
        return untried ? NULL
                       : "StarPU uses an FPGA, with which nothing was tried yet; "
                         "STARPU_TIC_DEVICES=all protects the program nevertheless";
    }
}

/* StarPU has the function where it was built with OpenCL. */
static void note_table(unsigned worker)
{
    void (*get_context)(int device, void **context) =
        (void (*)(int, void **))dlsym(RTLD_DEFAULT, "starpu_opencl_get_context");
    void *context = NULL;

    if (get_context)
        get_context(tic_real.starpu_worker_get_devid((int)worker), &context);
    if (context && nodes.table_count < MOST_TABLES && !tic_nodes_is_device_table(*(void **)context))
        nodes.tables[nodes.table_count++] = *(void **)context;
}

static bool is_slave(enum starpu_node_kind kind)
{
#if TIC_STARPU_1_4
    return kind == STARPU_TCPIP_MS_RAM;
#else
    (void)kind;
    return false;
#endif
}

static void look_at_workers(void)
{
    unsigned count = tic_real.starpu_worker_get_count();

    nodes.table_count = 0;
    for (unsigned i = 0; i < TIC_MAX_WORKERS; i++)
        nodes.away[i] =
            nodes.disk || (tic_nodes_several && i < count &&
                           tic_real.starpu_worker_get_memory_node(i) != STARPU_MAIN_RAM);
    for (unsigned i = 0; i < count; i++) {
        enum starpu_worker_archtype type = tic_real.starpu_worker_get_type((int)i);
        nodes.processor |= type == STARPU_CPU_WORKER;
        if (type == STARPU_OPENCL_WORKER)
            note_table(i);
    }
}

const char *tic_nodes_start(bool untried)
{
    const char *why = NULL, *new = NULL;

    nodes.count = tic_real.starpu_memory_nodes_get_count();
    tic_nodes_several = nodes.count > 1;
    nodes.disk = nodes.device = nodes.slaves = nodes.gpu = nodes.processor = false;
    for (unsigned i = 0; tic_nodes_several && i < nodes.count && !why; i++) {
        enum starpu_node_kind kind = tic_real.starpu_node_get_kind(i);
        why = why_not(kind, untried);
        new = is_hip(kind) ? "HIP devices" : is_fpga(kind) ? "an FPGA" : new;
        nodes.gpu |= kind == STARPU_CUDA_RAM || is_hip(kind);
        nodes.disk |= kind == STARPU_DISK_RAM;
        nodes.device |= kind != STARPU_DISK_RAM && i != STARPU_MAIN_RAM;
        nodes.slaves |= is_slave(kind);
    }
    look_at_workers();
    if (!why && nodes.gpu && nodes.disk)
        why = "StarPU uses CUDA or HIP devices and a disk (STARPU_DISK_SWAP), which is not "
              "supported together";
    if (!why && new)
        tic_log(TIC_LOG_WARN,
                "StarPU uses %s, with which nothing was tried on a real one. Compare results", new);
    return why;
}

bool tic_nodes_is_device_table(const void *table)
{
    bool found = false;

    for (unsigned i = 0; i < nodes.table_count && !found; i++)
        found = nodes.tables[i] == table;
    return found;
}

bool tic_nodes_is_away(unsigned worker)
{
    return nodes.away[worker];
}

bool tic_nodes_has_processor(void)
{
    return nodes.processor;
}

bool tic_nodes_has_disk(void)
{
    return nodes.disk;
}

bool tic_nodes_has_gpu(void)
{
    return nodes.gpu;
}

bool tic_nodes_has_slaves(void)
{
    return nodes.slaves;
}

const char *tic_nodes_refuse(int home_node)
{
    if (tic_nodes_several && home_node > STARPU_MAIN_RAM)
        return "data whose home is another memory node than main memory is not protected yet";
    if (nodes.disk && nodes.device && home_node < 0)
        return "data without a home node is not protected yet where StarPU has both devices and a "
               "disk";
    return NULL;
}

int tic_nodes_of_wait(int home_node)
{
    if (tic_nodes_several)
        return STARPU_ACQUIRE_NO_NODE;
    return home_node >= 0 ? home_node : STARPU_MAIN_RAM;
}

/* comes: a copy that is under way counts, too. */
static bool is_on(starpu_data_handle_t data, unsigned node, bool comes)
{
    int allocated, valid, requested;

    tic_real.starpu_data_query_status(data, (int)node, &allocated, &valid, &requested);
    return valid || (comes && requested);
}

bool tic_nodes_holds_alone(starpu_data_handle_t data, int node)
{
    for (unsigned i = 0; tic_nodes_several && i < nodes.count; i++)
        if ((int)i != node && is_on(data, i, true))
            return false;
    return is_on(data, (unsigned)node, false);
}

bool tic_nodes_holds(starpu_data_handle_t data)
{
    bool holds = false;

    for (unsigned i = 0; i < nodes.count && !holds; i++)
        holds = is_on(data, i, true);
    return holds;
}
