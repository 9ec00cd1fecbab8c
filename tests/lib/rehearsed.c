/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs in a few lines each that depend on what a restart may find changed, for tests of
 * starpu-tic rehearse; the argument names one:
 * workers (the number of workers decides how many tasks there are), random, process and address
 * (the same by /dev/urandom, getpid() and where malloc() finds memory, with one
 * result), time (the same by time()), fresh (the first content is what malloc()
 * gives), input (the standard input decides how many tasks there are), history (main() reads a
 * vector by its plain pointer while tasks write it), clock (prints a clock), talk (kernels print),
 * murmur (the same into a buffer of its own), varies (counts its runs, and prints another result in
 * the second one under protection and each second one from there), terminal (reads from it), append
 * (each task appends a line to a file), append-main (so does main()), report (main() writes one),
 * stamp (the same with its process), dump (callbacks count in a file, by a function of a library),
 * fail (ends with status 3), open (does not shut StarPU down), silent (the same, and prints
 * nothing). */
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 40, LENGTH = 1 << 17 };

static void append(const char *path, int step)
{
    FILE *file = fopen(path, "a");

    if (!file)
        exit(77);
    fprintf(file, "step %d\n", step);
    fclose(file);
}

static void dump(void *unused)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    (void)unused;
    pthread_mutex_lock(&mutex);
    json_t *before = json_load_file("calls.json", JSON_DECODE_ANY, NULL);
    json_t *number = json_integer(json_integer_value(before) + 1);
    json_decref(before);
    json_dump_file(number, "calls.json", JSON_ENCODE_ANY);
    json_decref(number);
    pthread_mutex_unlock(&mutex);
}

static bool talks, appends;
static FILE *voice; /* where */

static void advance(void *buffers[], void *arg)
{
    uint64_t *values = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int step;

    starpu_codelet_unpack_args(arg, &step);
    for (size_t i = 0; step < STEPS && i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        values[i] = values[i] * 31 + (uint64_t)step;
    if (appends)
        append("steps", step);
    if (talks)
        fprintf(voice, "task %d\n", step);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {advance}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "advance"};

static uint64_t sum(const uint64_t *values, size_t length)
{
    uint64_t total = 0;
    for (size_t i = 0; i < length; i++)
        total += values[i];
    return total;
}

/* Of all runs in this directory. */
static int count_runs(void)
{
    int runs = 0;
    FILE *file = fopen("runs", "a+");

    if (!file || fseek(file, 0, SEEK_SET) != 0)
        return 0;
    while (fgetc(file) != EOF)
        runs++;
    fputc('.', file);
    fclose(file);
    return runs + 1;
}

/* Tasks more, which change nothing. */
static int count_more(const char *name, const void *memory)
{
    uint8_t byte = 0;
    FILE *random = fopen("/dev/urandom", "r");

    if (random && fread(&byte, 1, 1, random) == 1)
        fclose(random);
    if (strcmp(name, "random") == 0)
        return byte;
    if (strcmp(name, "process") == 0)
        return (int)(getpid() % 256);
    if (strcmp(name, "address") == 0)
        return (int)(((uintptr_t)memory >> 12) % 256);
    return strcmp(name, "time") == 0 ? (int)(time(NULL) % 256) : 0;
}

static void read_terminal(void)
{
    FILE *terminal = fopen("/dev/tty", "r");

    if (terminal && fgetc(terminal) != EOF)
        fclose(terminal);
}

static int read_steps(void)
{
    int steps = 0, more;
    while (scanf("%d", &more) == 1)
        steps += more;
    return steps;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool history = strcmp(name, "history") == 0;
    int steps = strcmp(name, "input") == 0 ? read_steps() : STEPS;
    size_t length = history ? LENGTH : 100;
    uint64_t *values = malloc(length * sizeof(*values)), seen = 0;
    starpu_data_handle_t data;

    if (strcmp(name, "terminal") == 0)
        read_terminal();
    if (!values || starpu_init(NULL) != 0)
        return 77;
    if (strcmp(name, "fresh") != 0)
        memset(values, 0, length * sizeof(*values));
    if (strcmp(name, "workers") == 0)
        steps += (int)starpu_worker_get_count();
    steps += count_more(name, values);
    appends = strcmp(name, "append") == 0;
    talks = strcmp(name, "talk") == 0 || strcmp(name, "murmur") == 0;
    voice = strcmp(name, "murmur") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : stdout;
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, (uint32_t)length,
                                sizeof(*values));
    for (int i = 0; i < steps; i++) {
        if (starpu_task_insert(&codelet, STARPU_RW, data, STARPU_VALUE, &i, sizeof(i),
                               STARPU_CALLBACK, strcmp(name, "dump") == 0 ? dump : NULL, 0) != 0)
            return 77;
        if (strcmp(name, "append-main") == 0)
            append("steps", i);
        if (history) {
            starpu_task_wait_for_all();
            seen = seen * 7 + sum(values, length);
        }
    }
    bool silent = strcmp(name, "silent") == 0;
    if (silent || strcmp(name, "open") == 0) {
        starpu_task_wait_for_all();
        if (!silent)
            printf("result %" PRIu64 "\n", sum(values, length));
        return 0;
    }
    starpu_data_unregister(data);
    starpu_shutdown();
    if (strcmp(name, "clock") == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("elapsed %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    }
    if (strcmp(name, "report") == 0)
        append("steps", STEPS);
    if (strcmp(name, "stamp") == 0)
        append("steps", (int)getpid());
    fflush(voice);
    int runs = strcmp(name, "varies") == 0 ? count_runs() : 0;
    seen += runs >= 5 && runs % 2 == 1;
    printf("result %" PRIu64 " %" PRIu64 "\n", sum(values, length), seen);
    free(values);
    return strcmp(name, "fail") == 0 ? 3 : 0;
}
