/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preloaded library for tests, after the plug-in: pinned memory as drivers have it. What overlaps
 * pinned memory is refused, and the process aborts where somebody unpins what is not pinned, or
 * gives back what is. With PINS=FILE it writes there how often was pinned, how often refused, how
 * many bytes were pinned at most, and how many at the end. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 256 };

static struct {
    pthread_mutex_t mutex;
    struct {
        char *at;
        size_t bytes;
    } items[MOST];
    unsigned count, pinned, refused;
    size_t bytes, most;
} pins = {.mutex = PTHREAD_MUTEX_INITIALIZER};

int starpu_memory_pin(void *at, size_t bytes);
int starpu_memory_unpin(void *at, size_t bytes);

static unsigned find(const char *at, size_t bytes)
{
    unsigned i = 0;

    while (i < pins.count &&
           (at >= pins.items[i].at + pins.items[i].bytes || at + bytes <= pins.items[i].at))
        i++;
    return i;
}

int starpu_memory_pin(void *at, size_t bytes)
{
    pthread_mutex_lock(&pins.mutex);
    int fits = pins.count < MOST && find(at, bytes) == pins.count;
    if (fits) {
        pins.items[pins.count].at = at;
        pins.items[pins.count++].bytes = bytes;
        pins.bytes += bytes;
        pins.most = pins.bytes > pins.most ? pins.bytes : pins.most;
        pins.pinned++;
    } else {
        pins.refused++;
    }
    pthread_mutex_unlock(&pins.mutex);
    return fits ? 0 : -1;
}

int starpu_memory_unpin(void *at, size_t bytes)
{
    pthread_mutex_lock(&pins.mutex);
    unsigned i = find(at, bytes);
    if (i == pins.count || pins.items[i].at != at || pins.items[i].bytes != bytes)
        abort();
    pins.items[i] = pins.items[--pins.count];
    pins.bytes -= bytes;
    pthread_mutex_unlock(&pins.mutex);
    return 0;
}

static void check(const char *at, size_t bytes)
{
    pthread_mutex_lock(&pins.mutex);
    if (bytes > 0 && find(at, bytes) < pins.count)
        abort();
    pthread_mutex_unlock(&pins.mutex);
}

void free(void *block)
{
    static void (*real)(void *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "free");
    if (block)
        check(block, malloc_usable_size(block));
    real(block);
}

int munmap(void *at, size_t bytes)
{
    static int (*real)(void *, size_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "munmap");
    check(at, bytes);
    return real(at, bytes);
}

void *mremap(void *at, size_t bytes, size_t wanted, int flags, ...)
{
    static void *(*real)(void *, size_t, size_t, int, ...);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "mremap");
    check(at, bytes);
    return real(at, bytes, wanted, flags);
}

__attribute__((destructor)) static void write_counts(void)
{
    FILE *file = getenv("PINS") ? fopen(getenv("PINS"), "w") : NULL;

    if (!file)
        return;
    fprintf(file, "%u %u %zu %zu\n", pins.pinned, pins.refused, pins.most, pins.bytes);
    fclose(file);
}
