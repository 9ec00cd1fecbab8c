/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of tests/lib/dynamic.c in other files. */
#ifndef TIC_TEST_DYNAMIC_H
#define TIC_TEST_DYNAMIC_H

#include "lib/steps.h"

void run_callback(void);
void run_callback_race(void);
void run_callback_late(void);

#endif
