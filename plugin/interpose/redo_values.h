/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is in the memory of data while a restart redoes its history: what was seen there last.
 * Kernels that write no data run beside others, on what they read; so values wait for those that
 * read something else in the same memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

struct starpu_task;

/* What somebody who had begun by the cut was to find in data. */
struct tic_redo_reads {
    uint64_t key; /* of what was logged */
    unsigned count;
    bool shown;                  /* guarded by the lock of users: it has begun to use memory */
    bool called;                 /* no kernel: what has begun returns before the history goes on,
                                    or has let go who writes that */
    struct tic_redo_reads *next; /* of those that have not ended */
    uint64_t ids[];              /* of data; UINT64_MAX: it is not read */
};

/* May main(), or a callback, see this value? Not where somebody holds the data, or reads another
 * value in its memory, or is to read what is there by then. observed: the history has it that it
 * was seen now, and so says that callbacks which have begun are through with what they read before.
 * value: with the layout of the data; or NULL, and those who read a part of it read another one. */
bool tic_redo_may_see(struct tic_handle *handle, uint64_t checksum, const struct tic_layout *value,
                      bool observed);

/* Who had begun by the cut, and is to use data: a kernel, an access with a callback, a prologue, or
 * the callback of a task that runs nowhere. */
struct tic_redo_user {
    uint64_t key;
    unsigned count;
    unsigned long number; /* main() came to it after so many others */
    bool begun, ended;
    bool stays; /* a kernel that holds at the cut what it reads */
    struct tic_redo_reads *reads;
    struct tic_redo_user *next;   /* of kernels that run */
    struct tic_handle *handles[]; /* or NULL; then of each the data that has the order, once */
};

/* Before the replay begins. Owner thread. */
void tic_redo_values_start(struct tic_graph *graph);

/* Data that shares memory has one order: that of this one. */
struct tic_handle *tic_redo_keeper(const struct tic_handle *handle);

/* Data gets the value that main(), or another actor, saw. Waits for kernels. */
void tic_redo_show(struct tic_handle *handle, const struct tic_saved *saved);

/* Its handles are to be filled in. */
struct tic_redo_user *tic_redo_create_user(uint64_t key, unsigned count);
/* main() has come to it. */
void tic_redo_note_user(struct tic_redo_user *user);
/* Of what is no kernel, and reads the data of this task. */
struct tic_redo_user *tic_redo_note_reader(struct starpu_task *task, uint64_t key);
/* Shows it what it reads, where the program holds nothing. */
void tic_redo_show_reader(const struct tic_redo_user *reader);
/* It begins: the calls on its data that come before it are made, also those before which others
 * have still to begin: it did not wait for these. But none with which data leaves. */
void tic_redo_make_calls(struct tic_redo_user *user);
/* A kernel that had not ended by the cut: does the line have what it reads? Else it had returned,
 * and others have written that; or it would be written beneath it, with what shares its memory.
 * Under the submission lock. */
bool tic_redo_keeps_values(struct starpu_task *task, uint64_t key);
/* Who begins is a kernel: it is shown what it read. */
void tic_redo_show_kernel(struct tic_redo_user *kernel, struct starpu_task *task);
/* StarPU has the kernel; it has returned; what is no kernel is made, or is none of these. Any
 * thread. The user is freed at the end. */
void tic_redo_note_begun(struct tic_redo_user *kernel);
void tic_redo_end_kernel(uint64_t key);
void tic_redo_end_use(struct tic_redo_user *user);
/* Has some that uses the data, or data that shares its memory, not returned? */
bool tic_redo_is_used(const struct tic_handle *handle);
/* It leaves, and memory gets its value back: true, when they have returned; false, now. */
bool tic_redo_gives_back(struct tic_handle *handle);

/* A call of the program on data, which the replay makes. */
struct tic_redo_call {
    void (*play)(void *);
    struct tic_handle *keeper; /* of the data */
    unsigned long number;      /* of users that come before it */
    unsigned waits;            /* of these, on its data, that have not begun */
    bool leaves;               /* the data does */
    bool due;
    struct tic_redo_call *next, *next_due;
    char argument[]; /* a copy */
};

/* size: bytes of its argument. */
struct tic_redo_call *tic_redo_create_call(const struct tic_handle *handle, void (*play)(void *),
                                           const void *argument, size_t size);
/* Makes it, and frees it. */
void tic_redo_play_call(void *call);

/* Does the call come after some that are to use its data, and have not begun? Then main() makes it
 * when they have, at its next operation or while it waits; or one that comes after it does before
 * it begins. Owner thread. */
bool tic_redo_put_off(struct tic_redo_call *call);
/* Makes those that are due. main(), or who plays. */
void tic_redo_catch_up(void);
