/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/release.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "real/real.h"
#include "session/nodes.h"

struct later {
    struct later *next;
    int node;
};

/* A thread ends accesses on this data. Whatever waited for them may begin in it, callbacks of the
 * program, too. */
struct turn {
    starpu_data_handle_t data;
    pthread_t thread;
    struct later *first, **last; /* guarded by the mutex below */
    struct turn *next;           /* guarded by the mutex */
};

static struct {
    pthread_mutex_t mutex; /* a leaf */
    struct turn *first;    /* guarded by mutex; one for each data at most */
} turns = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void release_now(starpu_data_handle_t data, int node)
{
    tic_guard++;
    if (node == TIC_NODE_HOME)
        RESOLVED(starpu_data_release)(data);
    else
        RESOLVED(starpu_data_release_on_node)(data, node);
    tic_guard--;
}

static struct turn *find_locked(starpu_data_handle_t data)
{
    struct turn *turn = turns.first;

    while (turn && turn->data != data)
        turn = turn->next;
    return turn;
}

static void begin_locked(struct turn *turn)
{
    turn->last = &turn->first;
    turn->next = turns.first;
    turns.first = turn;
}

static void end_locked(const struct turn *turn)
{
    struct turn **at = &turns.first;

    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
}

/* The thread whose turn it is does it, too. False when out of memory. */
static bool leave_locked(struct turn *turn, int node)
{
    struct later *later = malloc(sizeof(*later));

    if (!later)
        return false;
    *later = (struct later){NULL, node};
    *turn->last = later;
    turn->last = &later->next;
    return true;
}

/* The next that was left; false at the end of the turn. */
static bool take(struct turn *turn, int *node)
{
    pthread_mutex_lock(&turns.mutex);
    struct later *later = turn->first;
    if (later) {
        *node = later->node;
        turn->first = later->next;
        turn->last = turn->first ? turn->last : &turn->first;
    } else {
        end_locked(turn);
    }
    pthread_mutex_unlock(&turns.mutex);
    free(later);
    return later != NULL;
}

enum way { IN_TURN, AT_ONCE, LEFT };

static enum way begin(struct turn *turn, int node)
{
    enum way way = IN_TURN;

    pthread_mutex_lock(&turns.mutex);
    struct turn *other = find_locked(turn->data);
    if (!other)
        begin_locked(turn);
    else if (pthread_equal(other->thread, turn->thread) || !leave_locked(other, node))
        way = AT_ONCE;
    else
        way = LEFT;
    pthread_mutex_unlock(&turns.mutex);
    return way;
}

void tic_release(starpu_data_handle_t data, int node)
{
    struct turn turn = {.data = data, .thread = pthread_self()};
    enum way way = tic_nodes_several ? begin(&turn, node) : AT_ONCE;

    if (way == LEFT)
        return;
    do
        release_now(data, node);
    while (way == IN_TURN && take(&turn, &node));
}
