/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Certification: a sample of the tasks is executed twice. */
#include "interpose/certify.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/thread.h"
#include "report/stats.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/packed.h"
#include "session/task.h"

static struct {
    unsigned long percent; /* 0: nothing is certified */
    uint64_t seed;
    const char *skip; /* names of codelets, with commas */
    bool trusts;      /* pointers in arguments */
} rules;              /* immutable after the start */

/* ---- the sample ------------------------------------------------------------------------------ */

static uint64_t draw_seed(void)
{
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = tic_nanoseconds(CLOCK_REALTIME) ^ (uint64_t)getpid();
    seed &= UINT32_MAX; /* so that it can be written down */
    return seed > 0 ? seed : 1;
}

void tic_certify_set(const struct tic_settings *settings)
{
    rules.percent = settings->report[0] ? 0 : settings->certify;
    rules.seed = settings->certify_seed > 0 ? settings->certify_seed : draw_seed();
    rules.skip = settings->certify_skip;
    tic_kernels_counts.seed = rules.percent > 0 ? rules.seed : 0;
    rules.trusts = settings->pointers == TIC_POINTERS_TRUST;
    if (rules.percent > 0)
        tic_log(TIC_LOG_INFO,
                "certification: %lu %% of the tasks are executed twice and compared "
                "(STARPU_TIC_CERTIFY_SEED=%llu)",
                rules.percent, (unsigned long long)rules.seed);
}

bool tic_certify_is_on(void)
{
    return rules.percent > 0;
}

/* A task is drawn, or not, by what it is, wherever and whenever it runs. */
static bool is_drawn(uint64_t key)
{
    return XXH3_64bits_withSeed(&key, sizeof(key), rules.seed) % 100 < rules.percent;
}

/* Else its effect is elsewhere, and must not come twice. Data without content orders tasks only. */
static bool writes_something(struct starpu_task *task)
{
    bool writes = false;

    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task) && !writes; i++) {
        const struct tic_handle *handle = tic_handle_of(STARPU_TASK_GET_HANDLE(task, i));
        writes = STARPU_TASK_GET_MODE(task, i) & STARPU_W && handle && !tic_handle_is_empty(handle);
    }
    return writes;
}

static bool commutes(struct starpu_task *task)
{
    bool commutes = false;

    for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task) && !commutes; i++)
        commutes = (STARPU_TASK_GET_MODE(task, i) & (STARPU_COMMUTE | STARPU_REDUX)) != 0;
    return commutes;
}

/* Its kernel could write something beside its data, or kernels of the program were seen to. */
static bool may_reach(const struct starpu_task *task)
{
    return !rules.trusts && ((task->cl_arg && !task->cl_arg_free) || tic_packed_has_pointer(task) ||
                             atomic_load(&tic_session->snapshot.unregistered.written));
}

static bool is_suitable(const struct tic_execution *execution)
{
    struct starpu_task *task = execution->task;

    return writes_something(task) && !commutes(task) && !may_reach(task) &&
           !atomic_load_explicit(&execution->kernel->submits, memory_order_relaxed) &&
           !tic_settings_list_has(rules.skip, tic_task_name(task));
}

bool tic_certify_wants(struct tic_execution *execution)
{
    if (!is_drawn(execution->key))
        return false;
    if (is_suitable(execution))
        return true;
    tic_kernels_count(&tic_kernels_counts.left_out);
    return false;
}

void tic_certify_leave_out(uint64_t key)
{
    static _Atomic bool told;

    if (!is_drawn(key))
        return;
    tic_kernels_count(&tic_kernels_counts.left_out);
    if (!atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "tasks that devices or slaves execute are not certified (STARPU_TIC_CERTIFY)");
}

/* ---- a difference ---------------------------------------------------------------------------- */

static void describe_bytes(const unsigned char *bytes, uint32_t count, char *text)
{
    for (uint32_t i = 0; i < count; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", bytes[i]);
}

static void describe_place(const struct tic_undo_difference *difference, char *text, size_t size)
{
    const struct tic_undo_value *value = difference->value;
    size_t used;

    if (value->buffer == TIC_UNDO_ARGUMENTS)
        used = (size_t)snprintf(text, size, "its arguments");
    else
        used = (size_t)snprintf(text, size, "data %llu (number of registration)",
                                (unsigned long long)value->id);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, ", element %llu of %llu",
                                 (unsigned long long)difference->element,
                                 (unsigned long long)difference->elements);
    if (difference->offset > 0 && used < size)
        snprintf(text + used, size - used, " from its byte %u on", difference->offset);
}

/* Two executions do not say which one is wrong: a third one votes. Kept is the result of the first,
 * and the memory holds that of the second. */
static const char *vote(struct tic_execution *execution, int second, int *third)
{
    struct tic_undo *undo = &execution->undo;

    if (!tic_undo_keep_other_result(undo) ||
        !tic_undo_put_back(undo, execution->task, execution->buffers))
        return "No third execution was possible";
    *third = tic_retry_execute(execution, true, second);
    if (tic_undo_has_moved(undo, execution->task, execution->buffers))
        return "agrees with neither";
    if (tic_undo_is_result(undo))
        return "agrees with the first";
    return tic_undo_is_other_result(undo) ? "agrees with the second"
                                          : "agrees with neither, as where a kernel does not "
                                            "compute the same from the same";
}

static void __attribute__((noreturn)) stop(struct tic_execution *execution, int first, int second)
{
    struct tic_undo_difference difference = {0};
    char task[256], place[128], lines[1200],
        before[2 * TIC_UNDO_SHOWN + 1] = "", now[2 * TIC_UNDO_SHOWN + 1] = "", ballot[160];
    int third = -1;

    tic_undo_find_difference(&execution->undo, &difference);
    tic_retry_describe(execution->task, execution->number, task, sizeof(task));
    describe_place(&difference, place, sizeof(place));
    describe_bytes(difference.kept, difference.bytes, before);
    describe_bytes(difference.now, difference.bytes, now);
    const char *verdict = vote(execution, second, &third);
    if (third >= 0)
        snprintf(ballot, sizeof(ballot), "A third execution, on worker %d, %s", third, verdict);
    else
        snprintf(ballot, sizeof(ballot), "%s", verdict);
    tic_kernels_count(&tic_kernels_counts.differing);
    if (tic_session && tic_session->settings.stats[0])
        tic_stats_write(tic_session);
    tic_stop(TIC_EXIT_DIFFERS,
             "two executions of %s differ: %s: bytes %s on worker %d, then %s on worker %d. %s. "
             "Either a processor or memory is not to be trusted, or the codelet is not to be "
             "certified (STARPU_TIC_CERTIFY_SKIP). No other task has seen the value%s",
             task, place, before, first, now, second, ballot,
             tic_retry_tell_lines(lines, sizeof(lines)));
}

/* Kernels that change the size of data end protection anyway. */
static bool has_second(struct tic_execution *execution, int first, int *second)
{
    struct tic_undo *undo = &execution->undo;

    if (execution->submitted > 0 || !tic_undo_keep_result(undo) ||
        !tic_undo_put_back(undo, execution->task, execution->buffers))
        return false;
    execution->checks = true;
    *second = tic_retry_execute(execution, true, first);
    return !tic_undo_has_moved(undo, execution->task, execution->buffers);
}

void tic_certify(struct tic_execution *execution, int first)
{
    int second;

    if (!has_second(execution, first, &second)) {
        tic_kernels_count(&tic_kernels_counts.left_out);
        return;
    }
    if (!tic_undo_is_result(&execution->undo))
        stop(execution, first, second);
    tic_kernels_count(&tic_kernels_counts.certified);
    if (second != first)
        tic_kernels_count(&tic_kernels_counts.certified_elsewhere);
}
