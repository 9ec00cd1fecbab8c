/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart redoes the history of the recovered cut. Until main() has come to where it was then,
 * StarPU gets nothing that was not done: calls for that are queued. Then the values of the line are
 * restored, once, and the queue is played, in its order, as if the program called now. Callbacks
 * and kernels that write no data, and had begun by the cut, run when main() has come as far as it
 * had; main() comes back from a call that waits when those have returned that had
 * returned then.
 *
 * Why nobody waits for ever: an entry waits for entries before it and for main() at its position,
 * and main() there for entries before its own; so the order of the recorded run is one in which all
 * can go on (history/history.h). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/line.h"

/* From PASSING on the replay is on. */
enum tic_replay_phase {
    TIC_REPLAY_OFF,     /* a first run, or the replay is over */
    TIC_REPLAY_CALLING, /* the queue is played, and as in a first run; but kernels wait */
    TIC_REPLAY_PASSING, /* the history passes; main() may have come to the cut */
    TIC_REPLAY_PLAYING, /* it has passed, and the queue is played */
};

extern _Atomic int tic_replay_phase; /* enum tic_replay_phase */

static inline bool tic_replay_is_on(void)
{
    return __builtin_expect(atomic_load(&tic_replay_phase) >= TIC_REPLAY_PASSING, 0);
}

struct tic_replay_steps {
    /* Does it come with its task? A prologue that had not ended by the cut does: the task was not
     * done. */
    bool (*is_left_out)(uint32_t role, uint64_t key, bool ended);
    /* main() is at the cut: restores the values of data that nobody is to look at in these entries,
     * which have not passed; on its thread. */
    void (*arrive)(const struct tic_line_entry *entries, size_t count);
    /* Around the play of the queue, and before it the other values; on the thread that plays. */
    void (*play)(bool begins);
    /* main() makes calls that it had put off. */
    void (*catch_up)(void);
    /* The function of an actor that has this has returned. Any thread. */
    void (*let_go)(void *stand);
    bool waits_freely; /* main() may wait for tasks where it did not */
    /* Of main() there is nothing in the history, and kernels begin when somebody comes to them
     * (history/history.h). */
    bool made;
    /* Counts callbacks that have begun and not returned: a quiescent line waits for them. Or NULL.
     */
    _Atomic uint32_t *open;
};

/* Begins to redo the history, which stays until the phase is OFF. cut: where main()
 * was. Owner thread. 0 or -errno. */
int tic_replay_start(const struct tic_line_entry *entries, size_t count, uint64_t cut,
                     const struct tic_replay_steps *steps);

/* What main() does next. */
enum tic_replay_operation {
    TIC_REPLAY_SUBMITS, /* submits a task, and waits for nothing */
    TIC_REPLAY_ASKS,    /* any other call that does not wait */
    TIC_REPLAY_ENDS,    /* submits a task, and waits for it if it was not done */
    TIC_REPLAY_WAITS,   /* a call that waits */
};

/* main() begins the operation at this position; waits until it may. */
void tic_replay_begin(uint64_t position, enum tic_replay_operation operation);
/* Waits until main() may come back from the operation at this position, which waits. */
void tic_replay_await(uint64_t position);
/* It has waited for all tasks there: true, in a made history callbacks had begun by then that the
 * replay runs, and it is to wait once more for what they have submitted. */
bool tic_replay_settle(uint64_t position);
/* main() ends StarPU, which waits for the workers that ran them: until callbacks have returned that
 * the program has come to. */
void tic_replay_await_callbacks(void);
/* It has waited there, and may be holding data; waits until it may look at memory, if it did by the
 * cut. */
void tic_replay_grant(uint64_t position);
/* It comes back, and memory holds what it looks at. */
void tic_replay_return(uint64_t position);

/* What an actor does when the history says that it begins. */
struct tic_replay_actor {
    void (*begin)(void *); /* before any later entry passes; or NULL */
    void (*run)(void *);   /* on a thread of its own; NULL: somebody tells when it has returned */
    void *argument;        /* of both */
    void *stand; /* what StarPU has of it until it returns (tic_replay_is_open); or NULL */
    bool stays;  /* a kernel that need not have returned when the queue is played: it had not by the
                  * cut */
};

/* Does the history run it? It had begun by the cut, and had ended if it is a prologue. */
bool tic_replay_has_actor(enum tic_history_role role, uint64_t key);
/* Had it ended by the cut? */
bool tic_replay_has_ended(enum tic_history_role role, uint64_t key);
/* Had it begun by the cut, and not ended, so that StarPU had not ended its task? Not told of a made
 * history. */
bool tic_replay_is_open(enum tic_history_role role, uint64_t key);
/* This actor is there: a callback whose task has ended, or a kernel. inside: in a call of main().
 * False: it is none. Any thread. */
bool tic_replay_add_actor(enum tic_history_role role, uint64_t key,
                          const struct tic_replay_actor *is, bool inside);
/* Is the history made, and the replay on? */
bool tic_replay_is_made(void);
/* The next callback from this place on that had begun by the cut, and has not returned. */
bool tic_replay_find_callback(size_t *next, uint64_t *key);
/* At the end of a call of main() that may have added one: it runs here if it ran inside that call
 * in the recorded run. */
void tic_replay_run_inside(void);
/* A kernel that the replay has run has returned; and until then. Any thread. */
void tic_replay_end_kernel(uint64_t key);
void tic_replay_await_kernel(uint64_t key);
/* Plays this after what is queued already. False when the replay is over: do it now. Any thread. */
bool tic_replay_queue(void (*play)(void *), void *argument);
/* What StarPU calls while the queue is played, before it lets tasks go: the callback of an access,
 * a prologue. It runs when the queue has been played, in the order of these calls, and before
 * kernels begin. False when the replay is over: call it now. Any thread. */
bool tic_replay_keep_call(void (*run)(void *), void *argument);
/* A thread other than main() waits for tasks: until what it has queued is played, and kernels that
 * the program has come to have returned. */
void tic_replay_await_own(void);
/* The callback that this thread runs comes to a call by which others may go on; or main() to one
 * inside of which callbacks may run. False: it had not come to that by the cut, and has waited for
 * the end of the replay, as who it lets go may run inside of its call; or none that the replay
 * runs. */
bool tic_replay_note_call(bool of_main);
bool tic_replay_is_actor(void); /* Does the replay run what this thread runs? */
/* At the end of such a call: those that had run inside of it have returned. Who had not come back
 * by the cut does so when the replay is over, and those have returned that may run inside
 * (lets_go). True: it had come back by then. */
bool tic_replay_end_call(bool of_main, bool lets_go);
/* main() has given data back in the operation at this position: the same. */
void tic_replay_end_release(uint64_t position);
/* So many more callbacks, than have returned, come after the replay that StarPU has come to inside
 * of a call. */
void tic_replay_count_inside(int more);
/* Does this thread, if it runs a callback or a kernel, do again what it had done by the cut? */
bool tic_replay_repeats(void);
/* Makes a call that was kept from StarPU; does this thread do so, or play the queue? */
void tic_replay_play(void (*play)(void *), void *argument);
bool tic_replay_plays(void);
/* main() has calls to make: where it begins something next, or waits. Any thread. */
void tic_replay_ask_main(void);
/* A kernel that StarPU starts while the queue is played waits here: what is queued behind its task
 * comes before what it does. */
void tic_replay_await_end(void);
/* Kernels that StarPU has, and that have not returned. */
unsigned tic_replay_count_kernels(void);
/* Does main() wait for the history, and that for an actor that nobody has come to? No other actor
 * runs then. */
bool tic_replay_misses(enum tic_history_role *role);
/* Do callbacks run that main() may be waiting for, or does the queue play? */
bool tic_replay_is_busy(void);
