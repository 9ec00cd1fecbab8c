/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests, after the plug-in: whoever ends an access stays in StarPU's
 * function until another thread ends one on the same data, or some time has passed. With ENDS=FILE
 * it writes there how many were ended, and how often a second one came. */
#include <dlfcn.h>
#include <pthread.h>
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64, STAYS_NS = 10000000 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct {
        starpu_data_handle_t data;
        pthread_t thread;
    } inside[MOST];
    unsigned count, all, twice;
} ends = {.mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static bool is_inside_locked(starpu_data_handle_t data, bool own)
{
    unsigned i = 0;

    while (i < ends.count && (ends.inside[i].data != data ||
                              (pthread_equal(ends.inside[i].thread, pthread_self()) != 0) != own))
        i++;
    return i < ends.count;
}

static void stay_locked(void)
{
    const unsigned before = ends.twice;
    struct timespec until;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += STAYS_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (status == 0 && ends.twice == before)
        status = pthread_cond_timedwait(&ends.came, &ends.mutex, &until);
}

static void come(starpu_data_handle_t data)
{
    pthread_mutex_lock(&ends.mutex);
    ends.all++;
    if (is_inside_locked(data, false)) {
        ends.twice++;
        pthread_cond_broadcast(&ends.came);
    }
    bool first = !is_inside_locked(data, true);
    ends.inside[ends.count].data = data;
    ends.inside[ends.count++].thread = pthread_self();
    if (first)
        stay_locked();
    pthread_mutex_unlock(&ends.mutex);
}

static void go(starpu_data_handle_t data)
{
    pthread_mutex_lock(&ends.mutex);
    unsigned i = 0;
    while (ends.inside[i].data != data || !pthread_equal(ends.inside[i].thread, pthread_self()))
        i++;
    ends.inside[i] = ends.inside[--ends.count];
    pthread_mutex_unlock(&ends.mutex);
}

void starpu_data_release(starpu_data_handle_t data)
{
    typeof(&starpu_data_release) real = dlsym(RTLD_NEXT, "starpu_data_release");

    come(data);
    real(data);
    go(data);
}

void starpu_data_release_on_node(starpu_data_handle_t data, int node)
{
    typeof(&starpu_data_release_on_node) real = dlsym(RTLD_NEXT, "starpu_data_release_on_node");

    come(data);
    real(data, node);
    go(data);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("ENDS");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file && fprintf(file, "%u %u\n", ends.all, ends.twice) > 0)
        fclose(file);
}
