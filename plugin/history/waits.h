/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a restart that redoes a history could wait for ever. It passes the entries one after the
 * other, each when main() has come to its position; main() comes back from a call that waits, or is
 * granted an access, when the entry that says so has passed. So who waits for whom is a function of
 * the history alone. Of lines that were written with STARPU_TIC_VERIFY=0 it tells nothing: their
 * clock is later than their cut. Pure. */
#ifndef TIC_HISTORY_WAITS_H
#define TIC_HISTORY_WAITS_H

#include <stdbool.h>

#include "history/history.h"

enum tic_history_trouble {
    TIC_HISTORY_FINE,
    TIC_HISTORY_CYCLE,   /* `entry` needs main() where it is only after `other`, which is behind */
    TIC_HISTORY_NO_MORE, /* `entry` needs main() behind the cut */
};

struct tic_history_wait {
    size_t entry, other; /* of the history of the line, from 0 */
};

/* The first trouble, from the end of the history, of whom waits for main(). Of a line that is not
 * complete it tells about the entries that the line has. */
enum tic_history_trouble tic_history_find_cycle(const struct tic_line *line,
                                                struct tic_history_wait *wait);

#endif
