/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log as a trace: of tasks that it holds, when they ran. */
#ifndef TIC_TOOLS_LOGGED_H
#define TIC_TOOLS_LOGGED_H

struct tic_store;
struct tic_traced;

/* A log without runs leaves the trace empty. 0 or -errno. */
int tic_logged_read(struct tic_store *store, struct tic_traced *traced);

#endif
