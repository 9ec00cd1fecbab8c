/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash of each page of memory, without what belongs to others (others.h) and without mutexes that
 * somebody holds. Guarded by the lock of statics.c. */
#pragma once

#include <stdint.h>

#include "unseen/others.h"

enum { TIC_HASHES_PAGE = TIC_OTHERS_PAGE };

/* Nothing is hashed any more. */
void tic_hashes_begin(void);
/* The number of its first page; -1: out of memory. zeros: from where on what nobody has touched is
 * zero, or NULL. news: called, unless it is NULL, for pages that have changed since the same was
 * hashed at the same number last. */
long tic_hashes_take(const struct tic_span *span, const char *zeros, const struct tic_others *all,
                     void (*news)(const struct tic_span *page, void *arg), void *arg);
/* The first page that has changed, or NULL. */
const char *tic_hashes_changed(const struct tic_span *span, const char *zeros, unsigned long number,
                               const struct tic_others *all);
/* Bytes that are more than are hashed. */
uint64_t tic_hashes_left_out(void);
