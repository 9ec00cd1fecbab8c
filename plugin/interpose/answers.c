/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What main() asks StarPU while tasks run, recorded and answered as before in a restart.
 *
 * An answer is an event if it is not the last one to the same question; others are only counted
 * (TIC_EVENT_SAME). The answers between two positions of main() end with an event that tells the
 * second one (TIC_EVENT_ASKED): a restart that asks less often in between, because it waits for
 * something that is there already, goes on with those behind it. The last answers of a run may lack
 * that event: they are given to the questions that come next, wherever that is, so that what is
 * recorded stays in the order in which main() was told it. */
#include "interpose/answers.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/context.h"
#include "interpose/opening.h"
#include "report/told.h"
#include "interpose/workers.h"
#include "base/error.h"
#include "interpose/record.h"

/* Answers about tasks that a restart tells again. main() asks until none is left: how often that
 * is, is a matter of speed, and a million questions would take long. */
enum { MOST_SAME = 16 };

/* Owner thread only. */
static struct {
    struct {
        bool known;
        int64_t bits;
    } last[TIC_ANSWER_CALLS][TIC_ANSWER_KEYS];
    uint64_t same;      /* questions since the last event that were answered like before */
    uint64_t left;      /* in a replay: questions that are to be answered like before */
    bool open;          /* main() has asked since its last position */
    bool others;        /* it has asked for something else than tasks */
    bool none_finished; /* it was told since then that a task is not finished */
} answers;

/* ---- the clock --------------------------------------------------------------------------------
 */

/* Microseconds; owner thread writes; relaxed. StarPU's clock begins with starpu_init(), or, where
 * it is called again, with the machine: in a restart it goes on from the last time that main() was
 * told, for all threads of the program. It never goes back while StarPU runs. */
static _Atomic double ahead;

static double time_of(int64_t bits)
{
    double time;

    memcpy(&time, &bits, sizeof(time));
    return time;
}

int64_t tic_answers_elsewhere(enum tic_answer call, const void *caller, int64_t bits)
{
    double shift =
        call == TIC_starpu_timing_now ? atomic_load_explicit(&ahead, memory_order_relaxed) : 0;

    if (shift != 0 && !tic_answers_are_starpu(caller)) {
        double time = time_of(bits) + shift;
        memcpy(&bits, &time, sizeof(bits));
    }
    return bits;
}

void tic_answers_set_clock(const struct tic_graph *graph)
{
    const uint32_t kind = TIC_EVENT_ANSWER + TIC_starpu_timing_now;
    const struct tic_line_event *events = graph->recovered.events;
    uint64_t i = graph->next_event, count = graph->recovered.event_count;

    while (i < count && events[i].kind != kind && events[i].kind != TIC_EVENT_START)
        i++;
    if (i < count && events[i].kind == kind)
        atomic_store(&ahead, time_of(events[i].value) - tic_real.starpu_timing_now());
}

/* ---- the replay ------------------------------------------------------------------------------ */

static const char *const names[TIC_ANSWER_CALLS] = {
#define ANSWER(number, type, name, parameters, arguments, key) [number] = #name,
#define LISTED(number, name) [number] = #name,
#define ASKED(number, name) [number] = #name,
#include "real/answers.def"
#undef ANSWER
};

/* The next recorded event of those that are answered in their order. */
static const struct tic_line_event *next_event(struct tic_graph *graph)
{
    const struct tic_line_event *event = tic_graph_next_event(graph);

    for (; event && (event->kind == TIC_EVENT_WORKERS || event->kind == TIC_EVENT_COMBINED);
         event = tic_graph_next_event(graph))
        graph->next_event++;
    return event;
}

static bool counts_tasks(enum tic_answer call)
{
    return call == TIC_starpu_task_nsubmitted || call == TIC_starpu_task_nready;
}

/* True when the recorded run has an answer here, or goes on otherwise: then *bits stays. */
static bool replay(struct tic_graph *graph, enum tic_answer call, unsigned key, int64_t *bits,
                   bool *replaced)
{
    const struct tic_line_event *event = answers.left > 0 ? NULL : next_event(graph);

    if (event && event->kind == TIC_EVENT_SAME) {
        answers.left = event->value > 0 ? (uint64_t)event->value : 0;
        graph->next_event++;
    }
    answers.others |= !counts_tasks(call);
    if (answers.left > MOST_SAME && !answers.others) /* else others may be among them */
        answers.left = MOST_SAME;
    if (answers.left > 0) {
        answers.left--;
        *replaced = answers.last[call][key].known;
        if (*replaced)
            *bits = answers.last[call][key].bits;
    } else if (event && event->kind == TIC_EVENT_ANSWER + (uint32_t)call) {
        *bits = event->value;
        *replaced = true;
        graph->next_event++;
    } else if (!event) {
        return false;
    }
    if (!*replaced)
        tic_answers_differ(names[call], "asked where it was not");
    return true;
}

/* ---- the record ------------------------------------------------------------------------------ */

static void flush_same(void)
{
    if (answers.same > 0)
        tic_session_note(TIC_EVENT_SAME, (int64_t)answers.same);
    answers.same = 0;
}

/* A program that waits by asking for the time, again and again, would fill the disk: beyond a bound
 * its clock stands still for up to a millisecond. */
static bool may_note_time(double now)
{
    enum { MOST = 100000, PER_MILLISECOND = 1 };
    static double budget = MOST, since;

    if (now > since) {
        double more = since > 0 ? (now - since) / 1000 * PER_MILLISECOND : 0;
        budget = budget + more < MOST ? budget + more : MOST;
        since = now;
    }
    if (budget < 1)
        return false;
    budget--;
    return true;
}

static bool is_as_before(enum tic_answer call, unsigned key, int64_t bits)
{
    if (!answers.last[call][key].known)
        return false;
    if (answers.last[call][key].bits == bits)
        return true;
    return call == TIC_starpu_timing_now && !may_note_time(time_of(bits));
}

bool tic_answer(enum tic_answer call, unsigned key, int64_t *bits)
{
    struct tic_session *session = tic_session_of_events();
    double real = call == TIC_starpu_timing_now ? time_of(*bits) : 0;
    bool replaced = false;

    key %= TIC_ANSWER_KEYS;
    *bits = tic_answers_elsewhere(call, NULL, *bits);
    if (!session)
        return false;
    if (replay(&session->graph, call, key, bits, &replaced)) {
        if (!replaced)
            return false;
    } else if (is_as_before(call, key, *bits)) {
        answers.same++;
        *bits = answers.last[call][key].bits;
        answers.open = true;
        return false;
    } else {
        flush_same();
        tic_session_note(TIC_EVENT_ANSWER + (int)call, *bits);
        answers.open = true;
    }
    if (replaced && call == TIC_starpu_timing_now && time_of(*bits) - real > atomic_load(&ahead))
        atomic_store(&ahead, time_of(*bits) - real);
    answers.last[call][key].known = true;
    answers.last[call][key].bits = *bits;
    return replaced;
}

/* ---- is a task finished? ----------------------------------------------------------------------
 */

/* Structures that stay with main(), and their last submission: tsearch(3), under the submission
 * lock. */
struct structure {
    const struct starpu_task *task;
    uint64_t sequence;
};
static void *structures;

static int by_task(const void *a, const void *b)
{
    const struct starpu_task *x = ((const struct structure *)a)->task;
    const struct starpu_task *y = ((const struct structure *)b)->task;

    return (x > y) - (x < y);
}

bool tic_answers_note_task_locked(const struct starpu_task *task, uint64_t sequence)
{
    struct structure key = {task, sequence}, **found = tfind(&key, &structures, by_task);

    if (found) {
        (*found)->sequence = sequence;
        return true;
    }
    struct structure *fresh = malloc(sizeof(*fresh));
    if (!fresh)
        return false;
    *fresh = key;
    if (tsearch(fresh, &structures, by_task))
        return true;
    free(fresh);
    return false;
}

/* What an answer names it by; -1: nobody knows it. */
static int64_t number_of(const struct starpu_task *task)
{
    const struct structure key = {.task = task};

    tic_lock(&tic_session->submit);
    struct structure **found = tfind(&key, &structures, by_task);
    int64_t number = found ? (int64_t)(*found)->sequence + 1 : -1;
    tic_unlock(&tic_session->submit);
    return number;
}

/* That none is finished is recorded once between two positions, and that one is, with its number:
 * how often main() asks is a matter of speed. */
static void note_finished(int64_t number)
{
    if (number == 0 && answers.none_finished)
        return;
    answers.none_finished |= number == 0;
    flush_same();
    tic_session_note(TIC_EVENT_ANSWER + TIC_starpu_task_finished, number);
    answers.open = true;
}

bool tic_answers_is_finished(const struct starpu_task *task, bool real)
{
    const enum tic_event kind = TIC_EVENT_ANSWER + TIC_starpu_task_finished;
    struct tic_session *session = tic_session_of_events();

    if (!session || !tic_session)
        return real;
    const struct tic_line_event *event = answers.left > 0 ? NULL : next_event(&session->graph);
    if (!event && answers.left == 0) {
        note_finished(real ? number_of(task) : 0);
        return real;
    }
    answers.others = true;
    if (!event || event->kind != (uint32_t)kind)
        return false;
    bool told = event->value != 0 && event->value == number_of(task);
    session->graph.next_event += event->value == 0 || told;
    return told;
}

void tic_answers_told(enum tic_answer call, int64_t bits)
{
    if ((call == TIC_starpu_task_finished ? bits != 0 : counts_tasks(call) && bits == 0) &&
        tic_session)
        atomic_fetch_add_explicit(&tic_session->graph.told, 1, memory_order_relaxed);
}

void tic_answers_break(void)
{
    answers.left = 0;
    flush_same();
}

void tic_answers_end(uint64_t position)
{
    struct tic_graph *graph = &tic_session->graph;

    tic_workers_note();
    if (graph->next_event < graph->recovered.event_count) {
        answers.left = 0;
        tic_graph_end_answers(graph, position);
    }
    if (!answers.open)
        return;
    flush_same();
    tic_session_note(TIC_EVENT_ASKED, (int64_t)position);
    answers.open = answers.none_finished = false;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Nondeterministic events of main() that are logged, and replayed in a recovered run. Most are
 * noted where they happen; time() here. */

void tic_session_event(enum tic_event kind, int64_t *value)
{
    struct tic_session *session = tic_session_of_events();

    if (!session)
        return;
    tic_answers_break();
    uint64_t known = tic_tail_total(&session->graph.events); /* the owner thread adds to it */
    int status = tic_graph_event(&session->graph, kind, value);
    if (status == -EILSEQ)
        tic_stop(TIC_EXIT_DIVERGED, "the replay differs from the recorded run: its calls of time() "
                                    "and the like come in another order");
    if (status)
        tic_snapshot_break(&session->snapshot, "out of memory");
    else
        tic_record_event(known, kind, *value);
}

/* ---- time() --------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static time_t (*real_time)(time_t *);        /* immutable after resolve */
static bool has_starpu;                      /* immutable after resolve */
static time_t behind;                        /* immutable after resolve: STARPU_TIC_CLOCK */
static uintptr_t program_begin, program_end; /* immutable after resolve: the main program's code */

/* The first object is the program itself. */
static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            program_begin = begin;
            program_end = begin + segment->p_memsz;
        }
    }
    return 1;
}

static void resolve(void)
{
    void *found = dlsym(RTLD_NEXT, "time");
    __builtin_memcpy(&real_time, &found, sizeof(found));
    has_starpu = dlsym(RTLD_NEXT, "starpu_task_create") != NULL;
    const char *clock = secure_getenv("STARPU_TIC_CLOCK"); /* no session need be there */
    time_t begin = clock ? (time_t)strtoll(clock, NULL, 10) : 0;
    behind = begin > 0 ? real_time(NULL) - begin : 0;
    dl_iterate_phdr(note_program, NULL);
}

static bool is_program(const void *caller)
{
    return (uintptr_t)caller >= program_begin && (uintptr_t)caller < program_end;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    pthread_once(&once, resolve);
    time_t now = real_time(NULL);
    if (has_starpu && gettid() == getpid() && is_program(__builtin_return_address(0))) {
        int64_t value = now - behind;
        tic_session_event(TIC_EVENT_TIME, &value);
        now = (time_t)value;
    }
    if (out)
        *out = now;
    return now;
}
