/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What somebody outside asks of the run: how far it is, or a checkpoint. */
#pragma once

struct tic_session;

/* The process ends, or its lines go: no more answers. Any thread. */
void tic_asked_close(void);

struct tic_session;

/* If it is supervised, or may be asked; once. */
void tic_live_start(struct tic_session *session);
