/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Accesses of main() to data. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

/* main() accesses data. True when the access must be recorded once it is granted. */
bool tic_access_on_acquire_before(starpu_data_handle_t data, bool reads, bool writes,
                                  const char *call);
void tic_access_on_acquire_after(starpu_data_handle_t data, bool reads, bool writes);
/* Also after the end of protection. */
void tic_access_on_release_first(starpu_data_handle_t data);
void tic_access_on_release_before(starpu_data_handle_t data);
/* Accesses that may fail do so in a replay as they did before. */
enum tic_try { TIC_TRY_REALLY, TIC_TRY_SUCCEED, TIC_TRY_FAIL };

enum tic_try tic_access_replay_try(void);
void tic_access_after_try(bool success);
