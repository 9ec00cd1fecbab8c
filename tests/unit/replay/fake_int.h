/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the fake StarPU share. One thread runs at a time, so nothing is locked. */
#ifndef TIC_REPLAY_FAKE_INT_H
#define TIC_REPLAY_FAKE_INT_H

#include <stdbool.h>

#include "fake.h"

#undef starpu_task_submit /* a macro where StarPU traces with FxT */

/* A growing array of pointers. */
struct fake_list {
    void **items;
    unsigned count;
};
void fake_list_add(struct fake_list *list, void *item);
void fake_list_remove(struct fake_list *list, const void *item);
void *fake_list_take(struct fake_list *list, unsigned index);

struct fake_use {
    starpu_data_handle_t data;
    enum starpu_data_access_mode mode;
};

/* A task, an access of the program to data, or the end of a tag's task. Jobs are never freed. */
struct fake_job {
    struct starpu_task *task;    /* NULL: none */
    struct fake_list successors; /* jobs */
    struct fake_list end_waits;  /* tasks that do not end before this one */
    unsigned missing;            /* predecessors, and the submission itself */
    bool submitted;
    bool passed; /* successors have been told */
    bool ended;  /* its callback has returned, too */
    struct fake_use uses[STARPU_NMAXBUFS];
    unsigned use_count, granted; /* uses, in the order in which they are asked for */
    bool is_granted;             /* all uses */
    void (*callback)(void *);    /* of an access */
    void *arg;                   /* of that */
};

/* StarPU's handle. */
struct _starpu_data_state {
    struct starpu_data_interface_ops *ops;
    void *interface;
    int home_node;
    bool valid, own_memory;
    unsigned sequential;
    void *user_data;
    struct fake_job *last_writer;
    struct fake_list last_readers;  /* jobs submitted since */
    struct fake_list queue;         /* jobs that wait for access */
    struct fake_list open;          /* accesses of the program that are granted */
    unsigned readers, writers, ids; /* now */
};

/* fake.c */
_Noreturn void fake_stop(const char *what);
void fake_note(const char *event, const char *name);

/* fake_data.c */
/* Makes the job a successor of those that use its data, in the order of submission. */
void fake_data_order(struct fake_job *job, bool sequential);
/* True when the next use is granted, else the job waits in a queue. */
bool fake_data_ask(struct fake_job *job);
void fake_data_release(struct fake_job *job);
/* Memory is there, and its content if the access reads. */
void fake_data_fetch(const struct fake_use *use);

/* fake_task.c */
struct fake_job *fake_job_create(struct starpu_task *task);
void fake_job_add_predecessor(struct fake_job *job, struct fake_job *before);
/* The job's predecessors are known. */
void fake_job_submit(struct fake_job *job);
/* Asks for data; runs, or goes to the scheduler, when all is granted. */
void fake_job_advance(struct fake_job *job);
void fake_job_pass(struct fake_job *job);
/* After the kernel, if any, and the release of its data. */
void fake_task_end(struct fake_job *job);
bool fake_task_runs_nowhere(const struct starpu_task *task);
extern unsigned fake_submitted; /* tasks that have not ended */

/* fake_worker.c */
void fake_workers_start(unsigned count);
void fake_workers_stop(void);
extern __thread struct starpu_task *fake_current;
extern struct starpu_sched_policy fake_policy; /* in use */

#endif
