/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of tests/lib/modes.c in other files. */
#ifndef TIC_TEST_MODES_H
#define TIC_TEST_MODES_H

#include "lib/steps.h"

/* modes_data.c */
void run_try(void);
void run_acquire_cb(void);
void run_acquire_cb_write(void);
void run_wont_use(void);
void run_invalidate(void);
void run_coo(void);
void run_csr(void);

/* modes_buffers.c */
void run_many_buffers(void);
void run_scratch(void);
void run_kept_reader(void);

/* modes_custom.c */
void run_custom(void);
void run_custom_waits(void);
void run_custom_heap(void);
void run_custom_beside(void);

#endif
