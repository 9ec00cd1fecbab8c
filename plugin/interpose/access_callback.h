/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Accesses of main() that come by callback (starpu_data_acquire_cb). Such an access that writes is
 * what an access of main() for writing is: the callback, and main() until it gives the access back,
 * run again in a restart, on what they read in the recorded run.
 *
 * What is believed: that callbacks, and who gives accesses back, do the same with the same content;
 * and that main() asks for such accesses to one datum in the same order. StarPU grants them in that
 * order, so the n-th of a datum is the same one in each run. Where StarPU keeps no order
 * (sequential consistency is off), or memory is shared, none is protected. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

#include "graph/handle.h"

struct tic_callback_wait;

/* main() asks for one. NULL: it is not protected, and protection has ended. */
struct tic_callback_wait *tic_callback_access_note(starpu_data_handle_t data,
                                                   enum starpu_data_access_mode mode, bool ordered,
                                                   void (*callback)(void *), void *argument);
/* A restart redoes its history, and makes the access if it was granted by the cut; else StarPU is
 * asked for it when the queue is played: false. */
bool tic_callback_access_redo(struct tic_callback_wait *wait);
/* StarPU is about to be asked for it, with this callback. */
void tic_callback_access_ask(struct tic_callback_wait *wait, void (**callback)(void *),
                             void **argument);

/* Some that write, and that are not given back, belong to the recovered cut, or one is still to
 * come: another write follows there. */
bool tic_callback_access_expects(struct tic_handle *handle);
/* An access is given back, on any thread, also after the end of protection: a recovered value that
 * waited for that is written. */
void tic_callback_access_end_replay(struct tic_handle *handle);
/* True: it is one that writes, and what it wrote is noted. */
bool tic_callback_access_give_back(struct tic_handle *handle);

/* Waits until none that writes is open: main() is about to take the data away. */
void tic_callback_access_settle(struct tic_handle *handle);
/* Ends protection if some is open, before main() does this with the data. */
void tic_callback_access_refuse_open(struct tic_handle *handle, const char *call);
