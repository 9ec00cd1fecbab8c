/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks put the addresses of what they have allocated into data, where main() had put none, and
 * others follow them: leads MODE. Data with a home node (home) or without one (homeless); or the
 * last task of each forgets the address again (forgets). */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 12, VALUES = 100, ROUNDS = 4, AFTER = 400 };

struct leading {
    double sum;
    double *values;
};

static struct leading structures[DATA];
static starpu_data_handle_t data[DATA];

static struct leading *leading(void *buffer)
{
    return (struct leading *)STARPU_VARIABLE_GET_PTR(buffer);
}

static void begin(void *buffers[], void *arg)
{
    struct leading *to = leading(buffers[0]);

    (void)arg;
    to->sum = 0;
    to->values = malloc(VALUES * sizeof(*to->values));
    if (!to->values)
        abort();
    for (unsigned i = 0; i < VALUES; i++)
        to->values[i] = i;
}

static void add(void *buffers[], void *arg)
{
    struct leading *to = leading(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < VALUES; i++)
        to->sum += to->values[i];
}

static void forget(void *buffers[], void *arg)
{
    struct leading *to = leading(buffers[0]);

    (void)arg;
    free(to->values);
    to->values = NULL;
}

static void count(void *buffers[], void *arg)
{
    (void)arg;
    leading(buffers[0])->sum += 1;
}

static struct starpu_codelet begin_codelet = {
    .cpu_funcs = {begin}, .nbuffers = 1, .modes = {STARPU_W}, .name = "begin"};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};
static struct starpu_codelet forget_codelet = {
    .cpu_funcs = {forget}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "forget"};
static struct starpu_codelet count_codelet = {
    .cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "count"};

static void submit(struct starpu_codelet *codelet)
{
    for (unsigned i = 0; i < DATA; i++)
        if (starpu_task_insert(codelet, codelet->modes[0], data[i], 0) != 0)
            exit(1);
}

int main(int argc, char **argv)
{
    bool homeless = argc > 1 && strcmp(argv[1], "homeless") == 0,
         forgets = argc > 1 && strcmp(argv[1], "forgets") == 0;
    double sum = 0;

    if (starpu_init(NULL) != 0)
        return 77;
    for (unsigned i = 0; i < DATA; i++)
        starpu_variable_data_register(&data[i], homeless ? -1 : STARPU_MAIN_RAM,
                                      homeless ? 0 : (uintptr_t)&structures[i],
                                      sizeof(structures[i]));
    submit(&begin_codelet);
    for (unsigned round = 0; round < ROUNDS; round++)
        submit(&add_codelet);
    if (forgets)
        submit(&forget_codelet);
    for (unsigned round = 0; round < AFTER; round++)
        submit(&count_codelet);
    for (unsigned i = 0; i < DATA; i++) {
        if (starpu_data_acquire(data[i], STARPU_R) != 0)
            return 1;
        sum += ((struct leading *)starpu_data_get_local_ptr(data[i]))->sum;
        starpu_data_release(data[i]);
        starpu_data_unregister(data[i]);
    }
    printf("%.1f\n", sum);
    starpu_shutdown();
    return 0;
}
