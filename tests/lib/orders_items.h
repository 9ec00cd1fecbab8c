/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A vector and its parts, for scenarios of tests/lib/orders.c. */
#ifndef TIC_TEST_ORDERS_ITEMS_H
#define TIC_TEST_ORDERS_ITEMS_H

#include "lib/orders.h"

enum { PARTS = 4, ITEMS = 16 };

extern uint64_t items[ITEMS];
extern starpu_data_handle_t whole, parts[PARTS];
extern struct starpu_data_filter part_filter;

/* Of the whole or a part, and an int by value: as their namesakes in orders.h. */
extern struct starpu_codelet step_items_codelet, reduce_items_codelet, clear_items_codelet;
extern struct starpu_codelet add_items_codelet; /* as reduce_items_codelet, but STARPU_RW */

void open_whole(void);  /* registers it, with reduction methods */
void close_whole(void); /* unregisters and notes it */
void make_items_reducible(starpu_data_handle_t handle);
void step_parts(void); /* a step of each part */

#endif
