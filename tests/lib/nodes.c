/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks that write the same data on processors and on devices (OpenCL, CUDA), or slaves, in turns,
 * for reading and writing and for writing only; tasks that only read; and main() that reads, writes
 * and partitions data between them. What each does follows from a seed, and not where it runs, so
 * that all runs print the same: nodes SEED TASKS LENGTH. Knobs:
 *   NODES_HOME   0: data has no home node; 1: every second has (default); 2: all have
 *   NODES_EACH   something is done on each device first, as starpu_cublas_init does
 *   NODES_PLAIN  no device is asked for: StarPU chooses
 *   NODES_PINNED the program pins memory of data, or has pinned memory from StarPU, in turns
 *   NODES_READS  0: tasks that only read run anywhere, and what they read is not printed, as slaves
 *                keep it to themselves; else they run on processors where there are slaves
 *   NODES_MAIN   0: main() only submits
 *   NODES_DATA   how many (6)
 *   NODES_APART  each task changes one, in turns, on a device
 *   NODES_LONG   microseconds for which a kernel sleeps
 *   NODES_MORE   letters of what is done, too: c commuting writes, r reductions, b both at once,
 *                a accesses with a callback, p the same before partitions, t tasks that
 *                callbacks submit, d dependencies by tags alone, i invalidation
 *   NODES_DIE    a slave kills itself when it begins so many kernels
 *   NODES_FAIL   a slave's kernel of this number says that it has failed */
#include <signal.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16384, PARTS = 3, READS = 4096 };

static unsigned count_data = 6;

static uint64_t sums[READS]; /* of what tasks read */

static uint64_t state;

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static uint64_t hash(const uint64_t *x, unsigned n)
{
    uint64_t sum = n;

    for (unsigned i = 0; i < n; i++)
        sum = (sum ^ x[i]) * UINT64_C(0x9E3779B97F4A7C15) + (sum >> 29);
    return sum;
}

/* ---- slaves ---------------------------------------------------------------------------------- */

#if defined(STARPU_USE_TCPIP_MASTER_SLAVE)
#define SLAVES STARPU_TCPIP_MS
#define COUNT_SLAVES() starpu_worker_get_count_by_type(STARPU_TCPIP_MS_WORKER)
#define NAMED(name) .cpu_funcs_name = {#name "_cpu"},
#else
#define SLAVES 0
#define COUNT_SLAVES() 0
#define NAMED(name)
#endif

int starpu_tic_task_failed(void) __attribute__((weak));

static bool is_knob(const char *name, unsigned value)
{
    return getenv(name) && (unsigned)atoi(getenv(name)) == value;
}

static void note_kernel(void)
{
    static _Atomic unsigned count;

    if (getenv("NODES_LONG"))
        usleep((useconds_t)atoi(getenv("NODES_LONG")));
    if (!getenv("STARPU_TCPIP_MS_MASTER"))
        return;
    unsigned number = atomic_fetch_add(&count, 1) + 1;
    if (is_knob("NODES_DIE", number))
        raise(SIGKILL);
    if (is_knob("NODES_FAIL", number) && starpu_tic_task_failed)
        starpu_tic_task_failed();
}

/* Slaves look for it by its name. */
#define KERNEL_ON_CPU(name)                                                                        \
    __attribute__((visibility("default"))) void name(void *buffers[], void *arg);                  \
    void name(void *buffers[], void *arg)

/* ---- kernels --------------------------------------------------------------------------------- */

KERNEL_ON_CPU(mix_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), a = *(uint64_t *)arg;

    note_kernel();
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] = x[i] * 2862933555777941757u + a + i;
}

KERNEL_ON_CPU(fill_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), a = *(uint64_t *)arg;

    note_kernel();
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] = a * 3202034522624059733u + i;
}

KERNEL_ON_CPU(turn_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), a = *(uint64_t *)arg;
    const uint64_t *y = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    note_kernel();
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] = (y[i] ^ a) * 3935559000370003845u;
}

KERNEL_ON_CPU(add_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), a = *(uint64_t *)arg;
    const uint64_t *y = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    note_kernel();
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] = x[i] * 5 + y[i] + a;
}

/* So many of these come to the same in any order. */
KERNEL_ON_CPU(sum_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), a = arg ? *(uint64_t *)arg : 0;
    const uint64_t *y = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    note_kernel();
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] += y[i] * (2 * a + 1);
}

KERNEL_ON_CPU(zero_cpu)
{
    uint64_t *x = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        x[i] = 0;
}

KERNEL_ON_CPU(read_cpu)
{
    note_kernel();
    sums[*(uint64_t *)arg % READS] ^=
        hash((const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]));
}

#if defined(STARPU_USE_OPENCL) && defined(NODES_OPENCL)
#define KERNEL(name, others, body)                                                                 \
    "__kernel void run_" #name "(unsigned n, ulong a, __global ulong *x, unsigned ox" others ")"   \
    "{ unsigned i = get_global_id(0); x = (__global ulong *)((__global char *)x + ox);"            \
    "  if (i < n) " body " }\n"
#define SECOND ", __global const ulong *y, unsigned oy"
#define Y "((__global const ulong *)((__global const char *)y + oy))[i]"

static const char source[] = KERNEL(mix, "", "x[i] = x[i] * 2862933555777941757UL + a + i;")
    KERNEL(fill, "", "x[i] = a * 3202034522624059733UL + i;")
        KERNEL(turn, SECOND, "x[i] = (" Y " ^ a) * 3935559000370003845UL;")
            KERNEL(add, SECOND, "x[i] = x[i] * 5 + " Y " + a;")
                KERNEL(sum, SECOND, "x[i] += " Y " * (2 * a + 1);") KERNEL(zero, "", "x[i] = 0;");

static struct starpu_opencl_program program;

static void set_vector(cl_kernel kernel, unsigned at, void *buffer)
{
    cl_mem memory = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffer);
    unsigned offset = (unsigned)STARPU_VECTOR_GET_OFFSET(buffer);

    clSetKernelArg(kernel, at, sizeof(memory), &memory);
    clSetKernelArg(kernel, at + 1, sizeof(offset), &offset);
}

static void run(const char *name, unsigned count, void *buffers[], void *arg)
{
    int device = starpu_worker_get_devid(starpu_worker_get_id());
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
    const uint64_t nothing = 0;
    size_t global = n;
    cl_kernel kernel;
    cl_command_queue queue;

    if (starpu_opencl_load_kernel(&kernel, &queue, &program, name, device) != CL_SUCCESS)
        abort();
    clSetKernelArg(kernel, 0, sizeof(n), &n);
    clSetKernelArg(kernel, 1, sizeof(uint64_t), arg ? arg : &nothing);
    for (unsigned i = 0; i < count; i++)
        set_vector(kernel, 2 + 2 * i, buffers[i]);
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL) != CL_SUCCESS)
        abort();
    clFinish(queue);
    starpu_opencl_release_kernel(kernel);
}

#define ON_DEVICE(name, count)                                                                     \
    static void name##_opencl(void *buffers[], void *arg)                                          \
    {                                                                                              \
        run("run_" #name, count, buffers, arg);                                                    \
    }
ON_DEVICE(mix, 1)
ON_DEVICE(fill, 1)
ON_DEVICE(turn, 2)
ON_DEVICE(add, 2)
ON_DEVICE(sum, 2)
ON_DEVICE(zero, 1)

static void read_opencl(void *buffers[], void *arg)
{
    unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
    cl_mem memory = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
    uint64_t *bytes = malloc(n * sizeof(*bytes));
    cl_command_queue queue;

    starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id()), &queue);
    clEnqueueReadBuffer(queue, memory, CL_TRUE, STARPU_VECTOR_GET_OFFSET(buffers[0]),
                        n * sizeof(*bytes), bytes, 0, NULL, NULL);
    sums[*(uint64_t *)arg % READS] ^= hash(bytes, n);
    free(bytes);
}
#define OPENCL(name) .opencl_funcs = {name##_opencl},
#else
#define OPENCL(name)
#endif

#if defined(STARPU_USE_CUDA) && defined(NODES_CUDA)
#include "nodes_cuda.h"
static void read_cuda(void *buffers[], void *arg)
{
    uint64_t *copy = nodes_cuda_read(buffers[0]);

    sums[*(uint64_t *)arg % READS] ^= hash(copy, STARPU_VECTOR_GET_NX(buffers[0]));
    free(copy);
}
#define CUDA(name) .cuda_funcs = {name##_cuda}, .cuda_flags = {STARPU_CUDA_ASYNC},
#else
#define CUDA(name)
#endif

#define CODELET(name_, count, ...)                                                                 \
    {                                                                                              \
        .cpu_funcs = {name_##_cpu}, NAMED(name_) OPENCL(name_) CUDA(name_).nbuffers = count,       \
        .modes = {__VA_ARGS__}, .name = #name_                                                     \
    }
#define MORE(name_, count, ...)                                                                    \
    {                                                                                              \
        .cpu_funcs = {name_##_cpu}, OPENCL(name_).nbuffers = count, .modes = {__VA_ARGS__},        \
        .name = #name_                                                                             \
    }
static struct starpu_codelet codelets[] = {
    CODELET(mix, 1, STARPU_RW),
    CODELET(fill, 1, STARPU_W),
    CODELET(turn, 2, STARPU_W, STARPU_R),
    CODELET(add, 2, STARPU_RW, STARPU_R),
    CODELET(read, 1, STARPU_R),
    MORE(sum, 2, STARPU_RW | STARPU_COMMUTE, STARPU_R),
    MORE(sum, 2, STARPU_REDUX, STARPU_R),
    MORE(sum, 2, STARPU_RW, STARPU_R),
    MORE(sum, 2, STARPU_REDUX, STARPU_RW | STARPU_COMMUTE),
};
static struct starpu_codelet zero = MORE(zero, 1, STARPU_W),
                             fold = MORE(sum, 2, STARPU_RW, STARPU_R);
enum { READ = 4, COMMUTES, REDUCES, SUMS, BOTH };

/* ---- main() ---------------------------------------------------------------------------------- */

static unsigned length, places, homes = 1;
static uint32_t others; /* the second place */
static bool slaves, cuda, prints_reads = true;
static uint64_t *memory[MOST + 3];
static starpu_data_handle_t data[MOST + 3]; /* the last ones: what tasks of callbacks, or tags,
                                               change; accesses with a callback; nobody */
static starpu_tag_t tags;
static const char *more = "";

static uint32_t place(unsigned which)
{
    if (places < 2)
        return 0;
    return which % 2 ? others : STARPU_CPU;
}

static struct starpu_task *build(unsigned kind, starpu_data_handle_t to, starpu_data_handle_t from,
                                 uint64_t arg, unsigned where)
{
    struct starpu_task *task = starpu_task_create();
    uint64_t *copy = malloc(sizeof(*copy));

    *copy = arg;
    task->cl = &codelets[kind];
    task->handles[0] = to;
    task->handles[1] = from;
    task->cl_arg = copy;
    task->cl_arg_size = sizeof(*copy);
    task->cl_arg_free = 1;
    task->where = place(where) ? (int32_t)place(where) : -1;
    if (kind == READ && slaves && prints_reads)
        task->where = STARPU_CPU;
    return task;
}

static void submit(unsigned kind, starpu_data_handle_t to, starpu_data_handle_t from, uint64_t arg,
                   unsigned where)
{
    if (starpu_task_submit(build(kind, to, from, arg, where)) != 0)
        exit(77);
}

static void step(uint64_t i)
{
    if (getenv("NODES_APART")) {
        submit(0, data[i % count_data], NULL, i, 1);
        return;
    }
    unsigned kind = draw(5), to = draw(count_data),
             from = (to + 1 + draw(count_data - 1)) % count_data;

    submit(kind, data[to], data[from], i, draw(2));
}

static bool has_home(unsigned which)
{
    return homes == 2 || (homes == 1 && which % 2 == 0) ||
           (which == count_data && strchr(more, 'd'));
}

/* Parts are of equal size, so all kinds fit. StarPU 1.3 cannot gather parts of data without a home
 * that are on different nodes. */
static void step_parts(uint64_t i, unsigned whole)
{
    if (!has_home(whole))
        return;

    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = PARTS};

    starpu_data_partition(data[whole], &filter);
    for (unsigned j = 0; j < 2 * PARTS; j++) {
        unsigned to = draw(PARTS), from = (to + 1 + draw(PARTS - 1)) % PARTS;
        submit(draw(4), starpu_data_get_sub_data(data[whole], 1, to),
               starpu_data_get_sub_data(data[whole], 1, from), i + j, draw(2));
    }
    starpu_data_unpartition(data[whole], STARPU_MAIN_RAM);
}

static void look(unsigned which)
{
    starpu_data_acquire(data[which], STARPU_R);
    printf("%016llx\n", (unsigned long long)hash(starpu_data_get_local_ptr(data[which]), length));
    starpu_data_release(data[which]);
}

static void change(unsigned which, enum starpu_data_access_mode mode, uint64_t by)
{
    starpu_data_acquire(data[which], mode);
    uint64_t *x = starpu_data_get_local_ptr(data[which]);
    for (unsigned i = 0; i < length; i++)
        x[i] = mode == STARPU_RW ? x[i] + by : by + i;
    starpu_data_release(data[which]);
}

static void change_and_give_back(void *handle)
{
    uint64_t *x = (uint64_t *)starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM);

    x[0] = x[0] * 3 + x[length - 1];
    starpu_data_release(handle);
}

static void read_and_give_back(void *handle)
{
    sums[0] ^= hash((uint64_t *)starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM), length);
    starpu_data_release(handle);
}

/* Which of these is which does not matter: they have no arguments. */
static void add_to_last(void *arg)
{
    struct starpu_task *task = build(SUMS, data[count_data], data[count_data + 2], 0, 1);

    (void)arg;
    free(task->cl_arg);
    task->cl_arg = NULL;
    task->cl_arg_size = task->cl_arg_free = 0;
    if (starpu_task_submit(task) != 0)
        exit(77);
}

/* One after the other by tags, as StarPU does not order them. */
static void submit_tagged(uint64_t i)
{
    struct starpu_task *task = build(0, data[count_data], NULL, i, draw(2));

    task->use_tag = 1;
    task->tag_id = ++tags;
    if (tags > 1)
        starpu_tag_declare_deps(tags, 1, tags - 1);
    if (starpu_task_submit(task) != 0)
        exit(77);
}

static void step_more(uint64_t i, char what)
{
    unsigned to = draw(count_data), from = (to + 1 + draw(count_data - 1)) % count_data;
    struct starpu_task *task;

    switch (what) {
    case 'c':
    case 'r':
        for (unsigned k = 0; k < 5; k++)
            submit(what == 'c' ? COMMUTES : REDUCES, data[to], data[from], i + k, draw(2));
        break;
    case 'b':
        submit(BOTH, data[to], data[from], i, draw(2));
        break;
    case 'a':
        to = count_data + 1;
        submit(0, data[to], NULL, i, draw(2));
        if (draw(2))
            starpu_data_acquire_cb(data[to], STARPU_RW, change_and_give_back, data[to]);
        else
            starpu_data_acquire_cb(data[to], STARPU_R, read_and_give_back, data[to]);
        break;
    case 'p': /* and a device writes it before main() partitions it */
        if (!has_home(to))
            break;
        starpu_data_acquire_cb(data[to], STARPU_RW, change_and_give_back, data[to]);
        submit(0, data[to], NULL, i, 1);
        step_parts(i, to);
        break;
    case 't':
        task = build(0, data[to], NULL, i, draw(2));
        task->callback_func = add_to_last;
        if (starpu_task_submit(task) != 0)
            exit(77);
        break;
    case 'd':
        submit_tagged(i);
        break;
    case 'i':
        starpu_data_invalidate_submit(data[to]);
        submit(1, data[to], NULL, i, draw(2));
        break;
    }
}

static uint64_t *make_memory(unsigned which)
{
    void *made = NULL;
    size_t size = length * sizeof(uint64_t);

    if (getenv("NODES_PINNED") && which % 4 == 0) {
        starpu_malloc(&made, size);
        return made;
    }
    made = malloc(size);
    if (getenv("NODES_PINNED"))
        starpu_memory_pin(made, size);
    return made;
}

static void open_data(void)
{
    for (unsigned d = 0; d < count_data + (*more ? 3 : 0); d++) {
        bool home = has_home(d);
        memory[d] = make_memory(d);
        for (unsigned i = 0; i < length; i++)
            memory[d][i] = d * 1000 + i;
        starpu_vector_data_register(&data[d], home ? STARPU_MAIN_RAM : -1,
                                    home ? (uintptr_t)memory[d] : 0, length, sizeof(uint64_t));
        if (!home)
            submit(1, data[d], NULL, d, d);
        if (strchr(more, 'r') && d < count_data)
            starpu_data_set_reduction_methods(data[d], &fold, &zero);
    }
    if (strchr(more, 'd')) {
        starpu_task_wait_for_all();
        starpu_data_set_sequential_consistency_flag(data[count_data], 0);
    }
}

static void prepare(void *arg)
{
    (void)arg;
}

int main(int argc, char *argv[])
{
    uint64_t tasks = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;

    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    length = (argc > 3 ? (unsigned)atoi(argv[3]) : 512) * PARTS;
    if (starpu_init(NULL) != 0)
        return 77;
#if defined(STARPU_USE_OPENCL) && defined(NODES_OPENCL)
    bool both = starpu_opencl_worker_get_count() > 0 &&
                starpu_worker_get_count_by_type(STARPU_CPU_WORKER) > 0;
    if (starpu_opencl_worker_get_count() > 0)
        starpu_opencl_load_opencl_from_string(source, &program, NULL);
    if (getenv("NODES_EACH"))
        starpu_execute_on_each_worker(prepare, NULL, STARPU_OPENCL);
    places = both && !getenv("NODES_PLAIN") ? 2 : 1;
#endif
#if defined(STARPU_USE_CUDA) && defined(NODES_CUDA)
    cuda = starpu_cuda_worker_get_count() > 0;
    if (getenv("NODES_EACH"))
        starpu_execute_on_each_worker(prepare, NULL, STARPU_CUDA);
#endif
    slaves = COUNT_SLAVES() > 0;
    others = slaves ? SLAVES : cuda ? STARPU_CUDA : STARPU_OPENCL;
    if ((slaves || cuda) && !getenv("NODES_PLAIN") &&
        starpu_worker_get_count_by_type(STARPU_CPU_WORKER) > 0)
        places = 2;
    if (getenv("NODES_READS"))
        prints_reads = atoi(getenv("NODES_READS")) != 0;
    if (getenv("NODES_DATA") && atoi(getenv("NODES_DATA")) > 1 &&
        atoi(getenv("NODES_DATA")) <= MOST)
        count_data = (unsigned)atoi(getenv("NODES_DATA"));
    if (getenv("NODES_HOME"))
        homes = (unsigned)atoi(getenv("NODES_HOME"));
    if (getenv("NODES_MORE"))
        more = getenv("NODES_MORE");
    open_data();
    const bool only_submits = getenv("NODES_MAIN") && atoi(getenv("NODES_MAIN")) == 0;
    for (uint64_t i = 0; i < tasks; i++) {
        unsigned what = only_submits ? 40 : draw(40);
        if (what == 0)
            look(draw(count_data));
        else if (what == 1)
            change(draw(count_data), draw(2) ? STARPU_RW : STARPU_W, i);
        else if (what == 2)
            step_parts(i, draw(count_data));
        else if (what == 3)
            starpu_task_wait_for_all();
        else if (*more && what < 12)
            step_more(i, more[draw((unsigned)strlen(more))]);
        else
            step(i);
    }
    starpu_task_wait_for_all();
    if (strchr(more, 'a')) { /* all are given back */
        starpu_data_acquire(data[count_data + 1], STARPU_RW);
        starpu_data_release(data[count_data + 1]);
    }
    if (prints_reads)
        printf("read %016llx\n", (unsigned long long)hash(sums, READS));
    if (strchr(more, 'd'))
        starpu_tag_wait(tags);
    for (unsigned d = 0; d < count_data + (*more ? 3 : 0); d++) {
        look(d);
        starpu_data_unregister(data[d]);
        printf("%u %016llx\n", d, (unsigned long long)hash(memory[d], length));
    }
#if defined(STARPU_USE_OPENCL) && defined(NODES_OPENCL)
    if (starpu_opencl_worker_get_count() > 0)
        starpu_opencl_unload_opencl(&program);
#endif
    starpu_shutdown();
    return 0;
}
