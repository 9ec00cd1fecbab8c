/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program shows of itself while it runs. */
#ifndef TIC_REPORT_LIVE_H
#define TIC_REPORT_LIVE_H

struct tic_session;

/* If it is supervised, or may be asked; once. */
void tic_live_start(struct tic_session *session);

#endif
