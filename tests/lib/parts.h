/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks on parts of a matrix of uint64_t. */
#ifndef TIC_TEST_PARTS_H
#define TIC_TEST_PARTS_H

#include "lib/steps.h"

/* Change each element of many parts by the number, and the numbers that follow. */
void submit_change(starpu_data_handle_t *parts, int many, int number);

/* Add what is in many parts, in their order, to a registered value. */
void submit_look(starpu_data_handle_t *parts, int many, int which);

#endif
