/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that declares things by starpu_tic.h. It prints the content of its data.
 *
 * declares WHAT [ROUNDS]. In the environment: D_OTHER=1: other names; D_SKIP=1: codelets are
 * declared as such that can be skipped. */
#include "lib/declares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_tic.h"

static uint32_t values[DATA][LENGTH];
starpu_data_handle_t handles[DATA];

void step(void *buffers[], void *arg)
{
    uint32_t *to = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (unsigned i = 0; i < LENGTH; i++)
        to[i] = to[i] * 31 + i;
}

struct starpu_codelet stepper = {
    .cpu_funcs = {step}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

void insert(struct starpu_codelet *codelet, starpu_data_handle_t data)
{
    if (starpu_task_insert(codelet, codelet->modes[0], data, 0) != 0)
        exit(1);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name_all(void)
{
    char text[200] = "";

    for (unsigned i = 0; i < 40; i++)
        strcat(text, "\xc3\xa4"); /* an a with two dots: the 64th byte is its second one */
    if (getenv("D_OTHER")) {
        starpu_tic_data_set_name(handles[0], "other");
        return;
    }
    starpu_tic_data_set_name(handles[0], "left & <right> \"both\"");
    starpu_tic_data_set_name(handles[1], "two\nlines");
    starpu_tic_data_set_name(handles[2], text);
    starpu_tic_data_set_name(handles[3], "twin");
    starpu_tic_data_set_name(handles[4], "twin");
}

static void name(unsigned rounds)
{
    name_all();
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < DATA; i++)
            insert(&stepper, handles[i]);
}

/* ---- main() ---------------------------------------------------------------------------------- */

static void register_all(void)
{
    for (unsigned i = 0; i < DATA; i++) {
        for (unsigned k = 0; k < LENGTH; k++)
            values[i][k] = i * 1000 + k;
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)values[i], LENGTH,
                                    sizeof(uint32_t));
    }
}

static void unregister_all(void)
{
    for (unsigned i = 0; i < DATA; i++) {
        uint32_t sum = 0;
        starpu_data_unregister(handles[i]);
        for (unsigned k = 0; k < LENGTH; k++)
            sum = sum * 7 + values[i][k];
        printf("%u%c", sum, i + 1 < DATA ? ' ' : '\n');
    }
}

static const struct {
    const char *name;
    void (*run)(unsigned rounds);
} modes[] = {
    {"names", name},
    {"readers", skip_readers},
    {"statistics", skip_statistics},
    {"mixture", skip_mixture},
    {"chance", skip_chance},
    {"tokens", skip_tokens},
    {"parents", skip_parents},
    {"effects", effects},
    {"effects-and-data", effects_and_data},
    {"effects-packed", effects_packed},
    {"effects-packed-late", effects_packed_late},
    {"excluded", excluded},
    {"excluded-once", excluded_once},
    {"excluded-early", excluded_early},
    {"excluded-points", excluded_points},
    {"excluded-both", excluded_both},
    {"excluded-commute", excluded_commute},
    {"excluded-kernel", excluded_kernel},
    {"excluded-order", excluded_order},
    {"excluded-callback", excluded_callback},
    {"excluded-plan", excluded_plan},
    {"excluded-twice", excluded_twice},
    {"excluded-redux", excluded_redux},
    {"excluded-reduced", excluded_reduced},
    {"excluded-inputs", excluded_inputs},
    {"excluded-late", excluded_late},
    {"excluded-in-turn", excluded_in_turn},
    {"excluded-packed", excluded_packed},
    {"excluded-fails", excluded_fails},
    {"excluded-status", excluded_status},
};

int main(int argc, char **argv)
{
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 60, mode = 0, count;

    count = sizeof(modes) / sizeof(modes[0]);
    while (mode < count && strcmp(modes[mode].name, argc > 1 ? argv[1] : "") != 0)
        mode++;
    if (mode == count)
        return 2;
    if (starpu_init(NULL) != 0)
        return 77;
    register_all();
    modes[mode].run(rounds);
    unregister_all();
    starpu_shutdown();
    return EXIT_SUCCESS;
}
