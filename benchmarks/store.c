/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a checkpoint writes, against plain pwrite: store FOLDER VALUES BYTES SYNC(0|1) [THREADS].
 * In turn, eight times: VALUES values of BYTES bytes are saved into the store and committed as a
 * recovery line; the same bytes are written by plain pwrite, by as many threads, into one of three
 * preallocated files, as the store must leave the last two lines alone. With SYNC both end with
 * fdatasync. Prints a line for each: "store|plain seconds bytes". */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/h5.h"
#include "store/store.h"

enum { ROUNDS = 8, MOST_THREADS = 16, PLAIN_FILES = TIC_KEPT_DEFAULT + 1 };

static struct {
    struct tic_store store;
    char *memory;
    uint64_t values, bytes;
    struct tic_line_value *saved;
    bool sync;
    unsigned threads;
    int plain[PLAIN_FILES];
    unsigned round;
} bench;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "store: %s fails\n", what);
    exit(1);
}

/* Each thread every so many values. */
static void *save(void *arg)
{
    for (uint64_t i = (uintptr_t)arg; i < bench.values; i += bench.threads) {
        struct tic_layout layout = {.shape = {1, 1, {bench.bytes, 1, 1, 1}},
                                    .base = bench.memory + i * bench.bytes,
                                    .stride = {1}};
        struct tic_saved saved;
        must(tic_store_save(&bench.store, &layout, &saved) == 0, "saving");
        tic_rows_settle(&bench.store.rows, saved.row);
        bench.saved[i] = (struct tic_line_value){.id = i,
                                                 .version = 1,
                                                 .checksum = saved.checksum,
                                                 .extent = saved.row.extent,
                                                 .row = saved.row.row};
    }
    return NULL;
}

static void *write_plain(void *arg)
{
    const int file = bench.plain[bench.round % PLAIN_FILES];

    for (uint64_t i = (uintptr_t)arg; i < bench.values; i += bench.threads)
        must(pwrite(file, bench.memory + i * bench.bytes, bench.bytes, (off_t)(i * bench.bytes)) ==
                 (ssize_t)bench.bytes,
             "pwrite");
    return NULL;
}

static void on_threads(void *(*run)(void *))
{
    pthread_t threads[MOST_THREADS];

    for (unsigned i = 1; i < bench.threads; i++)
        must(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0, "a thread");
    run((void *)0);
    for (unsigned i = 1; i < bench.threads; i++)
        pthread_join(threads[i], NULL);
}

static void commit(void)
{
    struct tic_line line = {.tasks_done = 0};

    line.values = calloc(bench.values, sizeof(*line.values));
    must(line.values != NULL, "memory");
    memcpy(line.values, bench.saved, bench.values * sizeof(*line.values));
    line.value_count = bench.values;
    line.version = strdup("");
    line.starpu = strdup("");
    line.host = strdup("");
    line.program = strdup("");
    line.directory = strdup("");
    line.arguments.text = calloc(1, 1);
    must(tic_store_commit(&bench.store, &line) == 0, "the commit");
    tic_rows_sweep_begin(&bench.store.rows);
    tic_store_mark_kept(&bench.store);
    tic_rows_sweep_end(&bench.store.rows);
}

/* What is stored already would not be written again. */
static void make_new(void)
{
    static uint64_t next;

    for (uint64_t i = 0; i < bench.values; i++, next++)
        memcpy(bench.memory + i * bench.bytes, &next,
               bench.bytes < sizeof(next) ? bench.bytes : sizeof(next));
}

static void round_of_both(void)
{
    uint64_t total = bench.values * bench.bytes;
    struct tic_demand demand = {{.element_size = 1, .ndim = 1, .dims = {bench.bytes, 1, 1, 1}},
                                bench.values};

    make_new();
    double start = now();

    must(tic_store_provide(&bench.store, &demand, 1) == 0, "formatting");
    on_threads(save);
    commit();
    printf("store %.6f %llu\n", now() - start, (unsigned long long)total);
    start = now();
    on_threads(write_plain);
    must(!bench.sync || fdatasync(bench.plain[bench.round % PLAIN_FILES]) == 0, "fdatasync");
    printf("plain %.6f %llu\n", now() - start, (unsigned long long)total);
}

int main(int argc, char **argv)
{
    char name[4096];

    if (argc < 5)
        return 2;
    bench.values = strtoull(argv[2], NULL, 0);
    bench.bytes = strtoull(argv[3], NULL, 0);
    bench.sync = atoi(argv[4]) != 0;
    bench.threads = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
    bench.memory = malloc(bench.values * bench.bytes);
    bench.saved = calloc(bench.values, sizeof(*bench.saved));
    must(bench.memory && bench.saved && bench.threads >= 1 && bench.threads <= MOST_THREADS,
         "memory");
    memset(bench.memory, 7, bench.values * bench.bytes);
    for (unsigned i = 0; i < PLAIN_FILES; i++) {
        snprintf(name, sizeof(name), "%s/plain%u", argv[1], i);
        bench.plain[i] = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        must(bench.plain[i] >= 0 &&
                 posix_fallocate(bench.plain[i], 0, (off_t)(bench.values * bench.bytes)) == 0,
             "preallocation");
    }
    snprintf(name, sizeof(name), "%s/store", argv[1]);
    must(tic_store_open(&bench.store, name, TIC_STORE_CREATE, bench.sync, &tic_h5_ops) == 0,
         "opening");
    for (bench.round = 0; bench.round < ROUNDS; bench.round++)
        round_of_both();
    tic_store_remove(&bench.store);
    tic_store_close(&bench.store);
    return 0;
}
