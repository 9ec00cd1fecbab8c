/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chains of tasks that stay on a CUDA device: tiles KERNEL TILES BYTES ROUNDS [pinned]. In each
 * round a task updates each tile. KERNEL: microseconds for which the device computes, or dgemm:
 * cublasDgemm of the tile and two others that are only read. Prints "seconds to_host to_device
 * hash": from the first submission until all has ended, bytes that StarPU has copied meanwhile, and
 * a hash of the tiles. Runs on the stand-in for CUDA's runtime library (tests/lib/cuda), too, but
 * for dgemm. */
#include "../tests/lib/cuda/cudart.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <starpu.h>
#include <starpu_cublas_v2.h>
#include <vector>

enum { THREADS = 256 };

static unsigned long microseconds;
static bool dgemm;

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        STARPU_CUDA_REPORT_ERROR(error);
}

__global__ void update(double *x, unsigned n, unsigned long ns)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long begun, now;

    if (i < n)
        x[i] = x[i] * 0.5 + i;
    if (i > 0 || ns == 0)
        return;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begun < ns);
}

static void stand_for_update(void **args, dim3 grid, dim3 block)
{
    double *x = *(double **)args[0];

    for (unsigned i = 0; i < *(unsigned *)args[1] && i < grid.x * block.x; i++)
        x[i] = x[i] * 0.5 + i;
}

static double *tile(void *buffer)
{
    return (double *)STARPU_VECTOR_GET_PTR(buffer);
}

static void update_cuda(void *buffers[], void *)
{
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);

    update<<<(n + THREADS - 1) / THREADS, THREADS, 0, starpu_cuda_get_local_stream()>>>(
        tile(buffers[0]), n, microseconds * 1000);
    check(cudaGetLastError());
}

static void dgemm_cuda(void *buffers[], void *)
{
    int n = (int)std::sqrt((double)STARPU_VECTOR_GET_NX(buffers[0]));
    const double one = 1, half = 0.5;
    cublasStatus_t status =
        cublasDgemm(starpu_cublas_get_local_handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one,
                    tile(buffers[1]), n, tile(buffers[2]), n, &half, tile(buffers[0]), n);

    if (status != CUBLAS_STATUS_SUCCESS)
        STARPU_CUBLAS_REPORT_ERROR(status);
}

static struct starpu_codelet *make_codelet(void)
{
    static struct starpu_codelet codelet;

    starpu_codelet_init(&codelet);
    codelet.cuda_funcs[0] = dgemm ? dgemm_cuda : update_cuda;
    codelet.cuda_flags[0] = STARPU_CUDA_ASYNC;
    codelet.nbuffers = dgemm ? 3 : 1;
    codelet.modes[0] = STARPU_RW;
    codelet.modes[1] = codelet.modes[2] = STARPU_R;
    codelet.name = dgemm ? "dgemm" : "update";
    return &codelet;
}

static void submit(struct starpu_codelet *codelet, const starpu_data_handle_t *data, unsigned i)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->handles[0] = data[2 + i];
    task->handles[1] = data[0];
    task->handles[2] = data[1];
    if (starpu_task_submit(task) != 0)
        exit(77);
}

/* Between main memory and devices. */
static unsigned long long copied(bool to_host)
{
    unsigned long long bytes = 0;

    for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
        struct starpu_profiling_bus_info info;
        if ((to_host ? starpu_bus_get_dst(bus) : starpu_bus_get_src(bus)) == STARPU_MAIN_RAM &&
            starpu_bus_get_profiling_info(bus, &info) == 0)
            bytes += (unsigned long long)info.transferred_bytes;
    }
    return bytes;
}

static uint64_t hash(const std::vector<double *> &memory, size_t n)
{
    uint64_t sum = n;

    for (const double *x : memory)
        for (size_t i = 0; i < n; i++) {
            uint64_t word;
            memcpy(&word, &x[i], sizeof(word));
            sum = (sum ^ word) * UINT64_C(0x9E3779B97F4A7C15) + (sum >> 29);
        }
    return sum;
}

static double *make_memory(unsigned which, size_t n, bool is_pinned)
{
    void *made;

    if (!is_pinned)
        made = malloc(n * sizeof(double));
    else if (starpu_malloc(&made, n * sizeof(double)) != 0)
        exit(77);
    for (size_t i = 0; i < n; i++)
        ((double *)made)[i] = (double)(which + 1) / (double)(i % 1000 + 1);
    return (double *)made;
}

int main(int argc, char *argv[])
{
    if (argc < 5)
        return 2;
    dgemm = strcmp(argv[1], "dgemm") == 0;
    microseconds = strtoul(argv[1], NULL, 10);
    const unsigned tiles = (unsigned)atoi(argv[2]), rounds = (unsigned)atoi(argv[4]);
    const size_t n = strtoul(argv[3], NULL, 10) / sizeof(double);
    auto stand_for = (decltype(&cudart_stand_for))dlsym(RTLD_DEFAULT, "cudart_stand_for");
    static const size_t sizes[] = {sizeof(double *), sizeof(unsigned), sizeof(unsigned long), 0};
    if (stand_for)
        stand_for("_Z6updatePdjm", stand_for_update, sizes);

    if (starpu_init(NULL) != 0 || starpu_cuda_worker_get_count() == 0)
        return 77;
    if (dgemm)
        starpu_cublas_init();
    std::vector<double *> memory;
    std::vector<starpu_data_handle_t> data(tiles + 2);
    for (unsigned i = 0; i < tiles + 2; i++) {
        memory.push_back(make_memory(i, n, argc > 5));
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)memory[i], (uint32_t)n,
                                    sizeof(double));
    }
    struct starpu_codelet *codelet = make_codelet();
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    const double begun = starpu_timing_now();
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < tiles; i++)
            submit(codelet, data.data(), i);
    starpu_task_wait_for_all();
    const double ended = starpu_timing_now();
    const unsigned long long to_host = copied(true), to_device = copied(false);
    for (starpu_data_handle_t handle : data)
        starpu_data_unregister(handle);
    printf("%.4f %llu %llu %016llx\n", (ended - begun) * 1e-6, to_host, to_device,
           (unsigned long long)hash(memory, n));
    if (dgemm)
        starpu_cublas_shutdown();
    starpu_shutdown();
    return 0;
}
