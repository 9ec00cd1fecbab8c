/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels that may be executed more than once: which, and where StarPU calls them. */
#include "interpose/repeat.h"

#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/spawn.h"
#include "interpose/retry.h"
#include "real/real.h"
#include "session/kernels.h"
#include "session/nodes.h"
#include "session/task.h"
#include "base/thread.h"
#include "report/stats.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/packed.h"

/* ---- certification --------------------------------------------------------------------------- */

/* Certification: a sample of the tasks is executed twice. */

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

/* Draws a seed, if the settings name none, and tells it. Before the first task. */
static void tic_certify_set(const struct tic_settings *settings)
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

static bool tic_certify_is_on(void)
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

static bool tic_certify_wants(struct tic_execution *execution)
{
    if (!is_drawn(execution->key))
        return false;
    if (is_suitable(execution))
        return true;
    tic_kernels_count(&tic_kernels_counts.left_out);
    return false;
}

static void tic_certify_leave_out(uint64_t key)
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

    if (!tic_undo_keep(undo, TIC_UNDO_OTHER) ||
        !tic_undo_put_back(undo, execution->task, execution->buffers))
        return "No third execution was possible";
    *third = tic_retry_execute(execution, true, second);
    if (tic_undo_has_moved(undo, execution->task, execution->buffers))
        return "agrees with neither";
    if (tic_undo_is(undo, TIC_UNDO_FIRST))
        return "agrees with the first";
    return tic_undo_is(undo, TIC_UNDO_OTHER) ? "agrees with the second"
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

    if (execution->submitted > 0 || !tic_undo_keep(undo, TIC_UNDO_FIRST) ||
        !tic_undo_put_back(undo, execution->task, execution->buffers))
        return false;
    execution->checks = true;
    *second = tic_retry_execute(execution, true, first);
    return !tic_undo_has_moved(undo, execution->task, execution->buffers);
}

static void tic_certify(struct tic_execution *execution, int first)
{
    int second;

    if (!has_second(execution, first, &second)) {
        tic_kernels_count(&tic_kernels_counts.left_out);
        return;
    }
    if (!tic_undo_is(&execution->undo, TIC_UNDO_FIRST))
        stop(execution, first, second);
    tic_kernels_count(&tic_kernels_counts.certified);
    if (second != first)
        tic_kernels_count(&tic_kernels_counts.certified_elsewhere);
}

_Atomic bool tic_repeat_is_on;
static const char *can_fail = ""; /* names of codelets; immutable after the start */

/* The protected task that this worker began last, which StarPU calls the kernel of. */
static __thread struct {
    const struct starpu_task *task;
    uint64_t number, key;
} begun __attribute__((tls_model("initial-exec")));

/* ---- the kernel of a task -------------------------------------------------------------------- */

/* Kernels may call each other, also by the functions of codelets. */
static bool is_kernel_of(const struct tic_kernel *kernel, const struct starpu_task *task,
                         void *const buffers[], const void *argument)
{
    void *const *own = !task                  ? NULL
                       : task->dyn_interfaces ? task->dyn_interfaces
                                              : task->interfaces;

    return task && task->cl && buffers == own && argument == task->cl_arg &&
           tic_kernels_is_of(kernel, task->cl) && tic_real.starpu_combined_worker_get_size() <= 1;
}

static void execute(struct tic_execution *execution, bool is_known)
{
    const bool can_fail_here =
        atomic_load_explicit(&execution->kernel->can_fail, memory_order_relaxed);
    const bool certified = is_known && tic_certify_is_on() && tic_certify_wants(execution);

    if (!can_fail_here && !certified) {
        execution->kernel->function(execution->buffers, execution->argument);
        return;
    }
    execution->why_not =
        tic_undo_begin(&execution->undo, execution->task, execution->buffers, is_known);
    const int first = tic_retry_execute(execution, false, TIC_RETRY_ANYWHERE);
    if (certified && execution->why_not)
        tic_kernels_count(&tic_kernels_counts.left_out);
    else if (certified)
        tic_certify(execution, first);
    if (!execution->why_not)
        tic_undo_end(&execution->undo);
}

static void run(struct tic_kernel *kernel, void *buffers[], void *argument)
{
    struct starpu_task *task = tic_real.starpu_task_get_current();

    if (tic_retry_is_inside() || !is_kernel_of(kernel, task, buffers, argument)) {
        kernel->function(buffers, argument);
        return;
    }
    const bool is_known = begun.task == task && task->hypervisor_tag != 0;
    struct tic_execution execution = {
        .task = task,
        .kernel = kernel,
        .buffers = buffers,
        .argument = argument,
        .number = is_known ? begun.number : TIC_RETRY_NO_NUMBER,
        .key = is_known ? begun.key : 0,
        .worker = tic_real.starpu_worker_get_id(),
    };
    begun.task = NULL;
    execute(&execution, is_known);
}

/* ---- which kernels --------------------------------------------------------------------------- */

void tic_repeat_set(const struct tic_settings *settings)
{
    can_fail = settings->retry;
    tic_retry_set(settings->retries, settings->elsewhere);
    tic_kernels_run = run;
    if (settings->protocol == TIC_PROTOCOL_OFF) {
        if (settings->certify > 0 || can_fail[0])
            tic_log(TIC_LOG_WARN, "STARPU_TIC_CERTIFY and STARPU_TIC_RETRY have no effect with "
                                  "STARPU_TIC_PROTOCOL=off");
        return;
    }
    tic_certify_set(settings);
    if (can_fail[0] || tic_certify_is_on())
        atomic_store(&tic_repeat_is_on, true);
}

static void tell_no_room(const struct starpu_task *task)
{
    static _Atomic bool told;

    if (!atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "more than %d kernels: those of codelet \"%s\" are neither certified nor executed "
                "again",
                TIC_KERNELS, tic_task_name(task));
}

/* A device, or a slave, calls a kernel that ours do not stand for. */
static void note_outside(const struct starpu_task *task, uint64_t key, bool fails)
{
    static _Atomic bool told;

    if (tic_certify_is_on())
        tic_certify_leave_out(key);
    if (fails && tic_nodes_has_slaves() && !atomic_exchange(&told, true))
        tic_log(TIC_LOG_WARN,
                "slaves execute tasks of codelet \"%s\": one that fails ends this process; "
                "starpu-tic explain slaves",
                tic_task_name(task));
}

void tic_repeat_begin_slow(struct starpu_task *task, const struct tic_slot *slot, uint64_t key)
{
    begun.task = NULL;
    if (tic_task_is_own(task))
        return;
    const bool fails =
        strcmp(can_fail, "all") == 0 || tic_settings_list_has(can_fail, tic_task_name(task));
    if (tic_real.starpu_worker_get_type(tic_real.starpu_worker_get_id()) != STARPU_CPU_WORKER) {
        note_outside(task, key, fails || tic_kernels_can_fail(task->cl));
        return;
    }
    if ((fails || tic_certify_is_on()) && tic_kernels_replace(task->cl, fails) == -ENOSPC)
        tell_no_room(task);
    begun.task = task;
    begun.number = slot->sequence & TIC_SPAWN_KEY ? TIC_RETRY_NO_NUMBER : slot->sequence;
    begun.key = key;
}

int tic_repeat_declare(struct starpu_codelet *codelet)
{
    tic_kernels_run = run;
    atomic_store(&tic_repeat_is_on, true);
    return codelet && tic_real_resolve(NULL) ? tic_kernels_replace(codelet, true) : -EINVAL;
}
