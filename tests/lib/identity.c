/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program with inputs beside its arguments: identity MODE. Adds a number to a vector in 60
 * tasks, and prints what becomes of it. With "exec" it does so in three phases, each a program of
 * the same process; the phase, in the environment, is the number, and each phase reads and writes
 * the file `number`. With fopen, open, openat, freopen and late the number is in the file `number`,
 * which it opens so, or, if that is not there, it is 1; late: by fopen, when StarPU runs. With
 * "state" it adds 1 to that file at its end; with "own" it writes and reads the file `own`, too;
 * with "many" it looks for 3000 files that are not there, and opens a FIFO and a directory. */
#include <fcntl.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 60, LENGTH = 1000, PHASES = 3 };

static long number_of_environment(const char *name)
{
    const char *text = getenv(name);

    return text ? atol(text) : 1;
}

static void add(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    long number;

    starpu_codelet_unpack_args(arg, &number);
    for (int i = 0; i < LENGTH; i++)
        values[i] = values[i] / 2 + (double)number;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

static void compute(long number)
{
    static double values[LENGTH];
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH,
                                sizeof(double));
    for (int i = 0; i < TASKS; i++)
        if (starpu_task_insert(&add_codelet, STARPU_RW, handle, STARPU_VALUE, &number,
                               sizeof(number), 0) != 0)
            abort();
    starpu_data_unregister(handle);
    printf("%ld: %.17g\n", number, values[0]);
    fflush(stdout);
}

/* As the mode says; 1 if there is no file. */
static long read_number(const char *mode)
{
    FILE *file = NULL;
    long number = 1;
    int fd = -1;

    if (strcmp(mode, "open") == 0)
        fd = open("number", O_RDONLY);
    else if (strcmp(mode, "openat") == 0)
        fd = openat(AT_FDCWD, "number", O_RDONLY | O_CLOEXEC);
    else
        file = strcmp(mode, "freopen") == 0 ? freopen("number", "r", stdin) : fopen("number", "r");
    if (fd >= 0)
        file = fdopen(fd, "r");
    if (file && fscanf(file, "%ld", &number) != 1)
        abort();
    if (file)
        fclose(file);
    return number;
}

static void write_number(const char *name, long number)
{
    FILE *file = fopen(name, "w");

    if (!file || fprintf(file, "%ld\n", number) < 0 || fclose(file) != 0)
        abort();
}

/* What it writes differs in each run, and is read again. */
static void use_own(void)
{
    write_number("own", (long)getpid());
    fclose(fopen("own", "r"));
}

static void open_many(void)
{
    char name[32];

    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "none/%d", i);
        if (fopen(name, "r"))
            abort();
    }
    close(open("fifo", O_RDONLY | O_NONBLOCK));
    close(open(".", O_RDONLY | O_DIRECTORY));
}

static void go_on(char **argv, long phase)
{
    char text[32];

    snprintf(text, sizeof(text), "%ld", phase + 1);
    setenv("PHASE", text, 1);
    if (getenv("EACH")) /* phase has a directory of its own */
        setenv("STARPU_TIC_DIR", text, 1);
    execv("/proc/self/exe", argv);
    abort();
}

int main(int argc, char *argv[])
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool executes = strcmp(mode, "exec") == 0, late = strcmp(mode, "late") == 0;
    long phase = number_of_environment("PHASE"), number = phase;

    if (!late)
        number = read_number(mode);
    if (executes)
        number = phase;
    if (strcmp(mode, "many") == 0)
        open_many();
    if (starpu_init(NULL) != 0)
        return 77;
    if (late)
        number = read_number(mode);
    if (strcmp(mode, "own") == 0)
        use_own();
    if (strcmp(mode, "rewrite") == 0)
        write_number("number", number + 1);
    compute(number);
    starpu_shutdown();
    if (strcmp(mode, "state") == 0 || executes)
        write_number("number", number + 1);
    if (executes && phase < PHASES)
        go_on(argv, phase);
    return 0;
}
