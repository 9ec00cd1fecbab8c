/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: main() writes the memory of data that is partitioned, or of data
 * that it registers again. */
#include "lib/unseen.h"

enum { PARTS = 8 };

static struct starpu_data_filter blocks = {.filter_func = starpu_vector_filter_block,
                                           .nchildren = PARTS};

/* ---- partition: tasks on parts, main() on the whole, which stays partitioned ----------------- */

void run_partition(void)
{
    struct tiles x;

    tiles_make(&x, 1, PARTS * LENGTH, 60);
    starpu_data_partition(x.handles[0], &blocks);
    for (unsigned phase = 0; phase < phases(50); phase++) {
        for (unsigned i = 0; i < PARTS; i++)
            submit_update(starpu_data_get_sub_data(x.handles[0], 1, i), phase);
        starpu_task_wait_for_all();
        note(tiles_digest(&x));
        tiles_rescale(&x, phase);
    }
    starpu_data_unpartition(x.handles[0], STARPU_MAIN_RAM);
    tiles_drop(&x);
}

/* ---- planned: the same with a planned partition, and tasks on the whole now and then --------- */

static void planned_phase(struct tiles *x, starpu_data_handle_t *parts, unsigned phase)
{
    starpu_data_partition_submit(x->handles[0], PARTS, parts);
    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned i = 0; i < PARTS; i++)
            submit_combine(parts[i], parts[(i + 1) % PARTS], phase);
        starpu_task_wait_for_all();
        note(tiles_digest(x));
        tiles_rescale(x, phase + turn);
    }
    starpu_data_unpartition_submit(x->handles[0], PARTS, parts, STARPU_MAIN_RAM);
    submit_update(x->handles[0], phase);
}

void run_planned(void)
{
    struct tiles x;
    starpu_data_handle_t parts[PARTS];

    tiles_make(&x, 1, PARTS * LENGTH, 61);
    starpu_data_partition_plan(x.handles[0], &blocks, parts);
    for (unsigned phase = 0; phase < phases(12); phase++)
        planned_phase(&x, parts, phase);
    starpu_task_wait_for_all();
    starpu_data_partition_clean(x.handles[0], PARTS, parts);
    tiles_drop(&x);
}

/* ---- parted: the whole is partitioned in each phase, and main() changes some of it ------------
 */

void run_parted(void)
{
    struct tiles x;

    tiles_make(&x, 1, PARTS * LENGTH, 65);
    for (unsigned phase = 0; phase < phases(20); phase++) {
        starpu_data_partition(x.handles[0], &blocks);
        for (unsigned i = 0; i < PARTS; i++)
            submit_update(starpu_data_get_sub_data(x.handles[0], 1, i), phase);
        starpu_data_unpartition(x.handles[0], STARPU_MAIN_RAM);
        submit_update(x.handles[0], phase);
        starpu_task_wait_for_all();
        *tile(&x, 0) += phase;
    }
    tiles_drop(&x);
}

/* ---- plannedread: tasks that write no data read parts of a planned partition, and the whole ----
 */

static uint64_t sum; /* addition commutes */

static void add_digest(void *buffers[], void *arg)
{
    (void)arg;
    __atomic_add_fetch(&sum, digest(elements(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0])),
                       __ATOMIC_RELAXED);
}

static struct starpu_codelet digest_codelet = {
    .cpu_funcs = {add_digest}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_digest"};

void run_plannedread(void)
{
    struct tiles x;
    starpu_data_handle_t parts[PARTS];

    tiles_make(&x, 1, PARTS * LENGTH, 66);
    starpu_data_partition_plan(x.handles[0], &blocks, parts);
    for (unsigned phase = 0; phase < phases(12); phase++) {
        for (unsigned i = 0; i < PARTS; i++)
            submit_update(parts[i], phase);
        must(starpu_task_insert(&digest_codelet, STARPU_R, parts[phase % PARTS], 0));
        must(starpu_task_insert(&digest_codelet, STARPU_R, x.handles[0], 0));
    }
    starpu_data_partition_clean(x.handles[0], PARTS, parts);
    tiles_drop(&x);
    note(sum);
}

/* ---- rereg: every call registers what it gets, and main() changes it between calls ----------- */

static void library_call(struct tiles *x, unsigned number)
{
    tiles_register(x);
    submit_updates(x, number);
    for (unsigned i = 0; i < x->count; i++)
        submit_combine(x->handles[i], x->handles[(i + 1) % x->count], number);
    tiles_unregister(x);
}

void run_rereg(void)
{
    enum { TILES = 4 };
    struct tiles x;

    tiles_allocate(&x, TILES, LENGTH, 62);
    for (unsigned call = 0; call < phases(50); call++) {
        library_call(&x, call);
        note(tiles_digest(&x));
        tiles_rescale(&x, call);
    }
    free(x.at);
}

/* ---- overlap: main() changes memory that two handles share, and gets it back ------------------
 */

/* Tasks only read it. */
static void read_overlapping(uint64_t *at, starpu_data_handle_t result, const uint64_t *results)
{
    enum { STEPS = 6, SHIFT = 16 };
    starpu_data_handle_t one, other;

    starpu_vector_data_register(&one, STARPU_MAIN_RAM, (uintptr_t)at, LENGTH, sizeof(*at));
    starpu_vector_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)(at + SHIFT), LENGTH,
                                sizeof(*at));
    for (unsigned step = 0; step < STEPS; step++) {
        submit_combine(result, step % 2 ? one : other, step);
        must(starpu_data_acquire(result, STARPU_R));
        memcpy(at + SHIFT / 2, results, LENGTH * sizeof(*at));
        starpu_data_release(result);
    }
    starpu_data_unregister(one);
    starpu_data_unregister(other);
    note(digest(at, LENGTH + SHIFT));
}

void run_overlap(void)
{
    static uint64_t at[2 * LENGTH];
    struct tiles result;

    tiles_make(&result, 1, LENGTH, 63);
    for (unsigned phase = 0; phase < phases(20); phase++) {
        for (unsigned i = 0; i < 2 * LENGTH; i++)
            at[i] = mix(phase, i);
        read_overlapping(at, result.handles[0], result.at);
    }
    tiles_drop(&result);
}

/* ---- halves: registered beside the whole, written, and unregistered again -------------------- */

/* Waits for its tasks, and for those of its parts, before it returns: the whole lives on. */
static void update_halves(starpu_data_handle_t whole, uint64_t *at, size_t n, unsigned depth,
                          unsigned number)
{
    starpu_data_handle_t halves[2];

    submit_update(whole, number);
    must(starpu_task_wait_for_all());
    for (unsigned i = 0; i < 2 && depth > 0; i++) {
        starpu_vector_data_register(&halves[i], STARPU_MAIN_RAM, (uintptr_t)(at + i * (n / 2)),
                                    (uint32_t)(n / 2), sizeof(*at));
        update_halves(halves[i], at + i * (n / 2), n / 2, depth - 1, 2 * number + i);
    }
    for (unsigned i = 0; i < 2 && depth > 0; i++)
        starpu_data_unregister(halves[i]);
}

void run_halves(void)
{
    enum { DEPTH = 2, OTHERS = 3 };
    struct tiles tiles, others;

    tiles_make(&tiles, 1, LENGTH, 64);
    tiles_make(&others, OTHERS, LENGTH, 65);
    for (unsigned phase = 0; phase < phases(8); phase++) {
        update_halves(tiles.handles[0], tiles.at, LENGTH, phase % 3 ? DEPTH : 1, phase);
        for (unsigned i = 0; i < OTHERS; i++)
            submit_update(others.handles[i], phase);
        must(starpu_task_wait_for_all());
    }
    tiles_drop(&tiles);
    tiles_drop(&others);
}

/* ---- twoplans: one planned partition for writing, another one for reading, in turn ----------- */

/* The second plan stays in force, for reading, until the task on the whole. */
void run_twoplans(void)
{
    enum { READ = 3 };
    struct starpu_data_filter thirds = {.filter_func = starpu_vector_filter_block,
                                        .nchildren = READ};
    starpu_data_handle_t parts[PARTS], read[READ];
    struct tiles x, sums;

    tiles_make(&x, 1, PARTS * READ * 64, 68);
    tiles_make(&sums, READ, PARTS * 64, 69);
    starpu_data_partition_plan(x.handles[0], &blocks, parts);
    starpu_data_partition_plan(x.handles[0], &thirds, read);
    for (unsigned phase = 0; phase < phases(12); phase++) {
        starpu_data_partition_submit(x.handles[0], PARTS, parts);
        for (unsigned i = 0; i < PARTS; i++)
            submit_update(parts[i], phase);
        starpu_data_unpartition_submit(x.handles[0], PARTS, parts, -1);
        starpu_data_partition_readonly_submit(x.handles[0], READ, read);
        for (unsigned i = 0; i < READ; i++)
            submit_combine(sums.handles[i], read[i], phase);
        starpu_data_unpartition_readonly_submit(x.handles[0], READ, read, -1);
        submit_update(x.handles[0], phase);
    }
    starpu_data_partition_clean(x.handles[0], PARTS, parts);
    starpu_data_partition_clean(x.handles[0], READ, read);
    tiles_drop(&x);
    tiles_drop(&sums);
}
