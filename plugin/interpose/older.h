/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Older values than tasks of this run use, for main() in a replay. */
#ifndef TIC_INTERPOSE_OLDER_H
#define TIC_INTERPOSE_OLDER_H

#include "graph/handle.h"

/* Writes a recorded value for main() to read while a value of this run is there, which waits until
 * main(), or a callback, gives its access back. changes: who has it is about to write. */
void tic_data_show(struct tic_handle *handle, const struct tic_saved *saved, bool changes);
/* What main() writes now is older than what is there. */
void tic_data_set_aside(struct tic_handle *handle);
/* main() gives its access back. */
void tic_data_put_back(struct tic_handle *handle);

#endif
