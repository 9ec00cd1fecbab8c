/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program with memory beside its registered data, for crash tests: beside MODE. Prints
 * what the data holds, and what tasks left there. Tasks write
 *   state     structures in an array of the program, which are their arguments, without a size
 *   table     a variable that lies behind 32 MiB of others
 *   shared    memory that a variable points to: mmap, shared
 *   private   the same, of this process alone
 *   block     a block of 32 MiB that a variable points to
 *   tile      tiles of a matrix, of which one element each is registered
 *   middle    what comes before an array in the same block
 *   user      what the user data of their data points to
 *   content   what their data points to
 *   rand      the state of rand()
 * and for no alarm
 *   whole     tiles of a matrix that are all registered
 *   within    an array that is registered, in the midst of 32 MiB of the program
 *   mutex     the same, and hold a mutex there for most of their time
 *   rand_r    a state of random numbers that is registered; main() calls rand()
 *   midst     nothing; a variable points into the midst of a block, and what lies before it there
 *             looks like the size of one that ends beyond StarPU's structures
 *   freed     nothing; variables point to what main() has freed, and StarPU has by now
 *   thread    nothing; a thread does, in a block that main() gave to it, and a variable points to
 *   gaps      nothing; arguments have bytes that nobody set: addresses within StarPU's structures
 */
#include <pthread.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TILES = 8,
    SIDE = 64,
    WIDTH = TILES * SIDE,
    TASKS = 400,
    BYTES = 32 << 20,
    GAP = 1 << 20,
    STEPS = 128
};

static const char *mode;
static struct {
    char before[BYTES];
    pthread_mutex_t mutex;
    long array[SIDE * SIDE];
    long counted;
    char after[GAP];
} large = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct state {
    unsigned long seed, count;
} states[TILES];
static struct {
    long number, unset;
} gaps[STEPS];
static void *freed[STEPS];
static long *midst, *handed;
static pthread_t thread;
static long *place; /* no variable leads to the matrix */
static starpu_data_handle_t data[TILES * TILES];
static unsigned data_count;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* The first one of SIDE elements is not for work(). */
static int registers_few(void)
{
    return is("content") || is("rand") || is("rand_r");
}

static void must(int status)
{
    if (status != 0)
        exit(3);
}

static void work(long *values, unsigned width, unsigned height, unsigned ld)
{
    for (unsigned round = 0; round < 20; round++)
        for (unsigned j = 0; j < height; j++)
            for (unsigned i = 0; i < width; i++)
                values[i + j * ld] = (values[i + j * ld] * 31 + round + i) % 1000003;
}

/* No variable leads to what tasks write in these modes. */
static void write_beside(long *values)
{
    if (is("middle"))
        values[-1]++;
    if (is("user"))
        ++*(long *)starpu_data_get_user_data(starpu_task_get_current()->handles[0]);
    if (is("content"))
        ++*(long *)values[0];
    if (is("rand"))
        values[1] += rand() % 1000;
    if (is("rand_r"))
        values[1] += rand_r((unsigned *)values) % 1000;
}

static void step(void *buffers[], void *arg)
{
    struct state *state = is("gaps") ? NULL : arg;

    if (is("mutex"))
        pthread_mutex_lock(&large.mutex);
    if (is("tile"))
        work((long *)STARPU_VECTOR_GET_PTR(buffers[0]), SIDE, SIDE, WIDTH);
    else if (is("whole"))
        work((long *)STARPU_MATRIX_GET_PTR(buffers[0]), SIDE, SIDE, WIDTH);
    else if (registers_few())
        work((long *)STARPU_VECTOR_GET_PTR(buffers[0]) + 1, SIDE - 1, 1, SIDE);
    else
        work((long *)STARPU_VECTOR_GET_PTR(buffers[0]), SIDE * SIDE, 1, SIDE * SIDE);
    if (!is("tile") && !is("whole"))
        write_beside((long *)STARPU_VECTOR_GET_PTR(buffers[0]));
    if (is("mutex"))
        pthread_mutex_unlock(&large.mutex);
    if (state)
        state->seed = state->seed * 31 + ++state->count;
    if (place)
        __atomic_add_fetch(place, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

/* Blocks of 3000 bytes follow each other in the heap when all gaps there are full. */
static void lead_beyond(const char *structure)
{
    const char *last = NULL;

    for (unsigned i = 0; i < 1000 && last < structure; i++)
        last = malloc(3000);
    midst[-1] = (last - (char *)midst) | 1;
}

static void *count_on(void *arg)
{
    long *counted = arg;

    while (!__atomic_load_n(&counted[1], __ATOMIC_RELAXED)) {
        counted[0]++;
        usleep(100);
    }
    return NULL;
}

static void prepare(void)
{
    const int kind = is("shared") ? MAP_SHARED : MAP_PRIVATE;

    if (is("table"))
        place = &large.counted;
    if (is("block"))
        place = (long *)calloc(1, BYTES);
    for (unsigned i = 0; is("freed") && i < STEPS; i++)
        freed[i] = malloc(16 + i * 16);
    for (unsigned i = 0; is("freed") && i < STEPS; i++)
        free(freed[i]);
    if (is("midst"))
        midst = (long *)calloc(6, sizeof(*midst)) + 2;
    if (is("shared") || is("private")) {
        place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED)
            exit(3);
    }
}

static void register_data(long *matrix, long *hidden)
{
    if (!is("tile") && !is("whole")) {
        long *array = is("within") || is("mutex") ? large.array : matrix + 8192 * is("middle");
        starpu_vector_data_register(&data[data_count], STARPU_MAIN_RAM, (uintptr_t)array,
                                    registers_few() ? SIDE : SIDE * SIDE, sizeof(*array));
        if (is("user"))
            starpu_data_set_user_data(data[data_count], hidden);
        if (is("content"))
            array[0] = (long)hidden;
        data_count++;
        return;
    }
    for (unsigned j = 0; j < TILES; j++)
        for (unsigned i = 0; i < TILES; i++) {
            uintptr_t first = (uintptr_t)&matrix[i * SIDE + j * SIDE * WIDTH];
            starpu_data_handle_t *tile = &data[data_count++];
            if (is("tile"))
                starpu_vector_data_register(tile, STARPU_MAIN_RAM, first, 1, sizeof(*matrix));
            else
                starpu_matrix_data_register(tile, STARPU_MAIN_RAM, first, WIDTH, SIDE, SIDE,
                                            sizeof(*matrix));
        }
}

static void run(void)
{
    for (unsigned i = 0; i < TASKS; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelet;
        task->handles[0] = data[i % data_count];
        task->cl_arg = is("state") ? &states[i % TILES] : NULL;
        if (is("gaps")) {
            gaps[i % STEPS].unset = (long)data[0] + i % STEPS * 16;
            task->cl_arg = &gaps[i % STEPS];
            task->cl_arg_size = sizeof(gaps[0]);
        }
        must(starpu_task_submit(task));
    }
    must(starpu_task_wait_for_all());
}

int main(int argc, char **argv)
{
    unsigned long sum = 0;

    mode = argc == 2 ? argv[1] : "";
    long *matrix = calloc((size_t)WIDTH * WIDTH, sizeof(*matrix));
    long *hidden = calloc(SIDE, sizeof(*hidden));
    if (is("rand_r"))
        matrix[0] = rand();
    prepare();
    must(starpu_init(NULL));
    register_data(matrix, hidden);
    if (is("midst"))
        lead_beyond((const char *)data[0]);
    if (is("thread"))
        must(pthread_create(&thread, NULL, count_on, handed = calloc(2, sizeof(*handed))));
    for (unsigned phase = 0; phase < (is("state") ? 1 : 4); phase++)
        run();
    if (is("thread")) {
        __atomic_store_n(&handed[1], 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
    }
    while (data_count > 0)
        starpu_data_unregister(data[--data_count]);
    if (is("content"))
        matrix[0] = 0; /* an address */
    for (size_t i = 0; i < (size_t)WIDTH * WIDTH; i++)
        sum = sum * 31 + (unsigned long)matrix[i];
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        sum = sum * 31 + (unsigned long)large.array[i];
    for (unsigned i = 0; i < TILES; i++)
        sum = sum * 31 + states[i].seed;
    printf("%s %lu %ld\n", mode, sum, place ? *place : *hidden);
    starpu_shutdown();
    return 0;
}
