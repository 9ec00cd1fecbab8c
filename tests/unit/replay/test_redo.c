/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the order in which a restart redoes a history: threads stand for main() and for callbacks,
 * and say what they do. */
#include "replay/replay.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "lib/testing.h"
#include "replay/cursor.h"

enum { MAIN = TIC_HISTORY_MAIN, CALLBACK = TIC_HISTORY_CALLBACK, KERNEL = TIC_HISTORY_KERNEL };
enum { BEGIN = TIC_HISTORY_BEGIN, END = TIC_HISTORY_END, RETURN = TIC_HISTORY_RETURN };

#define ENTRY(position_, role_, actor_, kind_)                                                     \
    {                                                                                              \
        .position = (position_), .actor = (actor_), .kind = (kind_), .role = (role_)               \
    }

static char said[64]; /* guarded by the mutex: what happened, a letter each */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t go;
static atomic_bool put_off; /* main() has a call to make */
static size_t left;         /* entries, when main() arrived */

static char letter_a = 'a', letter_k = 'k', letter_l = 'l', letter_q = 'q', letter_r = 'r',
            letter_s = 's';

static void say(char what)
{
    pthread_mutex_lock(&mutex);
    said[strlen(said)] = what;
    pthread_mutex_unlock(&mutex);
}

static bool is_left_out(uint32_t role, uint64_t key, bool ended)
{
    return !ended && role == TIC_HISTORY_CALLBACK && key == 9;
}

static void arrive(const struct tic_line_entry *entries, size_t count)
{
    (void)entries;
    left = count;
    say('|');
}

static void play(bool begins)
{
    say(begins ? '<' : '>');
}

static void catch_up(void)
{
    if (!atomic_exchange(&put_off, false))
        return;
    say('c');
    sem_post(&go);
}

static void callback(void *arg)
{
    say(*(const char *)arg);
}

static void waiting_callback(void *arg)
{
    sem_wait(&go);
    say(*(const char *)arg);
}

static void kernel(void *arg)
{
    say(*(const char *)arg);
    tic_replay_end_kernel(5);
}

static void say_it(void *arg)
{
    say(*(const char *)arg);
}

static void kernel_before_call(void *arg)
{
    say(*(const char *)arg);
    atomic_store(&put_off, true);
    tic_replay_end_kernel(5);
    tic_replay_ask_main();
}

static void kernel_after_call(void *arg)
{
    sem_wait(&go);
    say(*(const char *)arg);
    tic_replay_end_kernel(6);
}

static _Atomic uint32_t open_callbacks;

static sem_t stand_is_gone;

static void let_stand_go(void *letter)
{
    say(*(const char *)letter);
    sem_post(&stand_is_gone);
}

static void start(const struct tic_line_entry *entries, size_t count, uint64_t cut)
{
    static const struct tic_replay_steps steps = {
        .let_go = let_stand_go,
        .is_left_out = is_left_out,
        .arrive = arrive,
        .play = play,
        .catch_up = catch_up,
        .open = &open_callbacks,
    };

    memset(said, 0, sizeof(said));
    assert_int_equal(tic_replay_start(entries, count, cut, &steps), 0);
}

static bool add_callback(uint64_t key, void (*run)(void *), void *argument)
{
    const struct tic_replay_actor actor = {.run = run, .argument = argument};

    return tic_replay_add_actor(TIC_HISTORY_CALLBACK, key, &actor, true);
}

/* main() waits once more, behind the cut: all is over then. */
static void finish(uint64_t position, const char *expected)
{
    tic_replay_begin(position, TIC_REPLAY_WAITS);
    assert_false(tic_replay_is_on());
    assert_string_equal(said, expected);
}

static void wait_at(uint64_t position)
{
    tic_replay_begin(position, TIC_REPLAY_WAITS);
    tic_replay_return(position);
}

/* submit T(a); wait; print */
static void test_wait_returns_after_callback(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(1, CALLBACK, 7, END), ENTRY(2, MAIN, 0, RETURN)};
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(7, callback, &letter_a));
    wait_at(2);
    say('m');
    finish(3, "am|<>");
}

/* submit T(a: waits for main()); wait; then main() lets it go */
static void begin_with_callback_that_waits(uint64_t cut)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(2, MAIN, 0, RETURN), ENTRY(2, CALLBACK, 7, END)};
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), cut);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(7, waiting_callback, &letter_a));
    wait_at(2);
    say('m');
}

static void test_callback_waits_for_main(void **state)
{
    (void)state;
    begin_with_callback_that_waits(3);
    sem_post(&go);
    finish(3, "ma|<>");
}

/* The same where main() is at the cut: it had come back from its wait. */
static void test_callback_waits_for_main_at_cut(void **state)
{
    (void)state;
    begin_with_callback_that_waits(2);
    assert_true(tic_replay_queue(callback, &letter_q));
    sem_post(&go);
    finish(3, "|ma<q>");
}

/* A kernel without output that had begun; what was not done, also a callback, is queued. */
static void test_kernel_and_queue(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(2, KERNEL, 5, BEGIN), ENTRY(2, KERNEL, 5, END), ENTRY(3, MAIN, 0, RETURN)};
    (void)state;
    start(entries, TIC_COUNT(entries), 4);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_add_actor(
        TIC_HISTORY_KERNEL, 5, &(struct tic_replay_actor){.begin = kernel, .argument = &letter_k},
        false));
    assert_false(add_callback(5, callback, &letter_a));
    assert_true(tic_replay_queue(callback, &letter_a));
    assert_true(tic_replay_queue(callback, &letter_q));
    tic_replay_begin(2, TIC_REPLAY_ASKS);
    wait_at(3);
    finish(4, "k|<aq>");
    assert_false(tic_replay_queue(callback, &letter_r));
}

/* One that had not ended is not done: it begins there, and the queue is played while it runs. */
static void test_kernel_not_ended(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, KERNEL, 5, BEGIN),
                                                    ENTRY(2, MAIN, 0, RETURN)};
    const struct tic_replay_actor stays = {.begin = say_it, .argument = &letter_k, .stays = true};
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_false(tic_replay_has_ended(TIC_HISTORY_KERNEL, 5));
    assert_true(tic_replay_add_actor(TIC_HISTORY_KERNEL, 5, &stays, false));
    assert_true(tic_replay_queue(callback, &letter_q));
    wait_at(2);
    finish(3, "k|<q>");
    tic_replay_end_kernel(5);
}

static void *end_returned(void *arg)
{
    sem_wait(&go);
    say_it(arg);
    tic_replay_end_kernel(5);
    return NULL;
}

/* The same, but others have changed what it reads: nothing is restored before it has returned. */
static void test_kernel_not_known_to_have_ended(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, KERNEL, 5, BEGIN),
                                                    ENTRY(2, MAIN, 0, RETURN)};
    const struct tic_replay_actor returns = {.begin = say_it, .argument = &letter_k};
    pthread_t thread;
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_add_actor(TIC_HISTORY_KERNEL, 5, &returns, false));
    assert_true(tic_replay_queue(callback, &letter_q));
    assert_int_equal(pthread_create(&thread, NULL, end_returned, &letter_r), 0);
    wait_at(2);
    tic_replay_begin(3, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_is_on());
    sem_post(&go);
    finish(4, "k|r<q>");
    pthread_join(thread, NULL);
}

/* A prologue that had not ended comes with its task. */
static void test_prologue_not_ended(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 9, BEGIN),
                                                    ENTRY(2, MAIN, 0, RETURN)};
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_false(tic_replay_has_actor(TIC_HISTORY_CALLBACK, 9));
    assert_true(tic_replay_queue(callback, &letter_q));
    wait_at(2);
    finish(3, "|<q>");
}

/* submit K(R x); a call on x; submit L(R x); wait: main() makes the call while it waits, when
 * StarPU has K, and L begins after that. */
static void test_call_put_off(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(2, KERNEL, 5, BEGIN), ENTRY(2, KERNEL, 5, END), ENTRY(2, KERNEL, 6, BEGIN),
        ENTRY(2, KERNEL, 6, END), ENTRY(2, MAIN, 0, RETURN)};
    const struct tic_replay_actor before = {.begin = kernel_before_call, .argument = &letter_k},
                                  after = {.begin = kernel_after_call, .argument = &letter_l};
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_add_actor(TIC_HISTORY_KERNEL, 5, &before, false));
    assert_true(tic_replay_add_actor(TIC_HISTORY_KERNEL, 6, &after, false));
    wait_at(2);
    finish(3, "kcl|<>");
}

/* An access that was granted inside the call of main(): its callback runs there, after what came
 * before it; another one between them does not wait for main(). */
static void test_callback_inside_call(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 6, BEGIN),
        ENTRY(1, CALLBACK, 6, END),
        {.position = 1, .actor = 7, .kind = BEGIN, .role = CALLBACK, .part = TIC_HISTORY_NESTED},
        ENTRY(1, CALLBACK, 7, END)};
    const struct tic_replay_actor taken = {callback, callback, &letter_a, false, false};
    (void)state;
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(6, callback, &letter_r));
    tic_replay_run_inside();
    assert_true(tic_replay_add_actor(TIC_HISTORY_CALLBACK, 7, &taken, true));
    tic_replay_run_inside();
    say('m');
    finish(2, "raam|<>");
}

/* A prologue and the callback of one task that ended inside its submission. */
static void test_two_inside_call(void **state)
{
    static const struct tic_line_entry entries[] = {
        {.position = 1, .actor = 6, .kind = BEGIN, .role = CALLBACK, .part = TIC_HISTORY_NESTED},
        ENTRY(1, CALLBACK, 6, END),
        {.position = 1, .actor = 7, .kind = BEGIN, .role = CALLBACK, .part = TIC_HISTORY_NESTED},
        ENTRY(1, CALLBACK, 7, END)};
    const struct tic_replay_actor first = {.run = callback, .argument = &letter_a},
                                  second = {.run = callback, .argument = &letter_r};
    (void)state;
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_add_actor(TIC_HISTORY_CALLBACK, 6, &first, true));
    assert_true(tic_replay_add_actor(TIC_HISTORY_CALLBACK, 7, &second, true));
    tic_replay_run_inside();
    say('m');
    finish(2, "arm|<>");
}

/* What has not passed when main() is at the cut is told to whoever restores values. */
static void test_entries_left_at_cut(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(2, MAIN, 0, RETURN), ENTRY(2, CALLBACK, 7, END)};
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(7, waiting_callback, &letter_a));
    left = 0;
    wait_at(2);
    assert_int_equal(left, 2);
    sem_post(&go);
    finish(3, "|a<>");
}

static void *end_kernel(void *arg)
{
    say(*(const char *)arg);
    tic_replay_end_kernel(5);
    return NULL;
}

/* submit K(R x); acquire y; look at all memory: y is granted while K runs, and main() looks when K
 * has ended, before anybody who comes after that is shown anything. */
static void test_looks_between_others(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(2, KERNEL, 5, BEGIN),   ENTRY(2, MAIN, 0, TIC_HISTORY_VALUE),
        ENTRY(2, KERNEL, 5, END),     ENTRY(2, MAIN, 0, RETURN),
        ENTRY(2, CALLBACK, 7, BEGIN), ENTRY(2, CALLBACK, 7, END)};
    pthread_t worker;
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_add_actor(TIC_HISTORY_KERNEL, 5, &(struct tic_replay_actor){0}, false));
    assert_true(add_callback(7, callback, &letter_a));
    tic_replay_begin(2, TIC_REPLAY_WAITS);
    say('v');
    assert_int_equal(pthread_create(&worker, NULL, end_kernel, &letter_k), 0);
    tic_replay_grant(2);
    say('m');
    tic_replay_return(2);
    assert_int_equal(pthread_join(worker, NULL), 0);
    finish(3, "vkma|<>");
}

static void *come_late(void *arg)
{
    enum tic_history_role role = TIC_HISTORY_MAIN;

    (void)arg;
    while (!tic_replay_misses(&role))
        sched_yield();
    say(role == TIC_HISTORY_CALLBACK ? 'c' : '?');
    add_callback(7, callback, &letter_a);
    return NULL;
}

/* main() waits for a callback whose task nobody has submitted yet. */
static void *let_go(void *arg)
{
    usleep(20000);
    say(*(const char *)arg);
    sem_post(&go);
    return NULL;
}

/* submit T(a: waits for another thread); wait for all. It had begun by the cut: StarPU has
 * something in its place until it has returned. */
static void test_wait_for_all_at_cut(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 7, BEGIN)};
    const struct tic_replay_actor actor = {
        .run = waiting_callback, .argument = &letter_a, .stand = &letter_s};
    pthread_t thread;
    (void)state;
    sem_init(&go, 0, 0);
    sem_init(&stand_is_gone, 0, 0);
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(tic_replay_is_open(TIC_HISTORY_CALLBACK, 7));
    assert_true(tic_replay_add_actor(TIC_HISTORY_CALLBACK, 7, &actor, true));
    tic_replay_begin(2, TIC_REPLAY_WAITS);
    assert_int_equal(atomic_load(&open_callbacks), 1); /* a line waits, though nothing has run */
    assert_int_equal(pthread_create(&thread, NULL, let_go, &letter_l), 0);
    pthread_join(thread, NULL);
    sem_wait(&stand_is_gone);
    while (atomic_load(&open_callbacks) > 0)
        sched_yield();
    say('m');
    finish(3, "|<>lasm");
}

static void releasing_callback(void *arg)
{
    assert_true(tic_replay_note_call(false));
    usleep(20000);
    say(*(const char *)arg); /* it gives data back */
    assert_true(tic_replay_end_call(false, true));
    sem_wait(&go);
}

/* acquire_cb(a: gives the data back, and goes on); wait for all. Values come back when it has, as
 * it had by the cut. */
static void test_callback_comes_back(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 7, BEGIN),
                                                    ENTRY(1, CALLBACK, 7, TIC_HISTORY_CALL),
                                                    ENTRY(1, CALLBACK, 7, TIC_HISTORY_CALLED)};
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(7, releasing_callback, &letter_a));
    tic_replay_begin(2, TIC_REPLAY_WAITS);
    sem_post(&go);
    while (atomic_load(&open_callbacks) > 0)
        sched_yield();
    assert_true(strchr(said, 'a') < strchr(said, '<'));
}

static void calling_callback(void *arg)
{
    waiting_callback(arg);
    assert_true(tic_replay_note_call(false));
    assert_false(tic_replay_note_call(false)); /* one more than by the cut */
    sem_wait(&go);
}

/* submit T(a: lets task U go); wait for U. It had not returned then. */
static void test_callback_lets_go(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(1, CALLBACK, 7, TIC_HISTORY_CALL),
        ENTRY(1, MAIN, 0, RETURN), ENTRY(2, CALLBACK, 7, END), ENTRY(2, MAIN, 0, RETURN)};
    pthread_t thread;
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 3);
    assert_true(add_callback(7, calling_callback, &letter_a));
    assert_int_equal(pthread_create(&thread, NULL, let_go, &letter_l), 0);
    wait_at(1);
    say('m');
    sem_post(&go);
    wait_at(2);
    pthread_join(thread, NULL);
    finish(3, "lam|<>");
}

static void first_calling_callback(void *arg)
{
    assert_false(tic_replay_note_call(false));
    say(*(const char *)arg);
    sem_post(&go);
}

/* It had not come to its call by the cut: who it lets go may run inside of that, and comes with the
 * queue. */
static void test_call_after_cut(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 7, BEGIN)};
    (void)state;
    sem_init(&go, 0, 0);
    start(entries, TIC_COUNT(entries), 2);
    tic_replay_begin(1, TIC_REPLAY_SUBMITS);
    assert_true(add_callback(7, first_calling_callback, &letter_a));
    tic_replay_begin(2, TIC_REPLAY_ASKS);
    sem_wait(&go);
    finish(3, "|<>a");
    while (atomic_load(&open_callbacks) > 0)
        sched_yield();
}

static void slow_callback(void *arg)
{
    usleep(20000);
    say(*(const char *)arg);
}

static void callback_of_two_calls(void *arg)
{
    assert_true(tic_replay_note_call(false));
    assert_true(tic_replay_note_call(false));
    tic_replay_end_call(false, false);
    say(*(const char *)arg);
}

/* The end of its first call is not told; another callback ran inside of the second. */
static void test_callback_inside_second_call(void **state)
{
    static const struct tic_line_entry entries[] = {ENTRY(1, CALLBACK, 7, BEGIN),
                                                    ENTRY(1, CALLBACK, 7, TIC_HISTORY_CALL),
                                                    ENTRY(1, CALLBACK, 7, TIC_HISTORY_CALL),
                                                    {.position = 1,
                                                     .actor = 8,
                                                     .subject = 7,
                                                     .kind = BEGIN,
                                                     .role = CALLBACK,
                                                     .part = TIC_HISTORY_IN_CALL},
                                                    ENTRY(1, CALLBACK, 8, END),
                                                    ENTRY(1, CALLBACK, 7, END),
                                                    ENTRY(2, MAIN, 0, RETURN)};
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    assert_true(add_callback(7, callback_of_two_calls, &letter_a));
    assert_true(add_callback(8, slow_callback, &letter_r));
    wait_at(2);
    finish(3, "ra|<>");
}

static void test_missed(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(1, CALLBACK, 7, END), ENTRY(2, MAIN, 0, RETURN)};
    pthread_t other;
    (void)state;
    start(entries, TIC_COUNT(entries), 3);
    assert_int_equal(pthread_create(&other, NULL, come_late, NULL), 0);
    wait_at(2);
    assert_int_equal(pthread_join(other, NULL), 0);
    finish(3, "ca|<>");
}

static void test_cursor(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, CALLBACK, 7, BEGIN), ENTRY(3, MAIN, 0, RETURN), ENTRY(2, CALLBACK, 7, END),
        ENTRY(5, MAIN, 0, RETURN)};
    struct tic_cursor cursor;
    size_t entry;
    (void)state;
    assert_int_equal(tic_cursor_init(&cursor, entries, TIC_COUNT(entries), 9), 0);
    assert_int_equal(tic_cursor_count_before(&cursor, 1), 0);
    assert_int_equal(tic_cursor_count_before(&cursor, 3), 1);
    assert_int_equal(tic_cursor_count_before(&cursor, 4), 3);
    assert_int_equal(tic_cursor_count_before(&cursor, 9), 4);
    assert_true(tic_cursor_find_return(&cursor, 3, &entry));
    assert_int_equal(entry, 1);
    assert_false(tic_cursor_find_return(&cursor, 4, &entry));
    assert_true(tic_cursor_find_return(&cursor, 5, &entry));
    assert_int_equal(entry, 3);
    assert_true(tic_cursor_find_end(&cursor, 5, &entry));
    assert_int_equal(entry, 3);
    assert_false(tic_cursor_find_end(&cursor, 4, &entry));
    tic_cursor_fini(&cursor);
}

/* Others need main() where it was at most: at the cut, or where it had come back from a wait since.
 */
static void test_cursor_at_the_cut(void **state)
{
    static const struct tic_line_entry entries[] = {
        ENTRY(1, MAIN, 0, RETURN), ENTRY(5, CALLBACK, 7, BEGIN), ENTRY(3, MAIN, 0, RETURN)};
    struct tic_cursor cursor;
    size_t entry;
    (void)state;
    assert_int_equal(tic_cursor_init(&cursor, entries, TIC_COUNT(entries), 2), 0);
    assert_int_equal(tic_cursor_count_before(&cursor, 3), 1);
    assert_int_equal(tic_cursor_count_before(&cursor, 4), 3);
    assert_true(tic_cursor_find_return(&cursor, 3, &entry));
    assert_int_equal(entry, 2);
    tic_cursor_fini(&cursor);
    assert_int_equal(tic_cursor_init(&cursor, entries, 2, 2), 0);
    assert_int_equal(tic_cursor_count_before(&cursor, 2), 1);
    assert_int_equal(tic_cursor_count_before(&cursor, 3), 2);
    tic_cursor_fini(&cursor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_cursor_at_the_cut),
        cmocka_unit_test(test_wait_returns_after_callback),
        cmocka_unit_test(test_callback_waits_for_main),
        cmocka_unit_test(test_callback_waits_for_main_at_cut),
        cmocka_unit_test(test_kernel_and_queue),
        cmocka_unit_test(test_kernel_not_ended),
        cmocka_unit_test(test_kernel_not_known_to_have_ended),
        cmocka_unit_test(test_prologue_not_ended),
        cmocka_unit_test(test_call_put_off),
        cmocka_unit_test(test_callback_inside_call),
        cmocka_unit_test(test_two_inside_call),
        cmocka_unit_test(test_entries_left_at_cut),
        cmocka_unit_test(test_looks_between_others),
        cmocka_unit_test(test_wait_for_all_at_cut),
        cmocka_unit_test(test_callback_comes_back),
        cmocka_unit_test(test_callback_lets_go),
        cmocka_unit_test(test_call_after_cut),
        cmocka_unit_test(test_callback_inside_second_call),
        cmocka_unit_test(test_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
