/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Accesses of main() to data. */
#ifndef TIC_INTERPOSE_ACCESS_H
#define TIC_INTERPOSE_ACCESS_H

#include <starpu.h>
#include <stdbool.h>

/* main() accesses data. True when the access must be recorded once it is granted. */
bool tic_access_on_acquire_before(starpu_data_handle_t data, bool reads, bool writes,
                                  const char *call);
void tic_access_on_acquire_after(starpu_data_handle_t data, bool reads, bool writes);
/* Also after the end of protection. */
void tic_access_on_release_first(starpu_data_handle_t data);
void tic_access_on_release_before(starpu_data_handle_t data);
/* The program has got an access, or waits for one by callback; or gives it back, on any thread. */
void tic_access_note_hold(starpu_data_handle_t data, bool holds);
/* Accesses that may fail do so in a replay as they did before. */
enum tic_try { TIC_TRY_REALLY, TIC_TRY_SUCCEED, TIC_TRY_FAIL };

enum tic_try tic_access_replay_try(void);
void tic_access_after_try(bool success);
/* An access that comes by callback: may replace the callback. */
void tic_access_on_callback_before(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                                   void (**callback)(void *), void **argument);
/* Does this thread run the callback of an access? */
bool tic_access_is_running(void);

#endif
