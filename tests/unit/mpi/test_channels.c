/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that messages are numbered and counted by channel, that no send begins while they are
 * held, and the core knows before each, and that the leader finds orphans and messages in transit.
 */
#include <pthread.h>
#include <stdlib.h>

#include "lib/testing.h"
#include "mpi/channels.h"
#include "mpi/core.h"

enum { TAG = 7 };

static int order[16], begun, noted;

static void note_begun(void *data)
{
    (void)data;
    noted++;
}

static const struct tic_ranks_core core = {.messages.note_begun = note_begun};
const struct tic_ranks_core *tic_mpi_core = &core;

static void begin(void *arg)
{
    assert_int_equal(noted, begun + 1);
    order[begun++] = (int)(intptr_t)arg;
}

static void send(int peer, int64_t tag, int name)
{
    struct tic_message *message = tic_channels_add(true, peer, tag, NULL);

    message->callback = begin;
    message->argument = (void *)(intptr_t)name;
    tic_channels_send(message);
}

static struct tic_message *ask(int peer, int64_t tag, void *data)
{
    return tic_channels_add(false, peer, tag, data);
}

static void end(void *data)
{
    struct tic_message *receive = tic_channels_find_receive(data);

    tic_channels_end_receive(receive);
    tic_channels_settle_receive(receive, tic_channels_is_late(receive) ? malloc(1) : NULL, 1);
}

static uint64_t counted(bool sends, int peer, int64_t tag)
{
    unsigned long count;
    bool disorder;
    struct tic_channel_count *counts = tic_channels_hold(&count, &disorder);
    uint64_t found = 0;

    for (unsigned long i = 0; i < count; i++)
        if (counts[i].sends == sends && counts[i].peer == peer && counts[i].tag == tag)
            found = counts[i].count;
    free(counts);
    tic_channels_open();
    return found;
}

static void test_held_sends_begin_later_in_their_order(void **state)
{
    unsigned long count;
    bool disorder;
    (void)state;
    begun = noted = 0;
    send(1, TAG, 1);
    assert_int_equal(begun, 1);
    free(tic_channels_hold(&count, &disorder));
    send(1, TAG, 2);
    send(2, TAG, 3);
    send(1, TAG, 4);
    assert_int_equal(begun, 1);
    assert_int_equal(noted, 1);
    free(tic_channels_hold(&count, &disorder)); /* they are not counted */
    assert_int_equal(count, 1);
    tic_channels_open();
    assert_int_equal(begun, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(order[i], i + 1);
    assert_int_equal(counted(true, 1, TAG), 3);
    assert_int_equal(counted(true, 2, TAG), 1);
    assert_int_equal(tic_channels_statistics().held, 3);
}

static void *await_sends(void *seen)
{
    tic_channels_await();
    *(int *)seen = begun;
    return NULL;
}

static void test_who_awaits_sends_awaits_those_that_are_held(void **state)
{
    pthread_t waiter;
    unsigned long count;
    bool disorder;
    int seen = 0;
    (void)state;
    begun = noted = 0;
    tic_channels_await(); /* there is none */
    free(tic_channels_hold(&count, &disorder));
    send(1, TAG, 1);
    send(1, TAG, 2);
    assert_int_equal(pthread_create(&waiter, NULL, await_sends, &seen), 0);
    tic_channels_open();
    assert_int_equal(pthread_join(waiter, NULL), 0);
    assert_int_equal(seen, 2);
}

static void test_receives_are_found_by_their_data(void **state)
{
    int a, b;
    (void)state;
    tic_channels_begin_receive(ask(3, TAG, &a));
    assert_null(tic_channels_find_receive(&b));
    assert_int_equal(counted(false, 3, TAG), 0);
    end(&a);
    assert_null(tic_channels_find_receive(&a));
    assert_int_equal(counted(false, 3, TAG), 1);
}

static void test_late_messages(void **state)
{
    const struct tic_channel_count incoming[] = {{false, 4, TAG, 2}, {false, 5, TAG, 1}};
    unsigned long count;
    bool disorder;
    int a, b;
    (void)state;
    tic_channels_begin_receive(ask(4, TAG, &a));
    free(tic_channels_hold(&count, &disorder));
    assert_int_equal(tic_channels_late(), 0);
    end(&a); /* before this rank knows */
    assert_true(tic_channels_expect(incoming, 2));
    tic_channels_open();
    assert_int_equal(tic_channels_late(), 2);
    tic_channels_begin_receive(ask(5, TAG, &b));
    end(&b);
    assert_int_equal(tic_channels_late(), 1);
    for (int i = 0; i < 2; i++) { /* the second was sent after the cuts */
        tic_channels_begin_receive(ask(4, TAG, &a));
        end(&a);
        assert_int_equal(tic_channels_late(), 0);
    }
    assert_false(disorder);
    struct tic_late *late = tic_channels_take_late(&count);
    assert_int_equal(count, 3); /* the first came before this rank knew */
    assert_int_equal(late[0].number, 1);
    assert_int_equal(late[1].peer, 5);
    assert_int_equal(late[2].number, 2);
    for (unsigned long i = 0; i < count; i++)
        free(late[i].bytes);
    free(late);
}

static void test_a_restart_knows_what_was_done(void **state)
{
    const struct tic_channel_count counts[] = {{true, 8, TAG, 2}, {false, 8, TAG, 1}},
                                   incoming[] = {{false, 8, TAG, 2}};
    const enum tic_message_fate sends[] = {TIC_MESSAGE_DONE, TIC_MESSAGE_DONE, TIC_MESSAGE_LIVE},
                                receives[] = {TIC_MESSAGE_DONE, TIC_MESSAGE_LATE, TIC_MESSAGE_LIVE};
    (void)state;
    assert_true(tic_channels_recover(counts, 2, incoming, 1));
    for (int i = 0; i < 3; i++) {
        struct tic_message *message = tic_channels_add(true, 8, TAG, NULL);
        assert_int_equal(tic_channels_fate(message), sends[i]);
        message->callback = begin;
        if (sends[i] == TIC_MESSAGE_LIVE)
            tic_channels_send(message);
        else
            free(message);
        message = ask(8, TAG, NULL);
        assert_int_equal(tic_channels_fate(message), receives[i]);
        free(message);
    }
    assert_int_equal(counted(true, 8, TAG), 3);
}

static void test_another_order_is_seen(void **state)
{
    struct tic_message *first = tic_channels_add(true, 6, TAG, NULL),
                       *second = tic_channels_add(true, 6, TAG, NULL);
    unsigned long count;
    bool disorder;
    (void)state;
    first->callback = second->callback = begin;
    begun = noted = 0;
    tic_channels_send(second);
    tic_channels_send(first);
    free(tic_channels_hold(&count, &disorder));
    tic_channels_open();
    assert_true(disorder);
}

static void test_the_leader_compares(void **state)
{
    struct tic_channel_count zero[] = {{true, 1, 9, 5}, {true, 1, 8, 2}, {false, 1, 8, 1}};
    struct tic_channel_count one[] = {{false, 0, 9, 3}, {true, 0, 8, 1}, {false, 0, 8, 2}};
    struct tic_channel_counts ranks[] = {{zero, 3}, {one, 3}};
    unsigned long found;
    (void)state;
    tic_channels_sort(zero, 3);
    tic_channels_sort(one, 3);
    assert_int_equal(tic_channels_orphans(ranks, 2), 0);
    assert_int_equal(tic_channels_in_transit(ranks, 2), 2);
    struct tic_channel_count *incoming = tic_channels_incoming(ranks, 2, 1, &found);
    assert_int_equal(found, 2);
    assert_int_equal(incoming[0].peer, 0);
    assert_int_equal(incoming[0].tag, 8);
    assert_int_equal(incoming[0].count, 2);
    free(incoming);
    for (int i = 0; i < 3; i++) /* it has received what nobody has sent */
        one[i].count += one[i].tag == 8 && !one[i].sends;
    assert_int_equal(tic_channels_orphans(ranks, 2), 1);
    ranks[0].count = 0;
    assert_int_equal(tic_channels_orphans(ranks, 2), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_sends_begin_later_in_their_order),
        cmocka_unit_test(test_who_awaits_sends_awaits_those_that_are_held),
        cmocka_unit_test(test_receives_are_found_by_their_data),
        cmocka_unit_test(test_late_messages),
        cmocka_unit_test(test_a_restart_knows_what_was_done),
        cmocka_unit_test(test_another_order_is_seen),
        cmocka_unit_test(test_the_leader_compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
