/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of what main() asks about workers. StarPU asks through them, too, and gets the real
 * answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/context.h"
#include "interpose/hooks.h"
#include "interpose/callback_redo.h"
#include "report/told.h"
#include "interpose/workers.h"
#include "real/real.h"

#define IS_ASKED() __builtin_expect(tic_workers_are_asked(__builtin_return_address(0)), 0)

/* ---- how many -------------------------------------------------------------------------------- */

WRAPPER unsigned starpu_worker_get_count(void)
{
    return IS_ASKED() ? tic_workers_tell() : RESOLVED(starpu_worker_get_count)();
}

WRAPPER unsigned starpu_cpu_worker_get_count(void)
{
    return IS_ASKED() && !tic_workers.mixed ? tic_workers_tell()
                                            : RESOLVED(starpu_cpu_worker_get_count)();
}

WRAPPER unsigned starpu_combined_worker_get_count(void)
{
    return IS_ASKED() ? tic_workers_tell_combined() : RESOLVED(starpu_combined_worker_get_count)();
}

/* ---- which one ------------------------------------------------------------------------------- */

/* The callback of a skipped task runs beside the workers (callback_redo.c), and may count per
 * worker: then it runs on the first one. */
static bool stands_on_worker(const void *caller)
{
    const struct starpu_task *task = tic_callback_current_task();

    return task && task->cl && !tic_answers_are_starpu(caller);
}

WRAPPER int starpu_worker_get_id(void)
{
    int id = RESOLVED(starpu_worker_get_id)();

    return id < 0 && stands_on_worker(__builtin_return_address(0)) ? 0 : id;
}

WRAPPER unsigned _starpu_worker_get_id_check(const char *file, int line)
{
    return stands_on_worker(__builtin_return_address(0)) && RESOLVED(starpu_worker_get_id)() < 0
               ? 0
               : RESOLVED(_starpu_worker_get_id_check)(file, line);
}

/* ---- of a type ------------------------------------------------------------------------------- */

static bool has_workers(enum starpu_worker_archtype type)
{
    return (type == STARPU_CPU_WORKER && !tic_workers.mixed) || type == STARPU_ANY_WORKER;
}

WRAPPER int starpu_worker_get_count_by_type(enum starpu_worker_archtype type)
{
    return IS_ASKED() && has_workers(type) ? (int)tic_workers_tell()
                                           : RESOLVED(starpu_worker_get_count_by_type)(type);
}

/* A context with all workers has all that main() knows. */
WRAPPER unsigned starpu_sched_ctx_get_nworkers(unsigned context)
{
    unsigned count = RESOLVED(starpu_sched_ctx_get_nworkers)(context);

    return IS_ASKED() && count == tic_workers.count ? tic_workers_tell() : count;
}

static uint64_t count_submitted(void)
{
    return tic_session_is_watching() && tic_session_is_owner()
               ? tic_session->graph.signature.position
               : UINT64_MAX;
}

/* One of them calls another one, which comes here, too. */
static __thread unsigned on_each;

/* What it leaves for each worker would not be there for all that main() knows. */
static uint64_t begin_on_each(uint32_t where, bool asked, const char *call)
{
    if (on_each++ == 0 && (where & STARPU_CPU) && asked)
        tic_workers_require_all(call);
    return count_submitted();
}

/* StarPU has submitted tasks of its own and waited for them. */
static void end_on_each(uint64_t from)
{
    uint64_t to = count_submitted();

    if (--on_each > 0 || to == UINT64_MAX)
        return;
    TIC_LINT(note, TIC_LINT_EACH_WORKER, NULL);
    if (from < to)
        tic_hooks_end_submitted(from, to);
}

/* Those of devices only (starpu_cublas_init) prepare the device, each time: they are StarPU's. */
#define ON_EACH(name, parameters, arguments)                                                       \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        uint64_t from = begin_on_each(where, IS_ASKED(), #name);                                   \
        tic_guard += !(where & STARPU_CPU);                                                        \
        RESOLVED(name) arguments;                                                                  \
        tic_guard -= !(where & STARPU_CPU);                                                        \
        end_on_each(from);                                                                         \
    }

ON_EACH(starpu_execute_on_each_worker, (void (*func)(void *), void *arg, uint32_t where),
        (func, arg, where))
ON_EACH(starpu_execute_on_each_worker_ex,
        (void (*func)(void *), void *arg, uint32_t where, const char *name),
        (func, arg, where, name))

/* ---- which ----------------------------------------------------------------------------------- */

/* main() asks for workers, and knows some that do not exist. */
#define IS_ASKED_FOR_MORE() (IS_ASKED() && tic_workers_tell() > tic_workers.count)

WRAPPER unsigned starpu_worker_get_ids_by_type(enum starpu_worker_archtype type, int *ids,
                                               unsigned size)
{
    if (!IS_ASKED_FOR_MORE() || !has_workers(type))
        return RESOLVED(starpu_worker_get_ids_by_type)(type, ids, size);
    unsigned told = tic_workers_tell();
    for (unsigned i = 0; i < told && i < size; i++)
        ids[i] = (int)i;
    return told <= size ? told : (unsigned)-ERANGE;
}

WRAPPER int starpu_worker_get_by_type(enum starpu_worker_archtype type, int number)
{
    if (IS_ASKED_FOR_MORE() && has_workers(type) && number >= 0 &&
        (unsigned)number < tic_workers_tell())
        return number;
    return RESOLVED(starpu_worker_get_by_type)(type, number);
}

/* Workers that do not exist are devices of their own. */
WRAPPER int starpu_worker_get_by_devid(enum starpu_worker_archtype type, int device)
{
    if (IS_ASKED_FOR_MORE() && has_workers(type) && device >= (int)tic_workers.count &&
        (unsigned)device < tic_workers_tell())
        return device;
    return RESOLVED(starpu_worker_get_by_devid)(type, device);
}

WRAPPER int starpu_worker_get_devids(enum starpu_worker_archtype type, int *devices, int size)
{
    int count = RESOLVED(starpu_worker_get_devids)(type, devices, size);

    if (!IS_ASKED_FOR_MORE() || !has_workers(type))
        return count;
    for (unsigned i = tic_workers.count; i < tic_workers_tell() && count < size; i++)
        devices[count++] = (int)i;
    return count;
}

WRAPPER unsigned starpu_sched_ctx_get_workers_list(unsigned context, int **ids)
{
    unsigned count = RESOLVED(starpu_sched_ctx_get_workers_list)(context, ids);

    if (!IS_ASKED_FOR_MORE() || count != tic_workers.count)
        return count;
    unsigned told = tic_workers_tell();
    int *grown = realloc(*ids, told * sizeof(*grown));
    if (!grown)
        return count;
    for (unsigned i = count; i < told; i++)
        grown[i] = (int)i;
    *ids = grown;
    return told;
}

/* ---- one of them ------------------------------------------------------------------------------
 */

WRAPPER enum starpu_worker_archtype starpu_worker_get_type(int id)
{
    return RESOLVED(starpu_worker_get_type)(tic_workers_stand_in(id));
}

WRAPPER int starpu_worker_get_devid(int id)
{
    int stand_in = tic_workers_stand_in(id);

    return stand_in == id ? RESOLVED(starpu_worker_get_devid)(id) : id;
}

#if TIC_STARPU_1_4
WRAPPER int starpu_worker_get_devnum(int id)
{
    int stand_in = tic_workers_stand_in(id);

    return stand_in == id ? RESOLVED(starpu_worker_get_devnum)(id) : id;
}

WRAPPER int starpu_worker_get_subworkerid(int id)
{
    return RESOLVED(starpu_worker_get_subworkerid)(tic_workers_stand_in(id));
}
#endif

WRAPPER int starpu_worker_get_bindid(int id)
{
    return RESOLVED(starpu_worker_get_bindid)(tic_workers_stand_in(id));
}

WRAPPER void starpu_worker_get_name(int id, char *name, size_t size)
{
    RESOLVED(starpu_worker_get_name)(tic_workers_stand_in(id), name, size);
}

WRAPPER unsigned starpu_worker_get_memory_node(unsigned id)
{
    return RESOLVED(starpu_worker_get_memory_node)((unsigned)tic_workers_stand_in((int)id));
}

WRAPPER struct starpu_perfmodel_arch *starpu_worker_get_perf_archtype(int id, unsigned context)
{
    return RESOLVED(starpu_worker_get_perf_archtype)(tic_workers_stand_in(id), context);
}

WRAPPER int starpu_worker_can_execute_task(unsigned id, struct starpu_task *task,
                                           unsigned implementation)
{
    return RESOLVED(starpu_worker_can_execute_task)((unsigned)tic_workers_stand_in((int)id), task,
                                                    implementation);
}

/* The workers of a context that exist; the array is the program's. */
static int *list_stand_ins(const int *ids, unsigned count)
{
    int *list = malloc((count + 1) * sizeof(*list));

    for (unsigned i = 0; list && i < count; i++)
        list[i] = tic_workers_stand_in(ids[i]);
    return list;
}

WRAPPER void starpu_sched_ctx_add_workers(int *ids, unsigned count, unsigned context)
{
    int *list = list_stand_ins(ids, count);

    RESOLVED(starpu_sched_ctx_add_workers)(list ? list : ids, count, context);
    free(list);
}

WRAPPER void starpu_sched_ctx_remove_workers(int *ids, unsigned count, unsigned context)
{
    int *list = list_stand_ins(ids, count);

    RESOLVED(starpu_sched_ctx_remove_workers)(list ? list : ids, count, context);
    free(list);
}
