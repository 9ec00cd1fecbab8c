/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A restart goes on from a line of a commit point. */
#pragma once

#include <stdint.h>

struct tic_session;

/* Waits for all tasks that main() has submitted, without being an operation of main(). */
void tic_point_await_tasks(void);
/* main() is at its first commit point, and goes on as if it were at the one of the line: its
 * number. */
uint64_t tic_point_resume(struct tic_session *session, const char *place);
