/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The handles whose memory main() owns, by address: who lies where? A treap over the handles
 * themselves. The caller synchronises. */
#pragma once

#include "graph/handle.h"

struct tic_views {
    struct tic_handle *root;
};

/* Not one that is in there already. Its memory stays where it is until it is removed. */
void tic_views_add(struct tic_views *views, struct tic_handle *handle);
/* Does nothing when it is not in there. */
void tic_views_remove(struct tic_views *views, struct tic_handle *handle);
/* Calls `visit` for those that reach into [begin, end), by address, until it returns nonzero; this
 * it returns. */
int tic_views_visit(const struct tic_views *views, const char *begin, const char *end,
                    int (*visit)(struct tic_handle *found, void *arg), void *arg);
