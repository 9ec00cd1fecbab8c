/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers of workers that main() is told. It cuts its data by them, and has arrays with an element
 * for each worker, so a restart tells it the recorded number from the start to the end, and uses no
 * more workers than that. Where there are fewer, main() knows workers that do not exist, also if it
 * has not asked: what it asks about one of them, or submits to it, another one stands in for.
 * Tasks, callbacks and other threads are told the real number, which is not above. Where some of
 * the workers are devices, that goes for all of them together: numbers of a type are the real ones.
 */
#include "interpose/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "session/context.h"
#include "interpose/opening.h"
#include "session/task.h"
#include "report/told.h"
#include "real/real.h"

/* Variables by which the user bounds the number of workers. */
static const char *const variables[] = {"STARPU_NCPU", "STARPU_NCPUS"};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static struct {
    int recorded_combined;      /* by the line, for this start; -1: main() did not ask */
    bool noted, noted_combined; /* what main() was told is in the events */
    bool limited;
    char *hidden[VARIABLES];
} now; /* owner thread only */

/* ---- the start ------------------------------------------------------------------------------- */

static void hide(unsigned i)
{
    now.hidden[i] = strdup(getenv(variables[i]));
    if (!now.hidden[i])
        tic_stop(TIC_EXIT_REFUSED, "out of memory at start");
    unsetenv(variables[i]);
}

static void show_all(void)
{
    for (unsigned i = 0; i < VARIABLES; i++) {
        if (now.hidden[i])
            setenv(variables[i], now.hidden[i], 1);
        free(now.hidden[i]);
        now.hidden[i] = NULL;
    }
}

/* The environment wins over conf, unless conf says otherwise. */
static bool asks_for_more(const struct starpu_conf *conf, long most)
{
    long wanted = conf->ncpus;

    for (unsigned i = 0; i < VARIABLES && !conf->precedence_over_environment_variables; i++)
        if (getenv(variables[i]))
            wanted = atol(getenv(variables[i]));
    return wanted >= 0 ? wanted > most : sysconf(_SC_NPROCESSORS_CONF) > most;
}

/* -1: main() did not ask. */
static int find(const struct tic_session *session, enum tic_event kind, bool earlier)
{
    int64_t count = tic_graph_find_workers(&session->graph, kind, session->starts, earlier);

    return count <= TIC_MAX_WORKERS ? (int)count : -1;
}

/* By main(): the environment wins over conf, unless conf says otherwise. */
static bool is_chosen(const struct starpu_conf *conf)
{
    bool chosen = conf->ncpus >= 0;

    for (unsigned i = 0; i < VARIABLES && !conf->precedence_over_environment_variables; i++)
        chosen = chosen && !getenv(variables[i]);
    return chosen;
}

/* A program that chooses the number itself may choose another one for each start. */
void tic_workers_start(struct tic_session *session, struct starpu_conf *conf)
{
    int recorded = find(session, TIC_EVENT_WORKERS, !is_chosen(conf));
    tic_workers.recorded = recorded > 0 ? (unsigned)recorded : 0;
    now.recorded_combined = find(session, TIC_EVENT_COMBINED, false);
    now.noted = find(session, TIC_EVENT_WORKERS, false) >= 0;
    now.noted_combined = now.recorded_combined >= 0;
    now.limited = tic_workers.recorded > 0 && session->settings.workers == TIC_WORKERS_RECORDED &&
                  asks_for_more(conf, (long)tic_workers.recorded);
    if (!now.limited)
        return;
    conf->ncpus = (int)tic_workers.recorded;
    for (unsigned i = 0; i < VARIABLES; i++)
        if (getenv(variables[i]))
            hide(i);
}

static void say(const struct tic_session *session, unsigned count)
{
    if (session->settings.workers == TIC_WORKERS_REAL)
        return;
    if (now.limited)
        tic_log(TIC_LOG_INFO,
                "main() was told of %u worker%s, so no more are used (STARPU_TIC_WORKERS=real uses "
                "all)",
                tic_workers.recorded, tic_told_plural(tic_workers.recorded));
    else if (count < tic_workers.recorded)
        tic_log(TIC_LOG_INFO,
                "main() was told of %u worker%s, and is told so again; there %s %u now",
                tic_workers.recorded, tic_told_plural(tic_workers.recorded),
                count == 1 ? "is" : "are", count);
}

/* Also where main() has not asked, and knows workers all the same. In the first run such a task is
 * an error of the program, which StarPU tells. */
static bool has_stand_ins(const struct tic_session *session)
{
    return session->recovered && session->settings.workers == TIC_WORKERS_RECORDED;
}

/* Devices came to the workers that main() was told of. */
static void require_room(const struct tic_session *session, unsigned count)
{
    if (tic_workers.recorded > 0 && count > tic_workers.recorded &&
        session->settings.workers == TIC_WORKERS_RECORDED)
        tic_stop(TIC_EXIT_REFUSED,
                 "main() was told of %u worker%s, and there are %u now, with devices: it may have "
                 "arrays of that size. Start it with fewer (STARPU_NCPU), or with "
                 "STARPU_TIC_WORKERS=real. The recovery lines in %s are untouched",
                 tic_workers.recorded, tic_told_plural(tic_workers.recorded), count,
                 session->store.path);
}

void tic_workers_started(struct tic_session *session, bool success)
{
    show_all();
    if (!success)
        return;
    unsigned count = tic_real.starpu_worker_get_count();
    tic_workers.mixed = tic_real.starpu_cpu_worker_get_count() != count;
    if (tic_workers.mixed)
        require_room(session, count);
    say(session, count);
    tic_workers.count = count;
    tic_workers.combined = tic_real.starpu_combined_worker_get_count();
    tic_workers.told_combined = -1;
    tic_workers.earlier = has_stand_ins(session) ? (unsigned)session->graph.recovered.workers : 0;
    atomic_store(&tic_workers.told, 0);
}

void tic_workers_shutdown(void)
{
    tic_workers.count = 0;
    atomic_store(&tic_workers.told, 0);
}

/* ---- what main() is told --------------------------------------------------------------------- */

void tic_workers_note(void)
{
    unsigned told = atomic_load_explicit(&tic_workers.told, memory_order_relaxed);

    if (told > 0 && !now.noted)
        now.noted = tic_session_note(TIC_EVENT_WORKERS, told);
    if (tic_workers.told_combined >= 0 && !now.noted_combined)
        now.noted_combined = tic_session_note(TIC_EVENT_COMBINED, tic_workers.told_combined);
}

bool tic_workers_are_asked(const void *caller)
{
    return tic_is_owner && tic_workers.count > 0 && tic_session && tic_guard == 0 &&
           !tic_answers_are_starpu(caller) && tic_session_is_owner();
}

static void compare(const char *call, unsigned was, unsigned is)
{
    char how[64];

    snprintf(how, sizeof(how), "%u, was %u", is, was);
    if (was > 0 && was != is)
        tic_answers_differ(call, how);
}

unsigned tic_workers_tell(void)
{
    unsigned told = atomic_load_explicit(&tic_workers.told, memory_order_relaxed);

    if (told > 0)
        return told;
    bool again = tic_session->settings.workers == TIC_WORKERS_RECORDED && tic_workers.recorded > 0;
    told = again ? tic_workers.recorded : tic_workers.count;
    compare("starpu_worker_get_count and the like", tic_workers.recorded, told);
    atomic_store(&tic_workers.told, told);
    if (tic_session_is_watching())
        tic_workers_note();
    return told;
}

unsigned tic_workers_tell_combined(void)
{
    if (tic_workers.told_combined < 0) {
        bool again =
            tic_session->settings.workers == TIC_WORKERS_RECORDED && now.recorded_combined >= 0;
        tic_workers.told_combined = again ? now.recorded_combined : (int)tic_workers.combined;
        if (tic_session_is_watching())
            tic_workers_note();
    }
    return (unsigned)tic_workers.told_combined;
}

/* ---- workers that do not exist ----------------------------------------------------------------
 */

static bool is_missing(const struct starpu_task *task)
{
    return task->execute_on_a_specific_worker && tic_workers.count > 0 &&
           task->workerid >= tic_workers.count + tic_workers.combined;
}

/* Only such workers may execute it. */
static bool names_missing(const struct starpu_task *task)
{
    enum { BITS = 32 };
    const unsigned count = tic_workers.count + tic_workers.combined;
    unsigned id = 0;

    if (__builtin_expect(task->workerids_len == 0, 1) || tic_workers.count == 0)
        return false;
    while (id < count &&
           (id / BITS >= task->workerids_len || !(task->workerids[id / BITS] >> id % BITS & 1)))
        id++;
    return id == count;
}

/* One that can run it, if there is one; else StarPU says that there is none. */
static unsigned stand_in(struct starpu_task *task)
{
    unsigned first = task->workerid % tic_workers.count, id = first;

    while (tic_workers.mixed &&
           !tic_real.starpu_worker_can_execute_task_first_impl(id, task, NULL)) {
        id = (id + 1) % tic_workers.count;
        if (id == first)
            break;
    }
    return id;
}

void tic_workers_place(struct starpu_task *task)
{
    if (is_missing(task) && has_stand_ins(tic_session))
        task->workerid = stand_in(task);
    if (names_missing(task) && has_stand_ins(tic_session))
        task->workerids_len = 0;
}

/* The end of the message tells both numbers. */
void tic_workers_require(const struct starpu_task *task)
{
    if (names_missing(task))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: task \"%s\" is for workers (workerids) "
                 "that do not exist. The recovery lines in %s are untouched: start it with more "
                 "workers, or with STARPU_TIC_WORKERS=recorded, by which others stand in",
                 tic_task_name(task), tic_session->store.path);
    if (is_missing(task))
        tic_stop(TIC_EXIT_DIVERGED,
                 "the replay differs from the recorded run: task \"%s\" is for worker %u (counted "
                 "from 0), which does not exist. The recovery lines in %s are untouched: start it "
                 "with more workers, or with STARPU_TIC_WORKERS=recorded, by which others stand in",
                 tic_task_name(task), task->workerid, tic_session->store.path);
}

/* It asked for the number, or did so in the recorded run: it may have an element for each. */
static unsigned count_known(void)
{
    unsigned told = atomic_load_explicit(&tic_workers.told, memory_order_relaxed);

    return told == 0 && tic_session->settings.workers == TIC_WORKERS_RECORDED ? tic_workers.recorded
                                                                              : told;
}

void tic_workers_require_all(const char *call)
{
    unsigned known = count_known();

    if (known > tic_workers.count)
        tic_stop(
            TIC_EXIT_DIVERGED,
            "%s reaches the workers that there are, and main() knows %u. The recovery lines in "
            "%s are untouched: start it with as many workers",
            call, known, tic_session->store.path);
}
