/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that ranks agree on a line or drop it: no rank begins a send between its cut and the last
 * one of a line that counts, a line counts only with all parts, and nobody is held for ever. The
 * wire, the ranks and the clock are not real. */
#include <stdlib.h>
#include <string.h>

#include "lib/testing.h"
#include "mpi/agree.h"

enum { RANKS = 3, MOST = 4096, MOST_LINES = 64, ROUNDS = 4000, STEPS = 400 };

struct letter {
    bool to_leader, lost;
    unsigned rank;
    enum tic_agree_kind kind;
    uint64_t line;
};

static struct {
    struct tic_lead lead;
    struct tic_member members[RANKS];
    struct letter letters[MOST];
    unsigned count, next[2 * RANKS]; /* each pair keeps its order */
    double now;
    unsigned cuts[MOST_LINES], parts[MOST_LINES]; /* ranks that have cut, and have a part */
    bool opened[MOST_LINES], committed[MOST_LINES];
    bool holds[RANKS];
    unsigned drops;
    char why[64];
    const char *verdict; /* of the judge */
    int commit_status;
} world;

static void put(bool to_leader, unsigned rank, const struct tic_agree_message *message)
{
    assert_true(world.count < MOST);
    world.letters[world.count++] =
        (struct letter){to_leader, false, rank, message->kind, message->line};
}

static void lead_send(void *arg, unsigned to, const struct tic_agree_message *message)
{
    (void)arg;
    put(false, to, message);
}

static const char *judge(void *arg, const struct tic_agree_answer *cuts,
                         struct tic_agree_answer *incoming)
{
    (void)arg;
    for (unsigned i = 0; i < RANKS; i++) {
        assert_non_null(cuts[i].bytes);
        incoming[i].bytes = malloc(1);
    }
    return world.verdict;
}

static int commit(void *arg, uint64_t line, const struct tic_agree_answer *cuts,
                  const struct tic_agree_answer *parts)
{
    (void)arg;
    for (unsigned i = 0; i < RANKS; i++)
        assert_true(cuts[i].bytes && parts[i].bytes);
    if (world.commit_status)
        return world.commit_status;
    assert_int_equal(world.parts[line], RANKS);
    assert_int_equal(world.cuts[line], RANKS);
    assert_false(world.opened[line]);
    world.committed[line] = true;
    return 0;
}

static void note_drop(void *arg, uint64_t line, unsigned rank, const char *why)
{
    (void)arg;
    (void)rank;
    assert_false(world.committed[line]);
    world.drops++;
    strncpy(world.why, why, sizeof(world.why) - 1);
}

static void member_send(void *arg, const struct tic_agree_message *message)
{
    put(true, (unsigned)((struct tic_member *)arg - world.members), message);
}

static void prepare(void *arg, uint64_t line)
{
    (void)arg;
    assert_true(line < MOST_LINES);
}

/* Sends begin again: if others have not cut yet, their lines may lack what they bring. */
static void open(void *arg, const struct tic_agree_message *all_cut)
{
    struct tic_member *member = arg;

    assert_true(world.holds[member - world.members]);
    world.holds[member - world.members] = false;
    if (world.cuts[member->line] < RANKS)
        world.opened[member->line] = true;
    if (all_cut)
        assert_int_equal(world.cuts[member->line], RANKS);
}

static const struct tic_lead_ops lead_ops = {lead_send, judge, commit, note_drop};
static const struct tic_member_ops member_ops = {member_send, prepare, open};

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.now = 1;
    for (unsigned i = 0; i < RANKS; i++)
        tic_member_init(&world.members[i], &member_ops, &world.members[i]);
    return tic_lead_init(&world.lead, RANKS, &lead_ops, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    tic_lead_fini(&world.lead);
    return 0;
}

/* The next letter of a pair; false: there is none. */
static bool deliver(bool to_leader, unsigned rank, bool loses)
{
    unsigned *next = &world.next[rank * 2 + to_leader];

    while (*next < world.count &&
           (world.letters[*next].to_leader != to_leader || world.letters[*next].rank != rank))
        (*next)++;
    if (*next == world.count)
        return false;
    const struct letter *letter = &world.letters[(*next)++];
    const struct tic_agree_message message = {letter->kind, letter->line, "x", 1};
    if (loses)
        return true;
    if (to_leader)
        tic_lead_receive(&world.lead, rank, &message, world.now);
    else
        tic_member_receive(&world.members[rank], &message, world.now);
    return true;
}

static void deliver_all(void)
{
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < 2 * RANKS; i++)
            any |= deliver(i % 2, i / 2, false);
    }
}

/* What the checkpoint thread of a rank does next. */
static void work(unsigned rank)
{
    struct tic_member *member = &world.members[rank];

    switch (member->state) {
    case TIC_MEMBER_PREPARING:
        tic_member_ready(member, world.now);
        break;
    case TIC_MEMBER_CUTTING:
        world.holds[rank] = true;
        world.cuts[member->line]++;
        tic_member_cut(member, "c", 1, world.now);
        break;
    case TIC_MEMBER_SAVING:
        world.parts[member->line]++;
        tic_member_part(member, "p", 1);
        break;
    case TIC_MEMBER_COMMITTED:
        assert_true(world.committed[member->line]);
        tic_member_end(member);
        break;
    case TIC_MEMBER_DROPPED:
        assert_false(world.committed[member->line]);
        tic_member_end(member);
        break;
    default:
        break;
    }
}

static void all_go_on(void)
{
    deliver_all();
    for (unsigned i = 0; i < RANKS; i++)
        work(i);
    deliver_all();
}

static void all_are_idle(void)
{
    assert_int_equal(world.lead.state, TIC_LEAD_IDLE);
    for (unsigned i = 0; i < RANKS; i++) {
        assert_int_equal(world.members[i].state, TIC_MEMBER_IDLE);
        assert_false(world.holds[i]);
    }
}

static void test_a_line(void **state)
{
    (void)state;
    for (uint64_t line = 1; line < 4; line++) {
        assert_true(tic_lead_begin(&world.lead, world.now));
        assert_false(tic_lead_begin(&world.lead, world.now));
        all_go_on(); /* ready */
        all_go_on(); /* cut: all hold, and are let go on */
        all_go_on(); /* parts */
        assert_true(world.committed[line]);
        all_go_on();
        all_are_idle();
    }
    assert_int_equal(world.drops, 0);
}

static void test_a_rank_that_is_stopped(void **state)
{
    (void)state;
    tic_lead_begin(&world.lead, world.now);
    all_go_on();
    deliver(false, 0, false);
    deliver(false, 1, false);
    work(0);
    work(1);
    deliver(true, 0, false);
    deliver(true, 1, false);
    assert_true(world.holds[0] && world.holds[1]);
    world.now += TIC_CUT_MOST;
    tic_lead_tick(&world.lead, world.now);
    assert_int_equal(world.drops, 1);
    deliver(false, 0, false);
    deliver(false, 1, false);
    assert_false(world.holds[0] || world.holds[1]);
    deliver_all(); /* the third wakes up, to CUT and DROP */
    all_go_on();
    all_are_idle();
    assert_true(tic_lead_begin(&world.lead, world.now));
}

static void test_a_leader_that_is_stopped(void **state)
{
    (void)state;
    tic_lead_begin(&world.lead, world.now);
    all_go_on();
    deliver_all();
    work(1);
    assert_true(world.holds[1]);
    world.now += TIC_HOLD_MOST;
    tic_member_tick(&world.members[1], world.now);
    assert_false(world.holds[1]);
    work(0);
    work(2);
    all_go_on(); /* it wakes up, and hears that rank 1 has failed */
    all_go_on();
    all_are_idle();
    assert_false(world.committed[1]);
}

static void test_a_veto_and_late_answers(void **state)
{
    (void)state;
    tic_lead_begin(&world.lead, world.now);
    deliver(false, 0, false);
    deliver(false, 1, false);
    deliver(false, 2, false);
    tic_member_fail(&world.members[2], "a reduction is open");
    work(0);
    deliver_all();
    assert_int_equal(world.drops, 1);
    work(1); /* it was dropped before this rank was ready */
    all_go_on();
    all_are_idle();
    assert_true(tic_lead_begin(&world.lead, world.now));
    assert_int_equal(world.lead.line, 2);
}

static void test_a_rank_that_is_not_done_refuses_the_next(void **state)
{
    (void)state;
    tic_lead_begin(&world.lead, world.now);
    deliver_all();
    tic_member_fail(&world.members[0], "no room");
    tic_member_end(&world.members[0]);
    deliver_all();
    tic_lead_begin(&world.lead, world.now); /* 1 and 2 are still at the line before */
    deliver_all();
    assert_int_equal(world.drops, 2);
    all_go_on();
    all_are_idle();
}

static void test_a_job_line_that_cannot_be_written(void **state)
{
    (void)state;
    world.commit_status = -28;
    tic_lead_begin(&world.lead, world.now);
    for (unsigned i = 0; i < 4; i++)
        all_go_on();
    assert_int_equal(world.drops, 1);
    all_are_idle();
}

static void test_orphans_make_no_line(void **state)
{
    (void)state;
    world.verdict = "internal error: orphans";
    tic_lead_begin(&world.lead, world.now);
    for (unsigned i = 0; i < 4; i++)
        all_go_on();
    assert_string_equal(world.why, "internal error: orphans");
    all_are_idle();
}

static void test_connections_that_are_gone(void **state)
{
    (void)state;
    tic_lead_begin(&world.lead, world.now);
    all_go_on();
    all_go_on();
    work(1);
    tic_member_lose(&world.members[1]); /* it has a part, which may count */
    assert_int_equal(world.members[1].state, TIC_MEMBER_UNKNOWN);
    tic_member_lose(&world.members[2]);
    assert_int_equal(world.members[2].state, TIC_MEMBER_DROPPED);
    tic_lead_lose(&world.lead, 1);
    assert_false(tic_lead_begin(&world.lead, world.now));
}

/* Letters in any order that each pair allows, some lost, ranks that fail or stand still. */
static void step(unsigned loses)
{
    unsigned rank = (unsigned)rand() % RANKS;

    switch (rand() % 16) {
    case 0:
        tic_lead_begin(&world.lead, world.now);
        break;
    case 1:
        if (rand() % 8 == 0)
            tic_member_fail(&world.members[rank], "it does not want to");
        break;
    case 2:
        world.now += (double)(rand() % 100) / 100;
        tic_lead_tick(&world.lead, world.now);
        tic_member_tick(&world.members[rank], world.now);
        break;
    case 3:
    case 4:
    case 5:
        work(rank);
        break;
    default:
        deliver(rand() % 2, rank, loses > 0 && (unsigned)rand() % 100 < loses);
    }
}

/* Whoever waits for a lost letter is let go by the time, but for one that has a part. */
static void settle(void)
{
    for (unsigned i = 0; i < 8; i++) {
        all_go_on();
        world.now += TIC_READY_MOST;
        for (unsigned k = 0; k < RANKS; k++)
            tic_member_tick(&world.members[k], world.now);
        tic_lead_tick(&world.lead, world.now);
    }
    for (unsigned i = 0; i < RANKS; i++) {
        assert_false(world.holds[i]);
        if (world.members[i].state == TIC_MEMBER_PARTED)
            tic_member_lose(&world.members[i]);
        else
            assert_int_equal(world.members[i].state, TIC_MEMBER_IDLE);
    }
}

static void explore(unsigned loses)
{
    unsigned committed = 0, dropped = 0;

    tear_down(NULL);
    srand(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        set_up(NULL);
        for (unsigned i = 0; i < STEPS; i++)
            step(loses);
        settle();
        for (unsigned i = 0; i < MOST_LINES; i++)
            committed += world.committed[i];
        dropped += world.drops;
        tear_down(NULL);
    }
    set_up(NULL);
    assert_true(committed > ROUNDS / 4 && dropped > ROUNDS / 4);
}

static void test_any_order(void **state)
{
    (void)state;
    explore(0);
}

static void test_any_order_with_losses(void **state)
{
    (void)state;
    explore(3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_line),
        TEST(test_a_rank_that_is_stopped),
        TEST(test_a_leader_that_is_stopped),
        TEST(test_a_veto_and_late_answers),
        TEST(test_a_rank_that_is_not_done_refuses_the_next),
        TEST(test_a_job_line_that_cannot_be_written),
        TEST(test_orphans_make_no_line),
        TEST(test_connections_that_are_gone),
        TEST(test_any_order),
        TEST(test_any_order_with_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
