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

/* Who had begun by the cut, but for those that had not ended, and run again with their task. */
struct actor {
    uint64_t key;
    uint32_t role; /* enum tic_history_role */
    bool nested;   /* inside a call of main() */
    bool ended;    /* by the cut */
    struct tic_replay_actor is;
    bool known; /* the program has come to it */
    bool here;  /* main() has, and is to run it where it is; when it is due */
    bool due, returned;
    struct actor *next; /* that main() is to run inside the same call */
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
    /* Where main() is, where it was granted an access last, and where it came back last. */
    uint64_t position, granted, returned;
    bool arrived;    /* main() is at the cut, and the values are restored */
    size_t wanted;   /* main() waits until so many entries have passed; or SIZE_MAX */
    uint64_t needed; /* the next entry waits for main() at this position; or UINT64_MAX */
    const struct actor *missed; /* and for this actor; or NULL */
    unsigned running, kernels;  /* actors; of these */
    bool asks;                  /* main() for calls that it had put off */
    bool main_waits;            /* for entries to pass */
    struct {
        unsigned long turn; /* of the thread that passes */
        bool runs;          /* an actor; and so many until now */
        unsigned long run_count;
    } passer;
    struct {
        struct work *items;
        unsigned long count, capacity;
    } queue; /* to be played */
} replay = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .passes = PTHREAD_COND_INITIALIZER,
            .main = PTHREAD_COND_INITIALIZER,
            .others = PTHREAD_COND_INITIALIZER};

/* This thread plays; has queued something. */
static __thread struct {
    bool plays, queued;
} here __attribute__((tls_model("initial-exec")));

/* Who passes entries waits. */
static void wait_locked(void)
{
    pthread_cond_wait(&replay.passes, &replay.mutex);
}

/* ---- actors ---------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct actor *x = a, *y = b;

    if (x->role != y->role)
        return x->role < y->role ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static struct actor *find_actor(uint32_t role, uint64_t key)
{
    const struct actor sought = {.key = key, .role = role};

    return replay.actor_count == 0
               ? NULL
               : bsearch(&sought, replay.actors, replay.actor_count, sizeof(sought), by_key);
}

static void note_ends(const struct tic_line_entry *entries, size_t count)
{
    struct actor *actor;

    for (size_t i = 0; i < count; i++)
        if (entries[i].kind == TIC_HISTORY_END &&
            (actor = find_actor(entries[i].role, entries[i].actor)) != NULL)
            actor->ended = true;
}

static void drop_those_of_tasks(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < replay.actor_count; i++) {
        const struct actor actor = replay.actors[i];
        if (actor.ended || !replay.steps.is_of_task(actor.role, actor.key))
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
        if (entries[i].kind == TIC_HISTORY_BEGIN)
            replay.actors[replay.actor_count++] =
                (struct actor){.key = entries[i].actor,
                               .role = entries[i].role,
                               .nested = entries[i].part == TIC_HISTORY_NESTED};
    qsort(replay.actors, replay.actor_count, sizeof(*replay.actors), by_key);
    note_ends(entries, count);
    drop_those_of_tasks();
    return 0;
}

bool tic_replay_has_actor(enum tic_history_role role, uint64_t key)
{
    return find_actor(role, key) != NULL;
}

bool tic_replay_add_actor(enum tic_history_role role, uint64_t key,
                          const struct tic_replay_actor *is, bool inside)
{
    struct actor *actor = find_actor(role, key);

    pthread_mutex_lock(&replay.mutex);
    bool begins = actor && !actor->known;
    if (begins) {
        actor->is = *is;
        actor->here = inside && actor->nested;
        actor->known = true;
        if (actor->here) {
            actor->next = replay.inside;
            replay.inside = actor;
        }
    }
    if (begins && replay.missed == actor)
        pthread_cond_broadcast(&replay.passes);
    pthread_mutex_unlock(&replay.mutex);
    return begins;
}

static void end_actor_locked(struct actor *actor)
{
    actor->returned = true;
    replay.running--;
    replay.kernels -= actor->role == TIC_HISTORY_KERNEL;
    pthread_cond_broadcast(&replay.passes);
    pthread_cond_broadcast(&replay.others);
}

static void call_catch_up_locked(void)
{
    pthread_mutex_unlock(&replay.mutex);
    replay.steps.catch_up();
    pthread_mutex_lock(&replay.mutex);
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
    else
        call_catch_up_locked();
    replay.main_waits = false;
}

static void run_locked(struct actor *actor)
{
    call_locked(actor->is.run, actor->is.argument);
    end_actor_locked(actor);
}

static struct actor *take_due_inside(void)
{
    struct actor **at = &replay.inside, *actor;

    while (*at && !(*at)->due)
        at = &(*at)->next;
    actor = *at;
    if (actor)
        *at = actor->next;
    return actor;
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

static void begin_actor_locked(const struct tic_line_entry *entry)
{
    struct actor *actor = find_actor(entry->role, entry->actor);

    if (!actor) {
        advance_locked();
        return;
    }
    replay.missed = actor;
    while (!actor->known)
        wait_locked();
    replay.missed = NULL;
    replay.running++;
    replay.kernels += actor->role == TIC_HISTORY_KERNEL;
    advance_locked();
    call_locked(actor->is.begin, actor->is.argument);
    if (actor->here) {
        actor->due = true;
        pthread_cond_broadcast(&replay.main);
    } else if (actor->is.run) {
        run_here_locked(actor);
    }
}

/* Is main() through with what this entry says? With RELEASE it is when it goes on. */
static bool has_done_locked(const struct tic_line_entry *entry)
{
    const uint64_t done = entry->kind == TIC_HISTORY_RETURN ? replay.returned : replay.granted;

    return replay.position > entry->position ||
           (entry->kind != TIC_HISTORY_RELEASE && done >= entry->position);
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
    if (entry->kind == TIC_HISTORY_END) {
        const struct actor *actor = find_actor(entry->role, entry->actor);
        while (actor && !actor->returned)
            wait_locked();
    }
    replay.needed = entry->position + 1;
    while ((tic_cursor_returns(entry) || entry->kind == TIC_HISTORY_RELEASE) &&
           !has_done_locked(entry))
        wait_locked();
    replay.needed = UINT64_MAX;
    advance_locked();
}

/* ---- playing --------------------------------------------------------------------------------- */

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
    unsigned long next = 0;

    atomic_store(&tic_replay_phase, TIC_REPLAY_PLAYING);
    do {
        call_play_locked(true);
        while (next < replay.queue.count) {
            struct work work = replay.queue.items[next++];
            pthread_mutex_unlock(&replay.mutex);
            work.run(work.argument);
            pthread_mutex_lock(&replay.mutex);
        }
        call_play_locked(false);
    } while (next < replay.queue.count);
    atomic_store(&tic_replay_phase, TIC_REPLAY_OFF);
    pthread_cond_broadcast(&replay.main);
    pthread_cond_broadcast(&replay.others);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* While it is this thread's turn. */
static void redo_locked(void)
{
    const unsigned long turn = replay.passer.turn;

    while (turn == replay.passer.turn && replay.cursor.next < replay.cursor.count)
        pass_locked(&replay.cursor.entries[replay.cursor.next]);
    while (turn == replay.passer.turn && !replay.arrived)
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

bool tic_replay_queue(void (*play)(void *), void *argument)
{
    pthread_mutex_lock(&replay.mutex);
    bool on = tic_replay_is_on();
    struct work *grown = on ? tic_grow(replay.queue.items, &replay.queue.capacity,
                                       replay.queue.count + 1, sizeof(*grown))
                            : NULL;
    if (grown) {
        replay.queue.items = grown;
        replay.queue.items[replay.queue.count++] = (struct work){play, argument};
    }
    pthread_mutex_unlock(&replay.mutex);
    here.queued |= on;
    if (on && !grown)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return on;
}

void tic_replay_await_end(void)
{
    pthread_mutex_lock(&replay.mutex);
    while (tic_replay_is_on())
        pthread_cond_wait(&replay.others, &replay.mutex);
    pthread_mutex_unlock(&replay.mutex);
}

static bool runs_kernel_locked(void)
{
    size_t i = 0;

    while (i < replay.actor_count && !(replay.actors[i].role == TIC_HISTORY_KERNEL &&
                                       replay.actors[i].known && !replay.actors[i].returned))
        i++;
    return i < replay.actor_count;
}

void tic_replay_await_own(void)
{
    if (here.queued)
        tic_replay_await_end();
    here.queued = false;
    pthread_mutex_lock(&replay.mutex);
    while (tic_replay_is_on() && runs_kernel_locked())
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
    free(replay.actors);
    replay.actors = NULL;
    replay.actor_count = 0;
    replay.position = replay.granted = replay.returned = 0;
    replay.arrived = replay.asks = false;
    replay.wanted = SIZE_MAX;
    replay.needed = UINT64_MAX;
    replay.missed = NULL;
    replay.passer.runs = false;
    replay.queue.count = 0;
}

int tic_replay_start(const struct tic_line_entry *entries, size_t count, uint64_t cut,
                     const struct tic_replay_steps *steps)
{
    pthread_mutex_lock(&replay.mutex);
    forget_locked();
    replay.steps = *steps;
    int status = tic_cursor_init(&replay.cursor, entries, count);
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

static void await_end_as_main_locked(void)
{
    while (tic_replay_is_on())
        wait_as_main_locked();
}

static void await_passed_locked(size_t count)
{
    replay.wanted = count;
    while (replay.cursor.next < count)
        wait_as_main_locked();
    replay.wanted = SIZE_MAX;
}

/* Until main() may come back from the operation, if it had by the cut: true. */
static bool await_return_locked(uint64_t position)
{
    size_t own;
    bool returns = tic_cursor_find_return(&replay.cursor, position, &own);

    await_passed_locked(returns ? own : tic_cursor_count_before(&replay.cursor, position));
    return returns;
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
    size_t next = cursor->next;
    pthread_mutex_unlock(&replay.mutex);
    replay.steps.arrive(cursor->entries + next, cursor->count - next);
    pthread_mutex_lock(&replay.mutex);
    replay.arrived = true;
    pthread_cond_broadcast(&replay.passes);
    if (!returns)
        await_end_as_main_locked();
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
    if (!tic_replay_is_on())
        return;
    replay.steps.catch_up();
    pthread_mutex_lock(&replay.mutex);
    replay.position = position;
    if (position >= replay.needed)
        pthread_cond_broadcast(&replay.passes);
    if (!tic_replay_is_on())
        ;
    else if (replay.arrived)
        await_end_as_main_locked();
    else if (position >= replay.cut)
        arrive_locked(position, operation >= TIC_REPLAY_ENDS);
    else if (operation == TIC_REPLAY_WAITS && !replay.steps.waits_freely &&
             !waited_locked(position))
        stop_diverged();
    else if (operation >= TIC_REPLAY_ENDS)
        await_return_locked(position);
    else if (operation == TIC_REPLAY_ASKS)
        await_passed_locked(tic_cursor_count_before(&replay.cursor, position));
    pthread_mutex_unlock(&replay.mutex);
}

void tic_replay_await(uint64_t position)
{
    if (!tic_replay_is_on())
        return;
    pthread_mutex_lock(&replay.mutex);
    if (tic_replay_is_on() && !await_return_locked(position) && replay.arrived)
        await_end_as_main_locked();
    pthread_mutex_unlock(&replay.mutex);
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
    if (tic_replay_is_on() && tic_cursor_find_end(&replay.cursor, position, &end))
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
