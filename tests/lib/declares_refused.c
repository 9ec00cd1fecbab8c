/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What excluded data cannot be used for. */
#include "lib/declares_excluded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

static struct starpu_codelet both = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}, .name = "both"};
static struct starpu_codelet commuter = {
    .cpu_funcs = {change}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "commute"};
static struct starpu_codelet contributor = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_REDUX, STARPU_RW}, .name = "contribute"};

/* ---- a reduction ----------------------------------------------------------------------------- */

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0,
           STARPU_VECTOR_GET_NX(buffers[0]) * sizeof(uint32_t));
}

static void fold(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint32_t *from = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        to[i] += from[i];
}

static struct starpu_codelet clearer = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
static struct starpu_codelet folder = {
    .cpu_funcs = {fold}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "fold"};

/* ---- others ---------------------------------------------------------------------------------- */

static void submit_looker(void *buffers[], void *arg)
{
    uint32_t by = 1;

    (void)buffers;
    (void)arg;
    if (starpu_task_insert(&looker, STARPU_R, tables[0], STARPU_VALUE, &by, sizeof(by), 0) != 0)
        exit(1);
}

static void release(void *arg)
{
    starpu_data_release((starpu_data_handle_t)arg);
}

static void refuse(unsigned rounds, const char *what)
{
    static struct starpu_codelet submitter = {.cpu_funcs = {submit_looker}, .name = "submit"};
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block, .nchildren = 2};
    starpu_data_handle_t other = NULL, parts[2];

    register_tables();
    for (unsigned i = 0; i < rounds; i++)
        insert_two(&mixer, any_vector(), any_table());
    starpu_task_wait_for_all();
    if (strcmp(what, "both") == 0)
        insert_two(&both, handles[0], tables[0]);
    if (strcmp(what, "commute") == 0)
        insert_one(&commuter, tables[0]);
    if (strcmp(what, "kernel") == 0)
        starpu_task_insert(&submitter, 0);
    if (strcmp(what, "redux") == 0) {
        starpu_data_set_reduction_methods(handles[0], &folder, &clearer);
        insert_two(&contributor, handles[0], tables[0]);
    }
    if (strcmp(what, "reduced") == 0) {
        starpu_data_set_reduction_methods(tables[0], &folder, &clearer);
        insert_two(&contributor, tables[0], handles[0]);
    }
    if (strcmp(what, "inputs") == 0) {
        starpu_data_set_sequential_consistency_flag(handles[0], 0);
        insert_two(&deriver, tables[0], handles[0]);
        starpu_task_wait_for_all();
        starpu_data_set_sequential_consistency_flag(handles[0], 1);
    }
    if (strcmp(what, "order") == 0) {
        starpu_task_wait_for_all();
        starpu_data_set_sequential_consistency_flag(tables[0], 0);
        insert_one(&changer, tables[0]);
        starpu_task_wait_for_all();
        starpu_data_set_sequential_consistency_flag(tables[0], 1);
    }
    if (strcmp(what, "callback") == 0)
        starpu_data_acquire_cb(tables[0], STARPU_R, release, tables[0]);
    if (strcmp(what, "plan") == 0) {
        starpu_data_partition_plan(tables[0], &filter, parts);
        starpu_data_partition_clean(tables[0], 2, parts);
    }
    if (strcmp(what, "twice") == 0)
        starpu_vector_data_register(&other, STARPU_MAIN_RAM, (uintptr_t)table_memory[0], ENTRIES,
                                    sizeof(uint32_t));
    if (other)
        starpu_data_unregister(other);
    for (unsigned i = 0; i < rounds; i++)
        insert_two(&mixer, any_vector(), any_table());
    starpu_task_wait_for_all();
    unregister_tables();
}

void excluded_both(unsigned rounds)
{
    refuse(rounds, "both");
}

void excluded_commute(unsigned rounds)
{
    refuse(rounds, "commute");
}

void excluded_kernel(unsigned rounds)
{
    refuse(rounds, "kernel");
}

void excluded_order(unsigned rounds)
{
    refuse(rounds, "order");
}

void excluded_callback(unsigned rounds)
{
    refuse(rounds, "callback");
}

void excluded_plan(unsigned rounds)
{
    refuse(rounds, "plan");
}

void excluded_twice(unsigned rounds)
{
    refuse(rounds, "twice");
}

void excluded_redux(unsigned rounds)
{
    refuse(rounds, "redux");
}

void excluded_reduced(unsigned rounds)
{
    refuse(rounds, "reduced");
}

void excluded_inputs(unsigned rounds)
{
    refuse(rounds, "inputs");
}

/* ---- what the call answers ------------------------------------------------------------------- */

static void tell(const char *what, starpu_data_handle_t data)
{
    fprintf(stderr, "%s: %d\n", what, starpu_tic_data_exclude(data));
}

static void *tell_from_thread(void *arg)
{
    tell("another thread", (starpu_data_handle_t)arg);
    return NULL;
}

void excluded_status(unsigned rounds)
{
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block, .nchildren = 2};
    starpu_data_handle_t data[4], empty;
    static uint32_t memory[4][ENTRIES];
    pthread_t thread;

    for (unsigned i = 0; i < 4; i++)
        starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)memory[i == 3 ? 2 : i],
                                    ENTRIES, sizeof(uint32_t));
    starpu_void_data_register(&empty);
    tell("none", NULL);
    tell("without content", empty);
    tell("registered twice", data[3]);
    if (pthread_create(&thread, NULL, tell_from_thread, data[0]) != 0)
        exit(1);
    pthread_join(thread, NULL);
    starpu_data_set_reduction_methods(data[0], &folder, &clearer);
    tell("reduced", data[0]);
    tell("excluded", data[1]);
    tell("again", data[1]);
    starpu_data_partition(data[1], &filter);
    tell("a part of it", starpu_data_get_child(data[1], 0));
    starpu_data_unpartition(data[1], STARPU_MAIN_RAM);
    starpu_data_partition(data[0], &filter);
    tell("a part", starpu_data_get_child(data[0], 0));
    starpu_data_unpartition(data[0], STARPU_MAIN_RAM);
    for (unsigned i = 0; i < rounds; i++)
        insert(&stepper, handles[0]);
    tell("used", handles[0]);
    for (unsigned i = 0; i < 4; i++)
        starpu_data_unregister(data[i]);
    starpu_data_unregister(empty);
}
