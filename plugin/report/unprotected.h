/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that run unprotected, and why. */
#pragma once

#include <stdbool.h>

/* Why this process cannot be protected at all, or NULL. */
const char *tic_unprotected_why(void);
/* Why StarPU, as it has started, cannot be protected, or NULL. untried: of tic_nodes_start. */
const char *tic_unprotected_why_here(unsigned workers, bool untried);
/* Processes that this one starts are told that it uses STARPU_TIC_DIR; empty: it does not. */
void tic_unprotected_tell_children(const char *directory);
/* What that was for this process, or NULL. Any thread. */
const char *tic_unprotected_reason(void);
/* The one message of a run that is not protected; `why` stays where it is. */
void tic_unprotected_report(const char *why);

/* The one message of a slave (session/slave.h). */
void tic_unprotected_tell_slave(const char *why);
/* Why threads of ours cannot be created, or not apart: -errno. The text stays. */
const char *tic_unprotected_no_thread(int status);

/* Are there several MPI processes, by StarPU-MPI's own word? NULL: no, or not yet. */
const char *tic_unprotected_by_ranks(void);
