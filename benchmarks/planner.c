/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans the recovery of many tasks: planner TASKS prints tasks, seconds and how many are executed.
 * Cholesky's accesses on a large matrix of blocks; the last tasks' results are not there. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recovery/planner.h"

struct program {
    struct tic_plan_task *tasks;
    struct tic_plan_access *accesses;
    uint64_t task_count, access_count, most, durable;
    uint32_t blocks;
};

static void add_access(struct program *program, uint32_t row, uint32_t column, uint32_t mode)
{
    program->accesses[program->access_count++] = (struct tic_plan_access){
        row * program->blocks + column, mode, program->task_count < program->durable};
}

static bool begin_task(struct program *program)
{
    if (program->task_count == program->most)
        return false;
    program->tasks[program->task_count] =
        (struct tic_plan_task){.first = program->access_count, .count = 0};
    return true;
}

static void end_task(struct program *program)
{
    struct tic_plan_task *task = &program->tasks[program->task_count++];
    task->count = (uint32_t)(program->access_count - task->first);
}

static void make(struct program *program)
{
    for (uint32_t k = 0; k < program->blocks && begin_task(program); k++) {
        add_access(program, k, k, TIC_PLAN_RW);
        end_task(program);
        for (uint32_t i = k + 1; i < program->blocks && begin_task(program); i++) {
            add_access(program, k, k, TIC_PLAN_R);
            add_access(program, i, k, TIC_PLAN_RW);
            end_task(program);
        }
        for (uint32_t i = k + 1; i < program->blocks; i++)
            for (uint32_t j = k + 1; j <= i && begin_task(program); j++) {
                add_access(program, i, k, TIC_PLAN_R);
                add_access(program, j, k, TIC_PLAN_R);
                add_access(program, i, j, TIC_PLAN_RW);
                end_task(program);
            }
    }
}

int main(int argc, char **argv)
{
    struct program program = {.most = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000};
    struct timespec begin, end;
    uint64_t executed = 0;

    while ((uint64_t)program.blocks * program.blocks * program.blocks / 6 < program.most)
        program.blocks++;
    uint32_t count = program.blocks * program.blocks;
    struct tic_plan_data *data = calloc(count, sizeof(*data));
    program.durable = program.most - program.most / 100;
    program.tasks = calloc(program.most + 1, sizeof(*program.tasks));
    program.accesses = calloc(3 * program.most + 3, sizeof(*program.accesses));
    bool *executes = calloc(program.most + 1, 1), *restores = calloc(3 * program.most + 3, 1);
    if (!data || !program.tasks || !program.accesses || !executes || !restores)
        return 1;
    for (uint32_t i = 0; i < count; i++)
        data[i] = (struct tic_plan_data){i, 1, true};
    make(&program);
    const struct tic_plan_graph graph = {
        program.tasks, program.task_count, program.accesses, program.access_count, data, count,
        count};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (tic_plan(&graph, executes, restores) != 0)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (uint64_t i = 0; i < program.task_count; i++)
        executed += executes[i];
    printf("%llu %.6f %llu\n", (unsigned long long)program.task_count,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9,
           (unsigned long long)executed);
    free(data);
    free(program.tasks);
    free(program.accesses);
    free(executes);
    free(restores);
    return 0;
}
