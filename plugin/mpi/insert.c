/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shells around insertions: they know when one begins and ends, and what it uses. The arguments are
 * variable, and StarPU-MPI has no call that takes a list of them: they are passed on as they came.
 */
#include <dlfcn.h>
#include <starpu.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/words.h"
#include "mpi/core.h"
#include "mpi/labels.h"

#define WRAPPER __attribute__((visibility("default")))
#define LOCAL __attribute__((tls_model("initial-exec")))

struct insertion {
    uint64_t what;
    struct tic_label_access *accesses;
    unsigned long count, capacity;
    unsigned buffers;
    size_t words; /* of all arguments */
    const char *why;
};

static void fold(struct insertion *of, uint64_t word)
{
    of->what = tic_words_hash((uint64_t[]){of->what, word}, 2, 0);
}

/* The same in each run, and on each rank. */
static uint64_t hash_codelet(const struct starpu_codelet *codelet)
{
    const char *name = !codelet         ? ""
                       : codelet->name  ? codelet->name
                       : codelet->model ? codelet->model->symbol
                                        : NULL;
    Dl_info info;
    void *function;

    if (name)
        return XXH3_64bits(name, strlen(name));
    memcpy(&function, &codelet->cpu_funcs[0], sizeof(function));
    return function && dladdr(function, &info) ? (uint64_t)function - (uint64_t)info.dli_fbase : 0;
}

static void add_access(struct insertion *of, void *data, unsigned mode)
{
    const struct tic_label_access access = {data, (mode & STARPU_R) != 0, (mode & STARPU_W) != 0,
                                            (mode & STARPU_W) != 0 && (mode & STARPU_COMMUTE) != 0};

    of->buffers++;
    fold(of, mode & (STARPU_RW | STARPU_SCRATCH | STARPU_REDUX | STARPU_COMMUTE));
    if (mode & STARPU_REDUX)
        of->why = "there are reductions";
    else if ((mode & STARPU_RW) && tic_append(of->accesses, of->count, of->capacity, &access) != 0)
        of->why = "out of memory";
}

/* What may be an address differs between ranks and runs. */
static void add_value(struct insertion *of, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size && bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + at,
               size - at < sizeof(word) ? size - at : sizeof(word));
        fold(of, word >> 48 == 0 && word >> 32 != 0 ? 0 : word);
    }
}

static void add_array(struct insertion *of, const struct starpu_codelet *codelet,
                      starpu_data_handle_t *data, int count)
{
    for (int i = 0; i < count; i++)
        add_access(of, data[i], STARPU_CODELET_GET_MODE(codelet, of->buffers));
}

static void add_described(struct insertion *of, const struct starpu_data_descr *data, int count)
{
    for (int i = 0; i < count; i++)
        add_access(of, data[i].handle, data[i].mode);
}

/* Those with data and values are below. Kinds of what follows: i, an int; p, a word; d, a double.
 */
static const struct {
    int type;
    const char *kinds;
    bool fits; /* it means the same on another number of ranks */
} known[] = {
    {STARPU_PRIORITY, "i", true},
    {STARPU_EXECUTE_ON_NODE, "i", true},
    {STARPU_EXECUTE_ON_DATA, "p", true},
    {STARPU_FLOPS, "d", true},
    {STARPU_SCHED_CTX, "i", true},
    {STARPU_EXECUTE_ON_WORKER, "i", true},
    {STARPU_EXECUTE_WHERE, "p", true},
    {STARPU_POSSIBLY_PARALLEL, "i", true},
    {STARPU_WORKER_ORDER, "i", true},
    {STARPU_NODE_SELECTION_POLICY, "i", true},
    {STARPU_NAME, "p", true},
    {STARPU_TASK_COLOR, "i", true},
    {STARPU_HYPERVISOR_TAG, "i", true},
    {STARPU_TASK_SYNCHRONOUS, "i", true},
    {STARPU_TASK_WORKERIDS, "ip", true},
    {STARPU_TASK_PROFILING_INFO, "p", true},
    {STARPU_TASK_NO_SUBMITORDER, "i", true},
    {STARPU_TASK_SCHED_DATA, "p", true},
#ifdef STARPU_TASK_FILE
    {STARPU_TASK_FILE, "p", true},
    {STARPU_TASK_LINE, "i", true},
#endif
    {STARPU_CALLBACK, "p", false},
    {STARPU_CALLBACK_WITH_ARG, "pp", false},
    {STARPU_CALLBACK_WITH_ARG_NFREE, "pp", false},
    {STARPU_CALLBACK_ARG, "p", false},
    {STARPU_CALLBACK_ARG_NFREE, "p", false},
    {STARPU_PROLOGUE_CALLBACK, "p", false},
    {STARPU_PROLOGUE_CALLBACK_ARG, "p", false},
    {STARPU_PROLOGUE_CALLBACK_ARG_NFREE, "p", false},
    {STARPU_PROLOGUE_CALLBACK_POP, "p", false},
    {STARPU_PROLOGUE_CALLBACK_POP_ARG, "p", false},
    {STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE, "p", false},
    {STARPU_TAG, "p", false},
    {STARPU_TAG_ONLY, "p", false},
    {STARPU_TASK_DEPS_ARRAY, "ip", false},
    {STARPU_TASK_END_DEPS_ARRAY, "ip", false},
    {STARPU_TASK_END_DEP, "i", false},
    {STARPU_HANDLES_SEQUENTIAL_CONSISTENCY, "p", false},
    {STARPU_SEQUENTIAL_CONSISTENCY, "i", false},
};

enum { MOST_WORDS = 512 }; /* where it is not known how many there are */

/* False: what follows it is not known. */
static bool pass_known(struct insertion *of, int type, va_list *list)
{
    size_t i = 0, count = sizeof(known) / sizeof(known[0]);

    while (i < count && known[i].type != type)
        i++;
    for (const char *kind = i < count ? known[i].kinds : ""; *kind; kind++) {
        of->words++;
        if (*kind == 'i')
            (void)va_arg(*list, int);
        else if (*kind == 'd')
            (void)va_arg(*list, double);
        else
            (void)va_arg(*list, void *);
    }
    if (i == count)
        of->words = MOST_WORDS;
    if (i == count || !known[i].fits)
        of->why = "tasks have callbacks, tags, dependencies, or an order of their own";
    return i < count;
}

static void describe(struct insertion *of, const struct starpu_codelet *codelet, va_list *list)
{
    int type;

    *of = (struct insertion){.what = hash_codelet(codelet), .words = 3};
    while ((type = va_arg(*list, int)) != 0) {
        bool is_data = (type & (STARPU_RW | STARPU_SCRATCH | STARPU_REDUX)) != 0;
        of->words += is_data ? 2 : 1;
        if (is_data) {
            add_access(of, va_arg(*list, void *), (unsigned)type);
            continue;
        }
        if (type != STARPU_DATA_ARRAY && type != STARPU_DATA_MODE_ARRAY && type != STARPU_VALUE &&
            type != STARPU_CL_ARGS && type != STARPU_CL_ARGS_NFREE) {
            if (!pass_known(of, type, list))
                return;
            continue;
        }
        void *array = va_arg(*list, void *);
        of->words += 2;
        if (type == STARPU_DATA_ARRAY)
            add_array(of, codelet, array, va_arg(*list, int));
        else if (type == STARPU_DATA_MODE_ARRAY)
            add_described(of, array, va_arg(*list, int));
        else
            add_value(of, array, va_arg(*list, size_t));
    }
}

/* Of the call that this thread is in. */
static __thread struct insertion insertion LOCAL;

/* False: it is done. */
static bool begin(const struct starpu_codelet *codelet, va_list *list)
{
    describe(&insertion, codelet, list);
    if (tic_mpi_core && insertion.why)
        tic_labels_refuse(insertion.why);
    return !tic_mpi_core ||
           tic_labels_enter(insertion.what, insertion.accesses, (unsigned)insertion.count);
}

static void end(bool made)
{
    if (tic_mpi_core && made)
        tic_labels_leave(insertion.accesses, (unsigned)insertion.count);
    free(insertion.accesses);
}

#ifndef __clang__ /* it cannot pass arguments on: lines are of as many ranks then */
/* The arguments lie as they came, each in a word at most. */
#define INSERT(name)                                                                               \
    int name(void *comm, struct starpu_codelet *codelet, ...);                                     \
    WRAPPER int name(void *comm, struct starpu_codelet *codelet, ...)                              \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        void *arguments = __builtin_apply_args();                                                  \
        void (*real)(void) = NULL;                                                                 \
        void *function = tic_next_function(&found, #name);                                         \
        va_list list;                                                                              \
        (void)comm;                                                                                \
        memcpy(&real, &function, sizeof(real));                                                    \
        va_start(list, codelet);                                                                   \
        bool live = begin(codelet, &list);                                                         \
        va_end(list);                                                                              \
        if (!live) {                                                                               \
            end(false);                                                                            \
            return 0;                                                                              \
        }                                                                                          \
        void *result = __builtin_apply(real, arguments, insertion.words * sizeof(void *));         \
        end(true);                                                                                 \
        __builtin_return(result);                                                                  \
    }

INSERT(starpu_mpi_task_insert)
INSERT(starpu_mpi_insert_task)
#endif
