/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: a worker of StarPU that finds no task sleeps for a moment. StarPU
 * of Debian lets it spin, which takes the processors from the threads that have something to do. So
 * does a thread that only yields, such as that of StarPU-MPI. */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { MOMENT_NS = 300000, YIELD_NS = 20000 };

/* StarPU's, which exports it, and calls it by its name where a worker has no task. */
int _starpu_execute_registered_idle_hooks(void);

int _starpu_execute_registered_idle_hooks(void)
{
    static int (*_Atomic next)(void);
    const struct timespec moment = {.tv_nsec = MOMENT_NS};

    if (atomic_load(&next) == NULL)
        atomic_store(&next, (int (*)(void))dlsym(RTLD_NEXT, __func__));
    nanosleep(&moment, NULL);
    return next();
}

int sched_yield(void)
{
    const struct timespec moment = {.tv_nsec = YIELD_NS};

    nanosleep(&moment, NULL);
    return 0;
}
