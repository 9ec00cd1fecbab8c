/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart redoes the history of the recovered cut: a thread passes the entries, runs callbacks or
 * has others run them, and plays the queue at the end. */
#include "replay/replay.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "replay/cursor.h"

_Atomic int tic_replay_phase;

struct work {
    void (*run)(void *);
    void *argument;
};

struct works {
    struct work *items;
    unsigned long count, capacity;
};

/* Who had begun by the cut, but for prologues that had not ended, and run again with their task. */
struct actor {
    uint64_t key;
    uint32_t role; /* enum tic_history_role */
    bool nested;   /* inside a call of main(), at this position */
    bool ended;    /* by the cut */
    uint64_t position;
    struct tic_replay_actor is;
    bool known; /* the program has come to it */
    bool here;  /* main() has, and is to run it where it is; when it is due */
    bool due, returned;
    bool optional;
    bool passed, begun;            /* its entry has; before that */
    unsigned calls, called, since; /* by the cut; by now; by the last entry that has passed */
    bool came_back;                /* from the last by the cut */
    unsigned back;                 /* from so many by now */
    size_t at;                     /* the entry of its begin, or of a call; of its calls so many: */
    unsigned at_call;
    struct actor *next; /* of those that begin apart from their entries */
    struct actor *next_inside;
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    /* for who passes entries; for main(); for others, who wait for kernels or the end */
    pthread_cond_t passes, main, others;
    struct tic_replay_steps steps; /* immutable; and: */
    uint64_t cut;
    struct actor *actors; /* by role and key; the array is immutable */
    size_t actor_count;
    struct actor *inside; /* main() only: to be run inside its call, before it comes back */
    /* guarded by the mutex */
    struct tic_cursor cursor;
    /* Where main() is, and was when it was granted an access, came back, and gave data back last.
     */
    uint64_t position, granted, returned, released;
    struct actor caller;   /* its calls inside of which callbacks may run */
    unsigned inside_count; /* callbacks that had not begun by the cut, that StarPU would have run
                              inside of a call, and that have not returned */
    uint64_t covers;       /* there it waits for a task that it submits */
    bool arrived;          /* main() is at the cut, and the values are restored */
    size_t wanted;         /* main() waits until so many entries have passed; or SIZE_MAX */
    uint64_t needed;       /* the next entry waits for main() at this position; or UINT64_MAX */
    const struct actor *missed;       /* and for this actor; or NULL */
    bool ending;                      /* or it waits for the end of one */
    unsigned running, kernels;        /* actors; of these */
    struct actor *apart, **apart_end; /* actors that begin apart from their entries */
    unsigned beginning;               /* of them, and one that just does */
    bool asks;                        /* main() for calls that it had put off */
    bool main_waits;                  /* for entries to pass */
    bool awaits;                      /* main(): the return of an actor that ran inside its call */
    struct {
        unsigned long turn; /* of the thread that passes */
        bool runs;          /* an actor; and so many until now */
        unsigned long run_count;
    } passer;
    struct works queue, kept; /* to be played; calls of StarPU's meanwhile */
} replay = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .passes = PTHREAD_COND_INITIALIZER,
            .main = PTHREAD_COND_INITIALIZER,
            .others = PTHREAD_COND_INITIALIZER};

/* This thread plays; has queued something; runs this actor. */
static __thread struct {
    bool plays, queued;
    struct actor *actor;
} here __attribute__((tls_model("initial-exec")));

static bool is_off(void)
{
    return __builtin_expect(atomic_load(&tic_replay_phase) == TIC_REPLAY_OFF, 1);
}

static void begin_apart_locked(void);

/* Who passes entries waits. */
static void wait_locked(void)
{
    if (replay.apart && replay.kernels == 0) /* one may have come after another one */
        begin_apart_locked();
    else
        pthread_cond_wait(&replay.passes, &replay.mutex);
}

/* ---- actors ---------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct actor *x = a, *y = b;

    return tic_order(x->role, y->role) ?: tic_order(x->key, y->key);
}

static struct actor *find_actor(uint32_t role, uint64_t key)
{
    const struct actor sought = {.key = key, .role = role};

    if (role == TIC_HISTORY_MAIN)
        return &replay.caller;
    return tic_find(&sought, replay.actors, replay.actor_count, by_key);
}

static void note_ends(const struct tic_line_entry *entries, size_t count)
{
    struct actor *actor;

    for (size_t i = 0; i < count; i++) {
        const uint32_t kind = entries[i].kind;
        if ((kind != TIC_HISTORY_END && kind != TIC_HISTORY_CALL && kind != TIC_HISTORY_CALLED) ||
            (actor = find_actor(entries[i].role, entries[i].actor)) == NULL)
            continue;
        actor->ended |= kind == TIC_HISTORY_END;
        actor->calls += kind == TIC_HISTORY_CALL;
        actor->came_back = kind != TIC_HISTORY_CALL;
    }
}

static void leave_out(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < replay.actor_count; i++) {
        const struct actor actor = replay.actors[i];
        if (!replay.steps.is_left_out(actor.role, actor.key, actor.ended))
            replay.actors[kept++] = actor;
    }
    replay.actor_count = kept;
}

static int list_actors(const struct tic_line_entry *entries, size_t count)
{
    replay.actors = calloc(count + 1, sizeof(*replay.actors));
    if (!replay.actors)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (entries[i].kind == TIC_HISTORY_BEGIN && !tic_callback_is_unknown(entries[i].actor))
            replay.actors[replay.actor_count++] =
                (struct actor){.key = entries[i].actor,
                               .role = entries[i].role,
                               .nested = (entries[i].part & TIC_HISTORY_NESTED) != 0,
                               .optional = (entries[i].part & TIC_HISTORY_OPTIONAL) != 0,
                               .position = entries[i].position,
                               .at = i};
    tic_sort(replay.actors, replay.actor_count, by_key);
    note_ends(entries, count);
    leave_out();
    return 0;
}

bool tic_replay_has_actor(enum tic_history_role role, uint64_t key)
{
    return find_actor(role, key) != NULL;
}

bool tic_replay_has_ended(enum tic_history_role role, uint64_t key)
{
    const struct actor *actor = find_actor(role, key);

    return actor && actor->ended;
}

bool tic_replay_is_open(enum tic_history_role role, uint64_t key)
{
    const struct actor *actor = find_actor(role, key);

    return actor && !actor->ended && !replay.steps.made &&
           atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING;
}

bool tic_replay_find_callback(size_t *next, uint64_t *key)
{
    bool found = false;

    pthread_mutex_lock(&replay.mutex);
    for (; !found && *next < replay.actor_count; ++*next) {
        const struct actor *actor = &replay.actors[*next];
        found = actor->role == TIC_HISTORY_CALLBACK && !actor->returned;
        *key = actor->key;
    }
    pthread_mutex_unlock(&replay.mutex);
    return found;
}

static uint64_t operation_at(uint64_t position)
{
    return position >> TIC_WAIT_BITS;
}

/* Of a made history it is not known whether it ran inside of a call. */
static bool is_in_operation(const struct actor *actor)
{
    return !replay.steps.made || operation_at(actor->position) == operation_at(replay.position);
}

static bool is_of(const struct tic_line_entry *entry, const struct actor *actor)
{
    return entry->role == actor->role && entry->actor == actor->key;
}

static void add_apart_locked(struct actor *actor)
{
    actor->begun = true;
    *replay.apart_end = actor;
    replay.apart_end = &actor->next;
    replay.beginning++;
    pthread_cond_broadcast(&replay.passes);
}

bool tic_replay_add_actor(enum tic_history_role role, uint64_t key,
                          const struct tic_replay_actor *is, bool inside)
{
    struct actor *actor = find_actor(role, key);

    pthread_mutex_lock(&replay.mutex);
    bool begins = actor && !actor->known && atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING;
    if (begins) {
        actor->is = *is;
        actor->here = inside && actor->nested && is_in_operation(actor);
        actor->known = true;
        if (actor->passed || (replay.steps.made && role == TIC_HISTORY_KERNEL))
            add_apart_locked(actor);
        if (actor->here) {
            actor->next_inside = replay.inside;
            replay.inside = actor;
        }
    }
    if (begins && replay.missed == actor)
        pthread_cond_broadcast(&replay.passes);
    pthread_mutex_unlock(&replay.mutex);
    here.queued |= begins && is->stays;
    return begins;
}

static void count_running_locked(const struct actor *actor, int more)
{
    replay.running += more;
    replay.kernels += actor->role == TIC_HISTORY_KERNEL ? more : 0;
    if (replay.steps.open && actor->role == TIC_HISTORY_CALLBACK)
        atomic_fetch_add(replay.steps.open, more);
}

static void end_actor_locked(struct actor *actor)
{
    actor->returned = true;
    count_running_locked(actor, -1);
    pthread_cond_broadcast(&replay.passes);
    pthread_cond_broadcast(&replay.others);
    if (replay.steps.made || replay.awaits || !tic_replay_is_on())
        pthread_cond_broadcast(&replay.main); /* else it waits for entries only */
}

static void call_locked(void (*function)(void *), void *argument)
{
    pthread_mutex_unlock(&replay.mutex);
    if (function)
        function(argument);
    pthread_mutex_lock(&replay.mutex);
}

void tic_replay_ask_main(void)
{
    pthread_mutex_lock(&replay.mutex);
    replay.asks = true;
    pthread_cond_broadcast(&replay.main);
    pthread_mutex_unlock(&replay.mutex);
}

/* On main()'s thread. */
static void wait_as_main_locked(void)
{
    bool asks = replay.asks;

    replay.asks = false;
    replay.main_waits = !asks;
    if (!asks)
        pthread_cond_wait(&replay.main, &replay.mutex);
    replay.main_waits = false;
    if (!asks)
        return;
    pthread_mutex_unlock(&replay.mutex);
    replay.steps.catch_up();
    pthread_mutex_lock(&replay.mutex);
}

/* In a call of the program, on main()'s thread or another one. */
static void wait_outside_locked(bool as_main)
{
    if (as_main)
        wait_as_main_locked();
    else
        pthread_cond_wait(&replay.others, &replay.mutex);
}

static void run_locked(struct actor *actor)
{
    struct actor *outer = here.actor;

    here.actor = actor;
    call_locked(actor->is.run, actor->is.argument);
    here.actor = outer;
    if (actor->is.stand) /* main() may end StarPU when it has returned */
        call_locked(replay.steps.let_go, actor->is.stand);
    end_actor_locked(actor);
}

static struct actor *take_due_inside(void)
{
    struct actor **at = &replay.inside, *actor;

    while (*at && !(*at)->due)
        at = &(*at)->next_inside;
    actor = *at;
    if (actor)
        *at = actor->next_inside;
    return actor;
}

/* Who passes entries waits for somebody else. */
static bool is_blocked_locked(void)
{
    return replay.missed || replay.ending;
}

/* It may not have run inside of this call, and who is waited for may need main(). */
static void leave_inside_locked(void)
{
    for (; replay.inside; replay.inside = replay.inside->next_inside)
        replay.inside->here = false;
}

void tic_replay_run_inside(void)
{
    struct actor *actor;

    if (__builtin_expect(!replay.inside, 1))
        return;
    pthread_mutex_lock(&replay.mutex);
    while (replay.inside)
        if ((actor = take_due_inside()) != NULL)
            run_locked(actor);
        else if (replay.steps.made && is_blocked_locked())
            leave_inside_locked();
        else
            wait_as_main_locked();
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_end_kernel(uint64_t key)
{
    struct actor *actor = find_actor(TIC_HISTORY_KERNEL, key);

    pthread_mutex_lock(&replay.mutex);
    if (actor && !actor->returned)
        end_actor_locked(actor);
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_await_kernel(uint64_t key)
{
    const struct actor *actor = find_actor(TIC_HISTORY_KERNEL, key);

    pthread_mutex_lock(&replay.mutex);
    while (actor && !actor->returned)
        pthread_cond_wait(&replay.others, &replay.mutex);
    pthread_mutex_unlock(&replay.mutex);
}

/* On the thread that passes entries, which another one does if that takes long: it may wait for
 * somebody who comes later. */
static void run_here_locked(struct actor *actor)
{
    const unsigned long turn = replay.passer.turn;

    replay.passer.runs = true;
    replay.passer.run_count++;
    run_locked(actor);
    if (replay.passer.turn == turn)
        replay.passer.runs = false;
}

/* ---- passing --------------------------------------------------------------------------------- */

static void advance_locked(void)
{
    replay.cursor.next++;
    if (replay.cursor.next >= replay.wanted)
        pthread_cond_broadcast(&replay.main);
}

/* In a made history a kernel begins as early as it can: who may look at data comes after it. */
static void await_kernels_locked(const struct actor *actor)
{
    while (replay.steps.made && actor->role == TIC_HISTORY_CALLBACK && actor->ended &&
           replay.kernels > 0)
        pthread_cond_wait(&replay.passes, &replay.mutex);
}

/* main() may go on when what the actor has begun with is done: an access, say. */
static void start_locked(struct actor *actor, bool by_entry)
{
    await_kernels_locked(actor);
    count_running_locked(actor, 1);
    call_locked(actor->is.begin, actor->is.argument);
    if (by_entry)
        advance_locked();
    if (actor->here) {
        actor->due = true;
        pthread_cond_broadcast(&replay.main);
    } else if (actor->is.run) {
        run_here_locked(actor);
    }
}

static void begin_apart_locked(void)
{
    struct actor *actor = replay.apart;

    replay.apart = actor->next;
    if (!replay.apart)
        replay.apart_end = &replay.apart;
    start_locked(actor, false);
    replay.beginning--;
    pthread_cond_broadcast(&replay.main);
}

static bool is_left_out_locked(struct actor *actor)
{
    if (actor && !actor->known && actor->optional)
        actor->passed = true;
    return !actor || actor->passed || actor->begun;
}

static void begin_actor_locked(const struct tic_line_entry *entry)
{
    struct actor *actor = find_actor(entry->role, entry->actor);

    if (is_left_out_locked(actor)) {
        advance_locked();
        return;
    }
    replay.missed = actor;
    if (replay.inside && !actor->known)
        pthread_cond_broadcast(&replay.main);
    while (!actor->known)
        wait_locked();
    replay.missed = NULL;
    if (actor->begun)
        advance_locked();
    else
        start_locked(actor, true);
}

/* Is main() through with what this entry says? With RELEASE it is when it goes on. */
static bool has_done_locked(const struct tic_line_entry *entry)
{
    const uint64_t done = entry->kind == TIC_HISTORY_RETURN    ? replay.returned
                          : entry->kind == TIC_HISTORY_RELEASE ? replay.released
                                                               : replay.granted;

    return replay.position > entry->position || done >= entry->position;
}

static void await_end_locked(const struct actor *actor)
{
    replay.ending = true;
    if (replay.inside)
        pthread_cond_broadcast(&replay.main);
    if (actor->role != TIC_HISTORY_CALLBACK)
        wait_locked();
    else
        pthread_cond_wait(&replay.passes, &replay.mutex);
    replay.ending = false;
}

/* It had returned, or has come as far as it had. */
static void await_actor_locked(const struct tic_line_entry *entry)
{
    struct actor *actor = find_actor(entry->role, entry->actor);
    const bool ends = entry->kind == TIC_HISTORY_END;

    if (!actor)
        return;
    actor->since += !ends;
    while (!actor->returned && (ends || actor->called < actor->since))
        await_end_locked(actor); /* it may be looking at data that a kernel is shown */
}

static void pass_locked(const struct tic_line_entry *entry)
{
    replay.needed = entry->position;
    while (replay.position < entry->position)
        wait_locked();
    replay.needed = UINT64_MAX;
    if (entry->kind == TIC_HISTORY_BEGIN) {
        begin_actor_locked(entry);
        return;
    }
    if (entry->kind == TIC_HISTORY_END || entry->kind == TIC_HISTORY_CALL)
        await_actor_locked(entry);
    replay.needed = entry->position + 1;
    while ((tic_cursor_returns(entry) || entry->kind == TIC_HISTORY_RELEASE) &&
           !has_done_locked(entry))
        wait_locked();
    replay.needed = UINT64_MAX;
    advance_locked();
}

/* ---- playing --------------------------------------------------------------------------------- */

/* What runs may add more. */
static void run_works_locked(const struct works *works, unsigned long *next)
{
    while (*next < works->count) {
        struct work work = works->items[(*next)++];
        call_locked(work.run, work.argument);
    }
}

static void call_play_locked(bool begins)
{
    here.plays = begins;
    pthread_mutex_unlock(&replay.mutex);
    replay.steps.play(begins);
    pthread_mutex_lock(&replay.mutex);
}

/* What it plays may add to the queue, and so may callbacks meanwhile. */
static void play_locked(void)
{
    unsigned long next = 0, next_kept = 0;

    atomic_store(&tic_replay_phase, TIC_REPLAY_PLAYING);
    do {
        call_play_locked(true);
        run_works_locked(&replay.queue, &next);
        call_play_locked(false);
    } while (next < replay.queue.count);
    atomic_store(&tic_replay_phase, TIC_REPLAY_CALLING);
    pthread_cond_broadcast(&replay.main);
    run_works_locked(&replay.kept, &next_kept);
    atomic_store(&tic_replay_phase, TIC_REPLAY_OFF);
    pthread_cond_broadcast(&replay.main);
    pthread_cond_broadcast(&replay.others);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Has an actor to which the program has come, and that has not returned, this property? */
static bool any_open_locked(bool (*has)(const struct actor *actor))
{
    size_t i = 0;

    while (i < replay.actor_count &&
           !(replay.actors[i].known && !replay.actors[i].returned && has(&replay.actors[i])))
        i++;
    return i < replay.actor_count;
}

static bool is_passing_kernel(const struct actor *actor)
{
    return actor->role == TIC_HISTORY_KERNEL && !actor->is.stays;
}

/* From a call from which it had come back by the cut: what it gave back there it has not now. */
static bool is_coming_back(const struct actor *actor)
{
    return actor->came_back && actor->back < actor->calls;
}

static bool is_callback(const struct actor *actor)
{
    return actor->role == TIC_HISTORY_CALLBACK;
}

/* While it is this thread's turn. */
static void redo_locked(void)
{
    const unsigned long turn = replay.passer.turn;

    while (turn == replay.passer.turn && replay.cursor.next < replay.cursor.count)
        pass_locked(&replay.cursor.entries[replay.cursor.next]);
    while (turn == replay.passer.turn && (!replay.arrived || any_open_locked(is_passing_kernel) ||
                                          any_open_locked(is_coming_back)))
        wait_locked();
    if (turn == replay.passer.turn)
        play_locked();
}

static void *redo(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "tic-redo");
    pthread_mutex_lock(&replay.mutex);
    redo_locked();
    pthread_mutex_unlock(&replay.mutex);
    return NULL;
}

static int start_thread(void *(*function)(void *))
{
    pthread_t thread;
    int status = tic_thread_start_beside(&thread, function, NULL);

    if (status == 0)
        pthread_detach(thread);
    return status;
}

/* How long an actor may keep the thread that passes entries, at least. */
enum { LONG_NS = 1000000 };

static void *take_over(void *arg)
{
    const struct timespec pause = {.tv_nsec = LONG_NS};
    unsigned long seen = 0;

    (void)arg;
    pthread_setname_np(pthread_self(), "tic-redo-next");
    pthread_mutex_lock(&replay.mutex);
    while (atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING &&
           !(replay.passer.runs && replay.passer.run_count == seen)) {
        seen = replay.passer.run_count;
        pthread_mutex_unlock(&replay.mutex);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&replay.mutex);
    }
    if (atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING) {
        replay.passer.turn++;
        replay.passer.runs = false;
        if (start_thread(take_over) != 0)
            tic_stop(TIC_EXIT_REFUSED, "cannot start a thread for the replay");
        redo_locked();
    }
    pthread_mutex_unlock(&replay.mutex);
    return NULL;
}

static bool add_work(struct works *works, void (*run)(void *), void *argument)
{
    pthread_mutex_lock(&replay.mutex);
    bool on = tic_replay_is_on();
    bool fine = !on || tic_append(works->items, works->count, works->capacity,
                                  &(struct work){run, argument}) == 0;
    pthread_mutex_unlock(&replay.mutex);
    tic_stop_unless(fine);
    return on;
}

bool tic_replay_queue(void (*play)(void *), void *argument)
{
    bool on = add_work(&replay.queue, play, argument);

    here.queued |= on;
    return on;
}

bool tic_replay_keep_call(void (*run)(void *), void *argument)
{
    return add_work(&replay.kept, run, argument);
}

void tic_replay_await_end(void)
{
    pthread_mutex_lock(&replay.mutex);
    while (!is_off())
        pthread_cond_wait(&replay.others, &replay.mutex);
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_await_own(void)
{
    if (here.queued)
        tic_replay_await_end();
    here.queued = false;
    pthread_mutex_lock(&replay.mutex);
    while (tic_replay_is_on() && any_open_locked(is_passing_kernel))
        pthread_cond_wait(&replay.others, &replay.mutex);
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_play(void (*play)(void *), void *argument)
{
    bool outer = here.plays;

    here.plays = true;
    play(argument);
    here.plays = outer;
}

bool tic_replay_note_call(bool of_main)
{
    struct actor *actor = of_main ? &replay.caller : here.actor;

    if (!actor)
        return false;
    pthread_mutex_lock(&replay.mutex);
    bool had = ++actor->called <= actor->calls;
    pthread_cond_broadcast(&replay.passes);
    while (!had && !actor->ended && (!of_main || replay.arrived) && tic_replay_is_on() &&
           !replay.steps.made)
        wait_outside_locked(of_main || actor->here);
    pthread_mutex_unlock(&replay.mutex);
    return had;
}

bool tic_replay_is_actor(void)
{
    return here.actor != NULL;
}

void tic_replay_count_inside(int more)
{
    pthread_mutex_lock(&replay.mutex);
    replay.inside_count += (unsigned)more;
    pthread_cond_broadcast(&replay.main);
    pthread_cond_broadcast(&replay.others);
    pthread_mutex_unlock(&replay.mutex);
}

/* Who had not come back by the cut comes back when all have returned that may have run inside. */
static void await_inside_locked(bool as_main)
{
    while (!is_off() || replay.inside_count > 0)
        wait_outside_locked(as_main);
}

void tic_replay_end_release(uint64_t position)
{
    if (position > replay.cut || replay.steps.made)
        return;
    pthread_mutex_lock(&replay.mutex);
    replay.released = position;
    pthread_cond_broadcast(&replay.passes);
    if (replay.arrived)
        await_inside_locked(true);
    pthread_mutex_unlock(&replay.mutex);
}

/* The entry of the call that it has come to. */
static size_t find_own_call_locked(struct actor *actor)
{
    const struct tic_cursor *cursor = &replay.cursor;

    while (actor->at_call < actor->called && ++actor->at < cursor->count)
        actor->at_call += cursor->entries[actor->at].kind == TIC_HISTORY_CALL &&
                          is_of(&cursor->entries[actor->at], actor);
    return actor->at;
}

static bool is_inside(const struct tic_line_entry *entry, const struct actor *actor)
{
    return entry->kind == TIC_HISTORY_BEGIN &&
           (actor == &replay.caller
                ? entry->part & TIC_HISTORY_IN_CALL_OF_MAIN
                : entry->part & TIC_HISTORY_IN_CALL && entry->subject == actor->key);
}

static void await_returned_locked(const struct actor *inner, bool as_main)
{
    replay.awaits |= as_main;
    while (inner && !inner->returned)
        wait_outside_locked(as_main);
    replay.awaits &= !as_main;
}

/* It has come back from that call, or, where that is not told, has gone on. */
static bool is_over(const struct tic_line_entry *entry, const struct actor *actor)
{
    return is_of(entry, actor) &&
           (entry->kind == TIC_HISTORY_CALL || entry->kind == TIC_HISTORY_CALLED ||
            entry->kind == TIC_HISTORY_END);
}

static void await_inner_locked(struct actor *actor)
{
    const struct tic_cursor *cursor = &replay.cursor;
    size_t i = find_own_call_locked(actor);

    while (++i < cursor->count && !is_over(&cursor->entries[i], actor))
        if (is_inside(&cursor->entries[i], actor))
            await_returned_locked(find_actor(TIC_HISTORY_CALLBACK, cursor->entries[i].actor),
                                  actor == &replay.caller);
}

bool tic_replay_end_call(bool of_main, bool lets_go)
{
    struct actor *actor = of_main ? &replay.caller : here.actor;

    if (!actor)
        return false;
    pthread_mutex_lock(&replay.mutex);
    const bool had = actor->called <= actor->calls,
               came_back = actor->called < actor->calls || actor->came_back;
    if (had && atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING)
        await_inner_locked(actor);
    actor->back = actor->called;
    pthread_cond_broadcast(&replay.passes);
    if (had && !came_back && lets_go && !replay.steps.made)
        await_inside_locked(of_main || actor->here);
    pthread_mutex_unlock(&replay.mutex);
    return had && came_back;
}

bool tic_replay_repeats(void)
{
    return atomic_load(&tic_replay_phase) == TIC_REPLAY_PASSING &&
           !(here.actor && !here.actor->ended);
}

bool tic_replay_plays(void)
{
    return here.plays;
}

unsigned tic_replay_count_kernels(void)
{
    pthread_mutex_lock(&replay.mutex);
    unsigned count = replay.kernels;
    pthread_mutex_unlock(&replay.mutex);
    return count;
}

bool tic_replay_is_made(void)
{
    return tic_replay_is_on() && replay.steps.made;
}

bool tic_replay_is_busy(void)
{
    pthread_mutex_lock(&replay.mutex);
    bool busy = replay.running > 0 || atomic_load(&tic_replay_phase) == TIC_REPLAY_PLAYING;
    pthread_mutex_unlock(&replay.mutex);
    return busy;
}

bool tic_replay_misses(enum tic_history_role *role)
{
    pthread_mutex_lock(&replay.mutex);
    bool misses = tic_replay_is_on() && replay.main_waits && replay.running == 0 && replay.missed;
    if (misses)
        *role = (enum tic_history_role)replay.missed->role;
    pthread_mutex_unlock(&replay.mutex);
    return misses;
}

/* ---- main() ---------------------------------------------------------------------------------- */

/* What an earlier replay has left. */
static void forget_locked(void)
{
    tic_cursor_fini(&replay.cursor);
    if (replay.running == 0) /* else threads still come back to them */
        free(replay.actors);
    replay.actors = NULL;
    replay.actor_count = 0;
    replay.position = replay.granted = replay.returned = replay.released = replay.covers = 0;
    replay.arrived = replay.asks = false;
    replay.caller = (struct actor){.role = TIC_HISTORY_MAIN, .at = SIZE_MAX};
    replay.wanted = SIZE_MAX;
    replay.needed = UINT64_MAX;
    replay.missed = NULL;
    replay.ending = false;
    replay.apart = NULL;
    replay.apart_end = &replay.apart;
    replay.beginning = 0;
    replay.passer.runs = false;
    replay.queue.count = replay.kept.count = 0;
}

int tic_replay_start(const struct tic_line_entry *entries, size_t count, uint64_t cut,
                     const struct tic_replay_steps *steps)
{
    pthread_mutex_lock(&replay.mutex);
    forget_locked();
    replay.steps = *steps;
    int status = tic_cursor_init(&replay.cursor, entries, count, cut);
    status = status ? status : list_actors(entries, count);
    replay.cut = cut;
    pthread_mutex_unlock(&replay.mutex);
    if (status)
        return status;
    atomic_store(&tic_replay_phase, TIC_REPLAY_PASSING);
    status = start_thread(redo);
    status = status ? status : start_thread(take_over);
    if (status)
        atomic_store(&tic_replay_phase, TIC_REPLAY_OFF);
    return status;
}

/* What StarPU has called may wait for main(), unless main() waits for tasks. */
static void await_end_as_main_locked(bool waits)
{
    while (waits ? !is_off() : tic_replay_is_on())
        wait_as_main_locked();
}

static void await_passed_locked(size_t count)
{
    replay.wanted = count;
    while (replay.cursor.next < count || replay.asks)
        wait_as_main_locked();
    replay.wanted = SIZE_MAX;
}

/* In a made history callbacks that had begun by the end of this operation, if the program has come
 * to them: main() may have waited for these. looks: of those that may look at data. */
static bool may_run_locked(const struct actor *actor, uint64_t operation, bool looks)
{
    return actor->role == TIC_HISTORY_CALLBACK && actor->known && !actor->returned &&
           !actor->here && operation_at(actor->position) <= operation && (actor->ended || !looks);
}

static bool is_any_running_locked(uint64_t position, bool looks)
{
    size_t i = 0;

    while (i < replay.actor_count &&
           !may_run_locked(&replay.actors[i], operation_at(position), looks))
        i++;
    return replay.beginning > 0 || replay.kernels > 0 || i < replay.actor_count;
}

/* True: there were some. */
static bool await_callbacks_locked(uint64_t position, bool looks)
{
    bool any = false;

    for (; tic_replay_is_on() && is_any_running_locked(position, looks); any = true)
        wait_as_main_locked();
    return any;
}

static bool begins_operation(uint64_t position)
{
    return position % (1u << TIC_WAIT_BITS) == 0;
}

/* main() is to look at data, or to wait. In a made history others had begun before this operation
 * of its, or during it: there, those that may look at data do so before main() does. */
static void await_made_locked(uint64_t position, enum tic_replay_operation operation)
{
    await_passed_locked(
        tic_cursor_count_before(&replay.cursor, operation_at(position) << TIC_WAIT_BITS));
    while (replay.beginning > 0)
        wait_as_main_locked();
    if (operation == TIC_REPLAY_WAITS && begins_operation(position))
        await_callbacks_locked(position, true);
}

/* Until main() may come back from the operation, if it had by the cut: true. */
static bool await_return_locked(uint64_t position)
{
    size_t own;
    bool returns = tic_cursor_find_return(&replay.cursor, position, &own);

    await_passed_locked(returns ? own : tic_cursor_count_before(&replay.cursor, position));
    return returns;
}

/* Waits since the operation of the cut that main() had come back from. */
static void await_end_unless_returned_locked(uint64_t position, bool waits)
{
    if (!waits || !await_return_locked(position))
        await_end_as_main_locked(waits);
}

/* What main() does next may be what these entries wait for. */
static void arrive_locked(uint64_t position, bool waits)
{
    const struct tic_cursor *cursor = &replay.cursor;
    bool returns = true;

    if (waits)
        returns = await_return_locked(position);
    else
        await_passed_locked(tic_cursor_count_before(&replay.cursor, position));
    if (!returns)
        await_passed_locked(replay.cursor.count);
    if (!returns && replay.steps.made)
        await_callbacks_locked(position, false);
    size_t next = cursor->next;
    pthread_mutex_unlock(&replay.mutex);
    replay.steps.arrive(cursor->entries + next, cursor->count - next);
    pthread_mutex_lock(&replay.mutex);
    replay.arrived = true;
    pthread_cond_broadcast(&replay.passes);
    if (!returns)
        await_end_as_main_locked(true);
}

/* main() in the recorded run, in this operation. */
static bool waited_locked(uint64_t position)
{
    return tic_cursor_waits(&replay.cursor, position) ||
           replay.cut >> TIC_WAIT_BITS == position >> TIC_WAIT_BITS;
}

_Noreturn static void stop_diverged(void)
{
    tic_stop(TIC_EXIT_DIVERGED,
             "the replay differs from the recorded run: main() waits for tasks where it did not "
             "wait for them. If the program waits by the clock, or by what it finds done, start it "
             "with STARPU_TIC_VERIFY=0 from the beginning");
}

void tic_replay_begin(uint64_t position, enum tic_replay_operation operation)
{
    if (is_off())
        return;
    replay.steps.catch_up();
    pthread_mutex_lock(&replay.mutex);
    replay.position = position;
    if (position >= replay.needed)
        pthread_cond_broadcast(&replay.passes);
    if (is_off())
        ;
    else if (replay.arrived)
        await_end_unless_returned_locked(position, operation >= TIC_REPLAY_ENDS);
    else if (position >= replay.cut)
        arrive_locked(position, operation >= TIC_REPLAY_ENDS);
    else if (operation == TIC_REPLAY_WAITS && !replay.steps.waits_freely &&
             !waited_locked(position))
        stop_diverged();
    else if (replay.steps.made && operation != TIC_REPLAY_SUBMITS)
        await_made_locked(position, operation);
    else if (operation >= TIC_REPLAY_ENDS)
        await_return_locked(position);
    else if (operation == TIC_REPLAY_ASKS)
        await_passed_locked(tic_cursor_count_before(&replay.cursor, position));
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_await(uint64_t position)
{
    if (is_off())
        return;
    pthread_mutex_lock(&replay.mutex);
    replay.covers = position;
    if (replay.steps.made && !replay.arrived)
        ;
    else if (replay.arrived)
        await_end_unless_returned_locked(position, true);
    else if (tic_replay_is_on())
        await_return_locked(position);
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_await_callbacks(void)
{
    pthread_mutex_lock(&replay.mutex);
    replay.awaits = true;
    while (any_open_locked(is_callback))
        wait_as_main_locked();
    replay.awaits = false;
    pthread_mutex_unlock(&replay.mutex);
}

bool tic_replay_settle(uint64_t position)
{
    bool any = false;

    pthread_mutex_lock(&replay.mutex);
    if (tic_replay_is_on() && replay.steps.made && !replay.arrived)
        any = await_callbacks_locked(position, false);
    for (; !tic_replay_is_on() && replay.steps.made && replay.running > 0; any = true)
        pthread_cond_wait(&replay.main, &replay.mutex);
    pthread_mutex_unlock(&replay.mutex);
    return any;
}

/* main() is through with something there: *done. The next entry may wait for that. */
static void note_done_locked(uint64_t *done, uint64_t position)
{
    *done = position;
    if (position + 1 >= replay.needed)
        pthread_cond_broadcast(&replay.passes);
}

void tic_replay_grant(uint64_t position)
{
    size_t end;

    if (!tic_replay_is_on())
        return;
    pthread_mutex_lock(&replay.mutex);
    note_done_locked(&replay.granted, position);
    if (replay.steps.made && !replay.arrived)
        await_callbacks_locked(position, begins_operation(position) && replay.covers != position);
    else if (tic_replay_is_on() && tic_cursor_find_end(&replay.cursor, position, &end))
        await_passed_locked(end);
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_return(uint64_t position)
{
    if (!tic_replay_is_on())
        return;
    pthread_mutex_lock(&replay.mutex);
    note_done_locked(&replay.returned, position);
    pthread_mutex_unlock(&replay.mutex);
}
