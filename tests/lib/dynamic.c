/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs whose tasks do not all come from main() in one stream; the argument names one:
 * callback, callback-race and callback-late (dynamic_callback.c), codelet-child (kernels submit two
 * children each), grandchildren (kernels of tasks that only read submit tasks, whose kernels submit
 * more on the same data), relay (each kernel submits the next task, one of them for a certain
 * worker, which ends protection), no-handle-spawner (kernels of tasks without data submit tasks),
 * effects (tasks without output add what they read to a counter in plain memory), thread (a second
 * thread submits, too).
 */
#include <pthread.h>

#include "lib/dynamic.h"

enum { SPAWNERS = 24 };

/* ---- codelet-child: what the children do depends on the data of the parent ------------------- */

static void bear(void *buffers[], void *arg)
{
    uint64_t *value = variable(buffers[0]);
    int chain, number;

    starpu_codelet_unpack_args(arg, &chain, &number);
    *value = *value * 31 + (uint64_t)number;
    for (int child = 1; child <= 2; child++)
        submit_step(child * CHAINS + chain, (int)(*value % 1000) + child);
}

static struct starpu_codelet bear_codelet = {
    .cpu_funcs = {bear}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "bear"};

static void run_codelet_child(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++)
            must(starpu_task_insert(&bear_codelet, STARPU_RW, handles[chain], STARPU_VALUE, &chain,
                                    sizeof(chain), STARPU_VALUE, &number, sizeof(number), 0));
}

/* ---- no-handle-spawner ---------------------------------------------------------------------- */

static void spawn(void *buffers[], void *arg)
{
    int which;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &which);
    for (int number = 0; number < LENGTH / 4; number++)
        submit_step(which, which + number);
}

static struct starpu_codelet spawn_codelet = {.cpu_funcs = {spawn}, .nbuffers = 0, .name = "spawn"};

static void run_no_handle_spawner(void)
{
    for (int which = 0; which < SPAWNERS; which++)
        must(starpu_task_insert(&spawn_codelet, STARPU_VALUE, &which, sizeof(which), 0));
}

/* ---- grandchildren: those of the first child come after all children ---------------------------
 */

static void beget(void *buffers[], void *arg)
{
    uint64_t *value = variable(buffers[0]);
    int chain, number;

    starpu_codelet_unpack_args(arg, &chain, &number);
    *value = *value * 31 + (uint64_t)number;
    submit_step(chain, number + 100);
}

static struct starpu_codelet beget_codelet = {
    .cpu_funcs = {beget}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "beget"};

static void found(void *buffers[], void *arg)
{
    int chain;

    (void)buffers;
    starpu_codelet_unpack_args(arg, &chain);
    for (int number = 0; number < LENGTH / 4; number++)
        must(starpu_task_insert(&beget_codelet, STARPU_RW, handles[chain], STARPU_VALUE, &chain,
                                sizeof(chain), STARPU_VALUE, &number, sizeof(number), 0));
}

static struct starpu_codelet found_codelet = {
    .cpu_funcs = {found}, .nbuffers = 1, .modes = {STARPU_R}, .name = "found"};

static void run_grandchildren(void)
{
    for (int chain = 0; chain < CHAINS; chain++)
        must(starpu_task_insert(&found_codelet, STARPU_R, handles[chain], STARPU_VALUE, &chain,
                                sizeof(chain), 0));
}

/* ---- relay ----------------------------------------------------------------------------------- */

enum { FOR_A_WORKER = 12 };

static void submit_relay(int number);

static void relay(void *buffers[], void *arg)
{
    uint64_t *value = variable(buffers[0]);
    int number;

    starpu_codelet_unpack_args(arg, &number);
    *value = *value * 31 + (uint64_t)number;
    if (number < 2 * FOR_A_WORKER)
        submit_relay(number + 1);
}

static struct starpu_codelet relay_codelet = {
    .cpu_funcs = {relay}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}, .name = "relay"};

static void submit_relay(int number)
{
    if (number == FOR_A_WORKER)
        must(starpu_task_insert(&relay_codelet, STARPU_RW | STARPU_COMMUTE, handles[0],
                                STARPU_EXECUTE_ON_WORKER, 0, STARPU_VALUE, &number, sizeof(number),
                                0));
    else
        must(starpu_task_insert(&relay_codelet, STARPU_RW | STARPU_COMMUTE, handles[0],
                                STARPU_VALUE, &number, sizeof(number), 0));
}

static void run_relay(void)
{
    submit_relay(1);
}

/* ---- effects: each look must see the value between two steps -------------------------------- */

static void look(void *buffers[], void *arg)
{
    (void)arg;
    count(*variable(buffers[0]) >> 3);
}

static struct starpu_codelet look_codelet = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_R}, .name = "look"};

static void run_effects(void)
{
    for (int number = 0; number < LENGTH; number++)
        for (int chain = 0; chain < CHAINS; chain++) {
            submit_step(chain, number);
            must(starpu_task_insert(&look_codelet, STARPU_R, handles[chain], 0));
        }
}

/* ---- thread --------------------------------------------------------------------------------- */

static void *other_thread(void *arg)
{
    (void)arg;
    submit_steps(CHAINS);
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;

    must(pthread_create(&thread, NULL, other_thread, NULL));
    submit_steps(0);
    must(pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {{"callback", run_callback},
                                        {"callback-race", run_callback_race},
                                        {"callback-late", run_callback_late},
                                        {"codelet-child", run_codelet_child},
                                        {"effects", run_effects},
                                        {"grandchildren", run_grandchildren},
                                        {"no-handle-spawner", run_no_handle_spawner},
                                        {"relay", run_relay},
                                        {"thread", run_thread},
                                        {NULL, NULL}};

    return steps_main(argc, argv, modes);
}
