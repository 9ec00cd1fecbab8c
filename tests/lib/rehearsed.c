/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs in a few lines each that depend on what a restart may find changed, for tests of
 * starpu-tic rehearse; the argument names one:
 * workers (the number of workers decides how many tasks there are), fresh (the first content is
 * what malloc() gives), input (the standard input decides how many tasks there are), history
 * (main() reads a vector by its plain pointer while tasks write it), clock (prints a clock), talk
 * (kernels print), murmur (the same into a buffer of its own), varies (counts its runs, and prints
 * another result in the second one under protection and each second one from there), terminal
 * (reads from it), fail (ends with status 3), open (does not shut StarPU down), silent (the same,
 * and prints nothing). */
#include <inttypes.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 40, LENGTH = 1 << 17 };

static bool talks;
static FILE *voice; /* where */

static void advance(void *buffers[], void *arg)
{
    uint64_t *values = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int step;

    starpu_codelet_unpack_args(arg, &step);
    for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        values[i] = values[i] * 31 + (uint64_t)step;
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
    talks = strcmp(name, "talk") == 0 || strcmp(name, "murmur") == 0;
    voice = strcmp(name, "murmur") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : stdout;
    starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)values, (uint32_t)length,
                                sizeof(*values));
    for (int i = 0; i < steps; i++) {
        if (starpu_task_insert(&codelet, STARPU_RW, data, STARPU_VALUE, &i, sizeof(i), 0) != 0)
            return 77;
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
    fflush(voice);
    int runs = strcmp(name, "varies") == 0 ? count_runs() : 0;
    seen += runs >= 5 && runs % 2 == 1;
    printf("result %" PRIu64 " %" PRIu64 "\n", sum(values, length), seen);
    free(values);
    return strcmp(name, "fail") == 0 ? 3 : 0;
}
