/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of other libraries that ours replace: the ones that come next in the search order. Any
 * thread, and before any constructor. */
#pragma once

#include <stdatomic.h>

/* `known` keeps it. NULL: there is none, or this thread is looking for one already: dlsym() frees
 * the text of an earlier error. */
void *tic_next_function(_Atomic(void *) *known, const char *name);
/* The same for a library of which there may be several, by the libraries that the caller's is
 * linked with. own: the function that it is not. */
void *tic_next_of(const void *caller, const void *own, const char *name);

/* Declare `real`: what was found for a function of ours, or NULL; what it replaces. */
#define TIC_REAL(of, found)                                                                        \
    __typeof__(of) *real;                                                                          \
    void *function_ = (found);                                                                     \
    __builtin_memcpy(&real, &function_, sizeof(real))
#define TIC_NEXT(of)                                                                               \
    static _Atomic(void *) known_;                                                                 \
    TIC_REAL(of, tic_next_function(&known_, #of))
