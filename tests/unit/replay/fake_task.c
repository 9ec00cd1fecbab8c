/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks of the fake StarPU: submission, dependencies, tags, what happens when a task ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_int.h"
#include "turns.h"

unsigned fake_submitted;

struct fake_job *fake_job_create(struct starpu_task *task)
{
    struct fake_job *job = calloc(1, sizeof(*job));

    if (!job)
        fake_stop("out of memory");
    job->task = task;
    job->missing = 1; /* the submission */
    return job;
}

/* That of the next submission of this structure, or of the last one, if it has not ended. */
static struct fake_job *job_of(struct starpu_task *task)
{
    struct fake_job *job = task->starpu_private;

    if (!job || job->passed)
        task->starpu_private = job = fake_job_create(task);
    return job;
}

void fake_job_add_predecessor(struct fake_job *job, struct fake_job *before)
{
    if (!before || before->passed || before == job)
        return;
    fake_list_add(&before->successors, job);
    job->missing++;
}

static void drop_predecessor(struct fake_job *job)
{
    if (--job->missing == 0)
        fake_job_advance(job);
}

void fake_job_pass(struct fake_job *job)
{
    job->passed = true;
    while (job->successors.count > 0)
        drop_predecessor(fake_list_take(&job->successors, 0));
}

/* ---- tags ------------------------------------------------------------------------------------ */

struct tag {
    starpu_tag_t id;
    struct fake_job *end;    /* of the tag's task */
    struct fake_list before; /* tags */
    struct tag *next;
};

static struct tag *tags;

static struct tag *find_tag(starpu_tag_t id)
{
    struct tag *tag = tags;

    while (tag && tag->id != id)
        tag = tag->next;
    if (tag)
        return tag;
    tag = calloc(1, sizeof(*tag));
    if (!tag)
        fake_stop("out of memory");
    *tag = (struct tag){.id = id, .end = fake_job_create(NULL), .next = tags};
    tags = tag;
    return tag;
}

void starpu_tag_declare_deps_array(starpu_tag_t id, unsigned count, starpu_tag_t *array)
{
    for (unsigned i = 0; i < count; i++)
        fake_list_add(&find_tag(id)->before, find_tag(array[i]));
}

static bool has_passed(void *job)
{
    return ((struct fake_job *)job)->passed;
}

int starpu_tag_wait(starpu_tag_t id)
{
    tic_turns_await(has_passed, find_tag(id)->end, false);
    return 0;
}

static void order_by_tags(struct fake_job *job)
{
    if (!job->task->use_tag)
        return;
    const struct tag *tag = find_tag(job->task->tag_id);
    for (unsigned i = 0; i < tag->before.count; i++)
        fake_job_add_predecessor(job, ((struct tag *)tag->before.items[i])->end);
}

/* ---- submission ------------------------------------------------------------------------------ */

bool fake_task_runs_nowhere(const struct starpu_task *task)
{
    return !task->cl || task->cl->where == STARPU_NOWHERE || task->where == STARPU_NOWHERE;
}

static void list_uses(struct fake_job *job)
{
    struct starpu_task *task = job->task;

    for (unsigned i = 0; task->cl && i < STARPU_TASK_GET_NBUFFERS(task); i++) {
        starpu_data_handle_t data = STARPU_TASK_GET_HANDLE(task, i);
        unsigned k = 0;
        while (k < job->use_count && job->uses[k].data != data)
            k++;
        job->uses[k].data = data;
        job->uses[k].mode |= STARPU_TASK_GET_MODE(task, i) & STARPU_RW;
        job->use_count += k == job->use_count;
    }
}

void fake_job_submit(struct fake_job *job)
{
    job->submitted = true;
    drop_predecessor(job);
}

/* A worker takes it, or this thread ends it at once. */
static void start_task(struct fake_job *job)
{
    struct starpu_task *task = job->task, *outer = fake_current;

    fake_current = task;
    if (task->prologue_callback_func)
        task->prologue_callback_func(task->prologue_callback_arg);
    if (!fake_task_runs_nowhere(task)) {
        fake_current = outer;
        fake_policy.push_task(task);
        return;
    }
    if (task->prologue_callback_pop_func)
        task->prologue_callback_pop_func(task->prologue_callback_pop_arg);
    fake_current = outer;
    for (unsigned i = 0; i < job->use_count; i++)
        if (job->uses[i].mode & STARPU_W)
            fake_data_fetch(&job->uses[i]);
    fake_data_release(job);
    fake_task_end(job);
}

/* Access of the program. */
static void open_access(struct fake_job *job)
{
    fake_data_fetch(&job->uses[0]);
    fake_list_add(&job->uses[0].data->open, job);
    if (job->callback)
        job->callback(job->arg);
}

void fake_job_advance(struct fake_job *job)
{
    if (!job->submitted || job->missing > 0)
        return;
    while (job->granted < job->use_count)
        if (!fake_data_ask(job))
            return;
    job->is_granted = true;
    if (job->task)
        start_task(job);
    else
        open_access(job);
}

static bool has_ended(void *job)
{
    return ((struct fake_job *)job)->ended;
}

int starpu_task_submit(struct starpu_task *task)
{
    tic_turns_yield();
    struct fake_job *job = job_of(task);
    bool synchronous = task->synchronous;

    if (task->cl && task->where == -1)
        task->where = (int32_t)task->cl->where;
    if (task->sched_ctx == STARPU_NMAX_SCHED_CTXS)
        task->sched_ctx = 0;
    task->status = STARPU_TASK_BLOCKED;
    fake_submitted++;
    list_uses(job);
    fake_data_order(job, task->sequential_consistency);
    order_by_tags(job);
    if (synchronous)
        task->detach = 0;
    fake_job_submit(job);
    if (synchronous)
        tic_turns_await(has_ended, job, false);
    else
        tic_turns_yield(); /* it may have run before the caller goes on */
    return 0;
}

void starpu_task_declare_deps_array(struct starpu_task *task, unsigned count,
                                    struct starpu_task *array[])
{
    for (unsigned i = 0; i < count; i++) {
        struct fake_job *before = array[i]->starpu_private;
        if (!before || !before->passed)
            fake_job_add_predecessor(job_of(task), job_of(array[i]));
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void call_back(struct starpu_task *task, void (*callback)(void *))
{
    struct starpu_task *outer = fake_current;

    tic_turns_yield();
    fake_note("callback", task->cl ? task->cl->name : NULL);
    fake_current = task;
    callback(task->callback_arg);
    fake_current = outer;
}

static void end_task(struct fake_job *job)
{
    struct starpu_task *task = job->task;
    void (*callback)(void *) = task->callback_func;
    bool has_tag = task->use_tag;
    starpu_tag_t tag = task->tag_id;

    task->status = STARPU_TASK_FINISHED;
    if (!fake_task_runs_nowhere(task) && fake_policy.post_exec_hook)
        fake_policy.post_exec_hook(task, task->sched_ctx);
    if (!callback && task->cl)
        callback = task->cl->callback_func;
    while (job->end_waits.count > 0)
        starpu_task_end_dep_release(fake_list_take(&job->end_waits, 0));
    fake_job_pass(job);
    if (has_tag)
        fake_job_pass(find_tag(tag)->end);
    if (callback)
        call_back(task, callback);
    job->ended = true;
    fake_submitted--;
    if (task->destroy && task->detach)
        starpu_task_destroy(task);
}

void starpu_task_end_dep_add(struct starpu_task *task, int count)
{
    task->nb_termination_call_required += count;
}

/* Like the end of its kernel: the last of these ends it. */
void starpu_task_end_dep_release(struct starpu_task *task)
{
    fake_task_end(task->starpu_private);
}

void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned count,
                                        struct starpu_task *array[])
{
    job_of(task);
    starpu_task_end_dep_add(task, (int)count);
    for (unsigned i = 0; i < count; i++)
        fake_list_add(&job_of(array[i])->end_waits, task);
}

void fake_task_end(struct fake_job *job)
{
    struct starpu_task *task = job->task;

    if (task->nb_termination_call_required == 0)
        end_task(job);
    else
        task->nb_termination_call_required--;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool is_none_left(void *arg)
{
    (void)arg;
    return fake_submitted == 0;
}

int starpu_task_wait_for_all(void)
{
    tic_turns_await(is_none_left, NULL, false);
    return 0;
}

int starpu_task_wait(struct starpu_task *task)
{
    tic_turns_await(has_ended, task->starpu_private, false);
    if (task->destroy)
        starpu_task_destroy(task);
    return 0;
}

int starpu_task_finished(struct starpu_task *task)
{
    const struct fake_job *job = task->starpu_private;

    tic_turns_yield();
    return job && job->ended;
}

int starpu_task_nsubmitted(void)
{
    return (int)fake_submitted;
}

/* ---- structures ------------------------------------------------------------------------------ */

void starpu_task_init(struct starpu_task *task)
{
    memset(task, 0, sizeof(*task));
    task->sequential_consistency = 1;
    task->where = -1;
    task->detach = 1;
    task->status = STARPU_TASK_INIT;
    task->magic = 42;
    task->sched_ctx = STARPU_NMAX_SCHED_CTXS;
}

struct starpu_task *starpu_task_create(void)
{
    struct starpu_task *task = malloc(sizeof(*task));

    if (!task)
        fake_stop("out of memory");
    starpu_task_init(task);
    task->destroy = 1;
    return task;
}

struct starpu_task *starpu_task_dup(struct starpu_task *task)
{
    struct starpu_task *copy = malloc(sizeof(*copy));

    if (!copy)
        fake_stop("out of memory");
    *copy = *task;
    copy->starpu_private = NULL;
    return copy;
}

void starpu_task_destroy(struct starpu_task *task)
{
    if (task->cl_arg_free)
        free(task->cl_arg);
    memset(task, 0x5a, sizeof(*task)); /* uses after this are seen */
    free(task);
}

struct starpu_task *starpu_task_get_current(void)
{
    return fake_current;
}
