/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections of a master to its slaves (session/slave.h). A machine that loses power or its cable
 * closes none, and StarPU would wait for it for a quarter of an hour, or for ever. TCP can ask
 * whether a silent machine is still there: then the connection breaks, and StarPU aborts the
 * master, as it does when a slave dies.
 *
 * Whom this believes: the kernel of the other machine, which answers also where its processes are
 * busy, or stopped. */
#pragma once

/* Connections that this process has accepted on the port break when nothing comes from the other
 * machine for so many seconds, at least 1: how many there are. Once they are made. */
unsigned tic_peers_watch(unsigned port, double seconds);
/* The port on which StarPU's master accepts its slaves. */
unsigned tic_peers_port(void);
