/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trace (STARPU_TIC_TRACE) in memory, and what follows from it: deaths, and what they cost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All times are in seconds from the begin of the first run on; NAN: not known. */

struct tic_traced_run {
    double begin, last;  /* last: of the last that is known of it */
    double first_task;   /* of those that it executed */
    double from_cut;     /* the cut of the line that it begins with, if the trace has it */
    bool started, ended; /* StarPU was started under protection; the process ended by itself,
                            or somebody saw it die */
    int status, signal;  /* then; a signal of 0: none */
    unsigned workers;    /* 0: not known */
    uint64_t line;       /* that it begins with; 0: from the start */
    uint64_t tasks_done; /* in it */
    double period, mtbf; /* s; as set or chosen */
    char protocol[16], program[64], arguments[512], host[64];
    char no_restart[16], tasks[512]; /* why none follows: a word; tasks that ran at each crash */
    uint64_t restarts;               /* before that */
    char *directory;                 /* of its recovery lines; NULL: not known */
};

struct tic_traced_task {
    double begin, end; /* end: of its run, if it ran to that */
    uint64_t number;   /* UINT64_MAX: not of main() */
    unsigned run, name;
    int worker, victim; /* victim -1: not stolen */
    bool unfinished;    /* its run died, or goes on, in it */
    bool lost;          /* a crash took it, or its effect: it was, or has to be, executed again */
};

struct tic_traced_checkpoint {
    double begin, end; /* cut and commit */
    unsigned run;
    uint64_t line, tasks_done;
    uint64_t bytes; /* written for it, and since the one before */
};

struct tic_traced_stall {
    double begin, end;
    unsigned run;
    int worker; /* -1: main(); -2: sends of this rank */
};

struct tic_traced_message {
    double at;
    unsigned run;
    int level; /* 0: warnings and errors */
    char *text;
};

/* What the end of a run that was not over cost. */
struct tic_traced_crash {
    unsigned run;
    double work;         /* from the cut that the next run begins with, or would, to the death */
    double down;         /* from the death to the next run; 0 if there is none */
    double restart;      /* from then to its first task */
    unsigned long tasks; /* executed again, or to be */
};

#define TIC_TRACED_LIST(type)                                                                      \
    struct {                                                                                       \
        struct type *items;                                                                        \
        unsigned long count, capacity;                                                             \
    }

struct tic_traced {
    TIC_TRACED_LIST(tic_traced_run) runs;
    TIC_TRACED_LIST(tic_traced_task) tasks; /* by worker and begin */
    TIC_TRACED_LIST(tic_traced_checkpoint) checkpoints;
    TIC_TRACED_LIST(tic_traced_stall) stalls;
    TIC_TRACED_LIST(tic_traced_message) messages;
    TIC_TRACED_LIST(tic_traced_crash) crashes;
    char **names; /* of codelets */
    unsigned long name_count, name_capacity;
    double origin; /* seconds since 1970 of the first run */
    double end;    /* of what is known */
    int workers;   /* above the greatest number of one */
    uint64_t dropped;
    bool full; /* tasks were left out at the end */
    char *directory;
    unsigned long bad_lines;
};

/* The runs of one directory, NULL: of the last run's, after the last one that was over, or the last
 * one: those of one result. 0, -ENOENT if there is none, or -errno. */
int tic_traced_read(const char *path, const char *directory, struct tic_traced *traced);
/* Then: orders what was put into it, and derives the rest. 0 or -ENOMEM. */
int tic_traced_derive(struct tic_traced *traced);
void tic_traced_clear(struct tic_traced *traced);

/* The number of a codelet's name. UINT32_MAX: no memory. */
unsigned tic_traced_name(struct tic_traced *traced, const char *name);
/* Room for one more, all zero, or NULL. */
#define tic_traced_add(list)                                                                       \
    tic_traced_append((void **)&(list)->items, &(list)->count, &(list)->capacity,                  \
                      sizeof(*(list)->items))
void *tic_traced_append(void **items, unsigned long *count, unsigned long *capacity, size_t size);

/* Did it end without success? */
static inline bool tic_traced_died(const struct tic_traced_run *run)
{
    return run->ended && run->status != 0;
}
