/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table of file descriptors of our own. Threads of a process share one table, so a program that
 * closes descriptors which it does not know would close ours, and its next file would take their
 * place. Threads of ours therefore live apart: in a table that no call of the program reaches, and
 * where the system allows it with a working directory and a umask of their own (unshare(2)). All
 * files of ours are opened, written and closed there. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Makes the table, with threads that make calls for others. Without it, as in the tools, all
 * threads are apart. Once in a process. 0 or -errno. */
int tic_apart_begin(void);
/* Is the calling thread apart? */
bool tic_apart_is_here(void);
/* A thread with the table of the calling one, in which all signals are blocked: base/thread.h. 0 or
 * -errno. */
int tic_apart_create_thread(pthread_t *thread, void *(*run)(void *), void *arg);
/* The calling thread was created by one that is apart. */
void tic_apart_inherit(void);
/* Makes the call on a thread that is apart, and waits for it; on the calling one if that is. */
void tic_apart_call(void (*make)(void *arg), void *arg);
/* The other way round: on a thread with the program's table. For code of the program and of StarPU,
 * and for files of the program. */
void tic_apart_call_beside(void (*make)(void *arg), void *arg);
