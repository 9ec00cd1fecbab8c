/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes of tests/lib/unseen.c: main() and callbacks access data by pointer while tasks on other
 * data run. */
#include "lib/unseen.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

enum { TILES = 6 };

static struct starpu_task *build_update(starpu_data_handle_t handle, unsigned number)
{
    struct starpu_task *task = starpu_task_build(&update_codelet, STARPU_RW, handle, STARPU_VALUE,
                                                 &number, sizeof(number), 0);
    must(task ? 0 : -1);
    return task;
}

/* ---- partialwait: for one task, the last on its tile; keep: its structure outlives it -------- */

static void wait_for_one(starpu_data_handle_t handle, unsigned number, bool keep)
{
    struct starpu_task *task = build_update(handle, number);

    task->detach = 0;
    task->destroy = !keep;
    must(starpu_task_submit(task));
    must(starpu_task_wait(task));
    if (keep)
        starpu_task_destroy(task);
}

static void wait_in_turn(bool keep)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 50);
    for (unsigned turn = 0; turn < phases(70); turn++) {
        unsigned which = turn % TILES;

        for (unsigned i = 0; i < TILES; i++)
            if (i != which)
                submit_update(x.handles[i], turn);
        wait_for_one(x.handles[which], turn, keep);
        for (unsigned i = 0; i < LENGTH; i++)
            tile(&x, which)[i] = tile(&x, which)[i] / 3 + i;
        note(digest(tile(&x, which), LENGTH));
        submit_update(x.handles[which], turn);
    }
    starpu_task_wait_for_all();
    tiles_drop(&x);
}

void run_partialwait(void)
{
    wait_in_turn(false);
}

void run_partialwait_keep(void)
{
    wait_in_turn(true);
}

/* ---- fillsubmit: each tile is filled right before its first task ----------------------------- */

static void fill_and_submit(unsigned count)
{
    struct tiles x;

    tiles_make(&x, count, LENGTH, 51);
    for (unsigned i = 0; i < count; i++) {
        uint64_t busy = churn(i);
        for (unsigned k = 0; k < LENGTH; k++)
            tile(&x, i)[k] = mix(busy, k);
        submit_update(x.handles[i], i);
        if (i > 0)
            submit_combine(x.handles[i], x.handles[i / 2], i);
    }
    starpu_task_wait_for_all();
    tiles_drop(&x);
}

void run_fillsubmit(void)
{
    unsigned count;

    for (unsigned left = phases(MOST_TILES); left > 0; left -= count) {
        count = left < MOST_TILES ? left : MOST_TILES;
        fill_and_submit(count);
    }
}

/* ---- callbackread: callbacks add what their tasks wrote to a sum; large: 8 KiB each ---------- */

enum { LARGE = 1024 };

static uint64_t sum; /* addition commutes */

static void submit_with_callback(struct tiles *x, unsigned i, unsigned number,
                                 void (*callback)(void *))
{
    struct starpu_task *task = build_update(x->handles[i], number);

    task->callback_func = callback;
    task->callback_arg = tile(x, i);
    must(starpu_task_submit(task));
}

static void add_tile(void *at)
{
    __atomic_add_fetch(&sum, digest(at, LENGTH), __ATOMIC_RELAXED);
}

static void add_large_tile(void *at)
{
    __atomic_add_fetch(&sum, digest(at, LARGE), __ATOMIC_RELAXED);
}

static void read_in_callbacks(unsigned length, void (*callback)(void *))
{
    struct tiles x;

    tiles_make(&x, TILES, length, 52);
    for (unsigned phase = 0; phase < phases(60); phase++) {
        for (unsigned i = 0; i < TILES; i++)
            submit_with_callback(&x, i, phase, callback);
        starpu_task_wait_for_all();
        note(sum);
    }
    tiles_drop(&x);
}

void run_callbackread(void)
{
    read_in_callbacks(LENGTH, add_tile);
}

void run_callbackread_large(void)
{
    read_in_callbacks(LARGE, add_large_tile);
}

/* ---- wokenread: main() reads data of 8 KiB when a callback has woken it ---------------------- */

static sem_t ended_one;

static void wake_main(void *unused)
{
    (void)unused;
    sem_post(&ended_one);
}

void run_wokenread(void)
{
    struct tiles x;

    sem_init(&ended_one, 0, 0);
    tiles_make(&x, TILES, LARGE, 56);
    for (unsigned turn = 0; turn < phases(120); turn++) {
        submit_with_callback(&x, turn % TILES, turn, wake_main);
        submit_update(x.handles[(turn + 1) % TILES], turn);
        while (sem_wait(&ended_one) != 0)
            ;
        note(digest(tile(&x, turn % TILES), LARGE));
    }
    tiles_drop(&x);
}

/* ---- callbackwrite: callbacks change what their tasks wrote, or a tile of nobody ------------- */

static void change_tile(void *at)
{
    uint64_t *element = at;

    element[3] += element[0] + 1;
    element[7] = mix(element[7], 3);
}

static void change_first(void *at)
{
    __atomic_add_fetch((uint64_t *)at, 7, __ATOMIC_RELAXED);
}

static void write_in_callbacks(bool own)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 53);
    for (unsigned phase = 0; phase < phases(60); phase++) {
        for (unsigned i = 1; i < TILES; i++) {
            struct starpu_task *task = build_update(x.handles[i], phase);
            task->callback_func = own ? change_tile : change_first;
            task->callback_arg = own ? tile(&x, i) : tile(&x, 0);
            must(starpu_task_submit(task));
        }
        starpu_task_wait_for_all();
        submit_update(x.handles[0], phase);
        starpu_task_wait_for_all();
    }
    tiles_drop(&x);
}

void run_callbackwrite(void)
{
    write_in_callbacks(true);
}

void run_callbackwrite_other(void)
{
    write_in_callbacks(false);
}

/* ---- finished: main() asks for the end of a task, and reads what it wrote -------------------- */

void run_finished(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 57);
    for (unsigned turn = 0; turn < phases(120); turn++) {
        struct starpu_task *task = build_update(x.handles[turn % TILES], turn);
        task->detach = task->destroy = 0;
        must(starpu_task_submit(task));
        submit_update(x.handles[(turn + 1) % TILES], turn);
        while (!starpu_task_finished(task))
            sched_yield();
        note(*tile(&x, turn % TILES));
        must(starpu_task_wait(task));
        starpu_task_destroy(task);
    }
    tiles_drop(&x);
}

/* ---- finishedmany: main() keeps a task under way for each tile --------------------------------
 */

static bool replace_if_finished(const struct tiles *x, struct starpu_task **tasks, unsigned i,
                                unsigned number)
{
    if (tasks[i] && !starpu_task_finished(tasks[i]))
        return false;
    if (tasks[i])
        must(starpu_task_wait(tasks[i])); /* which destroys it */
    tasks[i] = build_update(x->handles[i], number);
    tasks[i]->detach = 0;
    must(starpu_task_submit(tasks[i]));
    return true;
}

void run_finishedmany(void)
{
    struct tiles x;
    struct starpu_task *tasks[TILES] = {NULL};
    unsigned turns[TILES] = {0}, left = TILES * phases(20);

    tiles_make(&x, TILES, LENGTH, 69);
    while (left > 0) {
        for (unsigned i = 0; i < TILES; i++)
            if (turns[i] < phases(20) && replace_if_finished(&x, tasks, i, turns[i])) {
                turns[i]++;
                left--;
            }
        sched_yield();
    }
    for (unsigned i = 0; i < TILES; i++)
        must(starpu_task_wait(tasks[i]));
    tiles_drop(&x);
}

/* ---- callbackworker: callbacks count for the worker that they run on ------------------------- */

static unsigned counts[STARPU_NMAXWORKERS];

static void count_for_worker(void *unused)
{
    (void)unused;
    counts[starpu_worker_get_id_check()]++;
}

void run_callbackworker(void)
{
    struct tiles x;
    unsigned all = 0;

    tiles_make(&x, TILES, LENGTH, 58);
    for (unsigned turn = 0; turn < phases(200); turn++)
        submit_with_callback(&x, turn % TILES, turn, count_for_worker);
    starpu_task_wait_for_all();
    for (unsigned i = 0; i < STARPU_NMAXWORKERS; i++)
        all += counts[i];
    note(all);
    tiles_drop(&x);
}

/* ---- condition: main() submits with a lock that callbacks take, and waits for them by it ------
 */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned ended;
} group = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void count_in_group(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&group.mutex);
    group.ended++;
    pthread_cond_signal(&group.changed);
    pthread_mutex_unlock(&group.mutex);
}

void run_condition(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 59);
    for (unsigned phase = 0; phase < phases(40); phase++) {
        pthread_mutex_lock(&group.mutex);
        group.ended = 0;
        for (unsigned i = 0; i < TILES; i++)
            submit_with_callback(&x, i, phase, count_in_group);
        while (group.ended < TILES)
            pthread_cond_wait(&group.changed, &group.mutex);
        pthread_mutex_unlock(&group.mutex);
        note(*tile(&x, phase % TILES));
    }
    tiles_drop(&x);
}

/* ---- asking: main() waits by starpu_task_nsubmitted, reads a result, changes a tile ---------- */

void run_asking(void)
{
    struct tiles x, result;

    tiles_make(&x, TILES, LENGTH, 54);
    tiles_make(&result, 1, 1, 55);
    for (unsigned phase = 0; phase < phases(60); phase++) {
        submit_update(x.handles[phase % TILES], phase);
        submit_update(result.handles[0], phase);
        while (starpu_task_nsubmitted() > 0)
            sched_yield();
        note(*tile(&result, 0));
        *tile(&x, 1) += phase;
    }
    tiles_drop(&result);
    tiles_drop(&x);
}

/* ---- joined: another thread submits each phase, and main() waits and reads ------------------- */

static void *submit_phase(void *tiles)
{
    const struct tiles *x = tiles;

    for (unsigned i = 0; i < 3 * x->count; i++) {
        submit_update(x->handles[i % x->count], i);
        churn(i); /* tasks end meanwhile */
    }
    return NULL;
}

void run_joined(void)
{
    struct tiles x;
    pthread_t thread;

    tiles_make(&x, TILES, LENGTH, 57);
    for (unsigned phase = 0; phase < phases(25); phase++) {
        must(pthread_create(&thread, NULL, submit_phase, &x));
        must(pthread_join(thread, NULL));
        must(starpu_task_wait_for_all());
        note(tiles_digest(&x));
    }
    tiles_drop(&x);
}

/* ---- paused: main() submits the next tasks, and reads before they may run -------------------- */

void run_paused(void)
{
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 58);
    for (unsigned phase = 0; phase < phases(25); phase++) {
        must(starpu_task_wait_for_all());
        starpu_pause();
        submit_phase(&x);
        note(tiles_digest(&x));
        starpu_resume();
        for (unsigned i = 0; i < 3 * TILES; i++)
            churn(i); /* tasks end meanwhile */
    }
    tiles_drop(&x);
}

/* ---- polling: main() waits for a counter of callbacks, and calls nothing --------------------- */

static volatile unsigned ended; /* callbacks add atomically */

static void count_end(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
}

static void poll_callbacks(unsigned until)
{
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < until)
        sched_yield();
}

void run_polling(void)
{
    enum { TURNS = 6 };
    struct tiles x;

    tiles_make(&x, TILES, LENGTH, 53);
    for (unsigned phase = 0; phase < phases(12); phase++) {
        for (unsigned i = 0; i < TURNS * TILES; i++) {
            struct starpu_task *task = build_update(x.handles[i % TILES], i);
            task->callback_func = count_end;
            must(starpu_task_submit(task));
        }
        poll_callbacks((phase + 1) * TURNS * TILES);
        note(tiles_digest(&x));
        tiles_rescale(&x, phase);
    }
    tiles_drop(&x);
}
