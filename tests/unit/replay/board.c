/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One run of a program: its threads go on as the board says, and what else could be chosen is
 * written to the board. */
#include "board.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "starpu_tic.h"
#include "turns.h"

static struct {
    struct tic_board *board;
    bool started;    /* StarPU */
    bool wants_line; /* the thread that asks for lines is to do so */
    unsigned cuts;   /* lines that were asked for */
    unsigned line;   /* newest recovery line when it asked */
} now;

/* ---- choices --------------------------------------------------------------------------------- */

static void trace(const char *what, unsigned a, unsigned b)
{
    if (now.board->traces)
        fprintf(stderr, "  [%u] %s %u of %u\n", now.board->count, what, a, b);
}

static unsigned decide(unsigned count, unsigned threads, bool preempts)
{
    struct tic_board *board = now.board;

    if (count == 1)
        return 0;
    unsigned made = board->count < board->given_count ? board->given[board->count] : 0;
    if (made >= count || board->count == TIC_BOARD_CHOICES)
        _exit(TIC_EXIT_MISFIT);
    board->choices[board->count++] =
        (struct tic_choice){(uint8_t)made, (uint8_t)count, (uint8_t)threads, preempts};
    return made;
}

static unsigned choose_task(unsigned count)
{
    unsigned made = decide(count, count, false);

    trace("ready task", made, count);
    return made;
}

/* The number of the newest recovery line; 0: there is none. */
static unsigned newest_line(void)
{
    DIR *listing = opendir(now.board->directory);
    const struct dirent *entry;
    unsigned newest = 0, number;

    while (listing && (entry = readdir(listing))) {
        int end = 0;
        if (sscanf(entry->d_name, "p0-line-%u.h5%n", &number, &end) == 1 && end > 0 &&
            entry->d_name[end] == '\0' && number > newest)
            newest = number;
    }
    if (listing)
        closedir(listing);
    return newest;
}

_Noreturn static void die(void)
{
    trace("killed", 0, 0);
    now.board->killed = true;
    _exit(0);
}

/* Threads in the order in which they are tried: the running one, then by number; idle workers are
 * all alike, so one stands for all. */
static unsigned list_moves(struct tic_turn *const *able, unsigned count, unsigned *moves,
                           bool *goes_on)
{
    unsigned listed = 0;
    bool idle = false;

    *goes_on = false;
    for (unsigned i = 0; i < count; i++)
        if (tic_turn_was_last(able[i]) && !tic_turn_is_idle(able[i])) {
            moves[listed++] = i;
            *goes_on = true;
        }
    for (unsigned i = 0; i < count; i++) {
        if ((tic_turn_was_last(able[i]) && *goes_on) || (tic_turn_is_idle(able[i]) && idle))
            continue;
        idle |= tic_turn_is_idle(able[i]);
        moves[listed++] = i;
    }
    return listed;
}

static unsigned choose(struct tic_turn *const *able, unsigned count)
{
    unsigned moves[TIC_BOARD_CHOICES];
    bool goes_on, records = now.board->phase == TIC_RECORD && now.started;
    bool may_die = records && now.board->kill_anywhere;
    bool committed = records && (now.cuts == 0 || newest_line() > now.line);
    bool may_cut = committed && !may_die && now.cuts < now.board->lines;

    if (committed && !may_die && now.cuts == now.board->lines)
        die();
    unsigned threads = list_moves(able, count, moves, &goes_on);
    unsigned made = decide(threads + may_cut + may_die, threads, goes_on);
    if (made < threads) {
        trace("thread", tic_turn_number(able[moves[made]]), threads);
        return moves[made];
    }
    if (may_die && made == threads + may_cut)
        die();
    trace("cut", 0, 0);
    now.line = newest_line();
    now.wants_line = true;
    now.cuts++;
    return TIC_TURNS_AGAIN;
}

static void be_stuck(void)
{
    fprintf(stderr, "no thread can go on\n");
    tic_turns_print();
    _exit(TIC_EXIT_STUCK);
}

static void tell(const char *event, const char *name)
{
    now.board->executed += strcmp(event, "begin") == 0 && strncmp(name, "tic_", 4) != 0;
    if (now.board->traces)
        fprintf(stderr, "  %s %s\n", event, name);
}

/* ---- recovery lines -------------------------------------------------------------------------- */

static bool is_wanted(void *arg)
{
    (void)arg;
    return now.wants_line;
}

static void *ask_for_lines(void *arg)
{
    for (;;) {
        tic_turns_await(is_wanted, NULL, false);
        now.wants_line = false;
        starpu_tic_checkpoint_request();
    }
    return arg;
}

/* ---- the run --------------------------------------------------------------------------------- */

void tic_program_start(unsigned workers)
{
    struct starpu_conf conf;

    starpu_conf_init(&conf);
    conf.ncpus = (int)workers;
    conf.sched_policy = &tic_fake_policy;
    if (starpu_init(&conf) != 0)
        _exit(TIC_EXIT_MISFIT);
    now.started = true;
}

void tic_program_stop(void)
{
    now.started = false;
    starpu_shutdown();
}

static void set_environment(const struct tic_board *board, const struct tic_program *program)
{
    setenv("STARPU_TIC_SYNC", "never", 1);
    setenv("STARPU_TIC_PERIOD", "1000000", 1); /* lines come when they are asked for */
    setenv("STARPU_TIC_FORCED", "0", 1);
    setenv("STARPU_TIC_ASK", "0", 1); /* nobody asks, and threads that wait by the clock take no turns */
    setenv("STARPU_TIC_VERBOSE", "0", 1);
    setenv("STARPU_TIC_POINTERS", "trust", 1); /* variables of this process are the explorer's, too */
    for (unsigned i = 0; program->settings && program->settings[i]; i += 2)
        setenv(program->settings[i], program->settings[i + 1], 1);
    if (board->phase == TIC_RECORD && program->late_at)
        setenv("STARPU_TIC_FAIL", program->late_at, 1);
    setenv("STARPU_TIC_DIR", board->directory, 1);
    if (board->phase == TIC_PLAIN)
        setenv("STARPU_TIC_PROTOCOL", "off", 1);
    if (board->traces)
        setenv("STARPU_TIC_VERBOSE", "2", 1);
}

void tic_board_run(struct tic_board *board, const struct tic_program *program)
{
    static const struct tic_turns_rules rules = {choose, be_stuck};
    pthread_t asker;

    now.board = board;
    board->count = board->executed = 0;
    board->killed = board->finished = false;
    memset(board->result, 0, sizeof(board->result));
    set_environment(board, program);
    tic_fake_choose_task = choose_task;
    tic_fake_tell = tell;
    alarm(20);
    tic_turns_begin(&rules);
    pthread_create(&asker, NULL, ask_for_lines, NULL);
    program->run(board->result);
    board->finished = true;
    exit(0);
}
