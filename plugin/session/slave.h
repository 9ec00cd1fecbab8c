/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that compute for another one: StarPU 1.4 may start the same program on several
 * machines, as a master and its slaves (TCP/IP). In a slave starpu_init() does not return: it
 * executes kernels, on copies of what the master sends. main() of the master registers, submits and
 * reads, so the master alone is protected, and a slave needs no store.
 *
 * Whom this believes: StarPU, which goes by these variables of the environment, and sets
 * STARPU_SINK once it is connected. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

/* Is this process to be a slave? Any thread. */
bool tic_slave_is(void);
/* The master, as the user named it; "" if this is no slave. */
const char *tic_slave_master(void);
/* Before StarPU starts with slaves, as a master: its transfers to them are to be synchronous, but
 * where the user says otherwise (STARPU_DISABLE_ASYNCHRONOUS_TCPIP_MS_COPY). In StarPU 1.4.7 one
 * thread on each side makes all asynchronous ones, by writes that wait: where data goes both ways
 * at once, and does not fit into what the connection holds, both wait for each other for ever.
 * Without us that is rare; here each result comes back. And it says when the start may hang: each
 * machine goes by a file of its own whether it measures the network, which takes them all (1.4.7).
 */
void tic_slave_prepare_master(struct starpu_conf *conf);
/* Did StarPU find the master? Where it does not, it runs the whole program in this process. */
bool tic_slave_is_connected(void);
