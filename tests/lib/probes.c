/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: counts how often it is asked whether memory is mapped (mincore),
 * and how often a thread waits until another one tells it something; writes these numbers to the
 * files TIC_PROBES and TIC_WAITS at exit. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static atomic_ulong probes, waits;

int mincore(void *start, size_t size, unsigned char *there)
{
    int (*real)(void *, size_t, unsigned char *);

    atomic_fetch_add(&probes, 1);
    *(void **)&real = dlsym(RTLD_NEXT, "mincore");
    return real(start, size, there);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*_Atomic real)(pthread_cond_t *, pthread_mutex_t *);

    atomic_fetch_add(&waits, 1);
    if (!atomic_load(&real))
        atomic_store(&real,
                     (int (*)(pthread_cond_t *, pthread_mutex_t *))dlsym(RTLD_NEXT, __func__));
    return atomic_load(&real)(condition, mutex);
}

static void write_count(const char *variable, unsigned long count)
{
    const char *name = getenv(variable);
    FILE *file = name && count > 0 ? fopen(name, "we") : NULL;

    if (!file)
        return;
    fprintf(file, "%lu\n", count);
    fclose(file);
}

__attribute__((destructor)) static void write_counts(void)
{
    write_count("TIC_PROBES", atomic_load(&probes));
    write_count("TIC_WAITS", atomic_load(&waits));
}
