/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests: counts how often it is asked whether memory is mapped (mincore),
 * and writes the number to the file TIC_PROBES at exit. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static atomic_ulong probes;

int mincore(void *start, size_t size, unsigned char *there)
{
    int (*real)(void *, size_t, unsigned char *);

    atomic_fetch_add(&probes, 1);
    *(void **)&real = dlsym(RTLD_NEXT, "mincore");
    return real(start, size, there);
}

__attribute__((destructor)) static void write_count(void)
{
    const char *name = getenv("TIC_PROBES");
    FILE *file = name && probes > 0 ? fopen(name, "we") : NULL;

    if (!file)
        return;
    fprintf(file, "%lu\n", atomic_load(&probes));
    fclose(file);
}
