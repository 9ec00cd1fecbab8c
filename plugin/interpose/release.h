/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of accesses, one at a time for each datum, where StarPU has several memory nodes.
 *
 * StarPU counts the accesses after which something may begin, looks at the count before it locks it
 * (_starpu_unlock_post_sync_tasks, to 1.4.12), and counts an access of ours down that was never
 * counted up, as it is without sequential consistency. Two ends at the same time may so bring it
 * below zero: what follows the next access then never begins.
 *
 * Whom this believes: the program, that a callback which begins in the end of an access does not
 * wait for a thread that has ended one on this data and waits for the next; StarPU asks callbacks
 * not to wait. */
#pragma once

#include <starpu.h>

enum { TIC_NODE_HOME = -1000 }; /* in place of a node: starpu_data_release */

/* Ends an access, now, or soon where another thread that ends one on this data goes on. Nobody
 * waits, as nobody does in StarPU's own function. The caller has done with the data and its handle.
 */
void tic_release(starpu_data_handle_t data, int node);
