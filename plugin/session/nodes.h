/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory nodes of StarPU: main memory, and those of devices, NUMA nodes and disks.
 *
 * Values are saved from main memory, and restored into it. Where there are several nodes, what
 * a task writes in another one comes to main memory when a line is due (snapshot/window.h). So when
 * the epoch is raised, and until the values of the cut are saved, main memory holds the value of
 * each datum between its tasks, as it does where it is the only node. StarPU is believed in that
 * its coherence is right: an access to read in main memory finds there what was written last, and a
 * kernel on another node changes nothing in main memory but the data that its task writes, until
 * the task has ended (StarPU 1.4 may map memory into a device or a slave of the same machine, so
 * that there is but one copy).
 *
 * Slaves are other processes (session/slave.h). Nothing of ours is around a kernel there, and
 * memory that it writes beside its data stays there: no check of ours sees it, and none may count
 * on it. */
#pragma once

#include <starpu.h>
#include <stdbool.h>

/* Has StarPU more than one? Immutable after tic_nodes_start. */
extern bool tic_nodes_several;

/* Looks at what StarPU has. Why that cannot be protected, or NULL. untried: FPGAs, with which
 * nothing was tried, are protected, after a message. Owner thread, once it runs. */
const char *tic_nodes_start(bool untried);
/* Does the worker compute in other memory than the main one, or may its results leave that at once
 * (a disk)? */
bool tic_nodes_is_away(unsigned worker);
/* Do the objects of a device's library begin with this address? OpenCL's begin with that of a table
 * of functions, as its loader (ICD) demands. */
bool tic_nodes_is_device_table(const void *table);
/* Is there a worker for tasks of ours that need a processor? */
bool tic_nodes_has_processor(void);

/* May StarPU move data without a home node out of main memory at any time? There is a disk. */
bool tic_nodes_has_disk(void);
/* Is there a CUDA or HIP device, whose driver pins memory and does not survive in a child process?
 */
bool tic_nodes_has_gpu(void);
/* Do other processes execute kernels (session/slave.h)? */
bool tic_nodes_has_slaves(void);
/* Why data with this home cannot be protected, or NULL. */
const char *tic_nodes_refuse(int home_node);
/* A node whose access waits for others, and moves nothing: on one node that of the data. */
int tic_nodes_of_wait(int home_node);
/* Is the value on this node, and on no other? */
bool tic_nodes_holds_alone(starpu_data_handle_t data, int node);
/* Is it on any? */
bool tic_nodes_holds(starpu_data_handle_t data);
