/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables, which are excluded data, and what tasks do with them. */
#ifndef TIC_TESTS_DECLARES_EXCLUDED_H
#define TIC_TESTS_DECLARES_EXCLUDED_H

#include "lib/declares.h"

enum { TABLES = 4, ENTRIES = 4096 };

extern uint32_t table_memory[TABLES / 2][ENTRIES];
extern starpu_data_handle_t tables[TABLES];

void register_tables(void);
void unregister_tables(void); /* prints what was seen of them */
starpu_data_handle_t any_table(void);
starpu_data_handle_t any_vector(void);

void change(void *buffers[], void *arg);
void mix(void *buffers[], void *arg);
extern struct starpu_codelet changer, mixer, deriver, looker;

/* With a random number as argument. */
void insert_one(struct starpu_codelet *codelet, starpu_data_handle_t data);
void insert_two(struct starpu_codelet *codelet, starpu_data_handle_t to, starpu_data_handle_t from);

#endif
