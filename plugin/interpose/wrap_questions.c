/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of what main() asks about tasks and time. */
#include <string.h>

#include "interpose/answers.h"
#include "interpose/callback_redo.h"
#include "session/context.h"
#include "session/task.h"
#include "report/told.h"
#include "interpose/waits.h"
#include "real/real.h"
#include "unseen/heap.h"

/* main() is told that there are no such tasks, as then, and may rely on it. Beyond the recovered
 * cut there may be: tasks that are executed again. All had ended without main(). */
static void come_as_far(enum tic_answer call)
{
    if (tic_position_is_ahead() || tic_session->paused)
        return;
    tic_guard++;
    if (call == TIC_starpu_task_nready)
        tic_real.starpu_task_wait_for_no_ready();
    else
        tic_real.starpu_task_wait_for_all();
    tic_guard--;
}

/* A count of tasks that the real answer is above. */
static bool is_to_come(enum tic_answer call, int64_t told, int64_t real)
{
    return (call == TIC_starpu_task_nready || call == TIC_starpu_task_nsubmitted) && told == 0 &&
           real > 0;
}

static int64_t bits_of_int(int value)
{
    return value;
}

static int64_t bits_of_starpu_ssize_t(starpu_ssize_t value)
{
    return value;
}

static int64_t bits_of_double(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static int int_of(int64_t bits)
{
    return (int)bits;
}

static starpu_ssize_t starpu_ssize_t_of(int64_t bits)
{
    return (starpu_ssize_t)bits;
}

static double double_of(int64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* It may ask as often as it likes, but once for what it has submitted counts, as a restart may ask
 * less often. */
static void told_of_tasks(int64_t left)
{
    static uint64_t before; /* main() only: submissions when it was told last that none is left */
    uint64_t submitted = tic_session ? tic_session->graph.signature.position : 0;

    if (left > 0 || submitted == before)
        return;
    before = submitted;
    tic_wait_has_been("starpu_task_nsubmitted");
}

#define ANSWER(number, type, name, parameters, arguments, key)                                     \
    WRAPPER type name parameters                                                                   \
    {                                                                                              \
        bool asked = tic_answers_are_asked(__builtin_return_address(0));                           \
        tic_guard++;                                                                               \
        type real = RESOLVED(name) arguments;                                                      \
        tic_guard--;                                                                               \
        int64_t bits = bits_of_##type(real);                                                       \
        if (!asked)                                                                                \
            return type##_of(                                                                      \
                tic_answers_elsewhere(TIC_##name, __builtin_return_address(0), bits));             \
        if (tic_answer(TIC_##name, (unsigned)(key), &bits) &&                                      \
            is_to_come(TIC_##name, bits, bits_of_##type(real)))                                    \
            come_as_far(TIC_##name);                                                               \
        tic_answers_told(TIC_##name, bits);                                                        \
        if (TIC_##name == TIC_starpu_task_nsubmitted)                                              \
            told_of_tasks(bits);                                                                   \
        return type##_of(bits);                                                                    \
    }
#include "real/answers.def"
#undef ANSWER

WRAPPER int starpu_task_finished(struct starpu_task *task)
{
    bool asked = tic_answers_are_asked(__builtin_return_address(0));
    int real = RESOLVED(starpu_task_finished)(task);

    if (!asked)
        return real;
    bool told = tic_answers_is_finished(task, real != 0);
    if (told && !real)
        tic_task_await_end(task); /* main() may use the structure again */
    if (told)
        tic_callback_await(task);
    tic_answers_told(TIC_starpu_task_finished, told);
    if (told)
        tic_wait_has_been("starpu_task_finished");
    return told;
}

/* Where memory has a limit: what tasks take of it, skipped ones do not. main() may do without. */
WRAPPER int starpu_malloc_flags(void **to, size_t size, int flags)
{
    bool asked = (flags & STARPU_MALLOC_COUNT) != 0 &&
                 RESOLVED(starpu_memory_get_total)(STARPU_MAIN_RAM) > 0 &&
                 tic_answers_are_asked(__builtin_return_address(0));
    tic_guard++;
    int real = RESOLVED(starpu_malloc_flags)(to, size, flags);
    tic_guard--;
    int64_t told = real;

    if (real == 0 && tic_is_owner && tic_guard == 0)
        tic_heap_note(*to, size, true);
    if (!asked)
        return real;
    tic_answer(TIC_starpu_malloc_flags, (unsigned)flags % TIC_ANSWER_KEYS, &told);
    if (told == 0 || real != 0)
        return real;
    RESOLVED(starpu_free_flags)(*to, size, flags);
    *to = NULL;
    return (int)told;
}
