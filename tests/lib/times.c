/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: when tasks begin and end, and recovery lines are committed, in the
 * file TIC_TIMES, a record each; what is written survives SIGKILL. With TIC_TIMES_KILL it kills the
 * process so many microseconds after StarPU was started. A task has ended when the hooks of
 * protection have: what it wrote is then as durable as it will be. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <starpu.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum kind { BEGINS = 0, ENDS = 1, COMMITS = 2, KILLED = 3, STARTS = 4 };

struct record {
    uint64_t time; /* nanoseconds, CLOCK_REALTIME */
    uint64_t task; /* the same in each run */
    uint32_t worker, kind;
};

static const char *path; /* of the file; NULL: none */
/* Threads of the library have another table of descriptors than the program's. */
static __thread int file = -1;
static struct starpu_sched_policy policy; /* as it was before */
static __thread uint64_t current;

static void note(enum kind kind, uint64_t task)
{
    struct timespec now;

    if (!path)
        return;
    if (file < 0)
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    clock_gettime(CLOCK_REALTIME, &now);
    struct record record = {(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, task,
                            (uint32_t)starpu_worker_get_id(), kind};
    if (write(file, &record, sizeof(record)) != sizeof(record))
        abort();
}

/* Tasks of main() have their number, others what they do: codelet and arguments. 0: not protected,
 * or one of protection's own. */
static uint64_t identify(const struct starpu_task *task)
{
    const char *name = task->cl && task->cl->name ? task->cl->name : "";
    const unsigned char *bytes = task->cl_arg;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (task->hypervisor_tag == 0 || strncmp(name, "tic_", 4) == 0)
        return 0;
    if (task->hypervisor_tag > 0)
        return (uint64_t)task->hypervisor_tag;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    for (size_t i = 0; bytes && i < task->cl_arg_size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash | UINT64_C(1) << 63;
}

static void begin(struct starpu_task *task, unsigned context)
{
    current = identify(task);
    if (current)
        note(BEGINS, current);
    if (policy.pre_exec_hook)
        policy.pre_exec_hook(task, context);
}

static void end(struct starpu_task *task, unsigned context)
{
    if (policy.post_exec_hook)
        policy.post_exec_hook(task, context);
    if (current)
        note(ENDS, current);
    current = 0;
}

static void *kill_later(void *arg)
{
    uint64_t microseconds = strtoull(arg, NULL, 10);
    struct timespec wait = {(time_t)(microseconds / 1000000),
                            (long)(microseconds % 1000000) * 1000};

    while (nanosleep(&wait, &wait) != 0)
        ;
    note(KILLED, 0);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void watch(void)
{
    struct starpu_sched_policy *own = starpu_sched_ctx_get_sched_policy(0);
    const char *when = getenv("TIC_TIMES_KILL");
    pthread_t thread;

    if (!own || !getenv("TIC_TIMES") || policy.policy_name)
        return;
    path = getenv("TIC_TIMES");
    policy = *own;
    own->pre_exec_hook = begin;
    own->post_exec_hook = end;
    note(STARTS, 0);
    if (when && pthread_create(&thread, NULL, kill_later, (void *)when) != 0)
        abort();
}

int starpu_init(struct starpu_conf *conf)
{
    int (*next)(struct starpu_conf *) = dlsym(RTLD_NEXT, "starpu_init");
    int status = next(conf);

    if (status == 0)
        watch();
    return status;
}

int renameat(int from, const char *old, int to, const char *new)
{
    int (*next)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");
    int status = next(from, old, to, new);

    if (status == 0 && strstr(new, "-line-"))
        note(COMMITS, 0);
    return status;
}
