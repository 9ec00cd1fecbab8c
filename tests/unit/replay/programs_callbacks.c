/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs about accesses that come by callback and write. */
#include <stdlib.h>

#include "programs.h"
#include "turns.h"

static const char *const trusted[] = {"STARPU_TIC_VERIFY", "0", NULL};

static void ask(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                void (*callback)(void *))
{
    if (starpu_data_acquire_cb(data, mode, callback, data) != 0)
        abort();
}

static uint64_t *value_of(starpu_data_handle_t data)
{
    return (uint64_t *)starpu_variable_get_local_ptr(data);
}

static void add(void *arg)
{
    uint64_t *value = value_of(arg);

    *value = *value * 31 + 1;
    starpu_data_release(arg);
}

static void set(void *arg)
{
    *value_of(arg) = 7;
    starpu_data_release(arg);
}

static void look(void *arg)
{
    tic_seen = tic_seen * 31 + *value_of(arg);
    starpu_data_release(arg);
}

static void keep(void *arg)
{
    (void)arg;
}

/* A callback writes between tasks. */
static void callback_adds(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    ask(tic_data[0], STARPU_RW, add);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

/* Several in a row, without a task or an operation of main() between them. */
static void callbacks_only(uint64_t *result)
{
    tic_open(1, 2);
    for (unsigned i = 0; i < 3; i++)
        ask(tic_data[0], STARPU_RW, add);
    tic_submit(&tic_step, tic_data[1], 3);
    ask(tic_data[0], STARPU_RW, add);
    starpu_task_wait_for_all();
    ask(tic_data[0], STARPU_RW, add);
    tic_close(result);
}

/* Callbacks, tasks and main() in turn, and the last write is each one's once. */
static void in_turn(uint64_t *result)
{
    tic_open(1, 1);
    ask(tic_data[0], STARPU_W, set);
    tic_submit(&tic_step, tic_data[0], 3);
    ask(tic_data[0], STARPU_RW, add);
    ask(tic_data[0], STARPU_R, look);
    tic_acquire(tic_data[0], STARPU_RW);
    result[5] = tic_values[0]++;
    starpu_data_release(tic_data[0]);
    ask(tic_data[0], STARPU_RW, add);
    tic_close(result);
}

/* No task writes what a callback and then main() write. */
static void before_main(uint64_t *result)
{
    tic_open(1, 2);
    ask(tic_data[0], STARPU_W, set);
    tic_submit(&tic_step, tic_data[1], 1);
    tic_acquire(tic_data[0], STARPU_RW);
    result[5] = tic_values[0]++;
    starpu_data_release(tic_data[0]);
    tic_submit(&tic_step, tic_data[1], result[5]);
    ask(tic_data[0], STARPU_RW, add);
    tic_submit_pair(&tic_join, tic_data[1], tic_data[0]);
    tic_close(result);
}

/* main() gives the access back that the callback was given, and has written before that. */
static void main_releases(uint64_t *result)
{
    tic_open(1, 1);
    tic_submit(&tic_step, tic_data[0], 3);
    starpu_task_wait_for_all();
    ask(tic_data[0], STARPU_RW, keep);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_values[0] = tic_values[0] * 31 + 2;
    starpu_data_release(tic_data[0]);
    tic_close(result);
}

/* It waits for what main() holds. */
static void behind_main(uint64_t *result)
{
    tic_open(1, 2);
    tic_submit(&tic_step, tic_data[0], 3);
    tic_acquire(tic_data[0], STARPU_RW);
    ask(tic_data[0], STARPU_RW, add);
    ask(tic_data[0], STARPU_RW, add);
    tic_submit(&tic_step, tic_data[1], 1);
    tic_values[0] = tic_values[0] * 31 + 2;
    starpu_data_release(tic_data[0]);
    tic_submit(&tic_step, tic_data[0], 5);
    tic_close(result);
}

/* Data without a home node. */
static void homeless(uint64_t *result)
{
    tic_open(1, 1);
    starpu_data_handle_t data = tic_register_homeless();
    ask(data, STARPU_W, set);
    tic_submit(&tic_step, data, 3);
    ask(data, STARPU_RW, add);
    tic_submit_pair(&tic_join, tic_data[0], data);
    ask(data, STARPU_RW, add);
    tic_submit_pair(&tic_join, tic_data[0], data);
    starpu_data_unregister(data);
    tic_close(result);
}

static void add_beside(void *arg)
{
    tic_values[0] = tic_values[0] * 31 + 2;
    add(arg);
}

/* The callback also writes, behind StarPU's back, data of main(). */
static void beside(uint64_t *result)
{
    tic_open(1, 1);
    starpu_data_handle_t data = tic_register_homeless();
    tic_submit(&tic_assign, data, 3);
    ask(data, STARPU_RW, add_beside);
    tic_submit(&tic_step, data, 5);
    starpu_task_wait_for_all();
    tic_submit_pair(&tic_join, tic_data[0], data);
    starpu_data_unregister(data);
    tic_close(result);
}

/* It writes what StarPU does not see, after a while. */
static void write_beside(void *arg)
{
    (void)arg;
    tic_turns_yield();
    tic_values[1] = tic_values[1] * 31 + 2;
}

static void look_beside(void *arg)
{
    write_beside(NULL);
    look(arg);
}

/* A line may be cut while it runs: lines are quiescent once it is found. */
static void looks_beside(uint64_t *result)
{
    tic_open(1, 2);
    for (unsigned i = 0; i < 2; i++) {
        tic_submit(&tic_step, tic_data[0], 3);
        ask(tic_data[0], STARPU_R, look_beside);
        starpu_task_wait_for_all();
    }
    tic_submit_pair(&tic_join, tic_data[0], tic_data[1]);
    tic_close(result);
}

/* The same by the callbacks of tasks. */
static void writes_beside(uint64_t *result)
{
    tic_open(1, 2);
    for (unsigned i = 0; i < 2; i++) {
        struct starpu_task *task = tic_build(&tic_step, tic_data[0], 3);
        task->callback_func = write_beside;
        tic_submit_built(task);
    }
    starpu_task_wait_for_all();
    tic_submit_pair(&tic_join, tic_data[0], tic_data[1]);
    tic_close(result);
}

/* A task that writes nothing reads what a callback wrote, and is executed again. */
static void seen(uint64_t *result)
{
    tic_open(1, 1);
    ask(tic_data[0], STARPU_W, set);
    tic_submit(&tic_see, tic_data[0], 0);
    ask(tic_data[0], STARPU_RW, add);
    tic_submit(&tic_step, tic_data[0], 0);
    tic_close(result);
}

/* ---- inside of the call that lets them go -----------------------------------------------------
 */

static uint64_t ran_inside;

static void run_inside(void *arg)
{
    (void)arg;
    ran_inside++;
}

static void submit_bare(void)
{
    struct starpu_task *task = starpu_task_create();

    task->callback_func = run_inside;
    tic_submit_built(task);
}

/* A task without a kernel: its callback runs inside of its submission, which main() sees. */
static void bare_inside(uint64_t *result)
{
    tic_open(1, 1);
    ran_inside = 0;
    for (unsigned i = 0; i < 2; i++) {
        tic_submit(&tic_step, tic_data[0], i);
        submit_bare();
        result[5] = result[5] * 31 + ran_inside;
    }
    tic_close(result);
}

/* A task without a kernel and a callback lets one with a callback go. */
static void tag_inside(uint64_t *result)
{
    tic_open(1, 1);
    ran_inside = 0;
    for (starpu_tag_t i = 1; i < 4; i += 2) {
        struct starpu_task *behind = starpu_task_create(), *first = starpu_task_create();
        tic_submit(&tic_step, tic_data[0], i);
        behind->callback_func = run_inside;
        behind->use_tag = first->use_tag = 1;
        behind->tag_id = i;
        first->tag_id = i + 1;
        starpu_tag_declare_deps(i, 1, i + 1);
        tic_submit_built(behind);
        tic_submit_built(first);
        result[5] = result[5] * 31 + ran_inside;
    }
    tic_close(result);
}

static void give_back_inside(void *arg)
{
    ran_inside++;
    starpu_data_release(arg);
}

/* The callback of an access to idle data runs inside of the call, and that of one which waits for
 * main() inside of main()'s release. */
static void access_inside(uint64_t *result)
{
    tic_open(1, 2);
    ran_inside = 0;
    tic_submit(&tic_step, tic_data[0], 3);
    ask(tic_data[1], STARPU_R, give_back_inside);
    result[5] = ran_inside;
    tic_acquire(tic_data[1], STARPU_RW);
    ask(tic_data[1], STARPU_R, give_back_inside);
    tic_submit(&tic_step, tic_data[0], 5);
    starpu_data_release(tic_data[1]);
    result[5] = result[5] * 31 + ran_inside;
    tic_close(result);
}

static void look_at_bare(void *arg)
{
    submit_bare();
    *(uint64_t *)arg = *(uint64_t *)arg * 31 + ran_inside;
}

/* The same of a callback. */
static void callback_inside(uint64_t *result)
{
    static uint64_t seen;

    tic_open(1, 1);
    ran_inside = seen = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct starpu_task *task = tic_build(&tic_step, tic_data[0], i);
        task->callback_func = look_at_bare;
        task->callback_arg = &seen;
        tic_submit_built(task);
        starpu_task_wait_for_all();
    }
    result[5] = seen;
    tic_close(result);
}

const struct tic_program tic_programs_callbacks[] = {
    {"callback-adds", callback_adds, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callback-adds-trusted", callback_adds, trusted, false, NULL, 1, 1, 1, 1, false},
    {"callbacks-only", callbacks_only, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callbacks-only-trusted", callbacks_only, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callbacks-in-turn", in_turn, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callbacks-in-turn-trusted", in_turn, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callback-before-main", before_main, NULL, false, NULL, 0, 1, 1, 1, false},
    {"callback-before-main-trusted", before_main, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callback-main-releases", main_releases, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callback-main-releases-trusted", main_releases, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callback-behind-main", behind_main, NULL, false, NULL, 1, 0, 1, 1, false},
    {"callback-behind-main-trusted", behind_main, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callback-homeless", homeless, NULL, false, NULL, 1, 0, 1, 1, false},
    {"callback-homeless-trusted", homeless, trusted, false, NULL, 1, 1, 1, 1, true},
    {"callback-seen", seen, NULL, false, NULL, 1, 0, 1, 1, false},
    {"callbacks-in-turn-two-lines", in_turn, NULL, false, NULL, 0, 0, 2, 1, true},
    {"callbacks-in-turn-twice", in_turn, NULL, false, NULL, 0, 0, 1, 2, true},
    {"callbacks-only-trusted-twice", callbacks_only, trusted, false, NULL, 0, 0, 1, 2, true},
    {"callback-behind-main-twice", behind_main, NULL, false, NULL, 0, 0, 1, 2, true},
    {"callbacks-in-turn-trusted-twice", in_turn, trusted, false, NULL, 0, 0, 1, 2, true},
    {"callback-looks-beside", looks_beside, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callback-writes-beside", writes_beside, NULL, false, NULL, 1, 1, 1, 1, false},
    {"callback-writes-beside-twice", writes_beside, NULL, false, NULL, 0, 0, 1, 2, true},
    {"callback-late", callback_adds, NULL, false, "callback-granted", 1, 1, 1, 1, false},
    {"callback-late-beside", beside, NULL, false, "callback-granted", 1, 1, 1, 1, false},
    {"callback-later", in_turn, NULL, false, "callback-granted:2", 1, 1, 1, 1, false},
    {"callback-adds-twice", callback_adds, NULL, false, NULL, 0, 0, 1, 2, false},
    {"inside-bare", bare_inside, NULL, false, NULL, 1, 1, 1, 1, false},
    {"inside-tag", tag_inside, NULL, false, NULL, 1, 1, 1, 1, false},
    {"inside-access", access_inside, NULL, false, NULL, 1, 1, 1, 1, false},
    {"inside-access-in-turn", access_inside, NULL, false, NULL, 0, 1, 1, 1, false},
    {"inside-callback", callback_inside, NULL, false, NULL, 1, 1, 1, 1, false},
    {NULL, NULL, NULL, false, NULL, 0, 0, 0, 0, false},
};
