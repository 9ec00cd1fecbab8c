/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The statistics file. */
#ifndef TIC_REPORT_STATS_H
#define TIC_REPORT_STATS_H

struct tic_session;

int tic_stats_write(struct tic_session *session);

#endif
