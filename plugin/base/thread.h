/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads of ours beside the application's. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread apart (apart.h). All signals are blocked in it: they are for the application's
 * threads. 0 or -errno. */
int tic_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* The same with the table of descriptors of the calling thread: for code of the application, or of
 * its libraries, and for what ends the process. */
int tic_thread_start_beside(pthread_t *thread, void *(*run)(void *), void *argument);
/* Nanoseconds for which the threads that were started so had processors, the ended ones, too. */
uint64_t tic_thread_processor_time(void);
/* How many processors this thread may use. */
unsigned tic_thread_processors(void);
/* Does this thread of the process, by its number in the system, wait for something just now? */
bool tic_thread_sleeps(long thread);
/* Timed waits on it are by CLOCK_MONOTONIC. */
void tic_cond_init(pthread_cond_t *cond);
/* So many seconds from now, for such waits. */
struct timespec tic_after(double seconds);
uint64_t tic_nanoseconds(clockid_t clock);
/* By CLOCK_MONOTONIC. */
double tic_seconds(void);
