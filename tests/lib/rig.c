/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Store, graph and snapshot put together without StarPU. */
#include "lib/rig.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/fakedata.h"
#include "recovery/recovery.h"

enum { STATUS_BASE = 1000 };

static void require(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "test rig: %s\n", what);
    abort();
}

static void describe_run(const struct tic_rig *rig, struct tic_line *about)
{
    about->workers = TIC_RIG_WORKERS;
    about->version = strdup("0.0");
    about->starpu = strdup(rig->starpu);
    about->host = strdup("host");
    about->program = strdup(rig->program);
    about->directory = strdup("/");
    about->arguments.text = strdup(rig->argument);
    about->arguments.size = strlen(rig->argument) + 1;
}

void tic_rig_prepare(struct tic_rig *rig)
{
    tic_log_set_level(TIC_LOG_WARN);
    require(tic_graph_init(&rig->graph) == 0, "graph");
    require(tic_snapshot_init(&rig->snapshot, &rig->graph, &rig->store, TIC_RIG_WORKERS + 1) == 0,
            "snapshot");
    describe_run(rig, &rig->snapshot.about);
    rig->running = true;
}

bool tic_rig_open_store(struct tic_rig *rig)
{
    return tic_recovery_open(&rig->snapshot, rig->dir.path, true, false, &tic_h5_ops) == 1;
}

bool tic_rig_start(struct tic_rig *rig)
{
    tic_rig_prepare(rig);
    return tic_rig_open_store(rig);
}

void tic_rig_stop(struct tic_rig *rig)
{
    tic_snapshot_fini(&rig->snapshot);
    tic_graph_fini(&rig->graph);
    tic_store_close(&rig->store);
    rig->running = false;
}

void tic_rig_open(struct tic_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->program = "program";
    rig->starpu = "1.3";
    rig->argument = "-n";
    tic_tmpdir_create(&rig->dir);
    require(!tic_rig_start(rig), "an empty directory has nothing to recover");
}

void tic_rig_close(struct tic_rig *rig)
{
    if (rig->running)
        tic_rig_stop(rig);
    tic_tmpdir_remove(&rig->dir);
}

int tic_rig_finish(struct tic_rig *rig)
{
    bool broken = tic_snapshot_is_broken(&rig->snapshot);

    tic_rig_close(rig);
    return broken ? -1 : 0;
}

bool tic_rig_restart(struct tic_rig *rig)
{
    tic_rig_stop(rig);
    return tic_rig_start(rig);
}

/* ---- the owner thread ----------------------------------------------------------------------- */

struct tic_handle *tic_rig_register(struct tic_rig *rig, uint64_t *base, uint64_t words)
{
    struct tic_handle *handle = tic_graph_add_handle(&rig->graph);
    require(handle != NULL, "memory");
    handle->layout = tic_fake_vector(base, sizeof(*base), words);
    handle->supported = true;
    return handle;
}

bool tic_rig_submit(struct tic_rig *rig, uint64_t count)
{
    struct tic_signature *signature = &rig->graph.signature;
    while (signature->position < count)
        if (tic_signature_submit(signature, signature->position, 0) != 0)
            return false;
    return true;
}

void tic_rig_provide(struct tic_rig *rig, const struct tic_handle *handle, uint64_t count)
{
    struct tic_demand demand = {handle->layout.shape, count};
    require(tic_store_provide(&rig->store, &demand, 1) == 0, "rows");
}

/* ---- workers -------------------------------------------------------------------------------- */

void tic_rig_begin(struct tic_rig *rig, unsigned worker, uint64_t sequence,
                   struct tic_handle *handle)
{
    struct tic_slot *slot = tic_cut_slot(&rig->snapshot.cut, worker);
    uint64_t epoch = tic_cut_begin(&rig->snapshot.cut, slot, sequence);
    if (handle)
        tic_snapshot_write(&rig->snapshot, slot, epoch, handle);
    tic_cut_running(slot, epoch);
}

void tic_rig_end(struct tic_rig *rig, unsigned worker)
{
    tic_snapshot_task_end(&rig->snapshot, tic_cut_slot(&rig->snapshot.cut, worker));
}

void tic_rig_task(struct tic_rig *rig, uint64_t sequence, struct tic_handle *handle, uint64_t word)
{
    require(tic_rig_submit(rig, sequence + 1), "the replay differs");
    tic_rig_begin(rig, 0, sequence, handle);
    *(uint64_t *)handle->layout.base = word;
    tic_rig_end(rig, 0);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static void *run_checkpoint(void *arg)
{
    struct tic_rig *rig = arg;
    atomic_store(&rig->checkpoint_done, STATUS_BASE + tic_checkpoint_run(&rig->snapshot));
    return NULL;
}

void tic_rig_hold(struct tic_rig *rig)
{
    uint64_t epoch = atomic_load(&rig->snapshot.cut.epoch);

    atomic_store(&rig->checkpoint_done, 0);
    tic_rig_begin(rig, TIC_RIG_HOLDER, UINT32_MAX, NULL);
    require(pthread_create(&rig->checkpoint, NULL, run_checkpoint, rig) == 0, "thread");
    while (atomic_load(&rig->snapshot.cut.epoch) == epoch) {
        require(atomic_load(&rig->checkpoint_done) == 0, "the checkpoint took no cut");
        sched_yield();
    }
}

int tic_rig_release(struct tic_rig *rig)
{
    tic_rig_end(rig, TIC_RIG_HOLDER);
    pthread_join(rig->checkpoint, NULL);
    return atomic_load(&rig->checkpoint_done) - STATUS_BASE;
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct newest {
    struct tic_store *store;
    struct tic_line *line;
    bool found;
};

static bool take_good(void *arg, const char *name, int status, struct tic_line *line)
{
    struct newest *newest = arg;
    (void)name;
    if (status != 0 || tic_store_check(newest->store, line) != 0)
        return false;
    *newest->line = *line;
    memset(line, 0, sizeof(*line));
    newest->found = true;
    return true;
}

bool tic_rig_newest(const struct tic_rig *rig, struct tic_line *line)
{
    struct tic_store store;
    struct newest newest = {&store, line, false};

    require(tic_store_open(&store, rig->dir.path, TIC_STORE_READ, false, &tic_h5_ops) == 0,
            "directory");
    require(tic_store_walk(&store, take_good, &newest) == 0, "walk");
    tic_store_close(&store);
    return newest.found;
}

const struct tic_line_value *tic_rig_find(const struct tic_line *line, uint64_t id)
{
    for (size_t i = 0; i < line->value_count; i++)
        if (line->values[i].id == id)
            return &line->values[i];
    return NULL;
}

void tic_rig_read(const struct tic_rig *rig, const struct tic_line *line,
                  const struct tic_line_value *value, uint64_t *out, uint64_t words)
{
    const struct tic_line_extent *extent = &line->extents[value->extent];
    uint64_t row_bytes = extent->element_size * extent->dims[0];
    struct tic_store store;

    require(words * sizeof(*out) <= row_bytes, "value size");
    require(tic_store_open(&store, rig->dir.path, TIC_STORE_READ, false, &tic_h5_ops) == 0,
            "directory");
    int fd = tic_store_open_segment(&store, extent->segment);
    ssize_t got =
        pread(fd, out, words * sizeof(*out), (off_t)(extent->offset + value->row * row_bytes));
    require(got == (ssize_t)(words * sizeof(*out)), "payload");
    tic_store_close(&store);
}

bool tic_rig_is_done(const struct tic_line *line, uint64_t sequence)
{
    for (size_t i = 0; i < line->done_count; i++)
        if (line->done[i].first <= sequence && sequence <= line->done[i].last)
            return true;
    return false;
}
