/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading memory of the program that may be gone, or go meanwhile: a fault of this thread ends the
 * read. */
#pragma once

#include <stdbool.h>

/* Faults are ours to see. Counted: several threads may be between them. A fault of the program's
 * own is given back to it, and so are its signals at the last end, unless it has changed them. */
void tic_faults_begin(void);
void tic_faults_end(void);

/* False if what it reads is not there. Outside of begin and end such a fault is the program's. It
 * takes no lock. */
bool tic_fault_try(void (*read)(void *arg), void *arg);
