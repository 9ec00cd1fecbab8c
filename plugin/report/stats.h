/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The statistics file. */
#pragma once

struct tic_session;

int tic_stats_write(struct tic_session *session);
