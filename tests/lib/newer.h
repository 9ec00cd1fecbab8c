/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of tests/lib/newer.c in other files. */
#ifndef TIC_TEST_NEWER_H
#define TIC_TEST_NEWER_H

#include "lib/steps.h"
#include "real/since.h"

/* newer_grids.c */
void run_tensor(void);
void run_homeless(void);
void run_tensor_reads(void);
void run_tensor_parts(void);
void run_ndim(void);
void run_ndim_homeless(void);
void run_ndim_parts(void);

/* newer_refused.c */
void run_dup_ro(void);
void run_retry(void);
void run_epilogue(void);
void run_transaction(void);
void run_returns(void);
void run_returns_late(void);
void run_release_to(void);
void run_bubble(void);

#endif
