/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes away what a process shares with the libraries in it: takes ACTION SEED FOLDER FILES. In the
 * middle of its tasks, and again later, it does so, then opens that many small files in the folder,
 * writes them, and keeps them open. It compares them with what it wrote before it opens them anew,
 * and when StarPU has ended, and prints the sums of its data. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VECTORS = 8, LENGTH = 4096, TASKS = 480, TAKEN = 120, MOST = 1024, TEXT = 64 };

static const char *folder;
static unsigned seed, files;
static unsigned written, changed; /* files: there are; were other than written, each time */
static int opened[MOST];

/* ---- the actions ---------------------------------------------------------------------------- */

static void take_closefrom(void)
{
    closefrom(STDERR_FILENO + 1);
}

static void take_close(void)
{
    for (int fd = STDERR_FILENO + 1; fd < MOST; fd++)
        close(fd);
}

static void take_close_plainly(void)
{
    for (int fd = STDERR_FILENO + 1; fd < MOST; fd++)
        syscall(SYS_close, fd);
}

static void take_close_range(void)
{
    close_range(STDERR_FILENO + 1, ~0u, 0);
}

static void take_close_range_plainly(void)
{
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0u);
}

static void take_all(void)
{
    syscall(SYS_close_range, 0u, ~0u, 0u);
}

/* Each number that is in use becomes the same file. */
static void take_over(int (*duplicate)(int from, int to))
{
    char path[512];

    snprintf(path, sizeof(path), "%s/over", folder);
    int from = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int fd = STDERR_FILENO + 1; fd < MOST; fd++)
        if (fd != from && fcntl(fd, F_GETFD) >= 0)
            duplicate(from, fd);
}

static void take_dup2(void)
{
    take_over(dup2);
}

static int dup3_plainly(int from, int to)
{
    return (int)syscall(SYS_dup3, from, to, O_CLOEXEC);
}

static void take_dup3_plainly(void)
{
    take_over(dup3_plainly);
}

static void take_flags(void)
{
    for (int fd = STDERR_FILENO + 1; fd < MOST; fd++) {
        fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
        fcntl(fd, F_SETFD, 0);
    }
}

static void take_directory(void)
{
    if (chdir("/") != 0)
        abort();
}

static void take_umask(void)
{
    umask(0777);
}

static void take_signals(void)
{
    sigset_t all;

    for (int signal = 1; signal < SIGRTMIN; signal++)
        if (signal != SIGSEGV && signal != SIGBUS)
            sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void take_limits(void)
{
    struct rlimit none = {8, 8};

    setrlimit(RLIMIT_NOFILE, &none);
    take_closefrom();
    files = 4;
}

static void take_environment(void)
{
    clearenv();
}

static const struct action {
    const char *name;
    void (*take)(void);
} actions[] = {{"closefrom", take_closefrom},
               {"close", take_close},
               {"close-plainly", take_close_plainly},
               {"close_range", take_close_range},
               {"close_range-plainly", take_close_range_plainly},
               {"all", take_all},
               {"dup2", take_dup2},
               {"dup3-plainly", take_dup3_plainly},
               {"flags", take_flags},
               {"directory", take_directory},
               {"umask", take_umask},
               {"signals", take_signals},
               {"limits", take_limits},
               {"environment", take_environment}};
enum { ACTIONS = sizeof(actions) / sizeof(actions[0]), RANDOM = 9 /* those of descriptors */ };

/* ---- files ---------------------------------------------------------------------------------- */

static void name_file(char path[512], unsigned i)
{
    snprintf(path, 512, "%s/%u", folder, i);
}

static int fill(char text[TEXT], unsigned i)
{
    return snprintf(text, TEXT, "file %u of %u\n", i, seed);
}

static void open_files(void)
{
    char path[512], text[TEXT];

    for (written = 0; written < files && written < MOST; written++) {
        unsigned i = written;
        name_file(path, i);
        opened[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (opened[i] >= 0)
            chmod(path, 0600);
        if (opened[i] < 0 || pwrite(opened[i], text, (size_t)fill(text, i), 0) <= 0)
            abort();
    }
}

static void compare_files(void)
{
    char path[512], text[TEXT], there[TEXT];

    for (unsigned i = 0; i < written; i++) {
        name_file(path, i);
        FILE *file = fopen(path, "re");
        size_t length = (size_t)fill(text, i);
        size_t got = file ? fread(there, 1, sizeof(there), file) : 0;
        changed += got != length || memcmp(text, there, length) != 0;
        if (file)
            fclose(file);
    }
}

/* ---- at random ------------------------------------------------------------------------------ */

static atomic_bool over;

/* Any action on descriptors, at any time. */
static void *take_often(void *unused)
{
    unsigned state = seed;

    (void)unused;
    while (!atomic_load(&over)) {
        unsigned kind = (unsigned)rand_r(&state) % (RANDOM + 1);
        if (kind == 5) /* its output is to be seen */
            continue;
        compare_files();
        actions[kind < RANDOM ? kind : 0].take();
        open_files();
        usleep((useconds_t)rand_r(&state) % 3000);
    }
    return NULL;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void add(void *buffers[], void *arg)
{
    unsigned *to = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const unsigned *from = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (int round = 0; round < 20; round++)
        for (unsigned i = 0; i < LENGTH; i++)
            to[i] = to[i] * 3 + from[(i + 1) % LENGTH];
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "add"};

static void run_tasks(const struct action *action, starpu_data_handle_t data[VECTORS])
{
    for (unsigned i = 0; i < TASKS; i++) {
        if (action && i % TAKEN == TAKEN - 1) {
            starpu_task_wait_for_all();
            compare_files();
            action->take();
            open_files();
        }
        if (starpu_task_insert(&codelet, STARPU_RW, data[i % VECTORS], STARPU_R,
                               data[(i * 3 + 1) % VECTORS], 0) != 0)
            abort();
    }
    starpu_task_wait_for_all();
}

static const struct action *find(const char *name)
{
    for (unsigned i = 0; i < ACTIONS; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static unsigned values[VECTORS][LENGTH];
    starpu_data_handle_t data[VECTORS];
    pthread_t thread;

    if (argc != 5)
        return 2;
    const struct action *action = find(argv[1]);
    seed = (unsigned)strtoul(argv[2], NULL, 10);
    folder = argv[3];
    files = (unsigned)strtoul(argv[4], NULL, 10);
    int out = action && action->take == take_all ? -1 : STDOUT_FILENO;
    if (starpu_init(NULL) != 0)
        return 77;
    for (unsigned i = 0; i < VECTORS; i++) {
        values[i][seed % LENGTH] = i + 1;
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)values[i], LENGTH,
                                    sizeof(values[i][0]));
    }
    if (!action && pthread_create(&thread, NULL, take_often, NULL) != 0)
        return 77;
    run_tasks(action, data);
    atomic_store(&over, true);
    if (!action)
        pthread_join(thread, NULL);
    unsigned sum = 0;
    for (unsigned i = 0; i < VECTORS; i++) {
        starpu_data_unregister(data[i]);
        for (unsigned k = 0; k < LENGTH; k++)
            sum = sum * 31 + values[i][k];
    }
    starpu_shutdown();
    compare_files();
    if (out < 0) { /* that is a file by now */
        char path[512];
        snprintf(path, sizeof(path), "%s/out", folder);
        if (!freopen(path, "w", stdout))
            return 1;
    }
    printf("%08x, files changed: %u\n", sum, changed);
    return changed > 0;
}
