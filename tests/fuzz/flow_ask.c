/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random programs that ask StarPU about workers, tasks and the time. The answers shape what they
 * submit, and not their result. */
#include <stdlib.h>

#include "flow.h"

enum { UNITS = 64 };

static unsigned told; /* how many workers there are */

static void add_kernel(void *buffers[], void *arg)
{
    uint64_t more;

    if (starpu_worker_get_id() >= (int)told)
        flow_fail("a worker runs that main() was not told of");
    starpu_codelet_unpack_args(arg, &more);
    *(uint64_t *)STARPU_VARIABLE_GET_PTR(buffers[0]) += more;
}

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_kernel},
    .cpu_funcs_name = {"add_kernel"},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "flow_share",
};

/* A part of the work per worker, as many codes cut it. */
static void share_out(void)
{
    unsigned count = flow_below(2) ? starpu_worker_get_count() : starpu_cpu_worker_get_count();
    uint64_t salt = flow_random(), total = 0;
    uint64_t *shares = calloc(count, sizeof(*shares));
    starpu_data_handle_t *handles = calloc(count, sizeof(*handles));

    if (!shares || !handles)
        flow_fail("out of memory");
    told = count;
    for (unsigned i = 0; i < count; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&shares[i],
                                      sizeof(shares[i]));
    for (unsigned unit = 0; unit < UNITS; unit++) {
        uint64_t more = salt * (unit + 1);
        starpu_task_insert(&add_codelet, STARPU_VALUE, &more, sizeof(more), STARPU_RW,
                           handles[unit % count], 0);
    }
    for (unsigned i = 0; i < count; i++) {
        starpu_data_unregister(handles[i]);
        total += shares[i];
    }
    flow_fold_number(total);
    free(shares);
    free(handles);
}

static void submit_bare(void)
{
    struct flow_work work = {.us = flow_us};

    flow_task_submit(flow_task(&work));
}

void flow_ask(void)
{
    switch (flow_below(3)) {
    case 0:
        share_out();
        break;
    case 1:
        if (starpu_task_nsubmitted() > 8)
            starpu_task_wait_for_all();
        break;
    default:
        if ((uint64_t)starpu_timing_now() % 2)
            submit_bare();
    }
}
