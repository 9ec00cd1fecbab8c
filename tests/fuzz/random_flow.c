/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A random StarPU program, made from a seed, that prints a hash which does not depend on
 * scheduling: random_flow SEED [operations] [microseconds] [without FEATURE,...]; or [with ...].
 * tests/fuzz/campaign kills and resumes it. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow.h"

uint64_t flow_features, flow_hash = UINT64_C(1469598103934665603);
unsigned flow_us = 100;

static uint64_t random_state, jitter_seed, fail_percent;

static const char *const words[] = {
#define FLOW_WORD(name, word) word,
    FLOW_FEATURES(FLOW_WORD)
#undef FLOW_WORD
};

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t flow_random(void)
{
    return next_random(&random_state);
}

static void pause_once_in(unsigned times)
{
    static __thread uint64_t state; /* a counter would be memory that kernels write */

    if (!jitter_seed)
        return;
    if (!state)
        state = jitter_seed + (uint64_t)(gettid() - getpid());
    if (next_random(&state) % times == 0)
        usleep((useconds_t)(next_random(&state) % 4000));
}

void flow_jitter(void)
{
    pause_once_in(8);
}

void flow_linger(void)
{
    pause_once_in(2);
}

bool flow_is_to_fail(void)
{
    static __thread uint64_t state;

    if (fail_percent == 0)
        return false;
    if (!state)
        state = (uint64_t)gettid();
    return next_random(&state) % 100 < fail_percent;
}

void flow_stir(void)
{
    random_state ^= flow_hash;
}

/* Shows what two runs differ in. */
void flow_trace(const char *what, uint64_t which, uint64_t value)
{
    if (getenv("FLOW_TRACE"))
        fprintf(stderr, "trace: %s %llu: %016llx\n", what, (unsigned long long)which,
                (unsigned long long)value);
}

void flow_fold(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        flow_hash = (flow_hash ^ at[i]) * UINT64_C(1099511628211);
    flow_trace("fold", size, flow_hash);
}

void flow_fold_number(uint64_t number)
{
    flow_fold(&number, sizeof(number));
}

_Noreturn void flow_fail(const char *what)
{
    fprintf(stderr, "random_flow: %s\n", what);
    exit(3);
}

/* ---- operations ------------------------------------------------------------------------------ */

static struct flow_item *any_item(void)
{
    return &flow_items[flow_below(flow_item_count)];
}

static void register_again(void)
{
    struct flow_item *item = any_item();

    if (!item->data)
        flow_item_register(item);
    else if (!item->frozen && flow_has(FLOW_UNREGISTER))
        flow_item_unregister(item);
}

static void vanish(void)
{
    struct flow_item *item = any_item();

    if (item->data && !item->frozen)
        flow_item_vanish(item);
}

static void invalidate(void)
{
    struct flow_item *item = any_item();

    if (!item->filled || item->frozen || !flow_item_is_whole(item))
        return;
    if (flow_below(2))
        starpu_data_invalidate(item->data);
    else
        starpu_data_invalidate_submit(item->data);
    item->filled = false;
}

static void wont_use(void)
{
    struct flow_item *item = any_item();

    if (item->data && item->filled && flow_item_is_whole(item))
        starpu_data_wont_use(item->data);
}

static void partition(void)
{
    struct flow_item *item = any_item();

    if (item->part_count)
        flow_parts_unpartition(item);
    else
        flow_parts_partition(item);
}

static void plan(void)
{
    struct flow_item *item = any_item();

    if (!item->plans[0].count)
        flow_parts_plan(item);
    else if (flow_below(8) == 0)
        flow_parts_clean(item);
    else
        flow_parts_switch(item);
}

static void twin(void)
{
    struct flow_item *item = any_item();

    if (item->data && !item->frozen)
        flow_item_twin(item);
}

/* Of 1000 operations, so many are of this kind; the rest are submissions. */
static const struct {
    enum flow_feature feature;
    unsigned share;
    void (*run)(void);
} operations[] = {
    {FLOW_UNREGISTER, 12, register_again},
    {FLOW_UNREGISTER_SUBMIT, 12, vanish},
    {FLOW_INVALIDATE, 10, invalidate},
    {FLOW_WONT_USE, 10, wont_use},
    {FLOW_PARTITION, 20, partition},
    {FLOW_PLAN, 30, plan},
    {FLOW_ALIAS, 10, twin},
    {FLOW_ACQUIRE, 30, flow_access_random},
    {FLOW_ACQUIRE_CB, 15, flow_access_callback},
    {FLOW_COPY, 15, flow_access_copy},
    {FLOW_DEPENDENCIES, 10, flow_tasks_submit_detached},
    {FLOW_RESUBMIT, 5, flow_tasks_resubmit},
    {FLOW_THREAD, 5, flow_spawn_thread},
    {FLOW_HOLD, 8, flow_spawn_late},
    {FLOW_PAUSE, 3, flow_spawn_late},
    {FLOW_HOMELESS, 10, register_again},
};

static void operate(void)
{
    if (flow_chance(FLOW_ASK, 60)) {
        flow_ask();
        return;
    }
    if (flow_chance(FLOW_HEAR, 25)) {
        flow_hear_random();
        return;
    }
    unsigned dice = flow_below(1000);

    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (dice < operations[i].share) {
            if (flow_has(operations[i].feature))
                operations[i].run();
            return;
        }
        dice -= operations[i].share;
    }
    flow_tasks_submit_random();
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void start(void)
{
    if (starpu_init(NULL) != 0)
        exit(77);
    flow_submit_begin_life();
    flow_data_open();
}

static void stop(void)
{
    flow_data_close();
    starpu_shutdown();
}

static void run_phase(unsigned count)
{
    flow_data_begin_phase();
    for (unsigned i = 0; i < count; i++)
        operate();
    flow_spawn_join();
    starpu_task_wait_for_all();
    flow_behind_end_phase();
    flow_look_end_phase();
    flow_fold_number(atomic_load(&flow_sum));
    flow_fold_number(atomic_load(&flow_calls));
    flow_fold_number(flow_chain);
    printf("%016llx\n", (unsigned long long)flow_hash);
}

static uint64_t parse_features(char *list)
{
    uint64_t found = 0;

    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < FLOW_FEATURE_COUNT && strcmp(words[i], word) != 0)
            i++;
        if (i == FLOW_FEATURE_COUNT)
            flow_fail("unknown feature");
        found |= UINT64_C(1) << i;
    }
    return found;
}

/* Programs of few features, and of all of them. */
static void choose_features(int argc, char **argv)
{
    uint64_t chosen = flow_random();

    if (flow_below(4) == 0)
        chosen &= flow_random();
    else if (flow_below(4) == 0)
        chosen |= flow_random();
    if (flow_below(4)) /* arguments that are not packed can rarely be protected */
        chosen &= ~(UINT64_C(1) << FLOW_RAW);
    flow_features = chosen & ((UINT64_C(1) << FLOW_FEATURE_COUNT) - 1);
    if (argc > 5 && strcmp(argv[4], "with") == 0)
        flow_features = parse_features(argv[5]);
    else if (argc > 5)
        flow_features &= ~parse_features(argv[5]);
    fprintf(stderr, "features: ");
    for (size_t i = 0; i < FLOW_FEATURE_COUNT; i++)
        if (flow_has((enum flow_feature)i))
            fprintf(stderr, "%s,", words[i]);
    fprintf(stderr, "\n");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        flow_fail("a seed is missing");
    random_state = strtoull(argv[1], NULL, 0);
    fail_percent = getenv("FLOW_FAIL") ? strtoull(getenv("FLOW_FAIL"), NULL, 0) : 0;
    jitter_seed = getenv("FLOW_JITTER") ? strtoull(getenv("FLOW_JITTER"), NULL, 0) : 0;
    unsigned operations_left = argc > 2 ? (unsigned)atoi(argv[2]) : 300;
    flow_us = argc > 3 ? (unsigned)atoi(argv[3]) : flow_us;
    choose_features(argc, argv);
    start();
    while (operations_left > 0) {
        unsigned count = 1 + flow_below(60);
        count = count < operations_left ? count : operations_left;
        operations_left -= count;
        run_phase(count);
        if (flow_chance(FLOW_RESTART, 4)) {
            stop();
            start();
        }
    }
    stop();
    printf("%016llx\n", (unsigned long long)flow_hash);
    return 0;
}
