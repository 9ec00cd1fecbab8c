/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small StarPU program with knobs, for tests of how starpu-tic starts, ends and refuses.
 * Adds and doubles 4 vectors in turns, prints their sums. Knobs are environment variables, so that
 * the command stays the same: P_INPUT (initial value), P_SWAP (task number that is another one),
 * P_CRASH (task number that aborts the program), P_BLOCK (task number that holds as P_HOLD does),
 * P_TRAP (1 before, 2 after it starts StarPU: a handler of SIGTERM that ends with status 9),
 * P_FORK (sends SIGTERM to a child that it forks, and prints whether it dies of it),
 * P_TASKS (how many), P_LENGTH (elements, up to 4000), P_EXIT (exit status), P_POLICY (asked for in
 * starpu_conf), P_TIME (prints time() before and after starpu_init), P_NOSHUTDOWN, P_QUIET (prints
 * sums only), P_REQUEST (asks for checkpoints), P_SHOW (prints which scheduling policy runs),
 * P_LATE (dies by SIGKILL in an exit handler that it registers before it starts StarPU),
 * P_HOLD (once StarPU runs, opens the FIFO `ready` for writing, then waits at the FIFO `go`),
 * P_PAUSE (does the same when so many tasks have ended, before it submits the others),
 * P_FREEZE (when so many tasks have ended, and if there is a FIFO `ready`, lets StarPU begin no
 * more tasks, opens the FIFO for writing, and submits the others, which main() waits for in vain),
 * P_START (a command that it runs when it has submitted its tasks), P_POST (kernels that add post a
 * semaphore, which main() awaits for each of them). */
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "starpu_tic.h"

enum { VECTORS = 4, LONGEST = 4000 };
static int length = 1000;

static long knob(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text ? atol(text) : fallback;
}

static sem_t posted;
static long posts; /* tasks that add, if they post */
static bool is_posting;

static void add(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 0; i < length; i++)
        values[i] += 1;
    if (is_posting)
        sem_post(&posted);
}

static void twice(void *buffers[], void *arg)
{
    double *values = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    (void)arg;
    for (int i = 0; i < length; i++)
        values[i] = values[i] * 2 - values[i] / 2;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};
static struct starpu_codelet twice_codelet = {
    .cpu_funcs = {twice}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "twice"};

static void crash(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    abort();
}

static struct starpu_codelet crash_codelet = {
    .cpu_funcs = {crash}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "crash"};

static void hold(void)
{
    fclose(fopen("ready", "w"));
    fclose(fopen("go", "r"));
}

static void block(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    hold();
}

static struct starpu_codelet block_codelet = {
    .cpu_funcs = {block}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "block"};

static void end(int signal)
{
    (void)signal;
    _exit(9);
}

static void freeze(void)
{
    starpu_task_wait_for_all();
    if (access("ready", F_OK) != 0)
        return;
    starpu_pause();
    fclose(fopen("ready", "w"));
}

static void submit_all(starpu_data_handle_t handles[VECTORS])
{
    long tasks = knob("P_TASKS", 200), swap = knob("P_SWAP", -1), pause = knob("P_PAUSE", 0);
    long bad = knob("P_CRASH", -1), slow = knob("P_BLOCK", -1);

    for (long i = 0; i < tasks; i++) {
        if (pause > 0 && i == pause) {
            starpu_task_wait_for_all();
            hold();
        }
        if (i > 0 && i == knob("P_FREEZE", 0))
            freeze();
        int which = (i % 3 == 0) != (i == swap);
        posts += !which && knob("P_POST", 0);
        struct starpu_codelet *codelet = i == bad    ? &crash_codelet
                                         : i == slow ? &block_codelet
                                         : which     ? &twice_codelet
                                                     : &add_codelet;
        if (starpu_task_insert(codelet, STARPU_RW, handles[i % VECTORS], 0) != 0)
            abort();
        if (knob("P_REQUEST", 0) && i % 50 == 0)
            starpu_tic_checkpoint_request();
    }
}

static void kill_child(void)
{
    int status = 0;
    pid_t child = fork();

    while (child == 0)
        pause();
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    puts(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? "the child is dead" : "it is not");
}

static void print_progress(void)
{
    struct starpu_tic_progress progress;
    int status = starpu_tic_get_progress(&progress);
    printf("progress: status %d recovered %d skipped all %d replaying %d\n", status,
           progress.recovered, progress.skipped_tasks == progress.recovered_tasks,
           progress.replaying);
}

static void die(void)
{
    raise(SIGKILL);
}

int main(void)
{
    static double vectors[VECTORS][LONGEST];
    starpu_data_handle_t handles[VECTORS];
    struct starpu_conf conf;

    length = (int)knob("P_LENGTH", length);
    if (knob("P_LATE", 0))
        atexit(die);
    for (int v = 0; v < VECTORS; v++)
        for (int i = 0; i < length; i++)
            vectors[v][i] = (double)knob("P_INPUT", 1) + v;
    if (knob("P_TIME", 0))
        printf("time before %ld\n", (long)time(NULL));
    if (knob("P_TRAP", 0) == 1)
        signal(SIGTERM, end);
    starpu_conf_init(&conf);
    if (getenv("P_POLICY"))
        conf.sched_policy_name = getenv("P_POLICY");
    if (starpu_init(&conf) != 0)
        return 77;
    if (knob("P_TRAP", 0) == 2)
        signal(SIGTERM, end);
    if (knob("P_SHOW", 0))
        printf("policy %s\n", starpu_sched_ctx_get_sched_policy(0)->policy_name);
    if (knob("P_HOLD", 0))
        hold();
    if (knob("P_TIME", 0))
        printf("time after %ld\n", (long)time(NULL));
    for (int v = 0; v < VECTORS; v++)
        starpu_vector_data_register(&handles[v], STARPU_MAIN_RAM, (uintptr_t)vectors[v],
                                    (uint32_t)length, sizeof(double));
    sem_init(&posted, 0, 0);
    is_posting = knob("P_POST", 0) != 0;
    submit_all(handles);
    for (; posts > 0; posts--)
        while (sem_wait(&posted) != 0)
            ;
    if (getenv("P_START") && system(getenv("P_START")) != 0)
        puts("the command failed");
    if (knob("P_FORK", 0))
        kill_child();
    if (!knob("P_QUIET", 0))
        print_progress();
    for (int v = 0; v < VECTORS; v++)
        starpu_data_unregister(handles[v]);
    for (int v = 0; v < VECTORS; v++)
        printf("%.17g\n", vectors[v][0]);
    if (!knob("P_NOSHUTDOWN", 0))
        starpu_shutdown();
    return (int)knob("P_EXIT", 0);
}
