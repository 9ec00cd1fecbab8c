/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What looks for memory that tasks or main() touch and nobody declared, and what counts for
 * `starpu-tic check`: the core tells it what happens, and knows no more of it. report/lint.c fills
 * the table when the library is loaded; without it all functions are NULL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct starpu_task;
struct tic_accesses;
struct tic_handle;
struct tic_layout;
struct tic_session;
struct tic_slot;

/* What happens to data; two that are of no data. */
enum tic_lint_note {
    TIC_LINT_REGISTERED,
    TIC_LINT_UNLOGGED,    /* it was registered, and what main() reads there is not logged */
    TIC_LINT_LEAVES,      /* what was its memory may change */
    TIC_LINT_LOST,        /* main() unregisters it without coherency */
    TIC_LINT_OVERWRITTEN, /* in a replay main() has waited, and later tasks write it */
    TIC_LINT_PARTITIONED,
    TIC_LINT_PLANNED,
    TIC_LINT_EACH_WORKER /* main() has had a function run on each worker */
};

struct tic_lint {
    /* A session is made of its settings; it ends. Owner thread. */
    void (*begin)(struct tic_session *session);
    void (*end)(struct tic_session *session);
    void (*problem)(const char *what, const char *why); /* of `check`: it would end protection */

    void (*note)(enum tic_lint_note what, const struct tic_handle *handle);
    /* Where main() registers data, id its number: what it does not fit in, in words that the next
     * call changes; NULL: it fits, or nobody knows. */
    const char *(*beyond)(uint64_t id, const struct tic_layout *layout);
    void (*returned)(uint64_t id, const struct tic_layout *layout); /* main() gets it back */

    /* Both under the submission lock. A task comes, by main() or not: why it ends protection, or
     * NULL. It is submitted; context: enum tic_context; id: of a spawned task, else 0. */
    const char *(*comes)(const struct starpu_task *task, const struct tic_accesses *accesses,
                         bool by_main);
    void (*submitted)(struct starpu_task *task, const struct tic_accesses *accesses, int context,
                      uint64_t id);
    /* Around a kernel that computes in main memory, on its worker and on whose thread ends it; the
     * task has ended, whoever tells it and wherever it ran. */
    void (*kernel_begins)(struct starpu_task *task, struct tic_slot *slot);
    void (*kernel_ends)(struct starpu_task *task, const struct tic_slot *slot);
    void (*task_ends)(struct tic_slot *slot);

    /* main() begins to wait in StarPU, and goes on. frame: where its own stack begins. A task that
     * it submits: true if it is held until that has ended, by the second with `held`. */
    bool (*wait_begins)(const struct starpu_task *task, const void *frame);
    void (*wait_ends)(bool held);
    /* What main() has waited for was logged: so many waits, this time not all data if partial. */
    void (*looked)(uint64_t waits, bool partial);
    /* The application calls StarPU; and goes on in this thread: in a kernel, from its start (both
     * NULL), or from this call (a literal), in which it has waited for tasks or not. Any thread. */
    void (*call)(void);
    void (*goes_on)(const char *call, bool waited);
    void (*freed)(const void *block); /* main() gives the block of malloc() back. No lock. */
    /* A line is about to count, or a callback begins. Any thread that holds no lock. */
    void (*look)(bool callback);
};

extern struct tic_lint tic_lint; /* immutable once a session is made */

#define TIC_LINT(event, ...) (tic_lint.event ? (void)tic_lint.event(__VA_ARGS__) : (void)0)
